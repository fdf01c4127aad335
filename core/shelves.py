"""What lies in the response store, and taking away what is not wanted any more."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.core.store import SET_ASIDE

DAY = 86_400


class StageFolder(NamedTuple):
    """One stage in the store.

    Attributes:
        folder: where its rows are.
        stage: what its rows depend on, as the stage told it.
        rows: how many lines its files have.
        size: bytes.
        used: when it was last written to, seconds since 1970.
    """

    folder: Path
    stage: dict
    rows: int
    size: int
    used: float


def look(store: Path | None) -> list[StageFolder]:
    """Every stage in the store, the last used first; nothing else in the folder is touched or listed."""
    found = []
    for told in store.glob("*/stage.json") if store else ():
        files = [file for file in told.parent.iterdir() if file.suffix in (".jsonl", SET_ASIDE)]
        about = [file.stat() for file in (told, *files)]
        rows = sum(file.read_bytes().count(b"\n") for file in files if file.suffix == ".jsonl")
        used = max(status.st_mtime for status in about)
        found.append(StageFolder(told.parent, _read(told), rows, sum(status.st_size for status in about), used))
    return sorted(found, key=lambda stage: -stage.used)


def prune(store: Path | None, older_than: float) -> list[StageFolder]:
    """Take away the stages that were not written to for `older_than` days; 0 takes all."""
    gone = [stage for stage in look(store) if stage.used <= time.time() - older_than * DAY]
    for stage in gone:
        shutil.rmtree(stage.folder)
    return gone


def _read(file: Path) -> dict:
    try:
        return dict(json.loads(file.read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise SpeechIQError(f"{file}: tells of no stage ({error}); take its folder away") from error
