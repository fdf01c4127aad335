"""Rank systems: compute their scores, the error bars, and the conditions that the scores depend on."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from speechiq.reducer.runs.conditions import Mismatch
from speechiq.reducer.runs.measure import Category
from speechiq.reducer.runs.samples import FLAGS
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores import comparability
from speechiq.reducer.scores import norms as siq_norms
from speechiq.reducer.scores.bootstrap import Bootstrap, leave_one_out, resample
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.remarks import NO_REMARKS, Remarks, has_scale, remark
from speechiq.reducer.scores.scale import DEFAULT_RULE, NoSpread, Scores, calibrate, flat, score, without_siq
from speechiq.reducer.scores.score_matrix import ScoreMatrix, align, drop_empty_levels, levels_of, share
from speechiq.reducer.stats.interval import Interval

if TYPE_CHECKING:
    import pandas as pd


class Context(NamedTuple):
    """The context of scores; each part is optional.

    Attributes:
        systems: The systems with the items that were scored, in the order of the scores.
        norms: The norms whose scale is used; None if the systems are their own reference population.
        mismatches: How systems differ from the norms, or from each other, if that was allowed.
        bootstrap: Error bars.
        shifts: The change of each SIQ when one system leaves the pool (`bootstrap.leave_one_out`).
        excluded: Number of questions that were left out of Apply before scoring (`unanswerable.leave_out`).
        remarks: Why SIQ is missing, the size of the levels, and which numbers say little.
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
        """Return level -> its category, for the levels that are scored."""
        return levels_of(self.systems) if self.systems else LEVELS

    @property
    def excluded_set(self) -> str | None:
        """Return the sha256 of the unanswerable set that these questions come from."""
        return next((system.excluded for system in self.systems if system.excluded), None)


NO_CONTEXT = Context()


class Ranking(NamedTuple):
    """Ranked systems; a notebook shows it as a table.

    Attributes:
        pool: The raw scores, clip by clip; systems are sorted by name here and in `scores`.
        scores: SIQ, ranks, and the scores of each level.
        context: Error bars, norms, mismatches and remarks.
    """

    pool: ScoreMatrix
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
        return _score_frame(self)

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
        return _sample_frame(self)

    def __repr__(self) -> str:
        order = np.lexsort((np.array(self.scores.systems), self.scores.ranks))
        shown = (f"{self.scores.systems[row]} {self.scores.siq[row]:.1f}" for row in order)
        return f"<Ranking by SIQ: {', '.join(shown)}>"

    def _repr_html_(self) -> str:
        return _as_html(self)


def rank(
    systems: Iterable[System],
    *,
    rule: str = DEFAULT_RULE,
    norms: Norms | None = None,
    allow_mismatch: bool = False,
    draws: int = 0,
    seed: int = 0,
) -> Ranking:
    """Rank systems against each other, or on the scale of norms.

    A level without scores of any system is left out. SIQ is NaN if one of `LEVELS` is left out, and without a scale:
    for fewer than three systems, or a level on which all tie, both without norms. The remarks of the context say why.
    Without a scale X and Z are NaN as well.

    Args:
        systems: As `read_systems` returns them.
        rule: Rule of the level weights, as for `scale.share_out`; norms have their own.
        norms: Norms to score on; None makes the systems their own reference population.
        allow_mismatch: Whether systems may have been run on different clips, questions or task versions. What they
            share is scored then, and the context names the mismatches.
        draws: Number of bootstrap draws; 0 leaves out the error bars.
        seed: Seed of the draws.

    Raises:
        SpeechIQError: Systems differ in clips, questions or tasks and that is not allowed, or cannot be scored.
    """
    systems, mismatches = intersect(sorted(systems, key=lambda system: system.name), norms, allow_mismatch)
    pool = align(systems)
    remarks = remark(pool, systems, norms)
    scaled = has_scale(pool, norms)
    if scaled and norms is None:
        try:
            scores = score(pool, calibrate(pool, rule))
        except NoSpread as error:
            scaled, remarks = False, remarks._replace(no_siq=remarks.no_siq or f"no SIQ: {error}", few=None)
    fixed = norms.scale_of(pool.clips) if norms else None if scaled else flat(pool)
    if fixed is not None:
        scores = score(pool, fixed)
    bootstrap = resample(pool, scale=fixed, rule=rule, draws=draws, seed=seed) if draws else None
    if remarks.no_siq:
        scores = without_siq(scores, keep_z=scaled)
    else:
        weights = {level: level_scale.weight for level, level_scale in scores.scale.levels.items()}
        remarks = remarks._replace(weights=weights)
    shifts = leave_one_out(pool, rule) if draws and not norms and not remarks.no_siq else None
    return Ranking(pool, scores, Context(tuple(systems), norms, tuple(mismatches), bootstrap, shifts, remarks=remarks))


