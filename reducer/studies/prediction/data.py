"""Gather what predicts failure: which items failed by answer keys or labels, and the metrics of their transcripts.

All tasks in runs are read on equal terms. One row per label; items are left out as the LLMSemDist paper does.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.runs.conditions import compare_systems, summarize
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.samples import (
    FLAGS,
    SampleTable,
    join_clusters,
    join_columns,
    read_sample_table,
    show_item,
)
from speechiq.reducer.runs.systems import System
from speechiq.reducer.runs.table import Item
from speechiq.reducer.runs.tasks import categories_of, find_tasks, group, name_control
from speechiq.reducer.scores.comparability import require_equal
from speechiq.reducer.stats.bootstrap import NO_CLUSTERS

#: Columns that say whether an answer is right. A task with one of them answers.
RIGHT = ("acc", "judge", "contains_answer", "exact_match")
#: Columns of transcripts that are not metrics of it: failures that are counted apart.
NOT_METRICS = {*FLAGS, "corrector_trimmed", "corrector_refused"}

Key = tuple[str, Item]
BY, BY_ANSWERS = "answers", "answers to the questions of each clip"
ERRORS = "wer"
#: Least share of right answers that is a success.
HALF = 0.5


class Tables(NamedTuple):
    """Hold the numbers of all tasks, and one warning per choice that was made between runs."""

    columns: list[SampleTable]
    warnings: list[str]

    @property
    def tasks(self) -> list[TaskRun]:
        """Return the tasks."""
        return [table.task for table in self.columns]

    @property
    def controls(self) -> dict[str, str]:
        """Return the name of each control -> `gold`, `silence` or `letter:X`."""
        return {task.system: control for task in self.tasks if (control := name_control(task.described))}

    @property
    def clusters(self) -> dict[str, str]:
        """Return clip -> its cluster, for clips that have one."""
        return join_clusters(self.columns)

    @property
    def items(self) -> dict[str, set[Item]]:
        """Return system -> the items that it ran."""
        items: dict[str, set[Item]] = {}
        for table in self.columns:
            items.setdefault(table.task.system, set()).update(table["item"])
        return items


def read_tables(runs: Iterable[Path], allow_missing: bool = False, allow_mismatch: bool = False) -> Tables:
    """Read every task in folders or results files; refuse systems on other clips, unless `allow_mismatch`."""
    tasks, warnings = find_tasks(runs, allow_missing)
    mismatches = [mismatch for suite in group(tasks).values() for mismatch in compare_systems(_systems(suite))]
    if mismatches and allow_mismatch:
        warnings = [*warnings, f"not on equal terms: {summarize(mismatches)}"]
    else:
        require_equal(mismatches)
    return Tables([read_sample_table(task, columns=task.signs) for task in tasks], warnings)


def _systems(tasks: list[TaskRun]) -> list[System]:
    """Return the systems of one suite, without scores."""
    levels = categories_of(tasks)
    by_system: dict[str, list[TaskRun]] = {}
    for task in tasks:
        by_system.setdefault(task.system, []).append(task)
    return [System(name, tasks=tuple(own), levels=levels) for name, own in by_system.items()]


class Metric(NamedTuple):
    """Hold a metric of every unit.

    Attributes:
        values: Shape (units,), finite.
        sign: 1 if a higher value is better, -1 if a lower one is.
        undefined: Of how many units it is undefined; these have the value 0.
    """

    values: np.ndarray
    sign: float
    undefined: int

    @property
    def risk(self) -> np.ndarray:
        """Return the values so that they grow with the risk of failure."""
        return -self.sign * self.values


class Labels(NamedTuple):
    """Hold the labels of one source.

    Attributes:
        name: The source, in words.
        success: (system, item) -> whether the task succeeded, so that the answer from the transcript is right.
        notes: A note per choice.
    """

    name: str
    success: dict[Key, bool]
    notes: Sequence[str] = ()


class KeptItems(NamedTuple):
    """Say which items are kept, as `--only` of `siq study predict` does.

    Attributes:
        errors: Whether to keep only items whose transcript has an error.
        answerable: Whether to keep only items that the system answers right from the reference.
        has, no: Keep only items of which this metric is defined, or is not.
    """

    errors: bool = False
    answerable: bool = False
    has: str | None = None
    no: str | None = None


ALL_ITEMS = KeptItems()


class Units(NamedTuple):
    """Describe what is predicted: one unit per label.

    Attributes:
        labels: Source of the labels, in words.
        items: Item of each unit: a clip, or a clip and a question.
        failed: Whether each unit failed, shape (units,).
        metrics: Name -> the metric of each unit.
    """

    labels: str
    systems: tuple[str, ...]
    items: tuple[Item, ...]
    failed: np.ndarray
    metrics: dict[str, Metric]
    notes: list[str]
    clusters: Mapping[str, str] = NO_CLUSTERS

    @property
    def clips(self) -> list[str]:
        """Return the clip of each unit."""
        return [clip for clip, *_ in self.items]


def answers(task: TaskRun) -> bool:
    """Return whether a task scores answers, not transcripts."""
    return right_column(task) is not None


def right_column(task: TaskRun) -> str | None:
    """Return the column that says whether an answer is right: the measure of the task, or the first that it has."""
    return next((column for column in (task.category.column, *RIGHT) if column in RIGHT and column in task.signs), None)


def gather_units(
    tables: Sequence[SampleTable],
    labels: Labels,
    metrics: Collection[str] | None = None,
    kept: KeptItems = ALL_ITEMS,
) -> Units:
    """Join labels with the metrics of the same system's transcript, one unit per label.

    Args:
        metrics: Names of metrics; None means all that every unit has and that vary.
        kept: Names metrics that the units must have, or must not have.
    """
    of_clips = [table for table in tables if len(table.task.category.item) == 1]
    known = _signs_of_columns(of_clips)
    if not known:
        raise SpeechIQError(
            "these runs have no metric of transcripts", "give runs of a task that compares transcripts with references"
        )
    for name in [*(metrics or ()), *filter(None, (kept.has, kept.no))]:
        if name not in known:
            near = did_you_mean(name, known)
            raise SpeechIQError(f"no metric {name!r} in these runs", fix=f"{near}choose from {', '.join(known)}")
    keys = sorted(labels.success)
    for condition, wanted in ((kept.has, False), (kept.no, True)):
        if condition is not None:
            joined = join_columns(of_clips, condition)
            keys = [key for key in keys if math.isnan(joined.get(clip_of(key), math.nan)) is wanted]
    of_transcripts = [table for table in of_clips if not answers(table.task)]
    usual = [name for name in _signs_of_columns(of_transcripts) if name not in NOT_METRICS]
    notes = list(labels.notes)
    chosen: dict[str, Metric] = {}
    for name in metrics or usual:
        fault, metric = _read_metric(name, join_columns(of_clips, name), keys, known[name])
        if metric is None:
            if metrics:
                raise SpeechIQError(name, fault, "leave it out of --metrics")
            notes.append(f"{name} left out: {fault}")
            continue
        equal = [twin for twin, values in chosen.items() if np.array_equal(values.values, metric.values)]
        if equal and not metrics:
            notes.append(f"{name} left out: equal to {equal[0]} everywhere")
            continue
        chosen[name] = metric
        if metric.undefined:
            notes.append(f"{name} is undefined for {metric.undefined} of {len(keys)} items: it counts as 0 there")
    if not chosen:
        raise SpeechIQError("no metric is left to predict with", "; ".join(notes[len(labels.notes) :]))
    failed = np.array([not labels.success[key] for key in keys])
    systems, items = zip(*keys, strict=True)
    return Units(labels.name, systems, items, failed, chosen, notes, join_clusters(tables))


def _signs_of_columns(tables: Iterable[SampleTable]) -> dict[str, float]:
    """Return name -> sign of every column."""
    return {name: table.task.signs[name] for table in tables for name in table.signed}


def clip_of(key: Key) -> Key:
    """Return the clip of a unit."""
    return key[0], key[1][:1]


def _read_metric(name: str, joined: Mapping[Key, float], keys: Sequence[Key], sign: float) -> tuple[str, Metric | None]:
    """Return what is wrong with a metric, or the metric."""
    clips = [clip_of(key) for key in keys]
    if missing := [clip for clip in clips if clip not in joined]:
        system, item = missing[0]
        return f"missing for {len(missing)} of {len(keys)} items, such as {show_item(item)} of {system!r}", None
    values = np.array([joined[clip] for clip in clips])
    absent = np.isnan(values)
    if sign > 0 and absent.any():
        return f"undefined for {absent.sum()} of {len(keys)} items, and 0 would be its worst value", None
    values = np.where(absent, 0.0, values)
    if not np.isfinite(values).all():
        return "not finite for some items", None
    if not len(values) or np.ptp(values) == 0:
        return f"constant ({values[0]:g} for all items)" if len(values) else "no items", None
    return "", Metric(values, sign, int(absent.sum()))


def label_answers(tables: Tables) -> Labels:
    """Return which answers are right, for all systems but controls."""
    controls = tables.controls
    right = {key: value for key, value in read_right(tables.columns).items() if key[0] not in controls}
    success = {key: value >= HALF for key, value in right.items() if not math.isnan(value)}
    if not success:
        raise SpeechIQError(
            f"only controls ({', '.join(sorted(controls))}) answered in these runs", fix="give runs of other systems"
        )
    notes = []
    if unjudged := len(right) - len(success):
        notes.append(f"{count_of(unjudged, 'answer')} without a score left out")
    if controls:
        notes.append(f"controls left out: {', '.join(sorted(controls))}")
    return Labels(BY_ANSWERS, success, notes)


def read_right(columns: Sequence[SampleTable]) -> dict[Key, float]:
    """Return (system, item) -> how right the answer is, from 0 to 1, by the `right_column` of its task.

    If tasks about one clip have several, the first of `RIGHT` counts.
    """
    right: dict[Key, float] = {}
    for name in RIGHT:
        covered = {clip_of(key) for key in right}
        values = join_columns([table for table in columns if right_column(table.task) == name], name)
        right |= {key: value for key, value in values.items() if clip_of(key) not in covered}
    if not right:
        raise SpeechIQError(
            "these runs have no answers",
            f"no task has a column {', '.join(RIGHT)}",
            "give runs of a task that answers questions, such as siq_apply, or labels (--labels FILE)",
        )
    return right


def leave_out_items(labels: Labels, tables: Tables, kept: KeptItems) -> Labels:
    """Leave out items that show nothing about the recognizer, and count them also if they are kept.

    These are transcripts without an error, and items that the system answers wrong even from the reference.
    """
    success, notes = labels.success, list(labels.notes)

    def count(keys: set[Key], text: str, left_out: bool, option: str) -> str:
        fate = "left out" if left_out else f"kept; {option} leaves them out"
        return f"{len(keys)} of {len(success)} items {text}: {fate}"

    errors = {key: value for table in tables.columns for key, value in join_columns([table], ERRORS).items()}
    without = {key for key in success if errors.get(clip_of(key)) == 0}
    if kept.errors and not errors:
        raise SpeechIQError(
            "--only errors", f"these runs have no column {ERRORS}", "give runs of a task with error rates"
        )
    if errors:
        notes.append(count(without, "have a transcript without an error", kept.errors, "--only errors"))
    has_answers = any(answers(task) for task in tables.tasks)
    from_reference = _score_references(success, tables) if has_answers or kept.answerable else {}
    unanswerable = {key for key, right in from_reference.items() if right < HALF}
    unknown = sum(map(math.isnan, from_reference.values()))
    missing = list(dict.fromkeys(system for system, item in success if (system, item) not in from_reference))
    if missing and kept.answerable:
        raise SpeechIQError(
            "--only answerable",
            f"no run of the control gold with the language model of {missing[0]!r} (its answers from the references)",
            "run pretrained=gold+MODEL on the same tasks",
        )
    if missing and has_answers:
        notes.append(
            f"no run of gold with the language model of {', '.join(missing)}: failures include questions that it fails "
            "even from the reference"
        )
    elif has_answers:
        text = "are answered wrong even from the reference"
        notes.append(count(unanswerable, text, kept.answerable, "--only answerable"))
    if unknown:
        notes.append(f"{unknown} of {len(success)} items have no scored answer from the reference: kept")
    if kept.errors:
        success = {key: value for key, value in success.items() if key not in without}
    if kept.answerable:
        success = {key: value for key, value in success.items() if key not in unanswerable}
    if not success:
        raise SpeechIQError("no item is left", "; ".join(notes))
    return Labels(labels.name, success, notes)


def find_gold(tables: Tables) -> dict[str, str]:
    """Return system -> the control `gold` with the same language model, for systems that have one.

    The way in which the language model answers is the same as well.
    """
    models = {task.system: (task.described.get("llm"), task.described.get("answering")) for task in tables.tasks}
    controls = tables.controls
    gold = [name for name, control in controls.items() if control == "gold"]
    matches = {}
    for name, model in models.items():
        alike = [control for control in gold if models[control] == model]
        if alike and name not in controls:
            matches[name] = alike[0]
    return matches


def _score_references(success: Iterable[Key], tables: Tables) -> dict[Key, float]:
    """Return how right `gold` answers each item, from 0 to 1, for systems with a run of it; NaN for no answer.

    The label of a clip with several questions is compared with the mean over these.
    """
    right = read_right(tables.columns)
    by_clip: dict[Key, list[float]] = {}
    for key, value in right.items():
        by_clip.setdefault(clip_of(key), []).append(value)
    known = {clip: float(np.mean(values)) for clip, values in by_clip.items()} | right
    answering = {system for system, _ in right}
    gold = {name: control for name, control in find_gold(tables).items() if control in answering}
    return {(system, item): known.get((gold[system], item), math.nan) for system, item in success if system in gold}
