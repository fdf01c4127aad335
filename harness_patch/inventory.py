"""Check systems and tasks as a run would, without loading a model: `python -m speechiq.harness_patch.inventory JSON`.

It is a process of its own because the program that starts it must not occupy memory and accelerator during the runs.
The docs of all tasks are built, and each system gets all requests of a run, which it checks. Where it would compute, it
counts what the response cache has and ends. The result is the work of the run: tasks, clips, hours of audio, rows.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from speechiq.core.cache.stage_count import StageCount, counting
from speechiq.core.errors import SpeechIQError, print_in_one_line
from speechiq.core.files.checksummed import content_sha256
from speechiq.core.suggestions import did_you_mean
from speechiq.harness_patch import _lm_eval, foreign_code, plugins

#: The seed of torch in `lm_eval` without `--seed`.
SEED = 1234
#: Docs to run: task -> their positions in the task.
Samples = dict[str, list[int]]


class TaskWork(Struct, frozen=True):
    """Count the docs of one task that are run, the different clips among them, and their seconds of audio.

    `category` is its column in the table of its suite, for SIQ the level. A task of another package has neither.
    """

    task: str
    docs: int
    clips: int
    seconds: float
    suite: str = ""
    category: str = ""


class SystemWork(Struct, frozen=True):
    """State what the response cache has of one system: its stages, up to the first one with missing rows."""

    system: str
    name: str
    stages: list[StageCount]
    complete: bool


class Inventory(Struct, frozen=True):
    """Describe the work of a run: tasks, systems, clips, their seconds, and the docs of tasks that run in part."""

    tasks: list[TaskWork]
    systems: list[SystemWork]
    clips: int
    seconds: float
    samples: Samples


def list_work(
    docs: Mapping[str, Sequence[Mapping[str, Any]]],
    about: Mapping[str, Mapping[str, Any]],
    systems: Sequence[SystemWork],
    samples: Samples,
) -> Inventory:
    """Return the inventory of a run; docs of tasks of other packages may have any form.

    `about` is the metadata of each task. All docs of a task without `samples` are run.
    """
    tasks, all_clips = [], dict[tuple[Any, Any], float]()
    for task, task_docs in docs.items():
        chosen = [task_docs[i] for i in samples.get(task, range(len(task_docs)))]
        clips = _clips_of(chosen)
        suite, category = (str(about[task].get(key, "")) for key in ("suite", "category"))
        tasks.append(TaskWork(task, len(chosen), len(clips), sum(clips.values()), suite, category))
        all_clips |= clips
    return Inventory(tasks, list(systems), len(all_clips), sum(all_clips.values()), samples)


def choose_clips(docs: Mapping[str, Sequence[Mapping[str, Any]]], limit: int | None) -> Samples:
    """Return the docs about the first `limit` clips of each data set, so that all its tasks run the same clips.

    Tasks of one data set that have no clip in common take the first of their own. A doc without a clip counts as one.

    >>> a, b = ({"dataset": "x", "id": f"x/{name}"} for name in "ab")
    >>> choose_clips({"remember": [a, b], "apply": [a, a, b]}, 1)
    {'remember': [0], 'apply': [0, 1]}
    """
    if limit is None:
        return {}
    first: dict[Any, dict[Any, None]] = {}
    samples: Samples = {}
    for task, task_docs in docs.items():
        names = [doc.get("id", i) for i, doc in enumerate(task_docs)]
        own = dict.fromkeys(list(dict.fromkeys(names))[:limit])
        chosen = first.setdefault(task_docs[0].get("dataset", task), own) if names else own
        wanted = chosen if chosen.keys() & set(names) else own
        positions = [i for i, name in enumerate(names) if name in wanted]
        if len(positions) < len(names):
            samples[task] = positions
    return samples


def choose_shard(docs: Mapping[str, Sequence[Mapping[str, Any]]], samples: Samples, shard: Sequence[int]) -> Samples:
    """Return the docs of `samples` whose clip falls into a shard, `(number from 1, number of shards)`.

    The digest of the clip's audio decides, so all tasks, systems and conditions on a clip are in one shard, also
    with other clips beside it.

    >>> docs = {"remember": [{"id": f"x/{i}"} for i in range(6)]}
    >>> [choose_shard(docs, {}, (number, 2))["remember"] for number in (1, 2)]
    [[1, 3], [0, 2, 4, 5]]
    """
    number, count = shard
    return {
        task: [
            i
            for i in samples.get(task, range(len(task_docs)))
            if int(_clip_digest(task_docs[i], f"{task}/{i}")[:16], 16) % count == number - 1
        ]
        for task, task_docs in docs.items()
    }


def _clip_digest(doc: Mapping[str, Any], name: str) -> str:
    """Return the digest of a doc's clip, or of its id; `name` replaces them in a doc without either."""
    audio = doc.get("audio")
    if isinstance(audio, Mapping) and "sha256" in audio:
        return content_sha256([audio["sha256"], audio.get("offset")])
    return content_sha256(doc.get("id", name))


