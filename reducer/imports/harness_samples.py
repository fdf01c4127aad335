"""Read sample files of tasks with audio that lm-eval (`samples_<task>_<date>.jsonl`) and lmms-eval wrote."""

import math
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from speechiq.core.files.json_text import Line, decode
from speechiq.core.files.plain import read_plain
from speechiq.core.files.tables import check_columns, read_number
from speechiq.reducer.imports.rows import (
    Form,
    OutputRow,
    find_number,
    find_text,
    read_first_row,
    read_json_lines,
    say_once,
)

LM_EVAL_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\d[T\d.-]*)\.jsonl")
LMMS_EVAL_NAME = re.compile(r"(?P<date>[\d_T.-]+)_samples_(?P<task>.+)\.jsonl")
#: The columns that are not metrics.
OWN_COLUMNS = {
    *("doc_id", "doc", "target", "arguments", "input", "resps", "filtered_resps", "filter", "metrics"),
    *("doc_hash", "prompt_hash", "target_hash"),
}
REQUIRED = ("doc_id", "target", "filtered_resps")
WORD_METRICS = {"wer", "cer", "mer"}
CLIP_COLUMNS = ("id", "audio_id", "uid", "utt_id", "file_name")


class HarnessResults(msgspec.Struct):
    """Hold what the results beside the samples say: the system, and task -> metric -> whether more is better."""

    model_name: str | None = None
    higher_is_better: dict[str, dict[str, Any]] = {}


_RESULTS = msgspec.json.Decoder(HarnessResults)


def _fits(name: re.Pattern[str], path: Path) -> bool:
    return name.fullmatch(path.name) is not None and set(REQUIRED) <= read_first_row(path).keys()


def _read(name: re.Pattern[str], results: str, paths: list[Path]) -> Iterator[OutputRow]:
    for path in paths:
        named = name.fullmatch(path.name)
        task, date = (named["task"], named["date"]) if named else (path.stem, "")
        about = _read_results(path.with_name(results.format(date)))
        system = about.model_name or path.absolute().parent.name
        first = next(read_json_lines(path))
        check_columns(first.row, REQUIRED, first.where, "name a sample file")
        metric = _find_metric(path, about.higher_is_better.get(task, {}))
        for line in read_json_lines(path):
            # Each filter of a task writes its own row about each document.
            if line.row.get("filter") == first.row.get("filter"):
                row = _read_row(line, system, task, metric)
                if row.score is not None:
                    say_once(f"the score of task {task!r} is its metric {metric!r}")
                yield row


def _read_results(results: Path) -> HarnessResults:
    """Read the results beside the samples; results that cannot be read say nothing."""
    try:
        return decode(read_plain(results), _RESULTS)
    except (OSError, ValueError):
        return HarnessResults()


def _list_metrics(row: Mapping[str, Any]) -> list[str]:
    listed = row.get("metrics")
    return list(map(str, listed)) if isinstance(listed, list) else [name for name in row if name not in OWN_COLUMNS]


def _is_of_words(row: Mapping[str, Any]) -> bool:
    return any(not WORD_METRICS.isdisjoint(name.split("_")) for name in _list_metrics(row))


def _find_metric(path: Path, directions: Mapping[str, Any]) -> str | None:
    """Return the first metric whose values are all from 0 to 1: a rating of 1 would be the best score else.

    A metric of which less is better is none.
    """
    names: list[str] | None = None
    for line in read_json_lines(path):
        if names is None:
            listed = [name for name in _list_metrics(line.row) if directions.get(name) is not False]
            names = [name for name in listed if not math.isnan(_read_metric(line.row, name))]
        names = [name for name in names if not (number := _read_metric(line.row, name)) < 0 and not number > 1]
    return names[0] if names else None


def _read_metric(row: Mapping[str, Any], name: str) -> float:
    """Return the value of a metric, or its value over all where an object has parts of it; NaN if it is no number."""
    value = row.get(name)
    if isinstance(value, dict):
        value = value.get("overall", value.get("score"))
    return float(value) if isinstance(value, bool) else read_number(value)


def _read_row(line: Line, system: str, task: str, metric: str | None) -> OutputRow:
    """Return a transcript if the task has an error rate of words, else an answer with its options or metric."""
    row = line.row
    doc = row.get("doc")
    doc = doc if isinstance(doc, dict) else {}
    number = str(row.get("doc_id"))
    make = partial(OutputRow, line.where, system, _find_clip(doc) or number, category=task)
    duration = find_number(doc, "duration")
    response, target, options = _find_response(row), find_text(row, "target"), _find_options(doc)
    if _is_of_words(row):
        return make(reference=target, transcript=response, duration=duration)
    is_choice = bool(options) and response is not None
    score = math.nan if is_choice or metric is None else _read_metric(row, metric)
    return make(
        question_id=find_text(doc, "question_id") or number,
        question=find_text(doc, "question", "prompt") or find_text(row, "input"),
        options=options if is_choice else (),
        key=_find_key(target, options),
        answer=response,
        score=None if math.isnan(score) else score,
        duration=duration,
    )


def _find_clip(doc: Mapping[str, Any]) -> str | None:
    return next((str(doc[name]) for name in CLIP_COLUMNS if isinstance(doc.get(name), str | int)), None)


def _find_response(row: Mapping[str, Any]) -> str | None:
    """Return the first response; None if it is the likelihoods of options instead of a text."""
    response = row.get("filtered_resps")
    while isinstance(response, list) and response and not _is_likelihood(response):
        response = response[0]
    return response if isinstance(response, str) else None


def _is_likelihood(response: list[Any]) -> bool:
    return len(response) == 2 and response[1] in ("True", "False", True, False)


def _find_options(doc: Mapping[str, Any]) -> tuple[str, ...]:
    options = doc.get("options", doc.get("choices"))
    if isinstance(options, dict):
        options = options.get("text", [*options.values()])
    is_list = isinstance(options, list) and all(isinstance(option, str) for option in options)
    return tuple(options) if is_list else ()


def _find_key(target: str | None, options: tuple[str, ...]) -> str | None:
    """Return the right letter or text; a task may give the number of an option, from 0."""
    is_number = target is not None and target.isdecimal() and target not in options
    if target is None or not is_number or int(target) >= len(options):
        return target
    return chr(ord("A") + int(target))


def _make_form(name: str, describes: str, pattern: re.Pattern[str], results: str) -> Form:
    return Form(name, describes, partial(_fits, pattern), partial(_read, pattern, results))


LM_EVAL = _make_form("lm-eval", "`samples_<task>_<date>.jsonl` of a task with audio", LM_EVAL_NAME, "results_{}.json")
LMMS_EVAL = _make_form("lmms-eval", "`<date>_samples_<task>.jsonl`", LMMS_EVAL_NAME, "{}_results.json")
