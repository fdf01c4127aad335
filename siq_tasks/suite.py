"""The suite's data sets by name, for tools that need their clips without running a task."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.templates import read_task

HERE = Path(__file__).parent
ONE_TASK = "siq_*_remember.yaml"


def data_sets() -> list[str]:
    """Names of the suite's own data sets, sorted."""
    return sorted(file.parent.name for file in HERE.glob(f"*/{ONE_TASK}"))


def metadata(dataset: str) -> dict[str, Any]:
    """What the tasks of a data set say about it.

    Args:
        dataset: one of `data_sets()`, or a folder that `siq tasks new` made.

    Raises:
        SpeechIQError: no such data set.
    """
    return _one_task(dataset)["metadata"]


def list_clips(dataset: str, **told: Any) -> list[dict]:
    """The clips that the tasks of `dataset` ask about, each with `id`, `text` and the items of a clip.

    Args:
        dataset: as for `metadata`.
        **told: what `--metadata` would tell the task, such as `subset="all"`.

    Raises:
        SpeechIQError: no such data set, or its clips cannot be had.
    """
    task = _one_task(dataset)
    loader = import_module(task["custom_dataset"].rpartition(".")[0])
    return loader.list_clips(**task["metadata"] | told)


def _one_task(dataset: str) -> dict[str, Any]:
    for folder in (HERE / dataset, Path(dataset)):
        for file in sorted(folder.glob(ONE_TASK)):
            return read_task(file)
    raise SpeechIQError(
        f"{dataset}: no such data set; known are {', '.join(data_sets())}, and folders that `siq tasks new` made"
    )
