"""What lies in the response store, and taking away what is not wanted any more."""

from __future__ import annotations

import errno
import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.core.store import ROWS, SET_ASIDE, STAGE

DAY = 86_400


class StageFolder(NamedTuple):
    """One stage in the store.

    Attributes:
        folder: where its rows are.
        stage: what its rows depend on, as the stage told it.
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
        SpeechIQError: one that cannot be taken away.
    """
    gone = [stage for stage in look(store) if stage.used <= time.time() - older_than * DAY]
    for stage in gone:
        _take_away(stage.folder)
    return gone


def _look_at(folder: Path) -> StageFolder | None:
    with suppress(FileNotFoundError):
        files = [file for file in folder.iterdir() if file.name == STAGE or file.suffix in (ROWS, SET_ASIDE)]
        times, sizes, rows = zip(*map(_measure, files), strict=True)
        return StageFolder(folder, _read(folder / STAGE), sum(rows), sum(sizes), max(times))


def _measure(file: Path) -> tuple[float, int, int]:
    """When it changed last, bytes, rows; nothing of a file that is gone."""
    with suppress(FileNotFoundError), file.open("rb") as lines:
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


def _read(file: Path) -> dict:
    try:
        return dict(json.loads(file.read_bytes()))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, TypeError) as error:
        raise SpeechIQError(f"{file}: tells of no stage ({error}); take its folder away") from error
