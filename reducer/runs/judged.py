"""Read the rows of tasks whose answers a judge scored: question, answer, judgments, and who judged."""

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from speechiq.core.console import count_of, printable
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import content_sha256, decode, shorten
from speechiq.core.files.plain import locate_line
from speechiq.metrics.judge.rubric import read_rubric, shipped_rubrics
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.samples import first_of, read_sample_rows
from speechiq.reducer.runs.table import Item
from speechiq.reducer.runs.tasks import find_tasks

#: Keys of metadata that say who judged and how.
JUDGE_KEYS = (
    "judge",
    "judge_rubric",
    "judge_rubric_sha256",
    "judge_draws",
    "judge_seed",
    "judge_by",
    "judge_identity",
)
EXACT_MATCH = "exact_match"
#: What a judge of transcripts answers, for the pages that show questions.
QUESTION = "Does the transcript mean what was said?"
NEEDS = "an object doc with the texts id and question, and the fields that metadata.item of its task names"
FIX = "give the folder of a run with a judged task, such as one of `lm_eval --tasks audiobench_demo`"


def name_judge(metadata: Mapping[str, Any]) -> str:
    """Return the judge of a task in words.

    >>> name_judge({"judge": "openai:gpt-4o", "judge_rubric": "grade_0_5", "judge_draws": 3})
    'judged by openai:gpt-4o, rubric grade_0_5, 3 judgments'
    >>> name_judge({"judge": "exact_match"})
    'exact_match: no model'
    """
    judge = metadata.get("judge")
    if judge in (None, EXACT_MATCH):
        return f"{EXACT_MATCH}: no model" if judge else "judge not recorded"
    draws = metadata.get("judge_draws", 1)
    by = "by likelihood" if metadata.get("judge_by") == "likelihood" else count_of(draws, "judgment")
    options = (metadata.get("judging") or {}).get("options") or {}
    hidden = ", without checklists" if options.get("checklist") == "off" else ""
    return printable(f"judged by {judge}, rubric {_name_rubric(metadata)}, {by}{hidden}")


def _name_rubric(metadata: Mapping[str, Any]) -> str:
    """Return the name of the rubric with its version if it is one of speechiq, else with the digits of its sha256."""
    name, digest = str(metadata.get("judge_rubric", "not recorded")), metadata.get("judge_rubric_sha256")
    if name in shipped_rubrics() and read_rubric(name).sha256 == digest:
        return f"{name} v{read_rubric(name).version}"
    return f"{name} {shorten(str(digest))}" if digest else name


def name_judges(tasks: Iterable[TaskRun]) -> str:
    """Return the judges of some tasks in words, each once."""
    return "; ".join(sorted({name_judge(task.metadata) for task in tasks}))


class JudgedDoc(msgspec.Struct):
    """Hold the texts of the doc of a judged task."""

    id: str | int | float
    question: str
    answer: str = ""
    checklist: Any = ""
    audio: Any = None
    cluster: str | int | float | None = None


class Stored(msgspec.Struct):
    """Hold what the filter of a judged task left in `filtered_resps`: the answer, and a text per draw of the judge.

    `scores` has the score of each draw on the scale of the rubric; None for one that could not be read.
    """

    answer: str
    scores: list[float | None]
    texts: list[str]

    @property
    def points(self) -> float:
        """Return the mean of the scores that could be read; NaN without one.

        >>> Stored("yes", [4.0, None, 5.0], ["4", "?", "5"]).points
        4.5
        """
        return _mean_known(self.scores)


class Judged(NamedTuple):
    """Hold one judged answer; numbers that a row does not have are NaN.

    Attributes:
        scores: Score of each draw on the scale of the rubric; NaN for one that could not be read.
        judge: Their mean as a share of the scale, 0 to 1.
        rule: Score without a judge: 1 if the answer matches by rule, else its F1.
        texts: What the judge wrote in each draw.
    """

    answer: str
    scores: tuple[float, ...]
    judge: float
    rule: float
    match: float
    words: float
    refusal: float
    empty: float
    texts: tuple[str, ...] = ()

    @property
    def points(self) -> float:
        """Return the mean of the readable scores on the scale of the rubric; NaN without one."""
        return _mean_known(self.scores)

    @property
    def unjudged(self) -> bool:
        """Return whether no draw has a score."""
        return math.isnan(self.judge)


