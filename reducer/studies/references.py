"""Measure how much of a system's error rate comes from errors of the references, by sets with cleaned references."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.systems import System
from speechiq.reducer.stats.agreement import mean_difference
from speechiq.reducer.stats.bootstrap import resample
from speechiq.reducer.stats.coverage import caution_of_estimates
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import INTERVAL, Cell, Column, Grid
from speechiq.reducer.studies.learned import LearnedErrors

#: What the name of a set with cleaned references ends with; the rest is the name of the original set.
CLEANED = "_cleaned"
LEVEL = "remember"
NONE_LEARNED: Mapping[tuple[str, str], LearnedErrors] = MappingProxyType({})


class ReferenceErrors(NamedTuple):
    """Hold one system on one set, scored against the original and the cleaned references of the same clips.

    Attributes:
        dataset: Name of the original set.
        changed: On how many of them the score differs.
        original, cleaned: Mean error rates against both references.
        difference: The part of the error rate that comes from the references, with its interval over clips.
    """

    dataset: str
    system: str
    clips: int
    changed: int
    original: float
    cleaned: float
    difference: Estimate

    @property
    def share(self) -> float:
        """Return the difference as a share of the original error rate; NaN if that is 0."""
        return self.difference.value / self.original if self.original else float("nan")


def compare_references(systems: Iterable[System], draws: int = 1000, seed: int = 0) -> list[ReferenceErrors]:
    """Compare the error rates of each system on original and cleaned references, at the level Remember.

    Clips are joined by their ids without the name of the set, which both versions of a set share.
    """
    systems = sorted(systems, key=lambda system: system.name)
    rows = [row for system in systems for row in _compare(system, draws, seed)]
    if not rows:
        sets = sorted({name for system in systems for name in system.datasets.values()})
        raise SpeechIQError(
            f"no system ran a set and its cleaned version (sets: {', '.join(sets) or 'none'})",
            fix=f"run both, such as siq_voxpopuli_remember and siq_voxpopuli{CLEANED}_remember",
        )
    return sorted(rows, key=lambda row: (row.dataset, row.cleaned))


def _compare(system: System, draws: int, seed: int) -> Iterator[ReferenceErrors]:
    sets: dict[str, dict[str, float]] = {}
    for (clip, *_), score in system.scores.get(LEVEL, {}).items():
        sets.setdefault(system.datasets[clip], {})[clip.partition("/")[2] or clip] = -score
    for cleaned in sorted(name for name in sets if name.endswith(CLEANED)):
        if (name := cleaned.removesuffix(CLEANED)) not in sets:
            continue
        shared = sorted(sets[name].keys() & sets[cleaned].keys())
        if not shared:
            raise SpeechIQError(
                f"system {system.name!r}",
                f"{name} and {cleaned} share no clip ids",
                "run both from one source, with --metadata dataset_path=...",
            )
        names = {clip: f"{name}/{clip}" for clip in shared}
        clusters = {clip: system.clusters[key] for clip, key in names.items() if key in system.clusters}
        before, after = (np.array([sets[version][clip] for clip in shared]) for version in (name, cleaned))
        yield ReferenceErrors(
            dataset=name,
            system=system.name,
            clips=len(shared),
            changed=int((before != after).sum()),
            original=float(before.mean()),
            cleaned=float(after.mean()),
            difference=resample(
                partial(mean_difference, before, after), shared, clusters, draws=draws, seed=seed
            ).estimate,
        )


def as_grid(
    rows: Sequence[ReferenceErrors], unit: str, learned: Mapping[tuple[str, str], LearnedErrors] = NONE_LEARNED
) -> Grid:
    """Return a grid with one row per set and system; `learned` is as `count_learned` returns it."""
    columns = [
        Column("dataset", "Set"),
        Column("system", "System"),
        Column("clips", "Clips", "d"),
        Column("changed", "changed", "d", below="clips"),
        Column("original", f"Original\n{unit}", ".2f", factor=100),
        Column("cleaned", f"Cleaned\n{unit}", ".2f", factor=100),
        Column("difference", f"Difference\n{INTERVAL}", ".2f", factor=100),
        Column("share", "Share\n%", ".1f", factor=100.0),
    ]
    notes = ["Difference: the part of the error rate that the references cause", "Share: of the original rate"]
    notes += filter(None, [caution_of_estimates(row.difference for row in rows)])
    cells: list[dict[str, Cell]] = [row._asdict() | {"share": row.share} for row in rows]
    if learned:
        columns += [
            Column("places", "Places", "d"),
            Column("written", f"Original's words\n%\n{INTERVAL}", ".1f", factor=100),
            Column("corrected", "Corrected words\n%", ".1f", factor=100),
        ]
        notes.append("Original's words: written where the references differ, the corrected words elsewhere or neither")
    if any(each.above_clean for each in learned.values()):
        columns.append(Column("above_clean", f"Above clean\n%\n{INTERVAL}", "+.1f", factor=100))
        notes.append(
            "Above clean: minus the mean of the systems of --clean; above 0 it is a sign of learned references"
        )
    for cell, row in zip(cells, rows, strict=True):
        if counts := learned.get((row.dataset, row.system)):
            cell |= {"places": counts.places, "written": counts.original, "corrected": counts.corrected}
            cell |= {"above_clean": counts.above_clean}
    return Grid("Errors of the references", columns, cells, notes)
