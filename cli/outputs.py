"""Choose the formats of the files that a command writes, from the endings of their names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import OWN_FILE, check_output, refuse_same, write_whole
from speechiq.core.suggestions import did_you_mean

#: Format -> the ending of its files.
ENDINGS = {"json": ".json", "csv": ".csv", "markdown": ".md", "latex": ".tex", "page": ".html"}


class Output(NamedTuple):
    """A file to write, and its format."""

    path: Path
    format: str


def list_outputs(given: Sequence[Path] | None, formats: Collection[str], force: bool) -> list[Output]:
    """Return the files to write, after checking that each can be written.

    Args:
        given: Files of `--output`; the ending of a name chooses the format.
        formats: The formats that the command writes.
        force: Whether files that exist are replaced.

    Raises:
        SpeechIQError: A name has another ending, one file is named twice, or a file exists or cannot be written.
    """
    outputs = [Output(path, _read_format(path, formats)) for path in given or ()]
    refuse_same(output.path for output in outputs)
    for output in outputs:
        check_output(output.path, force, OWN_FILE)
    return outputs


def write_outputs(outputs: Iterable[Output], texts: Mapping[str, Callable[[], str]]) -> None:
    """Write files whole, and say so for each; half a surrogate pair in a name is written as its escape.

    Args:
        outputs: What `list_outputs` returned.
        texts: Format -> returns the text; only the formats of the files are made.
    """
    for file in outputs:
        write_whole(file.path, texts[file.format]().encode(errors="backslashreplace"), OWN_FILE)
        say(f"wrote {file.path}")


def _read_format(path: Path, formats: Collection[str]) -> str:
    endings = {ENDINGS[name]: name for name in formats}
    if path.suffix.lower() not in endings:
        raise SpeechIQError(
            f"--output {path}: its ending names no format; {did_you_mean(path.suffix, endings)}"
            f"end the name in {' or '.join(endings)}"
        )
    return endings[path.suffix.lower()]