class _JudgeColumns(msgspec.Struct):
    """Hold a row with the columns of a judged task; rows of other tasks have no `unjudged`."""

    doc: dict[str, Any]
    filtered_resps: Any = None
    judge: float | None = None
    meaning: float | None = None
    transcript_error: float | None = None
    unjudged: float | None = None
    refusal: float | None = None
    empty_answer: float | None = None
    exact_match: float | None = None
    f1: float | None = None
    answer_words: float | None = None


class JudgedRow(NamedTuple):
    """Hold a judged row: a digest that names the answer, its item (the clip first), and the row as lm-eval wrote it."""

    id: str
    item: Item
    task: TaskRun
    row: dict[str, Any]
    doc: JudgedDoc
    stored: Stored


_ITEM = msgspec.json.Decoder(dict[str, Any])
_STORED = msgspec.json.Decoder(Stored)


def find_judged(runs: Iterable[Path], allow_missing: bool = False) -> tuple[list[TaskRun], list[str]]:
    """Find the judged tasks of every system (those that record a judge), with warnings; as `find_tasks`."""
    return _find(runs, allow_missing, lambda task: "judge" in task.metadata, "judged task", FIX)


def find_transcripts(runs: Iterable[Path], allow_missing: bool = False) -> tuple[list[TaskRun], list[str]]:
    """Find the tasks of every system that transcribe (those with a WER), with warnings; as `find_tasks`."""
    fix = "give the folder of a run with a task that is scored by WER, such as siq_demo_remember"
    return _find(runs, allow_missing, is_transcribed, "transcripts", fix)


def _find(
    runs: Iterable[Path], allow_missing: bool, is_wanted: Callable[[TaskRun], bool], noun: str, fix: str
) -> tuple[list[TaskRun], list[str]]:
    """Find the tasks of one kind; refuse runs without any."""
    runs = list(runs)
    tasks, warnings = find_tasks(runs, allow_missing)
    wanted = list(filter(is_wanted, tasks))
    if not wanted:
        names = ", ".join(sorted({task.task for task in tasks}))
        if any(task.imported for task in tasks):
            fix = f"imported answers keep the scores that they came with; {fix}"
        raise SpeechIQError(f"no {noun} in {', '.join(repr(str(run)) for run in runs)}, only {names:.300}", fix=fix)
    return wanted, warnings


def is_transcribed(task: TaskRun) -> bool:
    """Return whether the answers of a task are transcripts with a WER."""
    return "wer" in task.category.measure.columns


def read_judgments(task: TaskRun) -> dict[Item, Judged]:
    """Return item -> what a judge made of its answer, for the rows of a task that a judge scored."""
    judged: dict[Item, Judged] = {}
    for _, row in read_sample_rows(
        task.samples, _JudgeColumns, "an object doc, and numbers in the columns of its judge"
    ):
        stored = read_stored(row.filtered_resps)
        if stored is None or row.unjudged is None:
            continue
        item = tuple(str(row.doc.get(field, "")) for field in task.category.item)
        match, f1 = _number(row.exact_match), _number(row.f1)
        if row.transcript_error is not None:
            match = 1.0 - row.transcript_error
        judged[item] = Judged(
            answer=stored.answer,
            scores=tuple(map(_number, stored.scores)),
            judge=_number(row.judge if row.meaning is None else row.meaning),
            rule=1.0 if match >= 1 else f1,
            match=match,
            words=_number(row.answer_words),
            refusal=_number(row.refusal),
            empty=_number(row.empty_answer),
            texts=tuple(stored.texts),
        )
    return judged


