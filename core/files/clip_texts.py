"""Read the texts of clips: tables, manifests of NeMo, and `text` files of Kaldi and ESPnet."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_lines import Line, read_objects
from speechiq.core.files.plain import read_plain
from speechiq.core.files.tables import SEPARATORS, is_table, read_field, read_id, read_rows
from speechiq.core.ids import compose

#: Endings of files with an id and its words per line; the file of Kaldi is called `text`.
PLAIN = ("", ".txt", ".text")
FORMS = (
    "give a CSV, TSV or JSONL file with the columns id (or audio) and text, a manifest of NeMo, or a `text` file of "
    "Kaldi or ESPnet, with an id and its words per line"
)
#: Column of the file in manifests of NeMo, which is called `audio` here.
AUDIO, MANIFEST_AUDIO = "audio", "audio_filepath"


def read_clip_texts(file: Path) -> list[Line]:
    """Return a row per clip, with `id` or `audio` and mostly `text`; refuse a file that is not one of `FORMS`.

    Rows of tables keep their other columns.
    """
    if is_table(file):
        lines = read_rows(file)
    elif file.suffix.lower() in PLAIN:
        lines = [*_read_plain(file)]
    else:
        raise SpeechIQError(file, f"not one of {', '.join([*SEPARATORS, *PLAIN[1:]])}", FORMS)
    if not lines:
        raise SpeechIQError(file, "has no rows", FORMS)
    return [line._replace(row=_rename(line.row)) for line in lines]


def _read_plain(file: Path) -> Iterator[Line]:
    try:
        lines = read_plain(file).decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise SpeechIQError(file, f"not UTF-8 ({error})", "save it in UTF-8") from error
    except OSError as error:
        raise SpeechIQError(file, f"cannot be read ({error.strerror})", FORMS) from error
    if lines[0].startswith("{"):
        yield from read_objects(file, FORMS)
        return
    for number, line in enumerate(lines, 1):
        if parts := line.strip().split(maxsplit=1):
            yield Line(number, f"{file} line {number}", {"id": parts[0], "text": "".join(parts[1:])})


def _rename(row: Mapping[str, Any]) -> dict[str, Any]:
    if AUDIO in row or MANIFEST_AUDIO not in row:
        return dict(row)
    return {AUDIO if name == MANIFEST_AUDIO else name: value for name, value in row.items()}


def read_name(row: Mapping[str, Any], where: str) -> str:
    """Return the name of the clip of a row: its id, or else the name of its audio file without the ending.

    >>> read_name({"id": 7, "audio": "monday/call1.wav"}, ""), read_name({"audio": "monday/call1.wav"}, "")
    ('7', 'call1')
    """
    if row.get("id") not in (None, ""):
        return compose(read_id(row, "id", where))
    return compose(Path(read_field(row, AUDIO, where)).stem)
