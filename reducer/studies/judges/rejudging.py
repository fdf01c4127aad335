"""Judge the answers of stored runs again, without running a system, and write them in lm-eval's form.

A run that was judged again is a results file and a sample file for each task.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import as_lines, content_sha256, decode
from speechiq.core.files.plain import check_output_folder, exists, is_file, read_plain, reading, write_whole
from speechiq.metrics.columns import SPREAD, mean, spread
from speechiq.metrics.judge.rubric import MEANING, read_rubric
from speechiq.reducer.runs.judged import (
    EXACT_MATCH,
    JUDGE_KEYS,
    JudgedRow,
    is_transcribed,
    read_item,
    read_judged,
    read_transcripts,
)
from speechiq.reducer.runs.results_file import TaskRun, samples_of

if TYPE_CHECKING:
    from speechiq.metrics.judge.judging import Case, Judgment
    from speechiq.metrics.judge.settings import Judging

ADVICE = "name another folder with --output"
#: Key of a results file that says what its judgments were made from.
ORIGIN = "judged_again"
#: Keys of a results file with an entry for each task or group.
BY_TASK = ("configs", "versions", "n-shot", "higher_is_better", "n-samples")
NOT_AVAILABLE = "N/A"
_UNSAFE = re.compile(r'["<>:/|\\?*\[\]\s]+')
_OBJECT = msgspec.json.Decoder(dict[str, Any])


class JudgingPlan(NamedTuple):
    """Hold a task whose answers are judged again, and its new judge with its rubric."""

    task: TaskRun
    judging: Judging


class Rejudged(NamedTuple):
    """Hold a task with new judgments.

    Attributes:
        rows: All rows of its sample file, those with an answer of the judge new.
        scores: Filter -> column -> its values over the rows that were judged again.
        answers: Number of answers that were judged again.
        unjudged: Number of those without a score.
    """

    plan: JudgingPlan
    rows: list[dict[str, Any]]
    scores: dict[str, dict[str, list[Any]]]
    answers: int
    unjudged: int


def plan_judging(tasks: Sequence[TaskRun], options: Mapping[str, Any]) -> list[JudgingPlan]:
    """Return the new judge of each judged task by keys of metadata (`judge`, `judge_*`), after checking all of them."""
    from speechiq.metrics.judge.settings import read_judging

    if options.get("judge") == EXACT_MATCH and any(map(is_transcribed, tasks)):
        raise SpeechIQError(
            f"judge={EXACT_MATCH}",
            "a rule cannot judge whether a transcript with errors keeps the meaning",
            "name a model, such as --judge openai:MODEL",
        )
    rubrics = {_rubric_of(task) for task in tasks}
    judges = {rubric: read_judging({"judge_rubric": rubric} | dict(options), rubric) for rubric in sorted(rubrics)}
    return [JudgingPlan(task, judges[_rubric_of(task)]) for task in tasks]


def judges_meaning(options: Mapping[str, Any]) -> bool:
    """Return whether keys of metadata name a rubric for transcripts: one with the name `meaning`."""
    named = options.get("judge_rubric")
    return named is not None and read_rubric(str(named)).name == MEANING


def _rubric_of(task: TaskRun) -> str:
    """Return the rubric that a task recorded; that of transcripts for one without a judge."""
    return str(task.metadata.get("judge_rubric", MEANING))


def rejudge(plans: Sequence[JudgingPlan]) -> list[Rejudged]:
    """Judge the answers of some tasks again; all answers with the same rubric at once."""
    from speechiq.metrics.judge.judging import judge_cases

    rows = [_read_rows(plan.task) for plan in plans]
    by_judge: dict[str, list[int]] = {}
    for number, plan in enumerate(plans):
        by_judge.setdefault(content_sha256(plan.judging.record()), []).append(number)
    rejudged: dict[int, Rejudged] = {}
    for numbers in by_judge.values():
        cases = [case for number in numbers for row in rows[number][1] for case in _cases(plans[number], row)]
        judgments = iter(judge_cases(cases, plans[numbers[0]].judging))
        rejudged |= {number: _update(plans[number], *rows[number], judgments) for number in numbers}
    answers = sum(task.answers for task in rejudged.values())
    if answers == sum(task.unjudged for task in rejudged.values()):
        raise SpeechIQError(
            f"judge {plans[0].judging.judge}",
            f"none of {answers} answers has a score, so nothing is written",
            "the reasons are above: try another judge or rubric, or let it write more (--judge-option max_gen_toks=N)",
        )
    return [rejudged[number] for number in range(len(plans))]


def _read_rows(task: TaskRun) -> tuple[list[dict[str, Any]], list[JudgedRow]]:
    return read_transcripts(task) if is_transcribed(task) else read_judged(task)


def _scorer(plan: JudgingPlan) -> Any:
    """Return the module that judges the answers of a task, by its type."""
    from speechiq.metrics import reply
    from speechiq.metrics.judge import free_answers as judge
    from speechiq.metrics.judge import meaning

    if is_transcribed(plan.task):
        return meaning
    return reply if plan.task.metadata.get("task_type") == "reply" else judge


def _cases(plan: JudgingPlan, answer: JudgedRow) -> list[Case]:
    return list(_scorer(plan).stored_cases(answer.row["doc"], read_item(answer.row["filtered_resps"])))


def _update(
    plan: JudgingPlan, rows: list[dict[str, Any]], judged: Sequence[JudgedRow], judgments: Iterator[Judgment]
) -> Rejudged:
    """Put new judgments into the rows of a task; columns that a row did not have are added to transcripts alone."""
    from speechiq.metrics.columns import SPREAD, worded

    scorer = _scorer(plan)
    scores: dict[str, dict[str, list[Any]]] = {}
    unjudged = 0
    for answer in judged:
        row = answer.row
        row["doc"] |= plan.judging.record()
        new = [next(judgments) for _ in _cases(plan, answer)]
        item = scorer.renew(read_item(row["filtered_resps"]), new)
        columns: dict[str, float] = scorer.score(row["doc"], [item])
        if plan.task.category.column in columns and SPREAD in row:
            columns[SPREAD] = worded(columns[plan.task.category.column], row["doc"])
        unjudged += columns["unjudged"] > 0
        row["filtered_resps"] = [str(item)]
        kept = scores.setdefault(str(row.get("filter")), {})
        for name in columns if is_transcribed(plan.task) else columns.keys() & row.keys():
            row[name] = columns[name]
            kept.setdefault(name, []).append(columns[name])
    return Rejudged(plan, rows, scores, len(judged), unjudged)


class Target(NamedTuple):
    """Hold a run to write: to the results file `path`, in the folder of all runs that are written with it.

    Attributes:
        origin: What the new one was made from and by which judge; an existing file with the same may be replaced.
    """

    folder: Path
    path: Path
    content: dict[str, Any]
    origin: dict[str, Any]


def choose_targets(
    plans: Sequence[JudgingPlan], runs: Sequence[Path], output: Path | None, force: bool
) -> dict[str, Target]:
    """Return results file -> where its run is written, after checking that it can be.

    A folder `runs` is written to `runs-judged-by-JUDGE` beside it, or to `output`, with the same folders inside; of
    several `runs`, each has a folder inside `output`.
    """
    roots = list(dict.fromkeys(run.parent if is_file(run) else run for run in map(Path.absolute, runs)))
    by_results: dict[str, list[JudgingPlan]] = {}
    for plan in plans:
        by_results.setdefault(plan.task.results, []).append(plan)
    targets: dict[str, Target] = {}
    taken: dict[Path, Path] = {}
    for results, judged in by_results.items():
        source = Path(results)
        root = next(root for root in roots if source.absolute().is_relative_to(root))
        folder = root.with_name(f"{root.name}-judged-by-{_UNSAFE.sub('__', judged[0].judging.judge)}")
        if output is not None:
            folder = output if len(roots) == 1 else output / root.name
        path = folder / source.absolute().relative_to(root)
        if taken.setdefault(path, source) != source:
            raise SpeechIQError(
                f"{str(source)!r} and {str(taken[path])!r} would both be written to {str(path)!r}",
                fix="judge them in two calls",
            )
        targets[results] = _choose_target(folder, path, source, judged, force)
    for parent in {target.path.parent for target in targets.values()}:
        check_output_folder(parent, ADVICE)
    return targets


def write_run(target: Target, tasks: Sequence[Rejudged]) -> bool:
    """Write the sample files of one run, then its results file, and return whether anything in them is new."""
    for task in tasks:
        for row in task.rows:
            row["doc_hash"] = _hash(json.dumps(row["doc"], indent=2, ensure_ascii=False))
    files = {samples_of(target.path, task.plan.task.task): as_lines(task.rows) for task in tasks}
    if is_file(target.path) and all(is_file(path) and read_plain(path) == lines for path, lines in files.items()):
        return False
    for path, lines in files.items():
        write_whole(path, lines, ADVICE, make_folders=True)
    text = json.dumps(_new_results(target, tasks), indent=2, ensure_ascii=False)
    write_whole(target.path, text.encode(errors="backslashreplace"), ADVICE)
    return True


def _choose_target(folder: Path, path: Path, source: Path, plans: Sequence[JudgingPlan], force: bool) -> Target:
    content = _read_results(source)
    judges = {plan.task.task: plan.judging.record() for plan in plans}
    origin = {"results": source.name, "date": content["date"], "judges": judges, "speechiq": version("speechiq")}
    if not force:
        written = [path, *(samples_of(path, task) for task in judges)]
        existing = [file for file in written if exists(file)]
        if existing and (not is_file(path) or _read_results(path).get(ORIGIN) != origin):
            raise SpeechIQError(
                f"{str(existing[0])!r} exists and was not made from {str(source)!r} by this judge",
                fix=f"{ADVICE}, or add --force to replace it",
            )
    return Target(folder, path, content, origin)


def _read_results(path: Path) -> dict[str, Any]:
    with reading(path, ADVICE):
        text = read_plain(path)
    try:
        return decode(text, _OBJECT)
    except ValueError as error:
        raise SpeechIQError(path, f"is not a results file of lm-eval ({error})", ADVICE) from error


def _new_results(target: Target, tasks: Sequence[Rejudged]) -> dict[str, Any]:
    """Return the content of the new results file: that of the old one for these tasks, with new scores.

    Means that lm-eval computed over a group of tasks are left out.
    """
    old, by_name = target.content, {task.plan.task.task: task for task in tasks}
    groups = {}
    for group, names in old.get("group_subtasks", {}).items():
        members = [name for name in names if name in by_name]
        if members or group in by_name:
            groups[group] = members
    kept = by_name.keys() | groups.keys()
    new = {key: value for key, value in old.items() if key != "groups"}
    for key in ("results", *BY_TASK):
        if key in old:
            new[key] = {name: entry for name, entry in old[key].items() if name in kept}
    for name, entry in new["results"].items():
        without = {key: value for key, value in entry.items() if "," not in key}
        new["results"][name] = _rescore(entry, by_name[name]) if name in by_name else without
    for name, config in new["configs"].items():
        if name in by_name:
            new["configs"][name] = config | {"metadata": _describe_judge(config["metadata"], by_name[name].plan)}
    hashes = {name: _hash_rows(by_name[name].rows) for name in old.get("task_hashes", {}) if name in by_name}
    return new | {"group_subtasks": groups, "date": time.time(), "task_hashes": hashes, ORIGIN: target.origin}


def _describe_judge(metadata: Mapping[str, Any], plan: JudgingPlan) -> dict[str, Any]:
    """Return the metadata of a task with the new judge instead of the old one and its options."""
    others = {key: value for key, value in metadata.items() if key not in ("judge", "judging") and key[:6] != "judge_"}
    described = others | plan.judging.record()
    return _describe_meaning(described) if is_transcribed(plan.task) else described


def _describe_meaning(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a task with the columns that a judge of its transcripts adds."""
    from speechiq.metrics.judge.meaning import ALTERNATIVES, EXTRA_COLUMNS

    measure = dict(metadata["measure"])
    measure["alternatives"] = measure.get("alternatives", {}) | ALTERNATIVES
    added = {column["column"] for column in EXTRA_COLUMNS}
    others = [column for column in metadata.get("extra_columns", ()) if column["column"] not in added]
    settings = dict.fromkeys([*metadata.get("settings", ()), *JUDGE_KEYS])
    return {**metadata, "measure": measure, "extra_columns": [*others, *EXTRA_COLUMNS], "settings": [*settings]}


def _rescore(entry: Mapping[str, Any], task: Rejudged) -> dict[str, Any]:
    """Return the scores of a task, new for each column that depends on the judge (`column,filter` -> mean)."""
    new = dict(entry)
    for kind, columns in task.scores.items():
        for column, values in columns.items():
            if f"{column},{kind}" in entry or is_transcribed(task.plan.task):
                new[f"{column},{kind}"] = spread(values) if column == SPREAD else mean(values)
            # lm-eval has no standard error for aggregations that it does not know.
            if entry.get(f"{column}_stderr,{kind}", NOT_AVAILABLE) != NOT_AVAILABLE:
                new[f"{column}_stderr,{kind}"] = _standard_error(values)
    return new


def _standard_error(values: Sequence[float]) -> float | str:
    known = [value for value in values if not math.isnan(value)]
    return float(np.std(known, ddof=1) / math.sqrt(len(known))) if len(known) > 1 else NOT_AVAILABLE


def _hash_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    return _hash("".join(f"{row['doc_hash']}{row.get('prompt_hash', '')}{row.get('target_hash', '')}" for row in rows))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