def read_judged(task: TaskRun) -> tuple[list[dict[str, Any]], list[JudgedRow]]:
    """Return all rows of a task as lm-eval wrote them, and those that a judge scored; refuse a task without any."""
    rows = list(read_sample_rows(task.samples, dict[str, Any], NEEDS))
    judged = [
        _judged_row(task, locate_line(task.samples, number), row, stored)
        for number, row in rows
        if (stored := read_stored(row.get("filtered_resps"))) is not None
    ]
    if not judged:
        raise SpeechIQError(task.samples, f"has no judged answer in {count_of(len(rows), 'row')}", FIX)
    return [row for _, row in rows], judged


def read_transcripts(task: TaskRun) -> tuple[list[dict[str, Any]], list[JudgedRow]]:
    """Return all rows of a task as lm-eval wrote them, and those with a transcript, judged or not, as `read_judged`.

    A row that was not judged gets the question and the answer of its doc that judged rows have.
    """
    rows = list(read_sample_rows(task.samples, dict[str, Any], "an object doc with the texts id and text"))
    transcribed = []
    for number, row in rows:
        where = locate_line(task.samples, number)
        doc = row.get("doc")
        if not isinstance(doc, dict) or not isinstance(doc.get("text"), str):
            raise SpeechIQError(f"{where} needs an object doc with the texts id and text", fix="rerun this task")
        stored = read_stored(row.get("filtered_resps"))
        if stored is None:
            stored = Stored(str(first_of(row.get("filtered_resps"))), [], [])
            coverage = row.get("audio_coverage")
            row["filtered_resps"] = [{"answer": stored.answer, "scores": [], "texts": [], "coverage": coverage}]
            row["doc"] = {"question": QUESTION, "answer": doc["text"]} | doc
        transcribed.append(_judged_row(task, where, row, stored))
    return [row for _, row in rows], transcribed


def read_stored(filtered: Any) -> Stored | None:
    """Return what the filter of a judged task left; None for what another filter left.

    lm-eval writes a text for anything in `filtered_resps`.

    >>> read_stored(['{"answer": "yes", "scores": [null], "texts": ["?"], "coverage": NaN}']).answer
    'yes'
    >>> read_stored(["yes"]) is None
    True
    """
    first = first_of(filtered)
    try:
        if isinstance(first, str):
            return decode(first.encode(), _STORED) if first.startswith("{") else None
        return msgspec.convert(first, Stored) if isinstance(first, dict) else None
    except ValueError:
        return None


def read_item(filtered: Any) -> dict[str, Any]:
    """Return everything that the filter of a judged task left, of a row that `read_stored` reads.

    >>> read_item(['{"answer": "yes", "scores": [1], "texts": [""], "written": "Yes."}'])["written"]
    'Yes.'
    """
    first = first_of(filtered)
    return decode(first.encode(), _ITEM) if isinstance(first, str) else dict(first)


def _mean_known(scores: Iterable[float | None]) -> float:
    known = [score for score in scores if score is not None and not math.isnan(score)]
    return sum(known) / len(known) if known else math.nan


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _judged_row(task: TaskRun, where: str, row: dict[str, Any], stored: Stored) -> JudgedRow:
    try:
        doc = msgspec.convert(row.get("doc"), JudgedDoc)
    except ValueError as error:
        raise SpeechIQError(f"{where} needs {NEEDS} ({error})", fix="rerun this task") from error
    if missing := [field for field in task.category.item if field not in row["doc"]]:
        raise SpeechIQError(f"{where} needs {NEEDS} ({', '.join(missing)} is missing)", fix="rerun this task")
    if not doc.question.strip():
        raise SpeechIQError(where, f"the question of {str(doc.id)!r} is empty", "rerun this task")
    item = tuple(str(row["doc"][field]) for field in task.category.item)
    named = [task.system, task.task, item, doc.question, doc.answer, stored.answer]
    return JudgedRow(content_sha256(named)[:16], item, task, row, doc, stored)
