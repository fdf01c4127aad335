"""Find, read and write question files: one JSON object per line, joined to clips by id, never by position.

A line is a question (`QUESTION`), or states that a question could not be written:
`{"id", "question_id", "left_out": reason}`. So a file with left-out questions differs from a file that is not complete.
A table with the columns `COLUMNS`, written by hand, is read too. Imports neither lm-eval nor torch.
"""

import csv
import io
import os
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from platformdirs import user_data_dir

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import Line, as_lines, read_objects
from speechiq.core.files.plain import OWN_FILE, exists, expand, is_file, is_folder, write_whole
from speechiq.core.files.tables import check_columns, read_rows
from speechiq.metrics.letters.options import LETTERS, NONE_OF_THE_ABOVE

GEMINI = "base_url=https://generativelanguage.googleapis.com/v1beta/openai,key_variable=GEMINI_API_KEY"


def place_of(dataset: str) -> Path:
    """Return the place of the question file of a data set in `SIQ_QUESTIONS`, or in the platform's folder for data."""
    folder = os.environ.get("SIQ_QUESTIONS") or Path(user_data_dir("speechiq"), "questions")
    return Path(folder, f"{dataset}.jsonl")


def find_question_file(dataset: str) -> Path | None:
    """Return the question file of `dataset` in the user's folder; None if there is none."""
    return find_written(place_of(dataset))


def find_written(place: Path) -> Path | None:
    """Return a question file, or the `.csv` of its name that was written by hand; refuse two, None if there is none."""
    found = dict.fromkeys(file for file in (place, by_hand(place)) if is_file(file))
    if len(found) > 1:
        raise SpeechIQError(by_hand(place), f"questions are in {place.name} too", "remove one of the two files")
    return next(iter(found), None)


def by_hand(place: Path) -> Path:
    """Return the name of the table that takes the place of a question file."""
    return place.parent / f"{place.stem}.csv"


def find_questions(dataset: str, questions: str | Path | None = None) -> Path:
    """Return the question file of `dataset`: the given one, else the user's."""
    place = place_of(dataset) if questions is None else expand(questions)
    found = find_written(place)
    if found is not None:
        return found
    if questions is not None and is_folder(place.parent) and any(place.parent.glob("siq_*_remember.yaml")):
        dataset = str(place.parent)
    raise SpeechIQError(
        dataset,
        f"no question file {place}",
        f"write it with `{writing_command(dataset)}`, or by hand: "
        f"`siq data questions --dataset {shlex.quote(dataset)} --template`",
    )


def writing_command(dataset: str) -> str:
    """Return the command that writes or completes the questions of `dataset`, with the paper's writer and checkers."""
    return (
        f"siq data questions --dataset {dataset} --writer openai:gpt-4o "
        f"--checker openai:gpt-4o --checker openai:gemini-1.5-flash,{GEMINI}"
    )


FIX = "correct or delete the line"
PER_CLIP = 3
OPTIONS = 4
LONGEST_VALUE = 200
LEFT_OUT = {"id": str, "question_id": str, "left_out": str}
QUESTION = {
    "id": str, "question_id": str, "question": str, "options": list, "answer": str,
    "writer": str, "checkers": list, "prompt_version": int,
}  # fmt: skip

#: What a question that was written by hand has if its line does not give it.
BY_HAND = {"writer": "hand", "checkers": [], "prompt_version": 0}
#: Columns of a table of questions; it may have `question_id` and any others.
COLUMNS = ("id", "question", *LETTERS[:OPTIONS], "answer")
TABLES = (".csv", ".tsv")

_AROUND = re.compile(r"^(?:[,;:!?\"'()]|\.(?!\d))+|[.,;:!?\"'()]+$")
_TAG = re.compile(r"[<\[]\s*/?\s*[a-z][\w\s-]*[>\]]", re.IGNORECASE)


