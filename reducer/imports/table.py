"""Read a table of outputs: CSV, TSV or JSON lines with a row per clip or question, of one system or of several."""

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from speechiq.core.errors import RowError, SpeechIQError
from speechiq.core.files.tables import check_columns, is_table, read_name, read_number, stream_rows
from speechiq.metrics.letters.options import ALPHABET
from speechiq.reducer.imports.rows import Form, OutputRow
from speechiq.siq_tasks.loaders.entities import ENTITIES, read_entities
from speechiq.siq_tasks.loaders.question_columns import parse_options

REFERENCE, TRANSCRIPT, OPTIONS, SCORE = "reference", "transcript", "options", "score"
QUESTION, ANSWER, GOLD = "question", "answer", "gold"
#: Columns of which each is wanted if one of them is there.
PAIRS = ((REFERENCE, TRANSCRIPT), (ANSWER, GOLD))
KNOWN = {
    *("id", "audio", "question_id", QUESTION, "system", "cluster", "duration"),
    *(OPTIONS, SCORE, ENTITIES, *sum(PAIRS, ())),
}
FIX = "rename a column; docs/how-to/outputs_of_others.md lists them"
SEPARATOR = ";"


def _fits(path: Path) -> bool:
    """Return whether a file is a table with the columns of this form."""
    if not is_table(path):
        return False
    try:
        line = next(stream_rows(path))
        _check_columns(line.row, path)
    except SpeechIQError:
        return False
    return True


def _read(paths: list[Path]) -> Iterator[OutputRow]:
    """Yield the rows of tables; columns that this form does not know are groups."""
    for path in paths:
        first: Mapping[str, Any] | None = None
        for _, where, row in stream_rows(path):
            if first is None:
                first = row
                _check_columns(first, path)
            yield _read_row(row, where, is_free=SCORE not in first)


def _check_columns(columns: Iterable[str], path: Path) -> None:
    """Refuse a table without the columns of clips, or without columns that can be scored together."""
    names = list(columns)
    if "audio" not in names:
        check_columns(names, ["id"], path, FIX)
    has_options = OPTIONS in names or {"A", "B"} <= {*names}
    for pair in PAIRS[1:] if has_options and TRANSCRIPT not in names else PAIRS:
        if {*pair} & {*names} and SCORE not in names:
            check_columns(names, pair, path, FIX)
    is_complete = {REFERENCE, TRANSCRIPT} <= {*names} or SCORE in names
    is_complete |= ANSWER in names and (has_options or QUESTION in names)
    if not is_complete:
        raise SpeechIQError(
            path,
            f"no columns to score; it has {', '.join(names)}",
            "write reference and transcript, or question, answer and gold, or options (or A, B, ...) too, or score",
        )


def _read_row(row: Mapping[str, Any], where: str, *, is_free: bool) -> OutputRow:
    options = _read_options(row, where)
    transcript = _read_text(row, TRANSCRIPT, where)
    if options and not (transcript or "").strip():
        transcript = None
    reference, key, answer = (_read_text(row, name, where) for name in (REFERENCE, GOLD, ANSWER))
    return OutputRow(
        where,
        _read_text(row, "system", where) or "",
        read_name(row, where),
        reference=reference or None,
        transcript=transcript,
        question_id=_read_text(row, "question_id", where) or None,
        question=_read_text(row, QUESTION, where),
        options=options,
        key=key or None,
        answer=answer,
        score=_read_finite(row.get(SCORE), SCORE, where),
        is_free=is_free,
        cluster=_read_text(row, "cluster", where) or None,
        groups=_read_groups(row),
        duration=_read_finite(row.get("duration"), "duration", where),
        entities=_read_entities(row, where),
    )


def _read_text(row: Mapping[str, Any], column: str, where: str) -> str | None:
    value = row.get(column)
    if value is None or isinstance(value, str):
        return value
    if type(value) is int:
        return str(value)
    if isinstance(value, float):
        return f"{value:.15g}"
    raise SpeechIQError(where, f"{column} is {value!r:.80}, not a text", "correct the row")


def _read_finite(value: Any, column: str, where: str) -> float | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    number = read_number(value)
    if not math.isfinite(number):
        raise SpeechIQError(where, f"{column} is {value!r:.80}, not a number", "correct the row")
    return number


def _read_options(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """Return the options of a row: of the columns A, B, ..., or of one column, a list or a text with `;` or letters."""
    value = row.get(OPTIONS)
    if value in (None, ""):
        texts = [_read_text(row, letter, where) or "" for letter in ALPHABET if letter in row]
    else:
        try:
            texts = parse_options(value.split(SEPARATOR) if isinstance(value, str) and SEPARATOR in value else value)
        except SpeechIQError as error:
            raise SpeechIQError(where, error.fault, "write a list, or one text with ; between the options") from error
    while texts and not texts[-1].strip():
        texts.pop()
    return tuple(texts)


def _read_entities(row: Mapping[str, Any], where: str) -> dict[str, list[str]]:
    try:
        return read_entities(row[ENTITIES]) if row.get(ENTITIES) else {}
    except RowError as error:
        raise SpeechIQError(where, error.fault, error.fix) from error


def _read_groups(row: Mapping[str, Any]) -> dict[str, str]:
    others = {name: value for name, value in row.items() if name not in KNOWN and name not in ALPHABET}
    named = {name: str(value).strip() for name, value in others.items() if isinstance(value, str | int | float)}
    return {name: value for name, value in named.items() if value}


FORM = Form(
    "table",
    "CSV, TSV or JSONL with id, reference and transcript, or options, answer and gold, or score",
    _fits,
    _read,
    takes_folders=False,
    takes_highest_score=True,
)
