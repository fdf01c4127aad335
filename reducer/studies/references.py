"""Measure how much of a system's error rate comes from errors of the references, by sets with cleaned references."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.draws import count_clips

#: What the name of a set with cleaned references ends with; the rest is the name of the original set.
CLEANED = "_cleaned"
LEVEL = "remember"


class ReferenceErrors(NamedTuple):
    """One system on one set, scored against the original and the cleaned references of the same clips.

    Attributes:
        dataset: Name of the original set.
        system: Name of the system.
        clips: How many clips both sets have.
        changed: On how many of them the score differs.
        original: Mean error rate against the original references.
        cleaned: Mean error rate against the cleaned references.
        low, high: 95 % interval of `original - cleaned`, over clips.
    """

    dataset: str
    system: str
    clips: int
    changed: int
    original: float
    cleaned: float
    low: float
    high: float

    @property
    def difference(self) -> float:
        """Return the part of the error rate that comes from the references."""
        return self.original - self.cleaned

    @property
    def share(self) -> float:
        """Return the difference as a share of the original error rate; NaN if that is 0."""
        return self.difference / self.original if self.original else float("nan")


def compare_references(systems: Iterable[System], draws: int = 1000, seed: int = 0) -> list[ReferenceErrors]:
    """Compare the error rates of each system on original and cleaned references.

    Clips are joined by their ids without the name of the set, which both versions of a set share.

    Args:
        systems: Systems that ran both versions of a set at the level Remember.
        draws: Draws of clips for the intervals; 0 leaves these out (NaN).
        seed: Of the draws.

    Raises:
        SpeechIQError: No system ran both versions of a set, or two versions share no clip.
    """
    systems = sorted(systems, key=lambda system: system.name)
    found = [row for system in systems for row in _compare(system, draws, seed)]
    if not found:
        sets = sorted({name for system in systems for name in system.datasets.values()})
        raise SpeechIQError(
            f"no system ran a set and its cleaned version (sets: {', '.join(sets) or 'none'}); run both, "
            f"such as siq_voxpopuli_remember and siq_voxpopuli{CLEANED}_remember"
        )
    return sorted(found, key=lambda row: (row.dataset, row.cleaned))


def _compare(system: System, draws: int, seed: int) -> Iterator[ReferenceErrors]:
    sets: dict[str, dict[str, float]] = {}
    for (clip, *_), score in system.scores.get(LEVEL, {}).items():
        dataset = system.datasets[clip]
        sets.setdefault(dataset, {})[clip.partition("/")[2] or clip] = -score
    for name in sorted(sets):
        if (original := sets.get(name.removesuffix(CLEANED))) is None or not name.endswith(CLEANED):
            continue
        shared = sorted(original.keys() & sets[name].keys())
        if not shared:
            raise SpeechIQError(
                f"system {system.name!r}: {name.removesuffix(CLEANED)} and {name} share no clip ids; run "
                f"both from one source, with --metadata dataset_path=..."
            )
        before, after = (np.array([of[clip] for clip in shared]) for of in (original, sets[name]))
        low, high = _interval(before - after, draws, seed)
        changed = int((before != after).sum())
        yield ReferenceErrors(
            name.removesuffix(CLEANED), system.name, len(shared), changed, float(before.mean()), float(after.mean()),
            low, high,
        )  # fmt: skip


def _interval(differences: np.ndarray, draws: int, seed: int) -> tuple[float, float]:
    """Return the 95 % interval of the mean over clips, by the percentiles of draws with replacement."""
    if not draws:
        return float("nan"), float("nan")
    clips = len(differences)
    means = np.concatenate([counts @ differences / clips for counts in count_clips(clips, draws, seed)])
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def as_record(row: ReferenceErrors) -> dict[str, Any]:
    """Return one row as plain data, with `difference` and `share`."""
    return row._asdict() | {"difference": row.difference, "share": row.share}
