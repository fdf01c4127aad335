"""Read and write append-only files of rows: one line per row, with its key and a checksum."""

import errno
import json
import os
import re
import secrets
import socket
import time
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import decode
from speechiq.core.files.plain import advise, append_plain, is_file, open_plain

ROWS = ".jsonl"
FIX = "choose another place (store=FOLDER), or run without the response cache (store=off)"
HOST = re.sub(r"[^\w.-]", "_", socket.gethostname())[:40]
GONE = errno.ENOENT, errno.ESTALE
TRIES = 3
#: More bytes than any file has.
LARGEST = 2**48
#: Where the text and the key of a row begin in its line.
TEXT, KEY = 9, 11
_ROW = msgspec.json.Decoder(tuple[str, Any])


def seal(key: str, row: Any) -> bytes:
    r"""Return the line of a row, with its checksum in front.

    >>> seal("a", [1])
    b'eda38613 ["a",[1]]\n'
    """
    text = json.dumps([key, row], separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def is_intact(line: bytes) -> bool:
    """Return whether the line matches its checksum and begins as `seal` begins one."""
    return (
        line[-1:] == b"\n"
        and line[TEXT:KEY] == b'["'
        and line.find(b'",', KEY) > 0
        and line[:TEXT] == b"%08x " % zlib.crc32(memoryview(line)[TEXT:-1])
    )


def unseal(line: bytes) -> dict[str, Any]:
    """Return the row of a line under its key; empty if the line is not as `seal` wrote it.

    >>> unseal(seal("a", [1])), unseal(b"eda38613 ")
    ({'a': [1]}, {})
    """
    try:
        return dict([decode(line[TEXT:], _ROW)]) if is_intact(line) else {}
    except ValueError:
        return {}


class CacheFile:
    """Append rows to a file of this process alone: neither locks nor a shared clock are needed.

    Its name has the time, the host, the process and a random part. A new file begins after a failed write, which may
    leave half a line, and if the file was removed. Errors end with `fix`, on a full disk after "free disk space, or".
    """

    def __init__(self, folder: Path, fix: str = FIX) -> None:
        self._folder, self._fix = folder, fix
        self._path: Path | None = None

    def append(self, lines: bytes) -> None:
        """Add lines and flush them to the disk; if the file is removed meanwhile, write them to a new one."""
        for _ in range(TRIES):
            known, self._path = self._path, None
            name = f"{time.time_ns()}-{HOST}-{os.getpid()}-{secrets.token_hex(4)}{ROWS}"
            path = known or self._folder / name
            try:
                if not known:
                    self._folder.mkdir(parents=True, exist_ok=True)
                with append_plain(path, new=not known) as file:
                    file.write(lines)
                    file.flush()
                    os.fsync(file.fileno())
                if is_file(path):
                    self._path = path
                    return
            except OSError as error:
                if error.errno not in GONE:
                    raise SpeechIQError(f"cannot write '{path}'", error.strerror, advise(error, self._fix)) from error
        raise SpeechIQError(f"cannot write '{path}'", "another process keeps removing it", self._fix)


class RowIndex:
    """Find rows in some files: each line is checked once, two numbers per row stay in memory; errors end with `fix`."""

    def __init__(self, fix: str = FIX) -> None:
        self._fix = fix
        self._ends: dict[Path, tuple[int, int]] = {}
        self._damaged, self._unfinished = 0, set[Path]()
        self._places: dict[int, int] = {}

    @property
    def skipped(self) -> int:
        """Return how many lines differ from what was written, unfinished last lines included."""
        return self._damaged + len(self._unfinished)

    def __len__(self) -> int:
        """Return how many different rows there are."""
        return len(self._places)

    def refresh(self, files: Iterable[Path]) -> None:
        """Read the lines that were added to the files since the last call; other processes may be adding more."""
        for file in files:
            with self._reading(file):
                number, end = self._ends.setdefault(file, (len(self._ends), 0))
                if file.stat().st_size != end:
                    self._index_lines(file, number, end)

    def _index_lines(self, file: Path, number: int, offset: int) -> None:
        self._unfinished.discard(file)
        with open_plain(file) as lines:
            lines.seek(offset)
            for line in lines:
                if is_intact(line):
                    self._places[hash(line[KEY : line.index(b'"', KEY)])] = number * LARGEST + offset
                elif line.endswith(b"\n"):
                    self._damaged += 1
                else:
                    self._unfinished.add(file)
                    break
                offset += len(line)
        self._ends[file] = number, offset

    def read(self, keys: Collection[str]) -> dict[str, Any]:
        """Return the rows of those keys that are in the files; for a duplicate key, the last row."""
        rows: dict[str, Any] = {}
        hashes = {hash(key.encode()) for key in keys} & self._places.keys()
        files, places = list(self._ends), sorted(map(self._places.__getitem__, hashes))
        for number, group in groupby(places, lambda place: place // LARGEST):
            with self._reading(files[number]), open_plain(files[number]) as lines:
                for place in group:
                    lines.seek(place % LARGEST)
                    rows |= unseal(lines.readline())
        return {key: rows[key] for key in keys if key in rows}

    @contextmanager
    def _reading(self, file: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in GONE:  # the stage was removed meanwhile, and its rows are computed again
                raise SpeechIQError(f"cannot read '{file}'", error.strerror, f"remove it, {self._fix}") from error