def read_questions(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a question file, left-out questions included; refuse an invalid one by its line number."""
    rows: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    counts: Counter[str] = Counter()
    lines = _read_table(path) if path.suffix.lower() in TABLES else read_objects(path, FIX)
    for number, where, given in lines:
        counts[str(given.get("id"))] += 1
        row = _complete(given, counts[str(given.get("id"))])
        if fault := find_question_fault(row):
            raise SpeechIQError(where, fault, FIX)
        if (first := seen.setdefault(row["question_id"], number)) != number:
            raise SpeechIQError(
                where, f"question_id {_shorten(row['question_id'])} is that of line {first} already", "rename one"
            )
        rows.append(row)
    return rows


def _read_table(path: Path) -> Iterator[Line]:
    """Yield the questions of a table; rows without a question, options and answer are still to be filled in."""
    columns = {column.casefold(): column for column in (*COLUMNS, "question_id")}
    for line in read_rows(path):
        cells = {columns.get(name.casefold(), name): (cell or "").strip() for name, cell in line.row.items()}
        check_columns(cells, COLUMNS, path)
        if any(cells[column] for column in COLUMNS[1:]):
            row = {name: cells[name] for name in ("id", "question_id", "question", "answer") if cells.get(name)}
            options = [cells[letter] for letter in LETTERS[:OPTIONS]]
            _refuse_two_readings(line.where, cells["answer"], options)
            yield line._replace(row=row | {"options": options})


def _refuse_two_readings(where: str, answer: str, options: Sequence[str]) -> None:
    """Refuse an answer by hand that is the letter of one option and the text of another one."""
    texts = {letter: normalize_question(option) for letter, option in zip(LETTERS, options, strict=False)}
    plain = normalize_question(answer)
    letter = plain.upper()
    named = [other for other, text in texts.items() if text == plain]
    if letter in texts and named and letter not in named:
        own, other = options[LETTERS.index(letter)], named[0]
        fault = f"answer {_shorten(answer)} is the letter of {_shorten(own)} and the text of option {other}"
        raise SpeechIQError(where, fault, f"write '{letter}. {own:.40}' or '{other}. {answer}'")


def _complete(row: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return a question with what was left to defaults, and the letter of its answer; `number` counts by clip."""
    if "left_out" in row:
        return dict(row)
    defaults = {"question_id": f"{row.get('id')}-q{number}", **BY_HAND}
    complete = dict(row) | {key: value for key, value in defaults.items() if key not in row}
    options, answer = row.get("options"), row.get("answer")
    if isinstance(answer, str) and isinstance(options, list) and all(isinstance(option, str) for option in options):
        complete["answer"] = find_letter(answer, options) or answer
    return complete


def find_letter(answer: str, options: Sequence[str]) -> str | None:
    """Return the letter of the option that an answer names by letter, text or both, without regard to capitals.

    >>> [find_letter(answer, ["Nine", "Ten", "Noon", "Two"]) for answer in ("B", "(b)", " ten.", "B. Ten", "five")]
    ['B', 'B', 'B', 'B', None]
    """
    plain = normalize_question(answer)
    letters = dict(zip(LETTERS.casefold(), options, strict=False))
    if plain in letters:
        return plain.upper()
    for letter, option in letters.items():
        text = normalize_question(option)
        if plain in (text, f"{letter} {text}"):
            return letter.upper()
    return None


def find_question_fault(row: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a line, or None.

    >>> find_question_fault({"id": "a", "question_id": "a-q1", "left_out": "no checker agreed"})
    >>> find_question_fault({"id": "a", "question_id": 1, "left_out": ""})
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
    plain = [normalize_question(option) for option in options]
    if len(set(plain)) != OPTIONS:
        return f"options {_shorten(options)} are not all different"
    if normalize_question(NONE_OF_THE_ABOVE) in plain:
        return f"{NONE_OF_THE_ABOVE!r} is among the options, but is added as (E) when the question is asked"
    if answer not in LETTERS[:OPTIONS] or len(answer) != 1:
        return f"'answer' is {_shorten(answer)}, neither a letter, A to D, nor the text of one of {_shorten(options)}"
    return None


def _shorten(value: Any) -> str:
    return shown if len(shown := repr(value)) <= LONGEST_VALUE else f"{shown[:LONGEST_VALUE]}..."


def normalize_question(text: str) -> str:
    """Return a text for comparison, without case, extra spaces, and punctuation around words.

    >>> [normalize_question(text) for text in (" The  Memphis hub!", "-1.5 %", ".5", "C++")]
    ['the memphis hub', '-1.5 %', '.5', 'c++']
    """
    return " ".join(_AROUND.sub("", word) for word in text.casefold().split())


def write_questions(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a question file completely or not at all."""
    write_whole(Path(path), as_lines(rows), "name another file", make_folders=True)


def write_template(path: Path, clips: Sequence[Mapping[str, Any]]) -> None:
    """Write a table to be filled in by hand: three rows per clip, with its reference in the last column."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*COLUMNS, "reference"])
    for clip in clips:
        empty = [""] * (len(COLUMNS) - 1)
        writer.writerows([[clip["id"], *empty, " ".join(clip["text"].split())]] * PER_CLIP)
    # With a byte order mark spreadsheets read the file as UTF-8.
    write_whole(path, text.getvalue().encode("utf-8-sig"), OWN_FILE, make_folders=True)


def refuse_special(path: Path) -> None:
    """Refuse the path of a new question file that is a folder, a pipe or a device."""
    if exists(path) and not path.is_file():
        raise SpeechIQError(path, "is a folder, a pipe or a device", "name a file")


def join_questions(
    questions: Sequence[Mapping[str, Any]], clip_ids: Collection[str], dataset: str
) -> list[dict[str, Any]]:
    """Return the questions of the clips in their order, without left-out ones; refuse a clip with too few."""
    refuse_unknown_clips(questions, clip_ids, dataset)
    counts = Counter(row["id"] for row in questions)
    if incomplete := [clip for clip in clip_ids if counts[clip] < PER_CLIP]:
        raise SpeechIQError(
            dataset,
            f"{len(incomplete)} of {len(clip_ids)} clips have too few questions, {incomplete[0]} among them "
            f"with {counts[incomplete[0]]} of {PER_CLIP}",
            f"write them by hand, or with `{writing_command(dataset)}`",
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