def intersect(
    systems: Sequence[System], norms: Norms | None = None, allow_mismatch: bool = False
) -> tuple[list[System], list[Mismatch]]:
    """Return the systems with the items to score: all, or, if they may differ, those that all share with the norms.

    Args:
        systems: As for `rank`.
        norms: As for `rank`.
        allow_mismatch: As for `rank`.

    Returns:
        (the systems, their mismatches).

    Raises:
        SpeechIQError: Systems differ in clips, questions or tasks and that is not allowed, or share no item on a level.
    """
    if norms is None:
        return comparability.intersect(systems, allow_mismatch)
    systems = drop_empty_levels(systems)
    mismatches = siq_norms.compare(norms, systems)
    if not allow_mismatch:
        comparability.require_equal(mismatches)
        return list(systems), []
    return share(systems, norms.items), mismatches


def _score_frame(ranking: Ranking) -> pd.DataFrame:
    """Return one row per system, best first; see `Ranking.to_frame`."""
    import pandas as pd

    scores, context = ranking.scores, ranking.context
    bootstrap = context.bootstrap
    has_siq = context.remarks.no_siq is None
    columns: dict[str, Any] = {"rank": pd.array(scores.ranks if has_siq else [None] * len(scores.siq), dtype="Int64")}
    columns |= {"siq": scores.siq} | _ends("siq", bootstrap.siq if bootstrap and has_siq else None, scores.siq)
    for level, level_scores in scores.levels.items():
        show = context.levels[level].show
        columns[level] = show(level_scores.raw) + 0.0  # no negative zero
        columns |= _ends(level, bootstrap and Interval(*map(show, bootstrap.raw[level])), level_scores.raw)
        columns[f"{level}_z"] = level_scores.z
        scored = bootstrap is not None and not np.isnan(level_scores.z).all()
        columns |= _ends(f"{level}_z", bootstrap.z[level] if bootstrap and scored else None, level_scores.z)
    for flag in context.systems[0].flags._fields if context.systems else ():
        columns[flag] = np.array([getattr(system.flags, flag) for system in context.systems], dtype=float)
    columns["control"] = [system.control for system in context.systems] or ""
    frame = pd.DataFrame(columns, index=pd.Index(scores.systems, name="system"))
    frame.columns.name = "score"
    frame.attrs["units"] = {level: context.levels[level].unit for level in scores.levels}
    return frame.iloc[np.lexsort((np.array(scores.systems), scores.ranks))]


def _sample_frame(ranking: Ranking) -> pd.DataFrame:
    """Return one row per system, level and item; see `Ranking.samples`."""
    import pandas as pd

    rows = []
    for system in ranking.context.systems:
        flags = {(task.level, item): (task, row) for task in system.tables for row, item in enumerate(task.items)}
        for level, scores in system.scores.items():
            category = system.levels[level]
            for item, value in scores.items():
                task, row = flags.get((level, item), (None, 0))
                given = {name: float(values[row]) for name, values in task.columns.items()} if task else {}
                rows.append(
                    {
                        "system": system.name,
                        "level": level,
                        "clip": item[0],
                        "question": item[1] if len(item) > 1 else None,
                        "dataset": system.datasets.get(item[0]),
                        "score": category.show(value) + 0.0,
                        "unit": category.unit,
                        **{flag: given.get(flag, np.nan) for flag in FLAGS},
                    }
                )
    columns = ["system", "level", "clip", "question", "dataset", "score", "unit", *FLAGS]
    return pd.DataFrame(rows, columns=columns)


def _as_html(ranking: Ranking) -> str:
    """Return the ranking as an HTML table with its remarks; all texts are escaped."""
    import pandas as pd

    frame, context = _score_frame(ranking), ranking.context
    shown = pd.DataFrame({"rank": frame["rank"], "SIQ": frame["siq"].map("{:.2f}".format, na_action="ignore")})
    if context.bootstrap:
        ends = zip(frame["siq_low"], frame["siq_high"], strict=True)
        shown["95 % interval"] = ["" if np.isnan(low) else f"{low:.1f} to {high:.1f}" for low, high in ends]
    for level, unit in frame.attrs["units"].items():
        shown[f"{level.title()} {unit}"] = frame[level].map("{:.2f}".format)
        shown[f"{level.title()} Z"] = frame[f"{level}_z"].map("{:+.2f}".format, na_action="ignore")
    shown["control"] = frame["control"]
    remarks = [*context.remarks.lines(context.levels), *context.remarks.warnings()]
    notes = "".join(f"<li>{html.escape(line)}</li>" for line in remarks)
    return f"{shown.to_html(na_rep='')}<ul>{notes}</ul>"


def _ends(name: str, interval: Interval | None, like: np.ndarray) -> dict[str, np.ndarray]:
    """Return the two columns of an interval, the lower end first; NaN without one."""
    if interval is None:
        return dict.fromkeys((f"{name}_low", f"{name}_high"), np.full(len(like), np.nan))
    return {f"{name}_low": np.minimum(*interval) + 0.0, f"{name}_high": np.maximum(*interval) + 0.0}
