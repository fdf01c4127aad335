"""The response store: nothing is computed twice, nothing that was computed is lost.

`<store>/<stage>/` holds what one stage of a system computed: `stage.json` says what its rows depend on, and
each `*.jsonl` is a batch of rows, written whole or not at all, so that a run may be killed at any moment and
several may write at once, on a network file system too. Nobody writes to a file that stands there already;
a process puts its own batches together when its stage is done.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from speechiq.core.cache import cache_dir
from speechiq.core.files import write_whole

VARIABLE = "SIQ_STORE"
OFF = "off"
SET_ASIDE = ".set-aside"
MEND = "free or choose another place (store=FOLDER), or run without the store (store=off)"

Item = TypeVar("Item")
log = logging.getLogger(__name__)


def store_folder() -> Path | None:
    """Where the store is: `SIQ_STORE`, or a folder in the cache; `None` where it is `off`."""
    place = os.environ.get(VARIABLE)
    return None if place == OFF else Path(place).expanduser() if place else cache_dir("responses")


def digest(told: Any) -> str:
    """A name for anything made of JSON types, whatever the order of its keys.

    >>> digest({"b": 1, "a": [2]}) == digest({"a": [2], "b": 1})
    True
    """
    return hashlib.sha256(json.dumps(told, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class Shelf:
    """The rows of one stage, in memory and, where there is a store, on disk.

    Args:
        stage: all that its rows depend on besides their keys: model, revision or files, dtype, prompt version.
        folder: the store, or `None`.
    """

    def __init__(self, stage: Mapping[str, Any], folder: Path | None) -> None:
        self.folder = folder / digest(stage)[:16] if folder else None
        self.rows: dict[str, Any] = {}
        self._mine: list[Path] = []
        if self.folder and self.folder.is_dir():
            for file in sorted(self.folder.glob("*.jsonl")):
                self.rows |= self._read(file)
        elif self.folder:
            told = json.dumps(stage, indent=2, sort_keys=True) + "\n"
            write_whole(self.folder / "stage.json", told.encode(), MEND, make_folders=True)

    def keep(self, rows: Mapping[str, Any]) -> None:
        """Add rows, key -> JSON types; on disk when this returns."""
        self.rows |= json.loads(json.dumps(rows))
        if self.folder:
            self._mine.append(self._write(rows))

    def put_together(self) -> None:
        """One file of this process's batches."""
        parts, self._mine = self._mine, []
        if len(parts) > 1:
            self._mine = [self._write({key: row for part in parts for key, row in _rows(part)})]
            for part in parts:
                part.unlink(missing_ok=True)
        else:
            self._mine = parts

    def _write(self, rows: Mapping[str, Any]) -> Path:
        file = self.folder / f"{time.time_ns()}-{uuid.uuid4().hex[:8]}.jsonl"
        write_whole(
            file, "".join(f"{_seal(key, row)}\n" for key, row in rows.items()).encode(), MEND, make_folders=True
        )
        return file

    def _read(self, file: Path) -> dict[str, Any]:
        """The rows of a file; one that is damaged is set aside, and its good rows are written anew."""
        try:
            return dict(_rows(file))
        except FileNotFoundError:
            return {}
        except ValueError:
            good = dict(_rows(file, skip_damaged=True))
            log.warning(
                "%s is damaged: set aside; %d of its rows are good, the others are computed again", file, len(good)
            )
            if good:
                self._write(good)
            with suppress(OSError):
                file.rename(file.with_suffix(SET_ASIDE))
            return good


def through(
    shelf: Shelf,
    items: Sequence[Item],
    key: Callable[[Item], Any],
    compute: Callable[[list[Item], Callable[[Sequence[int], Sequence[Any]], None]], Any],
) -> list[Any]:
    """The rows of `items`: read where they are known, else computed and kept, each once.

    Args:
        shelf: of the stage.
        items: in any order, twice or more.
        key: what tells an item from any other: JSON types.
        compute: takes the new items and a function that it calls as soon as a batch is done, with the batch's
            positions among these items and its rows.
    """
    keys = [digest(key(item)) for item in items]
    new = {name: item for name, item in zip(keys, items, strict=True) if name not in shelf.rows}
    if new:
        names = list(new)
        try:
            compute(
                list(new.values()),
                lambda places, rows: shelf.keep({names[i]: row for i, row in zip(places, rows, strict=True)}),
            )
        finally:
            shelf.put_together()
    return [shelf.rows[name] for name in keys]


def _seal(key: str, row: Any) -> str:
    text = json.dumps([key, row], separators=(",", ":"))
    return f"{zlib.crc32(text.encode()):08x} {text}"


def _rows(file: Path, *, skip_damaged: bool = False) -> Iterator[tuple[str, Any]]:
    for line in file.read_bytes().split(b"\n")[:-1] or [b""]:
        seal, _, text = line.partition(b" ")
        if seal == b"%08x" % zlib.crc32(text):
            yield tuple(json.loads(text))
        elif not skip_damaged:
            raise ValueError(line[:80])
