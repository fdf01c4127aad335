"""What lies in the response store, and taking away what is not wanted any more."""

from __future__ import annotations

import errno
import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from speechiq.core.cache import cache_dir
from speechiq.core.errors import SpeechIQError
from speechiq.core.files import left_over, open_plain
from speechiq.core.store import ROWS, SET_ASIDE, STAGE, read_stage

DAY = 86_400
#: Folders below the store, and below the clip folder, in which speechiq writes.
STAGES, CLIPS = re.compile("[0-9a-f]{16}"), re.compile("[0-9a-f]{2}")


class StageFolder(NamedTuple):
    """One stage in the store.

    Attributes:
        folder: where its rows are.
        stage: what its rows depend on, as the stage told it; empty where its file cannot be read.
        rows: how many lines its files have.
        size: bytes.
        used: when it was last read or written to, seconds since 1970.
    """

    folder: Path
    stage: dict
    rows: int
    size: int
    used: float


def look(store: Path | None) -> list[StageFolder]:
    """Every stage in the store, the last used first; nothing else in the folder is touched or listed.

    Runs may be at work: what goes away meanwhile is left out.
    """
    found = [_look_at(told.parent) for told in (store.glob(f"*/{STAGE}") if store else ())]
    return sorted(filter(None, found), key=lambda stage: -stage.used)


def prune(store: Path | None, older_than: float) -> list[StageFolder]:
    """Take away the stages that were neither read nor written to for `older_than` days; 0 takes all.

    A run that is at work in one goes on, and what it adds is kept.

    Raises:
        SpeechIQError: one that cannot be taken away, when all others are gone.
    """
    gone, failures = [], []
    for stage in look(store):
        if stage.used <= time.time() - older_than * DAY:
            try:
                _take_away(stage.folder)
                gone.append(stage)
            except SpeechIQError as error:
                failures.append(error)
    if failures:
        raise failures[0]
    return gone


def find_drafts(store: Path | None) -> list[Path]:
    """Return the drafts that killed runs left in the store and in the clip folder."""
    places = [*_folders(store, STAGES), cache_dir("clips"), *_folders(cache_dir("clips"), CLIPS)]
    return [draft for folder in places for draft in left_over(folder)]


def _folders(root: Path | None, name: re.Pattern) -> list[Path]:
    with suppress(OSError):
        return [folder for folder in root.iterdir() if name.fullmatch(folder.name)] if root else []
    return []


def _look_at(folder: Path) -> StageFolder | None:
    with suppress(FileNotFoundError):
        files = [file for file in folder.iterdir() if file.name == STAGE or file.suffix in (ROWS, SET_ASIDE)]
        times, sizes, rows = zip(*map(_measure, files), strict=True)
        return StageFolder(folder, read_stage(folder / STAGE), sum(rows), sum(sizes), max(times))


def _measure(file: Path) -> tuple[float, int, int]:
    """When it changed last, bytes, rows; nothing of a file that is gone or cannot be read."""
    with suppress(OSError), open_plain(file) as lines:
        about = os.fstat(lines.fileno())
        return about.st_mtime, about.st_size, sum(1 for _ in lines) if file.suffix == ROWS else 0
    return 0.0, 0, 0


def _take_away(folder: Path) -> None:
    try:
        for file in folder.iterdir():
            file.unlink(missing_ok=True)
        folder.rmdir()
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno != errno.ENOTEMPTY:
            raise SpeechIQError(
                f"cannot take away '{folder}': {error.strerror}; mend that, or choose another place (SIQ_STORE=FOLDER)"
            ) from error
