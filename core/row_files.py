"""Files of rows, a line each with its key and a checksum, of which only what is wanted comes into memory."""

from __future__ import annotations

import errno
import json
import zlib
from array import array
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.core.files import open_plain
from speechiq.core.json_text import decode

MEND = "take it away, choose another place (store=FOLDER), or run without the store (store=off)"
GONE = errno.ENOENT, errno.ESTALE
TEXT, KEY = 9, 11  # where they begin in a line
_ROW = msgspec.json.Decoder(tuple[str, Any])


def seal(key: str, row: Any) -> bytes:
    r"""The line of a row.

    >>> seal("a", [1])
    b'eda38613 ["a",[1]]\n'
    """
    text = json.dumps([key, row], separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def is_whole(line: bytes) -> bool:
    """Return whether the line has its checksum and begins as `seal` begins one."""
    return (
        line[-1:] == b"\n"
        and line[TEXT:KEY] == b'["'
        and line.find(b'",', KEY) > 0
        and line[:TEXT] == b"%08x " % zlib.crc32(memoryview(line)[TEXT:-1])
    )


def unseal(line: bytes) -> dict[str, Any]:
    """Return the row of a line under its key; empty where the line is not as `seal` made it.

    >>> unseal(seal("a", [1])), unseal(b"eda38613 ")
    ({'a': [1]}, {})
    """
    try:
        return dict([decode(line[TEXT:], _ROW)]) if is_whole(line) else {}
    except ValueError:
        return {}


class RowIndex:
    """Where each row of some files is: every line is read and checked once, and 20 bytes a row stay in memory.

    Args:
        files: of rows. Nobody writes to one that stands there, but it may go away, its rows being in another then.

    Attributes:
        damaged: each file with lines that are not as they were written -> how many are.
        gone: whether a file went away.

    Raises:
        SpeechIQError: a file is there and cannot be read.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self.files, self.gone = list(files), False
        self.damaged: dict[Path, int] = {}
        names, numbers, offsets = array("q"), array("I"), array("Q")
        for number, file in enumerate(self.files):
            with self._reading(file), open_plain(file) as lines:
                offset, good, bad = 0, 0, 0
                for line in lines:
                    if is_whole(line):
                        names.append(hash(line[KEY : line.index(b'"', KEY)]))
                        numbers.append(number)
                        offsets.append(offset)
                        good += 1
                    else:
                        bad += 1
                    offset += len(line)
                if bad or not good:
                    self.damaged[file] = good
        self._names, self._numbers, self._offsets = map(np.array, (names, numbers, offsets))

    def read(self, keys: Collection[str]) -> dict[str, Any]:
        """The rows of these keys, as far as they are there."""
        asked, rows = np.array([hash(key.encode()) for key in keys]), {}
        places = np.flatnonzero(np.isin(self._names, asked))
        for number, group in groupby(places, self._numbers.__getitem__):
            file = self.files[number]
            with self._reading(file), open_plain(file) as lines:
                for place in group:
                    lines.seek(self._offsets[place])
                    rows |= unseal(lines.readline())
        return {key: rows[key] for key in keys if key in rows}

    @contextmanager
    def _reading(self, file: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in GONE:
                raise SpeechIQError(f"cannot read '{file}': {error.strerror}; {MEND}") from error
            self.gone = True
