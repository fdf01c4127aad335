"""The response store: nothing is computed twice, nothing that was computed is lost.

`<store>/<stage>/` holds what one stage of a system computed: `stage.json` says what its rows depend on, and
each `*.jsonl` is a batch of rows, written whole or not at all, so that a run may be killed at any moment and
several may write at once, on a network file system too. Nobody writes to a file that stands there already; files
go only when all their rows are in another that is on the disk.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.metadata import version
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from speechiq.core.cache import cache_dir
from speechiq.core.errors import SpeechIQError
from speechiq.core.files import expand, open_plain, read_plain, write_whole
from speechiq.core.identity import without_places
from speechiq.core.json_text import decode, refuse_extremes
from speechiq.core.row_files import GONE, RowIndex, is_whole, seal

VARIABLE = "SIQ_STORE"
OFF = "off"
STAGE, LOCK, ROWS, SET_ASIDE = "stage.json", ".lock", ".jsonl", ".set-aside"
MEND = "free or choose another place (store=FOLDER), or run without the store (store=off)"
#: Raised when rows that were kept before would be wrong: they look or are made otherwise. Old ones are not read then.
FORMAT = 2
#: So many files become one where each is smaller than so many bytes.
MANY, SMALL = 256, 2**20
LISTINGS = 3
LONGEST_STAGE = 2**20
_STAGE = msgspec.json.Decoder(dict[str, Any])

Item = TypeVar("Item")
log = logging.getLogger(__name__)


_chosen: ContextVar[str | None] = ContextVar("store", default=None)


@contextmanager
def use_store(place: str | Path | None) -> Iterator[None]:
    """Make `place`, a folder or `off`, the store inside the block; None leaves it as it is."""
    token = _chosen.set(_chosen.get() if place is None else str(place))
    try:
        yield
    finally:
        _chosen.reset(token)


def store_folder() -> Path | None:
    """Return where the store is: as `use_store` says, `SIQ_STORE`, or a folder in the cache; `None` if it is `off`."""
    place = _chosen.get() or os.environ.get(VARIABLE)
    return None if place == OFF else expand(place) if place else cache_dir("responses")


def digest(told: Any) -> str:
    """A name for anything made of JSON types, whatever the order of its keys.

    >>> digest({"b": 1, "a": [2]}) == digest({"a": [2], "b": 1})
    True
    """
    return hashlib.sha256(json.dumps(told, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class Shelf:
    """The rows of one stage: on disk where there is a store, in memory those that were asked for or computed here.

    Args:
        stage: all that its rows depend on besides their keys: model, revision or files, dtype, prompt version.
        folder: the store, or `None`.
    """

    def __init__(self, stage: Mapping[str, Any], folder: Path | None) -> None:
        self.stage = {**stage, "store_format": FORMAT}
        self.folder = folder / digest(without_places(self.stage))[:16] if folder else None
        self.rows: dict[str, Any] = {}
        self._mine: list[Path] = []
        self._index: RowIndex | None = None
        if self.folder:
            self._tell()

    def fetch(self, keys: Collection[str], form: Any = Any) -> None:
        """Bring the rows of `keys`, as far as they are on disk, into memory.

        Where a file went away that another process has put together with others, the folder is listed once more.

        Args:
            keys: Of the rows.
            form: Type of a row; one of another form is left out, with one warning for all of them.
        """
        for _ in range(LISTINGS):
            wanted = set(keys) - self.rows.keys()
            if not (self.folder and wanted):
                return
            index = self._index = self._index or self._list()
            self.rows |= self._formed(index.read(wanted), form)
            if not index.gone:
                return
            self._index = None

    def _formed(self, rows: Mapping[str, Any], form: Any) -> dict[str, Any]:
        formed = {key: row for key, row in rows.items() if _has_form(row, form)}
        if strange := len(rows) - len(formed):
            log.warning("%s: %d rows have another form and are computed again", self.folder, strange)
        return formed

    def keep(self, rows: Mapping[str, Any]) -> None:
        """Add rows, key -> JSON types; on disk when this returns."""
        self.rows |= json.loads(json.dumps(rows))
        if self.folder:
            self._mine.append(self._write(rows))
            if len(self._mine) == MANY:
                self.put_together()

    def put_together(self) -> None:
        """One file of this process's batches; where that fails they stay as they are."""
        parts, self._mine = self._mine, []
        self._merge(parts)

    def _tell(self) -> None:
        """`stage.json`, written where it is missing or cannot be read; its time is that of the last use."""
        file = self.folder / STAGE
        if read_stage(file):
            with suppress(OSError):
                os.utime(file)
        else:
            told = json.dumps(self.stage | {"speechiq": version("speechiq")}, indent=2, sort_keys=True)
            write_whole(file, f"{told}\n".encode(), MEND, make_folders=True)

    def _write(self, rows: Mapping[str, Any]) -> Path:
        file, lines = self._new_file(), b"".join(seal(key, row) for key, row in rows.items())
        try:
            write_whole(file, lines, MEND, make_folders=True)
        except SpeechIQError as error:
            if error.__cause__.errno not in GONE:
                raise
            write_whole(file, lines, MEND, make_folders=True)  # the folder was taken away meanwhile
        self._tell()
        return file

    def _new_file(self) -> Path:
        return self.folder / f"{time.time_ns()}-{uuid.uuid4().hex[:8]}{ROWS}"

    def _list(self) -> RowIndex:
        """Where the rows are, once small files are put together; damaged files are set aside."""
        self._merge_small()
        index = RowIndex(self._files())
        for file, good in index.damaged.items():
            self._set_aside(file, good)
        return index

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob(f"*{ROWS}"))

    def _set_aside(self, file: Path, good: int) -> None:
        """The good rows of a damaged file are written anew; where that fails they are read where they are."""
        log.warning("%s is damaged: set aside; %d of its rows are good, the others are computed again", file, good)
        with suppress(OSError, SpeechIQError):
            if good:
                with open_plain(file) as lines:
                    write_whole(self._new_file(), filter(is_whole, lines), MEND)
            file.rename(file.with_suffix(SET_ASIDE))

    def _merge_small(self) -> None:
        """One file of the many small ones that killed runs left; one process at a time, where the folder has locks."""
        if len(self._files()) < MANY:
            return
        from filelock import FileLock

        with suppress(OSError, NotImplementedError), FileLock(self.folder / LOCK, timeout=0):
            small = [file for file in self._files() if file.stat().st_size < SMALL]
            if len(small) >= MANY:
                self._merge(small)

    def _merge(self, parts: Sequence[Path]) -> None:
        """One file in the place of several, which go when it is on the disk; where that fails they stay."""
        if len(parts) < 2:
            return
        merged: list[Path] = []
        contents = _whole(parts, merged)
        try:
            if first := next(contents, None):
                write_whole(self._new_file(), chain([first], contents), MEND)
            for part in merged:
                part.unlink(missing_ok=True)
        except (OSError, SpeechIQError) as error:
            log.warning("%s: %d files were not put into one, and stay as they are (%s)", self.folder, len(parts), error)


