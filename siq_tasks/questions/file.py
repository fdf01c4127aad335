"""Read and write question files: one JSON object per line, joined to clips by id, never by position.

A line is a question (`QUESTION`), or states that a question could not be written:
`{"id", "question_id", "left_out": reason}`. So a file with left-out questions differs from a file that is not complete.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_lines import as_lines, read_objects
from speechiq.core.files.plain import exists, write_whole
from speechiq.metrics.choice import LETTERS, NONE_OF_THE_ABOVE
from speechiq.siq_tasks.questions.location import writing_command

FIX = "correct or delete the line"
PER_CLIP = 3
OPTIONS = 4
SHOWN = 200
LEFT_OUT = {"id": str, "question_id": str, "left_out": str}
QUESTION = {
    "id": str, "question_id": str, "question": str, "options": list, "answer": str,
    "writer": str, "checkers": list, "prompt_version": int,
}  # fmt: skip

_AROUND = re.compile(r"^(?:[,;:!?\"'()]|\.(?!\d))+|[.,;:!?\"'()]+$")
_TAG = re.compile(r"[<\[]\s*/?\s*[a-z][\w\s-]*[>\]]", re.IGNORECASE)


def read_questions(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a question file, left-out questions included; refuse an invalid one by its line number."""
    rows: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    for number, where, row in read_objects(path, FIX):
        if fault := find_fault(row):
            raise SpeechIQError(where, fault, FIX)
        if (first := seen.setdefault(row["question_id"], number)) != number:
            raise SpeechIQError(
                where, f"question_id {_shorten(row['question_id'])} is that of line {first} already", "rename one"
            )
        rows.append(row)
    return rows


def find_fault(row: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a line, or None.

    >>> find_fault({"id": "a", "question_id": "a-q1", "left_out": "no checker agreed"})
    >>> find_fault({"id": "a", "question_id": 1, "left_out": ""})
    "'question_id' is 1, not a str"
    """
    fields = LEFT_OUT if "left_out" in row else QUESTION
    if missing := [key for key in fields if key not in row]:
        return f"misses {', '.join(map(repr, missing))}"
    for key, kind in fields.items():
        if not isinstance(row[key], kind) or isinstance(row[key], bool):
            return f"{key!r} is {_shorten(row[key])}, not a {kind.__name__}"
        if kind is str and not row[key].strip():
            return f"{key!r} is empty"
    return None if "left_out" in row else _find_fault_of_options(row["question"], row["options"], row["answer"])


def _find_fault_of_options(question: str, options: Sequence[Any], answer: str) -> str | None:
    if len(options) != OPTIONS:
        return f"'options' has {count_of(len(options), 'text')}, not {OPTIONS}"
    if invalid := [option for option in options if not isinstance(option, str) or not option.strip()]:
        return f"option {_shorten(invalid[0])} is not a text"
    if tagged := [text for text in (question, *options) if _TAG.search(text)]:
        return f"{_shorten(tagged[0])} contains a transcriber's tag"
    plain = [normalize(option) for option in options]
    if len(set(plain)) != OPTIONS:
        return f"options {_shorten(options)} are not all different"
    if normalize(NONE_OF_THE_ABOVE) in plain:
        return f"{NONE_OF_THE_ABOVE!r} is among the options, but is added as (E) when the question is asked"
    if answer not in LETTERS[:OPTIONS] or len(answer) != 1:
        return f"'answer' is {_shorten(answer)}, which is not one of its options A to D"
    return None


def _shorten(value: Any) -> str:
    return shown if len(shown := repr(value)) <= SHOWN else f"{shown[:SHOWN]}..."


def normalize(text: str) -> str:
    """Return a text for comparison, without case, extra spaces, and punctuation around words.

    >>> normalize(" The  Memphis hub!"), normalize("-1.5 %"), normalize(".5"), normalize("C++")
    ('the memphis hub', '-1.5 %', '.5', 'c++')
    """
    return " ".join(_AROUND.sub("", word) for word in text.casefold().split())


def write_questions(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a question file completely or not at all."""
    write_whole(Path(path), as_lines(rows), "free some space or name another file", make_folders=True)


def refuse_special(path: Path) -> None:
    """Refuse the path of a new question file that is a folder, a pipe or a device."""
    if exists(path) and not path.is_file():
        raise SpeechIQError(f"{str(path)!r} is a folder, a pipe or a device", fix="name a file")


def join(
    questions: Sequence[Mapping[str, Any]], clip_ids: Collection[str], dataset: str, per_clip: int = PER_CLIP
) -> list[dict[str, Any]]:
    """Return the questions of the clips in their order, without left-out ones; refuse a clip with too few."""
    refuse_unknown_clips(questions, clip_ids, dataset)
    counts = Counter(row["id"] for row in questions)
    if incomplete := [clip for clip in clip_ids if counts[clip] < per_clip]:
        raise SpeechIQError(
            dataset,
            f"{len(incomplete)} of {len(clip_ids)} clips have too few questions, {incomplete[0]} among them "
            f"with {counts[incomplete[0]]} of {per_clip}",
            f"complete the file with `{writing_command(dataset)}`",
        )
    places = {clip: place for place, clip in enumerate(clip_ids)}
    written = [dict(row) for row in questions if "left_out" not in row]
    return sorted(written, key=lambda row: places[row["id"]])


def refuse_unknown_clips(questions: Sequence[Mapping[str, Any]], clip_ids: Collection[str], dataset: str) -> None:
    """Refuse questions about clips that are not in the data set."""
    if unknown := sorted({row["id"] for row in questions} - set(clip_ids)):
        raise SpeechIQError(
            dataset,
            f"questions for {count_of(len(unknown), 'clip')} that the set does not have, {unknown[0]} among them; `siq "
            "list tasks` lists the ids of the set",
            "correct the ids, or choose the subset for which the questions were written",
        )