def _clips_of(docs: Sequence[Mapping[str, Any]]) -> dict[tuple[Any, Any], float]:
    """Return the different clips of docs -> their seconds."""
    clips = [doc["audio"] for doc in docs if isinstance(doc.get("audio"), Mapping) and "sha256" in doc["audio"]]
    return {(clip["sha256"], clip.get("offset")): float(clip["duration"]) for clip in clips}


def find_names(manager: Any, names: Sequence[str]) -> list[str]:
    """Return the names of tasks and groups that match the given names; refuse an unknown one."""
    found: list[str] = []
    for name in names:
        matched = manager.match_tasks([name]) or [name] * Path(name).is_file()
        if not matched:
            raise SpeechIQError(
                f"--tasks {name}",
                "no such task",
                f"{did_you_mean(name, manager.all_tasks)}`siq list tasks` lists those of the suite",
            )
        found += matched
    return found


def build_system(system: str, given: Mapping[str, Any]) -> Any:
    """Build a system without its weights, with the seed of a run."""
    import torch

    from speechiq.harness_patch.hf_audio import HFAudio

    torch.manual_seed(SEED if given["seed"] is None else given["seed"])
    options = _lm_eval.parse_arguments(f"pretrained={system}")
    return HFAudio(device=given["device"], batch_size=given["batch_size"], **options)


class Evaluation(NamedTuple):
    """Hold the tasks of a run, and the docs of each that are run if these are not all."""

    tasks: Mapping[str, Any]
    docs: dict[str, list[Mapping[str, Any]]]
    samples: Samples
    metadata: Mapping[str, Any]
    gen_kwargs: Mapping[str, Any]

    def run(self, lm: Any, names: Sequence[str] | None = None) -> None:
        """Give a system the requests of the tasks with docs, or of those named; nothing is written.

        Some of the tasks alone may not read all metadata of the user, which have been checked with all of them.
        """
        from lm_eval import simple_evaluate

        metadata = dict(self.metadata) if names is None else {}
        names = [name for name in names or self.tasks if self.samples.get(name) != []]
        if names:
            simple_evaluate(
                lm,
                tasks=[self.tasks[name] for name in names],
                metadata=metadata,
                gen_kwargs=dict(self.gen_kwargs) or None,
                samples={name: self.samples[name] for name in names if name in self.samples} or None,
                bootstrap_iters=0,
            )


@contextmanager
def open_evaluation(given: Mapping[str, Any]) -> Iterator[tuple[Evaluation, dict[str, Any]]]:
    """Build the tasks of a run and its systems, name -> model, without weights; runs are inside the block.

    `given` has `processes.Settings` by name, and `systems`.
    """
    from lm_eval.tasks import TaskManager

    from speechiq.harness_patch.evaluation import choose_tasks, given_metadata

    metadata = _lm_eval.parse_pairs(given["metadata"])
    manager = TaskManager(include_path=given["include_path"], metadata=metadata)
    names = find_names(manager, given["tasks"])
    systems = {system: build_system(system, given) for system in given["systems"]}
    with given_metadata({"tasks": names, "metadata": metadata}):
        tasks = _lm_eval.find_tasks(manager.load(choose_tasks(names)))
        docs = {name: list(task.eval_docs) for name, task in tasks.items()}
        samples = choose_clips(docs, given["limit"])
        if given["shard"] is not None:
            samples = choose_shard(docs, samples, given["shard"])
        yield Evaluation(tasks, docs, samples, metadata, _lm_eval.parse_pairs(given["gen_kwargs"])), systems


def check(given: Mapping[str, Any]) -> Inventory:
    """Check the systems on the tasks, and return the work of the run; see `open_evaluation`."""
    with open_evaluation(given) as (evaluation, built):
        systems = [_count(system, lm, evaluation) for system, lm in built.items()]
    about = {name: task.config.metadata or {} for name, task in evaluation.tasks.items()}
    return list_work(evaluation.docs, about, systems, evaluation.samples)


def _count(system: str, lm: Any, evaluation: Evaluation) -> SystemWork:
    """Give a system the requests of a run, and return what the response cache has of it."""
    try:
        with counting() as counter:
            evaluation.run(lm)
    except SpeechIQError as error:
        raise SpeechIQError(system, error) from error
    return SystemWork(system, lm.name, counter.counts(), counter.complete)


def main() -> None:
    """Check what the argument describes, and print the work as JSON."""
    print_in_one_line()
    plugins.install()
    foreign_code.refuse_if_asked()
    print(msgspec.json.encode(check(json.loads(sys.argv[1]))).decode())


if __name__ == "__main__":
    main()
