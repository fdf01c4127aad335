"""Choose the formats of the files that a command writes, from the endings of their names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import check_output, check_output_folder, is_folder, refuse_same, write_whole
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.tables.records import FIX

#: Format -> the ending of its files.
ENDINGS = {"json": ".json", "csv": ".csv", "markdown": ".md", "latex": ".tex", "page": ".html", "labels": ".jsonl"}
#: The format of a folder with results files of lm-eval.
HARNESS = "harness"


class Output(NamedTuple):
    """A file to write, and its format."""

    path: Path
    format: str


def list_outputs(given: Sequence[Path] | None, formats: Collection[str], force: bool) -> list[Output]:
    """Return the files to write, after checking that each can be written.

    Args:
        given: What `--output` names; the ending of a name chooses the format.
        formats: The formats that the command writes.
        force: Whether files that exist are replaced.

    Raises:
        SpeechIQError: A name has another ending, one file is named twice, or a file exists or cannot be written.
    """
    outputs = [Output(path, _read_format(path, formats)) for path in given or ()]
    refuse_same(output.path for output in outputs)
    for path, format in outputs:
        if format == HARNESS:
            check_output_folder(path, FIX)
        else:
            check_output(path, force, FIX)
    return outputs


def write_outputs(
    outputs: Iterable[Output],
    texts: Mapping[str, Callable[[], str]],
    write_folder: Callable[[Path], None] | None = None,
) -> None:
    """Write files whole, and say so for each; half a surrogate pair in a name is written as its escape.

    Args:
        outputs: What `list_outputs` returned.
        texts: Format -> returns the text; only the formats of the files are made.
        write_folder: Writes results files of lm-eval into a folder.
    """
    for path, format in outputs:
        if format == HARNESS and write_folder:
            write_folder(path)
        else:
            write_whole(path, texts[format]().encode(errors="backslashreplace"), FIX)
        say(f"wrote {path}")


def _read_format(path: Path, formats: Collection[str]) -> str:
    """Return the format that the ending of a name chooses; for another folder or a name without one `HARNESS`."""
    endings = {ENDINGS[name]: name for name in formats if name != HARNESS}
    if path.suffix.lower() not in endings:
        if HARNESS in formats and (is_folder(path) or not path.suffix):
            return HARNESS
        raise SpeechIQError(
            f"--output {path}: its ending names no format; {did_you_mean(path.suffix, endings)}"
            f"end the name in {' or '.join(endings)}"
            + (", or name a folder, for results files of lm-eval" if HARNESS in formats else "")
        )
    return endings[path.suffix.lower()]
