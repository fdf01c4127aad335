"""Compare the conditions that tasks recorded: scores are comparable only if these agree.

Sort runs of one system under one kind of condition, such as noise, codec or speed, into series of its strengths.
"""

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from speechiq.core.console import count_of, list_some, printable
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import shorten
from speechiq.core.prompt import PROMPTS
from speechiq.engines.languages import OWN, PROMPT_LANGUAGE
from speechiq.reducer.runs import judged
from speechiq.reducer.runs.results_file import CONDITION, TaskRun, name_under
from speechiq.reducer.runs.samples import show_item
from speechiq.reducer.runs.systems import System
from speechiq.siq_tasks.conditions.spec import LISTEN, Step, parse_condition

Scalar = str | int | float | None
Conditions = Mapping[str, Scalar]

CLIPS = "clips"
TASKS = "task versions"
NORMALIZER = "normalizer"
EMBEDDER = "embedder"
#: Further metadata on which a suite's scores depend.
SETTINGS = "settings"
JUDGE, READER = "judge", "reader"
ASPECTS = (CLIPS, TASKS, NORMALIZER, EMBEDDER)
FIELDS = {
    "content_sha256": CLIPS,
    "dataset": TASKS,
    "version": TASKS,
    "prompt_version": TASKS,
    "subset_sha256": TASKS,
    "normalizer": NORMALIZER,
    "normalizer_version": NORMALIZER,
    "embedder": EMBEDDER,
    "embedder_template": EMBEDDER,
    "embedder_text": EMBEDDER,
    "embedder_dtype": EMBEDDER,
    "embedder_layer": EMBEDDER,
}
NOT_RECORDED = "not recorded"
CLEAN = "clean"
#: System -> the places of its runs of a series in the list of all runs, from clean audio to the severest condition.
Paths = dict[str, list[int]]
#: Holds the place of the systems that share a difference.
_OWN = "\0"
#: Ending of a field with the sha256 of what the field without the ending names.
DIGEST = "_sha256"
#: Field that is not in the conditions of most tasks -> what it is there, in words.
USUAL = {
    CONDITION: "none", LISTEN: "none", PROMPT_LANGUAGE: "en", READER: "none", "embedder_layer": "the last",
    PROMPTS: "none",
}  # fmt: skip
#: Keys of metadata that a task records only if they are not the usual ones.
UNUSUAL = (CONDITION, LISTEN, "language", "unit")
#: The embedder's layer of runs that do not record it, the last (`metrics/similarity.py`).
LAST_LAYER = -1
FIX = "run the same tasks"
ONE_SET = f"{FIX}, or score the runs of one data set alone"
#: Aspect -> what the user can do, if it is something else.
FIXES = {
    CONDITION: "compare conditions by siq study robustness",
    LISTEN: "compare them by siq study listen",
    SETTINGS: "run them with the same settings",
}


class Mismatch(NamedTuple):
    """Hold one difference between a system's run and another, its `aspect`, and what the user can do about it."""

    system: str
    level: str
    aspect: str
    text: str
    fix: str = FIX


def read_conditions(task: TaskRun) -> dict[str, Scalar]:
    """Return a task's name and the metadata that its scores depend on; None for a key that it does not record.

    >>> from speechiq.metrics.measure import Category, Measure
    >>> category = Category("s", "c", Measure("acc", "higher", "acc. %"), ("id",), settings=("embedder",))
    >>> task = TaskRun(0.0, "", "s", "t", category, {"version": 1, "dataset": "demo", "embedder": "e"}, {})
    >>> [f"{field}={value}" for field, value in read_conditions(task).items() if value is not None]
    ['task=t', 'dataset=demo', 'version=1', 'embedder=e']
    """
    fields = [*(field for field, aspect in FIELDS.items() if aspect in (CLIPS, TASKS)), *task.category.settings]
    recorded = {field: _as_scalar(task.metadata.get(field)) for field in fields}
    under = {key: _as_scalar(task.metadata[key]) for key in UNUSUAL if task.metadata.get(key)}
    if (layer := task.metadata.get("embedder_layer")) not in (None, LAST_LAYER):
        under["embedder_layer"] = _as_scalar(layer)
    if digest := task.metadata.get(f"{PROMPTS}{DIGEST}"):
        under[PROMPTS] = shorten(str(digest))
    if identity := task.metadata.get("reader_identity"):
        under[READER] = f"{task.metadata.get(READER)}, {identity}"
    if task.metadata.get(PROMPT_LANGUAGE) == OWN:
        under[PROMPT_LANGUAGE] = f"{OWN}, version {task.metadata.get(f'{PROMPT_LANGUAGE}_version')}"
    return {"task": printable(task.task), **recorded, **under}


def by_level(system: System) -> dict[str, list[Conditions]]:
    """Return level -> the conditions of each of the system's tasks, sorted; empty if its tasks are not known."""
    conditions: dict[str, list[Conditions]] = {level: [] for level in system.levels}
    for task in system.tasks:
        if task.level in conditions:
            conditions[task.level].append(read_conditions(task))
    for of_level in conditions.values():
        of_level.sort(key=lambda each: json.dumps(each, sort_keys=True))
    return conditions


