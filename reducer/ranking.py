"""From systems to everything that a ranking shows: scores, their error bars, and what they hang on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.reducer import norms as frozen
from speechiq.reducer.bootstrap import Bootstrap, leave_one_out, resample
from speechiq.reducer.conditions import Mismatch, compare_items, compare_systems, summarise
from speechiq.reducer.norms import Norms
from speechiq.reducer.pool import Pool, align, share
from speechiq.reducer.runs import System
from speechiq.reducer.siq import DEFAULT_RULE, Scale, Scores, calibrate, score


class Context(NamedTuple):
    """What stands beside scores; all of it can be lacking.

    Attributes:
        systems: Who was scored, in the order of the scores: flags and controls.
        norms: Whose scale it is; None where the systems are their own norm.
        mismatches: In what systems differ from the norms, or from each other, where that was allowed.
        bootstrap: Error bars.
        shifts: How each SIQ moves when one system leaves the pool (`bootstrap.leave_one_out`).
        excluded: How many questions were left out of Apply before scoring (`pool.leave_out`).
    """

    systems: tuple[System, ...] = ()
    norms: Norms | None = None
    mismatches: tuple[Mismatch, ...] = ()
    bootstrap: Bootstrap | None = None
    shifts: np.ndarray | None = None
    excluded: int = 0


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
    """Scores systems against each other, or on the scale of norms.

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
    systems = sorted(systems, key=lambda system: system.name)
    pool, fixed, mismatches = line_up(systems, norms, allow_mismatch)
    scale = fixed or calibrate(pool, rule)
    scores = score(pool, scale)
    bootstrap = resample(pool, scale=fixed, rule=rule, draws=draws, seed=seed) if draws else None
    shifts = leave_one_out(pool, rule) if draws and not norms else None
    return Ranking(pool, scores, Context(tuple(systems), norms, tuple(mismatches), bootstrap, shifts))


def line_up(
    systems: Sequence[System], norms: Norms | None = None, allow_mismatch: bool = False
) -> tuple[Pool, Scale | None, list[Mismatch]]:
    """What systems are scored from.

    Args:
        systems: As for `rank`.
        norms: As for `rank`.
        allow_mismatch: As for `rank`.

    Returns:
        (their raw scores, the norms' scale for these clips, in what they differ where that was allowed).

    Raises:
        SpeechIQError: Systems differ in what they were asked and that is not allowed, or lack a score.
    """
    mismatches = frozen.compare(norms, systems) if norms else compare_systems(systems)
    if mismatches and not allow_mismatch:
        raise SpeechIQError(f"{summarise(mismatches)}; run the same tasks, or add --allow-mismatch to mark the scores")
    if norms:
        return *frozen.put_on(norms, systems), mismatches
    if allow_mismatch:
        return align(share(systems)), None, mismatches + compare_items(systems)
    return align(systems), None, mismatches
