"""Find the suite's data sets and users' task folders, for commands that need clips without a run."""

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import exists
from speechiq.core.ids import PLAIN, check_plain
from speechiq.core.suggestions import did_you_mean
from speechiq.siq_tasks.catalog.languages import list_language_tasks
from speechiq.siq_tasks.catalog.task_files import read_task, resolve_folder
from speechiq.siq_tasks.questions.location import questions_folder

HERE = Path(__file__).parents[1]
#: The suite of the levels.
SUITE = "siq"
#: The levels of SIQ, in the order of the paper.
LEVELS = ("remember", "understand", "apply")
ONE_TASK = "siq_*_remember.yaml"
#: Loaders that a task may name; no other code that a task folder names is imported.
LOADERS = (
    "speechiq.siq_tasks.loaders.clips.load",
    "speechiq.siq_tasks.loaders.bundled.load",
    "speechiq.siq_tasks.loaders.passages.load",
)


def data_sets() -> list[str]:
    """Return the names of the suite's own data sets, sorted."""
    return sorted({read_task(file)["metadata"]["dataset"] for file in HERE.rglob(ONE_TASK)})


def place_questions(dataset: str) -> Path:
    """Return the question file that the tasks of a data set, or in a folder that `siq data new` made, read.

    A question file in another folder, to which `siq data questions` would write, is refused.
    """
    file, task = read_one_task(dataset)
    questions, folder = task["metadata"].get("questions"), Path(os.path.realpath(file.parent))
    if questions is None:
        return questions_folder() / f"{dataset}.jsonl"
    if Path(os.path.realpath(str(questions))).parent != folder:
        raise SpeechIQError(
            file,
            f"metadata.questions: {questions!s:.200} is not in the folder of the tasks",
            "correct it, or name the file with --output",
        )
    return Path(questions)


def list_clips(dataset: str, /, **given: Any) -> list[dict[str, Any]]:
    """Return the clips of a data set's tasks: `id`, `text` and the items of a clip; metadata such as `subset` count."""
    _, task = read_one_task(dataset)
    loader = import_module(task["custom_dataset"].rpartition(".")[0])
    clips: list[dict[str, Any]] = loader.list_clips(**task["metadata"] | given)
    return clips


def is_published(dataset: str) -> bool:
    """Return whether a data set is one of the package, and not a user's own."""
    try:
        return read_one_task(dataset)[0].is_relative_to(HERE)
    except SpeechIQError:
        return False


def read_one_task(dataset: str) -> tuple[Path, dict[str, Any]]:
    """Return the task Remember of a data set, or its only task, and its file; see `check_task`."""
    for task in list_language_tasks():
        if task.keys["metadata"]["dataset"] == dataset:
            return task.template, check_task(task.template, task.read())
    file = _find_one_task(dataset)
    return file, check_task(file)


def check_task(file: Path, task: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the task in a file, or one that includes the file, with the paths of its metadata; refuse others."""
    task = read_task(file) if task is None else task
    about, loader = task.get("metadata"), task.get("custom_dataset")
    if not isinstance(about, dict) or not all(isinstance(key, str) for key in about):
        raise SpeechIQError(file, f"metadata: {about!r:.80} is not a mapping", "write one key: value per line")
    check_plain(about.get("dataset"), f"{file}: metadata.dataset")
    if loader not in LOADERS:
        raise SpeechIQError(
            file,
            f"custom_dataset: {loader!r:.80} is not a loader of speechiq, and `siq` runs no code that a task folder "
            "names",
            f"use {LOADERS[0]}",
        )
    return task | {"metadata": resolve_folder(about, file)}


def _find_one_task(dataset: str) -> Path:
    patterns = (f"siq_{dataset}_remember.yaml", f"*{dataset}.yaml", f"*_{dataset}_*.yaml", f"{dataset}_*.yaml")
    for file in (file for pattern in patterns if PLAIN.fullmatch(dataset) for file in sorted(HERE.rglob(pattern))):
        if read_task(file)["metadata"].get("dataset") == dataset:
            return file
    for file in sorted(Path(dataset).glob(ONE_TASK)) if exists(Path(dataset)) else ():
        return file
    raise SpeechIQError(
        dataset,
        "no such data set",
        f"{did_you_mean(dataset, data_sets())}known are {', '.join(data_sets())}, and folders that `siq data new` made",
    )