def through(
    shelf: Shelf,
    items: Sequence[Item],
    key: Callable[[Item], Any],
    compute: Callable[[list[Item], Callable[[Sequence[int], Sequence[Any]], None]], Any],
    form: Any = Any,
) -> list[Any]:
    """The rows of `items`: read where they are known, else computed and kept, each once.

    Args:
        shelf: of the stage.
        items: in any order, twice or more.
        key: what tells an item from any other: JSON types.
        compute: takes the new items and a function that it calls as soon as a batch is done, with the batch's
            positions among these items and its rows.
        form: type of a row; one on disk that is not of it is computed again.
    """
    keys = [digest(key(item)) for item in items]
    shelf.fetch(keys, form)
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


def read_stage(file: Path) -> dict[str, Any]:
    """Return what a `stage.json` says; empty if it is missing or holds something else."""
    with suppress(OSError, ValueError):
        stage = decode(read_plain(file, LONGEST_STAGE), _STAGE)
        refuse_extremes(stage)
        return stage
    return {}


def _has_form(row: Any, form: Any) -> bool:
    try:
        msgspec.convert(row, form)
    except ValueError:
        return False
    return True


def _whole(parts: Sequence[Path], read: list[Path]) -> Iterator[bytes]:
    """What is in the parts; one that is gone or damaged is passed over, the others' names are added to `read`."""
    for part in parts:
        try:
            content = read_plain(part)
        except OSError as error:
            if error.errno in GONE:
                continue
            raise
        if content and all(map(is_whole, BytesIO(content))):
            read.append(part)
            yield content
