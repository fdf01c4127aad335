"""Rank systems: compute their scores, the error bars, and the conditions that the scores depend on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from speechiq.reducer.read.conditions import Mismatch
from speechiq.reducer.read.measure import Category
from speechiq.reducer.read.runs import System
from speechiq.reducer.show.remarks import NO_REMARKS, Remarks, has_scale, remark
from speechiq.reducer.siq import norms as frozen
from speechiq.reducer.siq.levels import LEVELS
from speechiq.reducer.siq.norms import Norms
from speechiq.reducer.siq.scale import DEFAULT_RULE, Scores, calibrate, flat, score, without_siq
from speechiq.reducer.stats import equal_terms
from speechiq.reducer.stats.bootstrap import Bootstrap, leave_one_out, resample
from speechiq.reducer.stats.pool import Pool, align, drop_lacking, levels_of, share


class Context(NamedTuple):
    """The context of scores; all of it is optional.

    Attributes:
        systems: Who was scored, in the order of the scores, with no item but those that were: flags and controls.
        norms: Whose scale it is; None if the systems are their own norm.
        mismatches: In what systems differ from the norms, or from each other, if that was allowed.
        bootstrap: Error bars.
        shifts: How each SIQ moves when one system leaves the pool (`bootstrap.leave_one_out`).
        excluded: How many questions were left out of Apply before scoring (`unanswerable.leave_out`).
        remarks: Why there is no SIQ, how much was asked, and which numbers mean little.
    """

    systems: tuple[System, ...] = ()
    norms: Norms | None = None
    mismatches: tuple[Mismatch, ...] = ()
    bootstrap: Bootstrap | None = None
    shifts: np.ndarray | None = None
    excluded: int = 0
    remarks: Remarks = NO_REMARKS

    @property
    def levels(self) -> Mapping[str, Category]:
        """Return the levels that are scored, each with its column."""
        return levels_of(self.systems) if self.systems else LEVELS

    @property
    def excluded_set(self) -> str | None:
        """The sha256 of the set that these questions are of."""
        return next((system.excluded for system in self.systems if system.excluded), None)


NO_CONTEXT = Context()


class Ranking(NamedTuple):
    """Scored systems, the raw scores that they come from, and what stands beside."""

    pool: Pool
    scores: Scores
    context: Context


def rank(
    systems: Iterable[System],
    *,
    rule: str = DEFAULT_RULE,
    norms: Norms | None = None,
    allow_mismatch: bool = False,
    draws: int = 0,
    seed: int = 0,
) -> Ranking:
    """Score systems against each other, or on the scale of norms.

    A level for which no system has scores is left out. Without one of `LEVELS`, and among fewer than three systems
    without norms, SIQ is NaN, and the remarks of the context say why; in the second case X and Z are NaN as well.

    Args:
        systems: As `read_systems` gives them.
        rule: Of the level weights, as for `siq.share_out`; norms have their own.
        norms: A frozen pool; None makes the systems their own norm.
        allow_mismatch: Whether systems may have been asked other clips, questions or task versions. What is shared is
            scored then, and the context says what differs.
        draws: Of the bootstrap; 0 leaves it out.
        seed: Of the bootstrap.

    Raises:
        SpeechIQError: Systems differ in what they were asked and that is not allowed, or cannot be scored.
    """
    systems, mismatches = narrow(sorted(systems, key=lambda system: system.name), norms, allow_mismatch)
    pool = align(systems)
    scaled = has_scale(pool, norms) or len(pool.systems) < 2  # `calibrate` refuses a single system
    fixed = norms.scale_of(pool.clips) if norms else None if scaled else flat(pool)
    scores = score(pool, fixed or calibrate(pool, rule))
    bootstrap = resample(pool, scale=fixed, rule=rule, draws=draws, seed=seed) if draws else None
    remarks = remark(pool, systems, norms)
    if remarks.no_siq:
        scores = without_siq(scores, keep_z=scaled)
    else:
        remarks = remarks._replace(weights={level: of.weight for level, of in scores.scale.levels.items()})
    shifts = leave_one_out(pool, rule) if draws and not norms and not remarks.no_siq else None
    return Ranking(pool, scores, Context(tuple(systems), norms, tuple(mismatches), bootstrap, shifts, remarks=remarks))


def narrow(
    systems: Sequence[System], norms: Norms | None = None, allow_mismatch: bool = False
) -> tuple[list[System], list[Mismatch]]:
    """Return the systems with the items that they are scored on: all, or, if they may differ, those shared with norms.

    Args:
        systems: As for `rank`.
        norms: As for `rank`.
        allow_mismatch: As for `rank`.

    Returns:
        (the systems, in what they differ).

    Raises:
        SpeechIQError: Systems differ in what they were asked and that is not allowed, or share nothing on a level.
    """
    if norms is None:
        return equal_terms.narrow(systems, allow_mismatch)
    systems = drop_lacking(systems)
    mismatches = frozen.compare(norms, systems)
    if not allow_mismatch:
        equal_terms.refuse(mismatches)
        return list(systems), []
    return share(systems, norms.items), mismatches