def compare_systems(systems: Sequence[System]) -> list[Mismatch]:
    """Return how systems differ from the conditions that most of them have at a level.

    If several conditions are equally frequent, those of the first system by name count. Systems whose tasks are not
    known have no mismatches.
    """
    conditions = {system.name: by_level(system) for system in sorted(systems, key=lambda system: system.name)}
    found = []
    for level in _levels_of(systems):
        known = {name: _by_dataset(levels[level]) for name, levels in conditions.items() if levels.get(level)}
        if known:
            usual = max(known, key=lambda name: [*known.values()].count(known[name]))
            for name in known:
                found += compare_conditions(
                    name, level, conditions[name][level], f"system {usual!r}", conditions[usual][level]
                )
    return found


def compare_items(systems: Sequence[System]) -> list[Mismatch]:
    """Return which clips or questions of other systems each system misses."""
    found = []
    for level in _levels_of(systems):
        all_items = set().union(*(system.items.get(level, ()) for system in systems))
        for system in systems:
            if missing := all_items.difference(system.items.get(level, ())):
                text = f"{len(missing)} of {len(all_items)} items are missing in system {system.name!r}"
                text += f", such as {show_item(min(missing))}"
                found.append(Mismatch(system.name, level, CLIPS, f"level {level}: {text}"))
    return found


def compare_conditions(
    system: str, level: str, ours: Iterable[Conditions], other: str, theirs: Iterable[Conditions]
) -> list[Mismatch]:
    """Return how one level's tasks of a system differ from those of another, matched by data set and not by name.

    Args:
        ours: Conditions of its tasks; empty if they are not known, which counts as equal.
        other: What the system is compared with, in words.
    """
    here, there = _by_dataset(ours), _by_dataset(theirs)
    if not here or not there:
        return []
    own = f"system {system!r}"
    one_sided = [(dataset, own, other) for dataset in here.keys() - there.keys()]
    one_sided += [(dataset, other, own) for dataset in there.keys() - here.keys()]
    found = [
        Mismatch(
            system, level, TASKS, f"level {level}: data set {dataset!r} is in {present} and not in {absent}", ONE_SET
        )
        for dataset, present, absent in sorted(one_sided)
    ]
    for dataset in sorted(here.keys() & there.keys()):
        both, where = (here[dataset], there[dataset]), f"level {level}, data set {dataset!r}"
        aspects = _aspects(here[dataset].keys() | there[dataset].keys())
        differing = _leave_out_digests([field for field in aspects if both[0].get(field) != both[1].get(field)])
        found += [
            Mismatch(
                system,
                level,
                aspects[field],
                f"{where}: {field} is {_show(field, both[0].get(field, {None}))} in {own} "
                f"and {_show(field, both[1].get(field, {None}))} in {other}",
                FIXES.get(aspects[field], FIX),
            )
            for field in differing
            if aspects[field] != JUDGE
        ]
        if fields := [field for field in differing if aspects[field] == JUDGE]:
            one, two = (_show_judge(values, fields) for values in both)
            text = f"{where}: judged by {one} in {own} and by {two} in {other}"
            fix = "judge the stored answers again with one judge (`siq judge run RUNS --judge ENGINE:MODEL`)"
            found.append(Mismatch(system, level, JUDGE, text, fix))
    return found


def summarize(mismatches: Sequence[Mismatch]) -> str:
    """Return the first few differences in one line; what several levels or systems share is named once.

    >>> summarize([Mismatch(name, "apply", CLIPS, f"level apply: 2 of 9 are not in system {name!r}") for name in "abc"])
    "level apply: 2 of 9 are not in system 'a' and 2 other systems"
    """
    shared: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for mismatch in mismatches:
        text = mismatch.text.removeprefix(f"level {mismatch.level}")
        difference = text.replace(f"system {mismatch.system!r}", _OWN, 1)
        levels, systems = shared.setdefault(difference, ({}, {}))
        levels[mismatch.level] = systems[mismatch.system] = None
    return list_some([_show_shared(difference, *sharing) for difference, sharing in shared.items()], separator="; ")


def _show_shared(difference: str, levels: Collection[str], systems: Collection[str]) -> str:
    own = f"system {next(iter(systems))!r}"
    if more := len(systems) - 1:
        own += f" and {count_of(more, 'other system')}"
    noun = "levels" if len(levels) > 1 else "level"
    return f"{noun} {', '.join(levels)}{difference.replace(_OWN, own)}"


def _levels_of(systems: Iterable[System]) -> list[str]:
    """Return every category of some systems, once."""
    return list(dict.fromkeys(level for system in systems for level in system.levels))


def _aspects(fields: Iterable[str]) -> dict[str, str]:
    """Return field -> aspect, for the known fields and further ones."""
    further = sorted({*fields} - FIELDS.keys() - {CONDITION, LISTEN})
    of_further = {field: JUDGE if field in judged.JUDGE_KEYS else SETTINGS for field in further}
    return FIELDS | {CONDITION: CONDITION, LISTEN: LISTEN} | of_further


