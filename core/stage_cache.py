"""Cache what the stages of a run compute: nothing is computed twice, and a run may be killed at any moment.

`<folder>/<stage>/` holds what one stage computed: `stage.json` says what its rows depend on, and every process appends
its rows to a file of its own, so that processes and machines may share a folder, on a network file system too. Nothing
is deleted or written again while runs work; `siq store prune` does that (`speechiq.core.stages`).
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

import msgspec

from speechiq.core.files import is_file, read_plain, write_whole
from speechiq.core.identity import without_places
from speechiq.core.json_text import decode, refuse_extremes
from speechiq.core.row_files import FIX, TRIES, RowFile, RowIndex, list_files, seal

STAGE = "stage.json"
#: Raised when cached rows would be wrong: they hold something else, or are made otherwise. Old ones are not read.
FORMAT = 4
LONGEST_STAGE = 2**20
_STAGE = msgspec.json.Decoder(dict[str, Any])

Item = TypeVar("Item")
log = logging.getLogger(__name__)


def key_digest(value: Any) -> str:
    """Return a name for anything made of JSON types, whatever the order of its keys.

    >>> key_digest({"b": 1, "a": [2]}) == key_digest({"a": [2], "b": 1})
    True
    """
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class StageCache:
    """The rows of one stage: all on disk, and in memory those that were asked for or computed here.

    Threads may share one. If a key has several rows, which are equal by design, the last one counts.

    Args:
        stage: All that its rows depend on besides their keys: model, revision or files, dtype, prompt version.
        folder: Where stages are cached; `None` for memory alone.
        fix: What a user can do if a file cannot be written ("free or ...") or read ("take it away, ...").

    Attributes:
        rows: Key -> row, as far as they are in memory.
        added: How many rows this object added.

    Raises:
        SpeechIQError: The folder cannot be written.
    """

    def __init__(self, stage: Mapping[str, Any], folder: Path | None, fix: str = FIX) -> None:
        self.stage = {**stage, "store_format": FORMAT}
        self.folder = folder / key_digest(without_places(self.stage))[:16] if folder else None
        self.rows: dict[str, Any] = {}
        self.added, self._skipped = 0, 0
        self._fix, self._lock = fix, RLock()
        if self.folder:
            self._file, self._index = RowFile(self.folder, fix), RowIndex(fix)
            self._describe(self.folder / STAGE)

    def __len__(self) -> int:
        """Return how many rows there are, those of other processes included."""
        with self._lock:
            return len(self._refresh(self.folder)) if self.folder else len(self.rows)

    def fetch(self, keys: Collection[str], form: Any = Any) -> None:
        """Bring the rows of `keys`, as far as they are on disk, into memory.

        Args:
            keys: Of the rows.
            form: Type of a row; one of another form is left out, with one warning for all of them.

        Raises:
            SpeechIQError: A file cannot be read.
        """
        with self._lock:
            if self.folder and (missing := set(keys) - self.rows.keys()):
                rows = self._read(self.folder, missing)
                good = {key: row for key, row in rows.items() if _has_form(row, form)}
                if strange := len(rows) - len(good):
                    log.warning("%s: %d rows have another form and are computed again", self.folder, strange)
                self.rows |= good

    def add(self, rows: Mapping[str, Any]) -> None:
        """Add rows, key -> JSON types; they are on disk when this returns.

        Raises:
            SpeechIQError: They cannot be written.
        """
        with self._lock:
            if self.folder:
                self._file.append(b"".join(seal(key, row) for key, row in rows.items()))
                if not is_file(self.folder / STAGE):
                    self._describe(self.folder / STAGE)
            self.rows |= json.loads(json.dumps(rows))
            self.added += len(rows)

    def _read(self, folder: Path, keys: Collection[str]) -> dict[str, Any]:
        """Return rows from the disk; if a file is removed meanwhile, its rows are searched in the others."""
        for _ in range(TRIES):
            rows = self._refresh(folder).read(keys)
            if not self._index.gone:
                break
            self._index = RowIndex(self._fix)
        return rows

    def _refresh(self, folder: Path) -> RowIndex:
        self._index.refresh(list_files(folder))
        if (skipped := self._index.skipped) > self._skipped:
            log.warning("%s: %d damaged lines are skipped, their rows are computed again if needed", folder, skipped)
            self._skipped = skipped
        return self._index

    def _describe(self, file: Path) -> None:
        """Write `stage.json` if it is missing or cannot be read; its time is that of the last use."""
        if read_stage(file):
            with suppress(OSError):
                os.utime(file)
        else:
            stage = json.dumps(self.stage | {"speechiq": version("speechiq")}, indent=2, sort_keys=True)
            write_whole(file, f"{stage}\n".encode(), f"free or {self._fix}", make_folders=True)


def cached(
    cache: StageCache,
    items: Sequence[Item],
    key: Callable[[Item], Any],
    compute: Callable[[list[Item], Callable[[Sequence[int], Sequence[Any]], None]], Any],
    form: Any = Any,
) -> list[Any]:
    """Return the rows of `items`: read if they are cached, else computed and added, each once.

    Args:
        cache: Of the stage.
        items: In any order, also more than once.
        key: Takes an item and returns what distinguishes it from others: JSON types.
        compute: Takes the new items and a function that it calls as soon as a batch is done, with the batch's
            positions among these items and its rows.
        form: Type of a row; one on disk that is not of it is computed again.
    """
    keys = [key_digest(key(item)) for item in items]
    cache.fetch(keys, form)
    new = {name: item for name, item in zip(keys, items, strict=True) if name not in cache.rows}
    if new:
        names = list(new)
        compute(
            list(new.values()),
            lambda places, rows: cache.add({names[i]: row for i, row in zip(places, rows, strict=True)}),
        )
    return [cache.rows[name] for name in keys]


def read_stage(file: Path) -> dict[str, Any]:
    """Return what a `stage.json` says; empty if it is missing or holds something else."""
    with suppress(OSError, ValueError):
        stage: dict[str, Any] = decode(read_plain(file, LONGEST_STAGE), _STAGE)
        refuse_extremes(stage)
        return stage
    return {}


def _has_form(row: Any, form: Any) -> bool:
    try:
        msgspec.convert(row, form)
    except ValueError:
        return False
    return True
