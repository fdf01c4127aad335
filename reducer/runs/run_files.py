"""Find the files of runs: results files and sample files in folders, and which of them belong together."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from speechiq.core.errors import SpeechIQError

RESULTS_NAME = re.compile(r".+_\d{4}-\d\d-\d\d[T\d.-]*\.json")
SAMPLES_NAME = re.compile(r"samples_.+_(\d{4}-\d\d-\d\d[T\d.-]*)\.jsonl")


def samples_of(results: Path, task: str) -> Path:
    """Return the sample file of a task; `.name` keeps the path inside the folder for any name of a task."""
    return results.parent / Path(f"samples_{task}_{_stamp(results)}.jsonl").name


def is_samples(path: Path) -> bool:
    """Return whether a path of `list_files` is a sample file, not a results file."""
    return path.suffix == ".jsonl"


def _stamp(path: Path) -> str:
    return path.stem.rpartition("_")[2]


def list_files(runs: Iterable[Path]) -> Iterator[Path]:
    """Yield the results and sample files below folders; of a results file, itself and the sample files of its date."""
    for run in runs:
        if os.path.isfile(run):  # noqa: PTH113 (`is_file` raises on long names)
            neighbors = (path for path in run.parent.iterdir() if SAMPLES_NAME.fullmatch(path.name))
            yield from (run, *(path for path in neighbors if _stamp(path) == _stamp(run)))
        else:
            yield from _list_below(run)


def _list_below(root: Path) -> Iterator[Path]:
    folders, entered = [str(root)], set()
    while folders:
        folder = folders.pop()
        try:
            about = os.stat(folder)  # noqa: PTH116
            names = sorted(os.listdir(folder)) if (about.st_dev, about.st_ino) not in entered else []  # noqa: PTH208
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a valid file name"
            raise SpeechIQError(f"{folder!r} cannot be read ({reason}); give a folder that lm_eval wrote to") from error
        entered.add((about.st_dev, about.st_ino))
        paths = [os.path.join(folder, name) for name in names]  # noqa: PTH118
        inside = [path for path in paths if os.path.isdir(path)]  # noqa: PTH112
        folders += reversed(inside)
        for name, path in zip(names, paths, strict=True):
            if (RESULTS_NAME.fullmatch(name) or SAMPLES_NAME.fullmatch(name)) and path not in inside:
                yield Path(path)


def once(paths: Iterable[Path]) -> list[Path]:
    """Return each file once, even if several links point to it."""
    return list({place(path): path for path in reversed([*paths])}.values())[::-1]


def place(path: Path) -> str:
    """Return the path without links. Unlike `Path.resolve`, accept a link to itself."""
    return os.path.realpath(path)
