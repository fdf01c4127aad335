"""Check systems and tasks as a run would, without loading a model: `python -m speechiq.harness_patch.dry_run JSON`.

It is a process of its own, so that the program that starts it holds neither torch nor an accelerator during the runs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from speechiq.core.addresses import refuse_secrets
from speechiq.core.errors import SpeechIQError, print_in_one_line
from speechiq.core.suggestions import did_you_mean
from speechiq.harness_patch import _lm_eval, plugins


def check_tasks(names: Sequence[str], include_path: str | None) -> None:
    """Refuse names of tasks that do not exist.

    Raises:
        SpeechIQError: With the nearest known name.
    """
    from lm_eval.tasks import TaskManager

    manager = TaskManager(include_path=include_path)
    for name in names:
        if not manager.match_tasks([name]) and not Path(name).is_file():
            raise SpeechIQError(
                f"--tasks {name}: no such task; {did_you_mean(name, manager.all_tasks)}`siq tasks list` lists those of "
                f"the suite"
            )


def check_system(system: str, given: Mapping[str, Any]) -> str:
    """Build a system without its weights, and return its name in results.

    Raises:
        SpeechIQError: Its spec, its options or the device are not valid.
    """
    from speechiq.harness_patch.hf_audio import HFAudio
    from speechiq.harness_patch.systems.build import expand_alias

    refuse_secrets(
        {"SYSTEM": system}, "siq eval:", "set the environment variable OPENAI_API_KEY, or name one by key_variable"
    )
    options = _lm_eval.parse_arguments(f"pretrained={system}")
    HFAudio(device=given["device"], batch_size=given["batch_size"], **options)
    return expand_alias(str(options["pretrained"]))


def main() -> None:
    """Check what the argument describes, and print the names of the systems as JSON."""
    print_in_one_line()
    plugins.install()
    given = json.loads(sys.argv[1])
    check_tasks(given["tasks"], given["include_path"])
    print(json.dumps([check_system(system, given) for system in given["systems"]]))


if __name__ == "__main__":
    main()
