"""Check systems and tasks as a run would, without loading a model: `python -m speechiq.harness_patch.dry_run JSON`.

It is a process of its own because the program that starts it must not occupy memory and accelerator during the runs.
The docs of all tasks are built, and each system gets all requests of a run, which it checks. Where it would compute, it
counts what the response cache has and ends.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from speechiq.core.cache.stage_count import counting
from speechiq.core.endpoint.addresses import refuse_secrets
from speechiq.core.errors import SpeechIQError, print_in_one_line
from speechiq.core.suggestions import did_you_mean
from speechiq.harness_patch import _lm_eval, plugins
from speechiq.harness_patch.inventory import Inventory, Samples, SystemWork, choose_clips, list_work

#: The seed of torch in `lm_eval` without `--seed`.
SEED = 1234


def find_names(manager: Any, names: Sequence[str]) -> list[str]:
    """Return the names of tasks and groups that match the given names; refuse an unknown one."""
    found: list[str] = []
    for name in names:
        matched = manager.match_tasks([name]) or [name] * Path(name).is_file()
        if not matched:
            raise SpeechIQError(
                f"--tasks {name}: no such task; {did_you_mean(name, manager.all_tasks)}`siq list tasks` lists those of "
                f"the suite"
            )
        found += matched
    return found


def build_system(system: str, given: Mapping[str, Any]) -> Any:
    """Build a system without its weights, with the seed of a run."""
    import torch

    from speechiq.harness_patch.hf_audio import HFAudio

    refuse_secrets(
        {"SYSTEM": system}, "siq eval:", "set the environment variable OPENAI_API_KEY, or name one by key_variable"
    )
    torch.manual_seed(SEED if given["seed"] is None else given["seed"])
    options = _lm_eval.parse_arguments(f"pretrained={system}")
    return HFAudio(device=given["device"], batch_size=given["batch_size"], **options)


def check(given: Mapping[str, Any]) -> Inventory:
    """Check the systems on the tasks (`processes.Settings` by name, and `systems`), and return the work of the run."""
    from lm_eval.tasks import TaskManager

    from speechiq.harness_patch.evaluation import choose_tasks, given_metadata

    metadata = _lm_eval.parse_metadata(given["metadata"])
    manager = TaskManager(include_path=given["include_path"], metadata=metadata)
    names = find_names(manager, given["tasks"])
    built = {system: build_system(system, given) for system in given["systems"]}
    with given_metadata({"tasks": names, "metadata": metadata}):
        tasks = _lm_eval.find_tasks(manager.load(choose_tasks(names)))
        docs = {name: list(task.eval_docs) for name, task in tasks.items()}
        samples = choose_clips(docs, given["limit"])
        systems = [_count(system, lm, list(tasks.values()), metadata, samples) for system, lm in built.items()]
    about = {name: task.config.metadata or {} for name, task in tasks.items()}
    return list_work(docs, about, systems, samples)


def _count(system: str, lm: Any, tasks: Sequence[Any], metadata: Mapping[str, Any], samples: Samples) -> SystemWork:
    """Give a system the requests of a run, and return what the response cache has of it."""
    from lm_eval import simple_evaluate

    try:
        with counting() as counter:
            simple_evaluate(lm, tasks=list(tasks), metadata=dict(metadata), samples=samples or None, bootstrap_iters=0)
    except SpeechIQError as error:
        raise SpeechIQError(f"{system}: {error}") from error
    return SystemWork(system, lm.name, counter.counts(), counter.complete)


def main() -> None:
    """Check what the argument describes, and print the work as JSON."""
    print_in_one_line()
    plugins.install()
    print(msgspec.json.encode(check(json.loads(sys.argv[1]))).decode())


if __name__ == "__main__":
    main()
