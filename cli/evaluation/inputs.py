"""Hash the files that an evaluation reads, so that a changed transcript or question file is noticed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import expand, hash_file, is_file
from speechiq.harness_patch.processes import Settings
from speechiq.harness_patch.systems.spec import parse
from speechiq.siq_tasks.catalog.tasks import list_tasks
from speechiq.siq_tasks.questions.location import find_question_file

#: Endings of the files of a folder of tasks that hold texts; its audio is checked by the tasks themselves.
TEXTS = (".yaml", ".jsonl", ".csv", ".tsv")


def hash_inputs(system: str, settings: Settings) -> dict[str, str]:
    """Return the sha256 of each file that a run depends on in addition to models and audio.

    Args:
        system: Spec and options, as the user wrote them.
        settings: Settings of the run.

    Returns:
        Path -> sha256, for transcript files, question files, and the texts of `--include-path`.
    """
    files = dict.fromkeys([*_transcripts(system), *_questions(settings.tasks), *_texts(settings.include_path)])
    return {str(file): hash_file(file) for file in files if is_file(file)}


def _transcripts(system: str) -> Iterator[Path]:
    try:
        stages = parse(system.partition(",")[0])
    except SpeechIQError:  # an alias such as `demo`, which reads no file
        return
    yield from (expand(stage.model) for stage in stages if stage.engine == "transcripts")


def _questions(names: tuple[str, ...]) -> Iterator[Path]:
    yield from filter(None, map(find_question_file, _sets_with_questions(names)))


@cache
def _sets_with_questions(names: tuple[str, ...]) -> list[str]:
    """Return the data sets whose Apply task is among the named tasks, from the YAMLs, which do not change in a run."""
    tasks = list_tasks(check_files=False)
    return [task.dataset for task in tasks if task.level == "apply" and not task.names.isdisjoint(names)]


def _texts(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        yield from (file for file in sorted(folder.rglob("*")) if file.suffix.lower() in TEXTS)
