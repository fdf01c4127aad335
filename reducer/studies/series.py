"""Sort runs into series: one system under one kind of condition of several strengths, such as noise, codec or speed."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.conditions import CLIPS, compare_systems
from speechiq.reducer.runs.results_file import CONDITION, name_under
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.comparability import NOTHING_SHARED, require_equal
from speechiq.siq_tasks.conditions.spec import Step, parse_condition

CLEAN = "clean"
#: System -> the places of its runs of a series in the list of all runs, from clean audio to the severest condition.
Paths = dict[str, list[int]]


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


def refuse_other_tasks(systems: Sequence[System], runs: Sequence[SeriesRun]) -> None:
    """Refuse systems that got other clips under one condition, or ran other tasks or settings under any two."""
    mismatches = [mismatch for mismatch in compare_systems(systems) if mismatch.aspect not in (CLIPS, CONDITION)]
    for condition in sorted({run.condition for run in runs}):
        same = [system for system, run in zip(systems, runs, strict=True) if run.condition == condition]
        mismatches += [mismatch for mismatch in compare_systems(same) if mismatch.aspect == CLIPS]
    require_equal(mismatches, shared=NOTHING_SHARED)
