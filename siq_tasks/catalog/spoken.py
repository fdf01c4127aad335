"""Make a data set of texts that voices speak: read the texts, choose their voices, and write the folder."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import as_lines
from speechiq.core.files.plain import read_lines
from speechiq.core.files.tables import check_columns, is_table, read_field, read_id, read_table
from speechiq.core.ids import PLAIN
from speechiq.core.recordings.audio_file import encode_audio
from speechiq.siq_tasks.catalog.folders import complete_folder

METADATA, VOICES, AUDIO = "metadata.jsonl", "voices.json", "audio"
#: Columns that are written; `file_name` is what `datasets` calls the column of audio in such a folder.
WRITTEN = ("file_name", "voice", "seed", "seconds")
#: More characters than a voice speaks in the 10 minutes of the longest clip.
LONGEST_TEXT = 6000
LONGEST_SHOWN = 40


class Spoken(NamedTuple):
    """Hold the row of a text, with its `voice` (`ENGINE:MODEL`) and `seed`, and its speech."""

    row: Mapping[str, Any]
    clip: Clip


def read_spoken_texts(path: Path) -> list[dict[str, Any]]:
    """Return the rows of the texts of a file, with their ids; refuse a text, an id or a column that cannot be used.

    It is a `.jsonl`, `.csv` or `.tsv` file with the column `text`, and optionally `id` and others, or any other file,
    with a text per line; its blank lines are left out. Ids are by default the positions of rows or lines, `00000` and
    so on.
    """
    rows = dict(enumerate(read_table(path), 1)) if is_table(path) else _read_lines(path)
    columns = set[str]().union(*rows.values())
    check_columns(next(iter(rows.values())), ["text"], path)
    if taken := sorted(columns & set(WRITTEN)):
        raise SpeechIQError(path, f"a column {taken[0]!r} would be overwritten", "rename or remove it")
    found, places = [], dict[str, int]()
    for number, row in rows.items():
        where = f"{path} row {number}"
        key = f"{number - 1:05}" if row.get("id") in (None, "") else read_id(row, "id", where)
        if (first := places.setdefault(key, number)) != number:
            raise SpeechIQError(path, f"rows {first} and {number} have the same id, {key!r}", "make ids unique")
        text = read_field(row, "text", where)
        if fault := find_unspeakable(text):
            raise SpeechIQError(where, f"{text[:LONGEST_SHOWN]!r} {fault}")
        found.append({**row, "id": key, "text": text})
    return found


def find_unspeakable(text: str) -> str | None:
    r"""Return why a text cannot be spoken, and the fix; None if it can.

    >>> find_unspeakable("Yes."), find_unspeakable("...")
    (None, 'has no letter or digit to speak; correct or leave out the row')
    """
    if control := next((char for char in text if not char.isprintable() and not char.isspace()), None):
        return f"has the control character {control!r}; remove it"
    if not any(char.isalnum() for char in text):
        return "has no letter or digit to speak; correct or leave out the row"
    if len(text) > LONGEST_TEXT:
        return f"has {len(text)} characters, which take longer than 10 minutes; split it into at most {LONGEST_TEXT}"
    return None


def _read_lines(path: Path) -> dict[int, dict[str, Any]]:
    """Return the lines that are not blank by their numbers from 1."""
    lines = read_lines(path, path, "give a file with a text per line, or a .jsonl or .csv table")
    rows = {number: {"text": line.strip()} for number, line in enumerate(lines, 1) if line.strip()}
    if not rows:
        raise SpeechIQError(path, "is empty", "write a text per line")
    return rows


def choose_voice(id: str, voices: Sequence[str]) -> str:
    """Return the voice of a text, which depends on its id alone, so that every subset has the same voices.

    >>> choose_voice("a", ["flite:slt"]), choose_voice("a", ["flite:slt", "flite:awb"])
    ('flite:slt', 'flite:awb')
    """
    return voices[_digest(id) % len(voices)]


def choose_seed(id: str, seed: int) -> int:
    """Return the seed of a text, which depends on its id and on the seed of the whole set; 32 bits."""
    return _digest(f"{seed}/{id}") % 2**32


def _digest(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest())


def write_spoken_set(folder: Path, spoken: Iterable[Spoken], voices: Mapping[str, Any]) -> None:
    """Write audio files, a table of them and the facts about each voice into a new folder, complete or not at all."""
    with complete_folder(folder.resolve()) as draft:
        draft.joinpath(AUDIO).mkdir()
        rows = []
        for each in spoken:
            id = each.row["id"]
            name = id if PLAIN.fullmatch(id) else hashlib.sha256(id.encode()).hexdigest()
            file = f"{AUDIO}/{name}.wav"
            draft.joinpath(file).write_bytes(encode_audio([each.clip.samples], "WAV"))
            rows.append({"file_name": file, **each.row, "seconds": round(each.clip.duration, 3)})
        draft.joinpath(METADATA).write_bytes(as_lines(rows))
        draft.joinpath(VOICES).write_text(json.dumps(voices, indent=1) + "\n", encoding="utf-8")
