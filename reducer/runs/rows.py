"""Read the rows of lm-eval's sample files (`samples_<task>_<date>.jsonl`), line by line, into a given form.

A form names the fields that it needs; msgspec skips all others, so that scores are read without decoding texts.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import decode, refuse_extremes
from speechiq.core.files.plain import open_plain

LONGEST_LINE = 64 * 2**20

Name = str | int | float
Item = tuple[str, ...]


class Doc(msgspec.Struct):
    """Hold the parts of a doc of any task template that pages and judges show: only `id` has a known type."""

    id: Name
    question_id: Any = ""
    question: Any = ""
    options: Any = None
    answer: Any = ""
    text: Any = ""
    dataset: Any = ""
    normalizer: Any = None
    audio: Any = None


class TextRow(msgspec.Struct):
    """Hold a row of any task template, with its texts."""

    doc: Doc
    filtered_resps: Any = ""
    audio_coverage: Any = None
    repetition: Any = None

    @property
    def response(self) -> Any:
        """Return the first response."""
        return first_of(self.filtered_resps)


Form = TypeVar("Form")


def read_texts(path: Path) -> Iterator[TextRow]:
    """Yield the rows of a sample file with their texts; errors as for `read_rows`."""
    for _, row in read_rows(path, TextRow, "an object doc with an id"):
        yield row


def first_of(filtered: Any) -> Any:
    """Return the first response of `filtered_resps`, which filters may have put into lists.

    >>> first_of([["so it goes", "so"]]), first_of([])
    ('so it goes', '')
    """
    while isinstance(filtered, list):
        filtered = filtered[0] if filtered else ""
    return filtered


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a sample file, numbered from 1; refuse a missing file and a line that is too long."""
    try:
        with open_plain(path) as file:
            for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE), b""), 1):
                if len(line) == LONGEST_LINE:
                    raise SpeechIQError(
                        f"{locate(path, number)} is longer than {LONGEST_LINE} bytes, too long for a row of lm-eval",
                        fix="rerun this task",
                    )
                yield number, line
    except FileNotFoundError as error:
        raise SpeechIQError(
            f"no samples {path.name!r} in {str(path.parent)!r}", "rerun lm_eval with --log_samples"
        ) from error
    except OSError as error:
        raise SpeechIQError(
            f"{str(path)!r} cannot be read", error.strerror, "make it readable or move it away"
        ) from error


def read_rows(path: Path, form: type[Form], needs: str) -> Iterator[tuple[int, Form]]:
    """Yield number and row, in a given form, of each line of a sample file; refuse one without what it `needs`."""
    decoder = msgspec.json.Decoder(form)
    for number, line in read_lines(path):
        try:
            row: Form = decode(line, decoder)
        except ValueError as error:
            raise refusal(path, number, needs, error) from error
        try:
            refuse_extremes(_values(row))
        except ValueError as error:
            raise SpeechIQError(f"{locate(path, number)} cannot be used", error, "rerun this task") from error
        yield number, row


def refusal(path: Path, number: int, needs: str, error: Exception) -> SpeechIQError:
    """Return the error for a line that `decode` refused."""
    if isinstance(error, msgspec.ValidationError):
        return SpeechIQError(f"{locate(path, number)} needs {needs} ({error})", fix="rerun this task")
    return SpeechIQError(
        f"{locate(path, number)} is not a whole JSON object (the file may be cut off)", error, "rerun this task"
    )


def locate(path: Path, number: int) -> str:
    """Return the place of a line in words, for messages."""
    return f"{str(path)!r} line {number}"


def show_item(item: Item) -> str:
    """Return the name of an item for messages, with unprintable characters escaped.

    >>> show_item(("demo/01", "q2"))
    "clip 'demo/01' question 'q2'"
    """
    return " ".join(f"{kind} {part!r}" for kind, part in zip(("clip", "question"), item, strict=False))


def _values(row: Any) -> Any:
    """Return a row with lists in the place of structs."""
    return list(map(_values, msgspec.structs.astuple(row))) if isinstance(row, msgspec.Struct) else row
