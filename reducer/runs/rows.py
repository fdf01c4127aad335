"""Read the rows of lm-eval's sample files (`samples_<task>_<date>.jsonl`) into forms, each with the fields it needs.

All readers share one pass: `read_lines` opens a file once, and each line goes to every reader of the task. A form
names the fields that it needs; msgspec skips all others, so that scores are read without decoding texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Protocol, TypeVar

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import open_plain
from speechiq.core.files.json_text import decode, refuse_extremes
from speechiq.reducer.runs.results_file import TaskRun

LONGEST_LINE = 64 * 2**20

Name = str | int | float
Letter = Literal["A", "B", "C", "D", "E", "?"]

#: A function that takes a line's number, from 1, and its text.
Pick = Callable[[int, bytes], None]


class Row(msgspec.Struct):
    """A form of row; `NEEDS` names its required fields for messages."""

    NEEDS: ClassVar[str]

    def loose(self) -> list[Any]:
        """Return the values of any type, which may be too large or nested too deeply for other code."""
        return []


class Asked(msgspec.Struct):
    """The parts of a doc that identify a question."""

    id: Name
    question_id: Name
    question: str
    options: tuple[str, ...]
    answer: str


class AskedWithClip(Asked):
    """A question and its clip's reference text and audio."""

    text: str
    audio: Any = None


class AskedRow(Row):
    """A question."""

    NEEDS = "id, question_id, question, options, answer and text of doc, and filtered_resps [[vote, [letter, ...]]]"

    doc: Asked


class AnswerRow(AskedRow):
    """A question and its answers."""

    doc: AskedWithClip
    filtered_resps: Annotated[list[tuple[Letter, list[Letter]]], msgspec.Meta(min_length=1)]


class AnyDoc(msgspec.Struct):
    """A doc of any task template: only `id` has a known type."""

    id: Name
    text: Any = ""
    dataset: Any = ""
    normalizer: Any = None
    audio: Any = None
    question_id: Any = ""
    question: Any = ""
    options: Any = None
    answer: Any = ""


class TextRow(Row):
    """A row of any task template, with its texts."""

    NEEDS = "an object doc with an id"

    doc: AnyDoc
    filtered_resps: Any = ""
    audio_coverage: Any = None
    repetition: Any = None

    def loose(self) -> list[Any]:
        """Return the values of any type; see `Row.loose`."""
        return [list(msgspec.structs.astuple(self.doc)), self.filtered_resps, self.audio_coverage, self.repetition]

    @property
    def response(self) -> Any:
        """Return the first response."""
        return first_of(self.filtered_resps)


def first_of(filtered: Any) -> Any:
    """Return the first response of `filtered_resps`, which filters may have put into lists.

    >>> first_of([["so it goes", "so"]]), first_of([])
    ('so it goes', '')
    """
    while isinstance(filtered, list):
        filtered = filtered[0] if filtered else ""
    return filtered


class Reader(Protocol):
    """A reader of the sample files of a level, in the one pass over them."""

    @property
    def level(self) -> str:
        """Return the key of `LEVELS`."""

    def open(self, task: TaskRun) -> Pick:
        """Return the function that takes the lines of a task's sample file."""


R = TypeVar("R", bound=Row)


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a sample file, numbered from 1.

    Raises:
        SpeechIQError: The file is missing or cannot be read, or a line is too long.
    """
    try:
        with open_plain(path) as file:
            for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE), b""), 1):
                if len(line) == LONGEST_LINE:
                    raise SpeechIQError(
                        f"{locate(path, number)} is longer than {LONGEST_LINE} bytes, too long for a row "
                        "of lm-eval; rerun this task"
                    )
                yield number, line
    except FileNotFoundError as error:
        raise SpeechIQError(
            f"no samples {path.name!r} in {str(path.parent)!r}: rerun lm_eval with --log_samples"
        ) from error
    except OSError as error:
        raise SpeechIQError(
            f"{str(path)!r} cannot be read: {error.strerror}; make it readable or move it away"
        ) from error


def read_rows(path: Path, form: type[R]) -> Iterator[R]:
    """Yield the rows of a sample file.

    Raises:
        SpeechIQError: As for `read_lines` and `read_row`.
    """
    for number, line in read_lines(path):
        yield read_row(form, path, number, line)


def read_row(form: type[R], path: Path, number: int, line: bytes) -> R:
    """Return one row in a form; `path` and `number` are for messages.

    Raises:
        SpeechIQError: The line is not JSON, has other fields, or has a value that is too large or nested too deeply.
    """
    try:
        row: R = decode(line, _decoder(form))
    except ValueError as error:
        raise refusal(path, number, form.NEEDS, error) from error
    try:
        refuse_extremes(row.loose())
    except ValueError as error:
        raise SpeechIQError(f"{locate(path, number)} cannot be used: {error}; rerun this task") from error
    return row


def scan(path: Path, picks: Sequence[Pick]) -> None:
    """Pass each line of a sample file to several readers; without readers the file is not opened.

    Raises:
        SpeechIQError: As for `read_lines`, or from a reader.
    """
    for number, line in read_lines(path) if picks else ():
        for pick in picks:
            pick(number, line)


def refusal(path: Path, number: int, needs: str, error: Exception) -> SpeechIQError:
    """Return the error for a line that `decode` refused."""
    if isinstance(error, msgspec.ValidationError):
        return SpeechIQError(f"{locate(path, number)} needs {needs} ({error}); rerun this task")
    return SpeechIQError(
        f"{locate(path, number)} is not a whole JSON object (the file may be cut off): {error}; rerun this task"
    )


def locate(path: Path, number: int) -> str:
    """Return the place of a line in words, for messages."""
    return f"{str(path)!r} line {number}"


@cache
def _decoder(form: type[R]) -> msgspec.json.Decoder[R]:
    return msgspec.json.Decoder(form)
