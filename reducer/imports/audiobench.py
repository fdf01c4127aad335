"""Read the logs of AudioBench: a folder per model with a JSON file per set, of words, judged answers or letters."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import decode
from speechiq.core.files.plain import open_plain, read_plain, reading
from speechiq.reducer.imports.rows import Form, OutputRow, find_number, find_text

#: Judges have names such as `gpt4o` and `llama3_70b`.
JUDGE = r"(?:[a-z]+[\d.]*_\d+b|[^_]+)_judge"
NAME = re.compile(rf"(?P<set>.+?)_(?P<kind>wer|string_match|{JUDGE}(?P<binary>_binary)?)_score")
#: Best score of a judge; that of a binary judge is 1.
HIGHEST = 5
#: Before an option and before the right answer.
LETTER = re.compile(r"^\(([A-Z])\)\s*")


class AudioBenchLog(msgspec.Struct):
    """Hold the rows of a log; each kind of log has one of the lists."""

    sample_wer: list[Any] | None = None
    details: list[Any] | None = None


_LOG = msgspec.json.Decoder(AudioBenchLog)


def _fits(path: Path) -> bool:
    if path.suffix != ".json" or not NAME.fullmatch(path.stem):
        return False
    try:
        with open_plain(path) as file:
            return file.read(256).lstrip().startswith(b"{")
    except OSError:
        return False


def _read(paths: list[Path]) -> Iterator[OutputRow]:
    """Yield the rows of logs; one log at a time is kept, since it is one JSON text."""
    seen: dict[tuple[str, str], Path] = {}
    for path in paths:
        named = NAME.fullmatch(path.stem)
        if path.suffix != ".json" or named is None:
            fix = "name files that end in _wer_score.json, _judge_score.json or _string_match_score.json"
            raise SpeechIQError(path, "not a log of AudioBench", fix)
        system, name = path.absolute().parent.name, named["set"]
        first = seen.setdefault((system, name), path)
        if first != path:
            raise SpeechIQError(path, f"{first} has scores of the same answers", "import those of one judge at a time")
        for number, row in enumerate(_read_log(path, named["kind"]), 1):
            empty = OutputRow(f"{path} row {number}", system, str(number), category=name)
            yield _read_words(row, empty) if named["kind"] == "wer" else _read_answer(row, empty, named)


def _read_log(path: Path, kind: str) -> list[Any]:
    """Return the rows of a log, which are objects; those of words may be lists."""
    with reading(path):
        text = read_plain(path)
    try:
        log = decode(text, _LOG)
    except ValueError as error:
        raise SpeechIQError(path, f"not a log of AudioBench ({error})", "name a whole log") from error
    rows = log.sample_wer if kind == "wer" else log.details
    if not rows:
        raise SpeechIQError(
            path, f"no rows in {'sample_wer' if kind == 'wer' else 'details'!r}", "name a log with rows"
        )
    return rows


def _read_words(row: Any, empty: OutputRow) -> OutputRow:
    if isinstance(row, list):
        row = dict(zip(("reference", "prediction"), row, strict=False))
    if not isinstance(row, dict):
        return empty
    return replace(empty, reference=find_text(row, "reference"), transcript=find_text(row, "prediction"))


def _read_answer(row: Any, empty: OutputRow, named: re.Match[str]) -> OutputRow:
    """Return an answer, with its options or else with the score of its judge."""
    if not isinstance(row, dict):
        return replace(empty, question_id=empty.clip)
    reference, choices = find_text(row, "reference"), row.get("choices")
    is_choice = isinstance(choices, list) and all(isinstance(choice, str) for choice in choices)
    letter = LETTER.match(reference) if is_choice and reference else None
    options = [LETTER.sub("", choice, count=1) for choice in choices] if isinstance(choices, list) and is_choice else []
    return replace(
        empty,
        question_id=empty.clip,
        question=find_text(row, "question"),
        options=tuple(options),
        key=letter[1] if letter else reference,
        answer=find_text(row, "model_prediction"),
        score=None if is_choice else _read_score(row, HIGHEST if named["binary"] is None else 1),
        groups=_find_groups(row),
    )


def _find_groups(row: Mapping[str, Any]) -> dict[str, str]:
    task = find_text(row, "task")
    return {"task": task} if task else {}


def _read_score(row: Mapping[str, Any], highest: int) -> float | None:
    """Return the score from 0 to 1; None if it is no such score, also for the 0 of a reply without one."""
    score = find_number(row, "rate_score")
    if score is None or not 0 <= score <= highest or not row.get("success", True):
        return None
    return score / highest


FORM = Form(
    "audiobench",
    "`<model>/<set>_wer_score.json`, `..._judge_score.json` and `..._string_match_score.json`",
    _fits,
    _read,
)
