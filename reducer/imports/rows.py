"""Define what every form of outputs is read into, a row per system and clip or question, and read lines and fields.

Lines of files of any size are read one at a time. A form of single files can also take folders of them.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import Line, decode
from speechiq.core.files.plain import is_file, is_folder, is_of_desktop, locate_line, open_plain, reading
from speechiq.core.files.tables import read_number

#: Bytes of the longest line that is read.
LONGEST = 2**25
#: Endings of audio files, which are no part of the name of a clip; other dots are.
AUDIO_ENDING = re.compile(r"\.(?:wav|flac|mp3|ogg|opus|m4a|aac|webm|sph)$", re.IGNORECASE)
_ROW = msgspec.json.Decoder(dict[str, Any])


@dataclass(frozen=True, slots=True)
class OutputRow:
    """Hold what one system wrote about one clip, or answered to one question about it.

    A row with a `reference` and a `transcript` is scored by its words. A row with `options`, a `key` and an `answer` is
    scored by its letter. A row with a `score` has been judged elsewhere. Another `answer` with a `question` and a `key`
    is judged by rule if it `is_free`. What a form does not have is None.

    Attributes:
        where: File and line, for errors.
        system: Name of the system; empty if the form names none, and then it is that of the file.
        clip: Id of the clip.
        answer: What the system answered, as it wrote it.
        key: The letter or the text of the right option, or the right answer.
        score: What a judge gave: from 0 to 1, or on the scale of the user in a form that `takes_highest_score`.
        cluster: What the clip shares with others, such as a call or a speaker.
        groups: Name of a group -> that of the clip, such as `gender` -> `female`.
        duration: Seconds of the clip.
        entities: Class -> named entities of the reference, such as `MONEY`; the class is empty for those without one.
        category: Name of the set or task, where one file has several.
    """

    where: str
    system: str
    clip: str
    reference: str | None = None
    transcript: str | None = None
    question_id: str | None = None
    question: str | None = None
    options: tuple[str, ...] = ()
    key: str | None = None
    answer: str | None = None
    score: float | None = None
    cluster: str | None = None
    groups: Mapping[str, str] = field(default_factory=dict)
    duration: float | None = None
    entities: Mapping[str, list[str]] = field(default_factory=dict)
    category: str | None = None
    is_free: bool = False


@dataclass(frozen=True)
class Form:
    """Define a form of outputs.

    Attributes:
        name: As the user writes it after `siq import`.
        describes: Its files in one line, for help.
        fits_file: Whether a file is of this form, by its name and its first lines; reads no more of it.
        read_files: Yields the rows of files, in their order and without keeping them; raises a `SpeechIQError` that
            names file and line for one that is not of the form.
        takes_folders: Whether a folder stands for its files that fit, at any depth and sorted by their paths; else it
            is treated as a file.
        takes_highest_score: Whether the user says what the best score is; else the form reads scores from 0 to 1.
    """

    name: str
    describes: str
    fits_file: Callable[[Path], bool]
    read_files: Callable[[list[Path]], Iterator[OutputRow]]
    takes_folders: bool = True
    takes_highest_score: bool = False

    def fits(self, path: Path) -> bool:
        """Return whether a file, or any file in a folder, is of this form."""
        if self.takes_folders and is_folder(path):
            return any(map(self.fits_file, _list_files(path)))
        return self.fits_file(path)

    def read(self, paths: Iterable[Path]) -> Iterator[OutputRow]:
        """Yield the rows of files and folders."""
        return self.read_files([file for path in paths for file in self._find_files(path)])

    def _find_files(self, path: Path) -> list[Path]:
        if not self.takes_folders or not is_folder(path):
            return [path]
        files = [file for file in _list_files(path) if self.fits_file(file)]
        if not files:
            raise SpeechIQError(path, f"no file in it is of the form {self.name}", "name the files")
        return files


def _list_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if is_file(file) and not is_of_desktop(file.name))


def read_text_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield file and number of each line of a UTF-8 file that is not blank, for errors, and the line itself."""
    is_empty = True
    with reading(path), open_plain(path) as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST + 1), b""), 1):
            where = locate_line(path, number)
            text = _decode_line(line, where, "utf-8-sig" if number == 1 else "utf-8")
            if text.strip():
                is_empty = False
                yield where, text
    if is_empty:
        raise SpeechIQError(path, "has no rows", "name a file with a line per clip")


def _decode_line(line: bytes, where: str, encoding: str) -> str:
    if len(line) > LONGEST:
        raise SpeechIQError(where, f"is longer than {LONGEST} bytes", "write a line per clip")
    try:
        return line.decode(encoding).rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise SpeechIQError(where, f"not UTF-8 ({error})", "save the file in UTF-8") from error


def read_json_lines(path: Path) -> Iterator[Line]:
    """Yield the objects of a file with one per line, numbered from 1; refuse a line that is not an object."""
    for number, (where, text) in enumerate(read_text_lines(path), 1):
        try:
            yield Line(number, where, decode(text.encode(), _ROW))
        except ValueError as error:
            raise SpeechIQError(where, f"not a whole JSON object ({error})", "correct or remove the line") from error


def read_first_row(path: Path) -> dict[str, Any]:
    """Return the object in the first line that is not blank; an empty one if there is none."""
    try:
        return next(read_json_lines(path)).row
    except SpeechIQError:
        return {}


@cache
def say_once(line: str) -> None:
    """Print a line on stderr, but not again when the same file is read again."""
    say(line)


def find_text(row: Mapping[str, Any], *columns: str) -> str | None:
    """Return the first of several fields that is a text; None if none is.

    >>> find_text({"question": None, "prompt": "Where?"}, "question", "prompt"), find_text({"text": 7}, "text")
    ('Where?', None)
    """
    for column in columns:
        value = row.get(column)
        if isinstance(value, str):
            return value
    return None


def find_number(row: Mapping[str, Any], column: str) -> float | None:
    """Return a field that is a finite number; None if it is not.

    >>> find_number({"duration": "2.5"}, "duration"), find_number({"duration": None}, "duration")
    (2.5, None)
    """
    number = read_number(row.get(column))
    return number if math.isfinite(number) else None


def name_systems(paths: Collection[Path]) -> dict[Path, str]:
    """Return file -> name of its system: that of the file, or that of its folder if several files have the same name.

    >>> list(name_systems([Path("a/dev.json"), Path("b/dev.json"), Path("whisper.json")]).values())
    ['a', 'b', 'whisper']
    """
    counts = Counter(path.stem for path in paths)
    return {path: path.stem if counts[path.stem] == 1 else path.absolute().parent.name for path in paths}
