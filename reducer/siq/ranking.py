"""Rank systems: compute their scores, the error bars, and the conditions that the scores depend on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from speechiq.reducer.read.conditions import Mismatch
from speechiq.reducer.read.measure import Category
from speechiq.reducer.read.runs import System
from speechiq.reducer.show.remarks import NO_REMARKS, Remarks, has_scale, remark
from speechiq.reducer.siq import norms as frozen
from speechiq.reducer.siq.frames import ranking_html, sample_frame, score_frame
from speechiq.reducer.siq.levels import LEVELS
from speechiq.reducer.siq.norms import Norms
from speechiq.reducer.siq.scale import DEFAULT_RULE, Scores, calibrate, flat, score, without_siq
from speechiq.reducer.stats import equal_terms
from speechiq.reducer.stats.bootstrap import Bootstrap, leave_one_out, resample
from speechiq.reducer.stats.pool import Pool, align, drop_lacking, levels_of, share

if TYPE_CHECKING:
    import pandas as pd


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
    """Ranked systems; a notebook shows it as a table.

    Attributes:
        pool: The raw scores, clip by clip; systems are sorted by name here and in `scores`.
        scores: SIQ, ranks, and the scores of each level.
        context: Error bars, norms, mismatches and remarks.
    """

    pool: Pool
    scores: Scores
    context: Context

    def to_frame(self) -> pd.DataFrame:
        """Return the scores as a pandas frame, one row per system, best first.

        Returns:
            Index `system`; columns `rank`, `siq`, `siq_low`, `siq_high` (ends of the 95 % interval); for each level its
            mean in the unit of `frame.attrs["units"][level]` (such as WER %), and its Z, each with the ends of its
            interval (`remember`, `remember_low`, `remember_high`, `remember_z`, `remember_z_low`, `remember_z_high`);
            the flags, shares from 0 to 1 (`unparsed`, `none_of_the_above`, `incomplete_audio`, `repetition`);
            `control`, which is empty for a system that listens. Unknown values are missing (NaN, or NA for `rank`).

        Example:
            ```python
            frame = ranking.to_frame()
            frame.loc[frame["control"] == "", ["siq", "remember", "apply"]]
            ```
        """
        return score_frame(self)

    def samples(self) -> pd.DataFrame:
        """Return the scores of all items as a pandas frame, one row per system, level and clip or question.

        Returns:
            Columns `system`, `level`, `clip`, `question` (missing if an item of the level is a clip), `dataset`,
            `score` in its `unit` (such as WER %), and the flags of the row: `audio_coverage`, `repetition`, `unparsed`,
            `none_of_the_above`, missing if the run does not record them.

        Example:
            ```python
            samples = ranking.samples()
            hardest = samples[samples["level"] == "remember"].groupby("clip")["score"].mean().nlargest(3)
            ```
        """
        return sample_frame(self)

    def __repr__(self) -> str:
        order = np.lexsort((np.array(self.scores.systems), self.scores.ranks))
        shown = (f"{self.scores.systems[row]} {self.scores.siq[row]:.1f}" for row in order)
        return f"<Ranking by SIQ: {', '.join(shown)}>"

    def _repr_html_(self) -> str:
        return ranking_html(self)


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