def _leave_out_digests(fields: Sequence[str]) -> list[str]:
    """Return fields without the digests of what other fields name.

    >>> _leave_out_digests(["content_sha256", "speech_quality", "speech_quality_sha256"])
    ['content_sha256', 'speech_quality']
    """
    return [field for field in fields if not field.endswith(DIGEST) or field.removesuffix(DIGEST) not in fields]


def _by_dataset(tasks: Iterable[Conditions]) -> dict[str, dict[str, set[Scalar]]]:
    """Return data set -> field -> values, over all its tasks."""
    sets: dict[str, dict[str, set[Scalar]]] = {}
    for task in tasks:
        task = {CONDITION: None, LISTEN: None, **task}
        fields = sets.setdefault(str(task["dataset"]), {})
        for field in task.keys() - {"task"}:
            fields.setdefault(field, set()).add(task[field])
    return sets


def _show_judge(values: Mapping[str, set[Scalar]], fields: Sequence[str]) -> str:
    """Return the name of a judge, with the fields in which it differs from another judge."""
    shown = [f"{field} {_show(field, values[field])}" for field in fields if field != judged.JUDGE_KEYS[0]]
    name = _show(judged.JUDGE_KEYS[0], values[judged.JUDGE_KEYS[0]])
    return f"{name} ({', '.join(shown)})" if shown else name


def _show(field: str, values: set[Scalar]) -> str:
    shown = []
    for value in values:
        if value is None:
            shown.append(USUAL.get(field, NOT_RECORDED))
        elif field.endswith("sha256"):
            shown.append(repr(shorten(str(value))))
        else:
            shown.append(repr(value))
    return " and ".join(sorted(shown))


def _as_scalar(value: Any) -> Scalar:
    return value if isinstance(value, str | int | float | None) else json.dumps(value, sort_keys=True)


class SeriesRun(NamedTuple):
    """Hold a system under one condition.

    Attributes:
        name: Name of both, as in tables.
        system: Name of the system alone.
        condition: The condition; empty for clean audio.
        series: The condition without its strength, such as `white` or `codec:opus`; empty for clean audio.
        strength: The strength, in `unit`; NaN for clean audio.
        severity: What runs of a series are ordered by, the mildest first.
    """

    name: str
    system: str
    condition: str = ""
    series: str = ""
    strength: float = math.nan
    unit: str = ""
    severity: float = -math.inf

    @property
    def label(self) -> str:
        """Return the strength with its unit, or `clean`."""
        return f"{self.strength:g}{self.unit and f' {self.unit}'}" if self.condition else CLEAN


def describe_series_run(system: System) -> SeriesRun:
    """Return which system a run is of, and under which condition."""
    condition = next((str(text) for task in system.tasks if (text := task.metadata.get(CONDITION))), "")
    if not condition:
        return SeriesRun(system.name, system.name)
    name = system.name.removesuffix(name_under("", {CONDITION: condition}))
    *before, last = parse_condition(condition)
    series = "+".join([*(step.text for step in before), _without_strength(last)])
    # Kinds without a strength that changes nothing, codecs and bands, and ratios to noise get worse as it falls.
    severity = abs(last.strength - last.neutral) if math.isfinite(last.neutral) else -last.strength
    return SeriesRun(system.name, name, condition, series, last.strength, last.unit, severity)


def _without_strength(step: Step) -> str:
    """Return the key that steps of other strengths share with it: kind, name, scale and side of the neutral strength.

    Slower and faster speech get worse in opposite directions.

    >>> [_without_strength(*parse_condition(text)) for text in ("speed:1.25", "speed:0.8", "babble:3@6dB")]
    ['speed', 'speed below 1', 'babble:3@dB']
    """
    name = ":".join(part for part in (step.kind, step.name) if part) + step.scale
    if math.isinf(step.neutral) or not step.strength < step.neutral:
        return name
    return f"{name} below {step.neutral:g}{step.unit and f' {step.unit}'}"


def group_series(runs: Sequence[SeriesRun]) -> dict[str, Paths]:
    """Return series -> the runs of its systems, the clean runs among them."""
    series = sorted({run.series for run in runs if run.condition})
    if not series:
        raise SpeechIQError(
            "no run under a condition", "run the same tasks with --metadata condition=white@10dB, into the same folder"
        )
    clean = {run.system for run in runs if not run.condition}
    if missing := sorted({run.system for run in runs} - clean):
        raise SpeechIQError(
            f"system {missing[0]!r} has no run on clean audio, from which losses are counted",
            fix="run its tasks without condition=",
        )
    order = sorted(range(len(runs)), key=lambda row: (runs[row].system, runs[row].severity))
    grouped: dict[str, Paths] = {name: {} for name in series}
    for name, paths in grouped.items():
        systems = {run.system for run in runs if run.series == name}
        for row in order:
            if runs[row].system in systems and runs[row].series in ("", name):
                paths.setdefault(runs[row].system, []).append(row)
    return grouped
