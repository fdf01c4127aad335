"""Hold the scores of the systems of a suite: a column per category, and Z and SIQ if the suite has a scale."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from speechiq.metrics.measure import Category
from speechiq.reducer.runs.conditions import Mismatch
from speechiq.reducer.runs.samples import FLAGS, FLOOR
from speechiq.reducer.runs.systems import System
from speechiq.reducer.runs.table import GROUP, as_column, join_tables
from speechiq.reducer.scores.bootstrap import NOTHING, Bars, rank_probabilities
from speechiq.reducer.scores.derived import DerivedColumns
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.remarks import Remarks
from speechiq.reducer.scores.scale import FLAT, Scale, competition_ranks
from speechiq.reducer.scores.score_matrix import ScoreMatrix
from speechiq.reducer.stats.estimate import ENOUGH, ENOUGH_FOR_SIQ, Estimate, Interval
from speechiq.reducer.stats.grid import INTERVAL, find_caution

if TYPE_CHECKING:
    import pandas as pd


class Scoreboard(NamedTuple):
    """Hold the scores of a suite; arrays of shape (systems,) are in the order of the pool. A notebook shows a table.

    A column is a category, or one of `derived`, which do not count for ranks. Only systems that process audio have a
    rank: `rank_in`, `places` and `order` decide it for every table, file and page.

    Attributes:
        pool: The systems, aligned.
        systems: The same systems, with the items that are scored.
        means: Column -> mean raw score, which grows with ability; NaN for a system without any score.
        remarks: The size of the categories, and which numbers say little.
        mismatches: How systems differ from each other or from the norms, if that was allowed.
        bars: Error bars; None without draws.
        reliability: Category with a judge -> the reliability of its judge on each system's answers, in the order of
            the pool (`agreement.add_reliability`).
        scale: The scale of SIQ; that of `flat` if no scale can be set, and None for a suite without a scale.
        weighted: Level -> X_j of eq. 4; NaN on a flat scale.
        z: Level -> Z_j of eq. 5, in standard deviations of the scale's pool; NaN on a flat scale.
        siq: SIQ; NaN if `remarks.no_siq` says why there is none, and empty for a suite without a scale.
        norms: The norms whose scale is used; None if the systems are their own reference population.
        shifts: The change of each SIQ when one system leaves the pool (`bootstrap.leave_one_out`).
        excluded: Number of questions that were left out of Apply before scoring (`unanswerable.leave_out`).
        hallucination: System -> the share of the unanswerable ones among them that it answers
            (`unanswerable.rate_hallucination`); empty without such questions.
    """

    suite: str
    pool: ScoreMatrix
    systems: tuple[System, ...]
    derived: DerivedColumns
    means: dict[str, np.ndarray]
    remarks: Remarks
    mismatches: tuple[Mismatch, ...] = ()
    bars: Bars | None = None
    reliability: Mapping[str, Sequence[Any]] = MappingProxyType({})
    scale: Scale | None = None
    weighted: Mapping[str, np.ndarray] = MappingProxyType({})
    z: Mapping[str, np.ndarray] = MappingProxyType({})
    siq: np.ndarray = NOTHING
    norms: Norms | None = None
    shifts: np.ndarray | None = None
    excluded: int = 0
    hallucination: Mapping[str, Estimate] = MappingProxyType({})

    @property
    def levels(self) -> Mapping[str, Category]:
        """Return category -> how it is scored."""
        return self.pool.levels

    @property
    def columns(self) -> dict[str, Category]:
        """Return column -> how it is scored: the categories, then the derived columns."""
        return {**self.pool.levels, **self.derived.levels}

    @property
    def fields(self) -> list[str]:
        """Return the fields by which the items of some category have groups (`group_by`)."""
        named: dict[str, None] = {}
        for system in self.systems:
            for name, values in system.table.columns.items():
                if name.startswith(GROUP) and any(group is not None for group in values):
                    named[name.removeprefix(GROUP)] = None
        return [*named]

    def find_scored(self, column: str, row: int) -> System:
        """Return the system of a row, with the items of a column in its scores."""
        return (self.derived.systems if column in self.derived.levels else self.systems)[row]

    def estimate(self, column: str, row: int) -> Estimate:
        """Return the score of the system of a row in the unit of a column, with its interval if there is one."""
        low, high = (float(end[row]) for end in self.bars.intervals[column]) if self.bars else (np.nan, np.nan)
        raw = Estimate(float(self.means[column][row]), low, high, **self.sample_of(column))
        return raw.map(self.columns[column].measure.sign)

    def estimate_siq(self, row: int) -> Estimate:
        """Return the SIQ of the system of a row, with its interval if there is one."""
        siq = float(self.siq[row])
        if self.bars is None or np.isnan(siq):
            return Estimate(siq)
        low, high = (float(end[row]) for end in self.bars.siq)
        return Estimate(siq, low, high, **self.sample_of(SIQ))

    def sample_of(self, column: str) -> dict[str, int]:
        """Return the fields of an `Estimate` that say what the intervals of a column rest on; none for a derived one.

        SIQ rests on the category with the fewest clusters.
        """
        counts, enough = self.remarks.counts, ENOUGH
        count = counts.get(column)
        if column == SIQ and self.has_siq:
            count, enough = min(counts.values(), key=attrgetter("clusters", "clips"), default=None), ENOUGH_FOR_SIQ
        return {"clips": count.clips, "clusters": count.clusters, "enough": enough} if count else {}

    @property
    def has_siq(self) -> bool:
        """Return whether the categories are combined to SIQ."""
        return not bool(np.isnan(self.siq).all())

    @property
    def has_z(self) -> bool:
        """Return whether a scale gives the categories a Z."""
        return self.scale is not None and self.scale.rule != FLAT

    def rank_in(self, category: str) -> np.ndarray:
        """Return the rank of each system in a category, from 1; NaN for a control and without a score.

        Equal systems share the best rank of their group.
        """
        return self._rank(self.means[category])

    @property
    def places(self) -> np.ndarray:
        """Return the rank of each system from 1, shape (systems,); NaN for a control.

        It is that of SIQ if the suite has a scale, NaN without SIQ, else the mean of the ranks over the categories, NaN
        if one of them is NaN.
        """
        if self.scale:
            return self._rank(self.siq)
        return np.asarray(np.mean([self.rank_in(category) for category in self.levels], axis=0))

    @property
    def rank_probabilities(self) -> dict[int, np.ndarray]:
        """Return the row of each system with a rank -> the probability of each rank from 1; empty without SIQ."""
        if not self.bars or not self.has_siq:
            return {}
        rows = self.ranked
        return dict(zip(rows, rank_probabilities(self.bars.siq_draws[:, rows]), strict=True))

    @property
    def listening(self) -> list[int]:
        """Return the rows of the systems that process audio; all rows if there are only controls."""
        return self.ranked or [*range(len(self.systems))]

    @property
    def order(self) -> list[int]:
        """Return the rows of the systems by rank, then those of controls by SIQ; equal ones by name."""
        names, is_control = np.array(self.pool.systems), np.array([bool(each.control) for each in self.systems])
        best_first: np.ndarray = -self.siq if self.scale else np.zeros(len(names))
        return [int(row) for row in np.lexsort((names, best_first, self.places, is_control))]

    @property
    def ranked(self) -> list[int]:
        """Return the rows of the systems that process audio, which have ranks."""
        return [row for row, system in enumerate(self.systems) if not system.control]

    def _rank(self, scores: np.ndarray) -> np.ndarray:
        """Return the ranks of the systems that process audio by scores of shape (systems,); NaN for the others."""
        ranked, known = self.ranked, np.full(len(scores), np.nan)
        known[ranked] = competition_ranks(np.nan_to_num(scores[ranked], nan=-np.inf))
        return np.where(np.isnan(scores), np.nan, known)

    def list_mismatches(self, row: int) -> list[str]:
        """Return how the system of a row differs from the others or from norms, in words."""
        return [mismatch.text for mismatch in self.mismatches if mismatch.system == self.pool.systems[row]]

    @property
    def excluded_set(self) -> str | None:
        """Return the sha256 of the unanswerable set that the excluded questions come from."""
        return next((system.excluded for system in self.systems if system.excluded), None)

    @property
    def floors(self) -> dict[str, float]:
        """Return category -> mean score of a constant answer, for usual columns whose rows have a floor."""
        floors = {}
        for level, rows in self.systems[0].by_level.items():
            values = rows.where_known(FLOOR).number(FLOOR).tolist()
            if values and self.levels[level].usual is None:
                floors[level] = sum(values) / len(values)
        return floors

    @property
    def caution(self) -> str | None:
        """Return the caution about intervals from few clips or clusters; None for enough, or without intervals."""
        rows = range(len(self.systems))
        if self.has_siq:
            return find_caution(map(self.estimate_siq, rows))
        return find_caution(self.estimate(column, row) for column in self.levels for row in rows)

    def to_frame(self) -> pd.DataFrame:
        """Return the scores as a pandas frame, one row per system, best first.

        Returns:
            Index `system`; columns `rank`, `siq`, `siq_low`, `siq_high` (ends of the 95 % interval), or `mean_rank` for
            a suite without a scale; for each column its mean in the unit of `frame.attrs["units"][column]` (such as
            WER %), and its Z if the suite has a scale, each with the ends of its interval (`remember`, `remember_low`,
            `remember_high`, `remember_z`, `remember_z_low`, `remember_z_high`); the flags, shares from 0 to 1
            (`unparsed`, `none_of_the_above`, `incomplete_audio`, `repetition`,
            `wrong_language`); with unanswerable questions left out, `hallucination`, a share from 0 to 1, with the ends
            of its interval; `control`, which is empty for a system that listens. Unknown values are missing (NaN, or
            NA for `rank`); a control has no rank.

        Example:
            ```python
            frame = scoreboard.to_frame()
            frame.loc[frame["control"] == "", ["siq", "remember", "apply"]]
            ```
        """
        import pandas as pd

        bars = self.bars
        columns: dict[str, Any] = {"mean_rank": self.places}
        if self.scale:
            columns = {"rank": pd.array(self.places, dtype="Int64"), "siq": self.siq}
            columns |= _ends("siq", bars.siq if bars and self.has_siq else None, self.siq)
        for column, category in self.columns.items():
            show, mean = category.show, self.means[column]
            columns[column] = show(mean) + 0.0  # no negative zero
            columns |= _ends(column, bars and Interval(*map(show, bars.intervals[column])), mean)
            if column in self.z:
                columns[f"{column}_z"] = self.z[column]
                columns |= _ends(f"{column}_z", bars.z[column] if bars and self.has_z else None, mean)
        for flag in self.systems[0].flags._fields:
            columns[flag] = np.array([getattr(system.flags, flag) for system in self.systems], dtype=float)
        if self.hallucination:
            rates = [self.hallucination[name] for name in self.pool.systems]
            ends = Interval(*np.array([rate.ends for rate in rates]).T)
            columns["hallucination"] = np.array([rate.value for rate in rates])
            columns |= _ends("hallucination", ends, columns["hallucination"])
        columns["control"] = [system.control for system in self.systems]
        frame = pd.DataFrame(columns, index=pd.Index(self.pool.systems, name="system"))
        frame.columns.name = "score"
        frame.attrs["units"] = {column: category.unit for column, category in self.columns.items()}
        return frame.iloc[self.order]

    def samples(self) -> pd.DataFrame:
        """Return the scores of all items as a pandas frame, one row per system, level and clip or question.

        Returns:
            Columns `system`, `level`, `clip`, `question` (missing if an item of the level is a clip), `dataset`,
            `score` in its `unit` (such as WER %), and the flags of the row: `audio_coverage`, `repetition`,
            `wrong_language`, `unparsed`, `none_of_the_above`, missing if the run does not record them.

        Example:
            ```python
            samples = scoreboard.samples()
            hardest = samples[samples["level"] == "remember"].groupby("clip")["score"].mean().nlargest(3)
            ```
        """
        parts = []
        for system in self.systems:
            for level, rows in system.by_level.items():
                category = system.levels[level]
                questions = as_column(item[1] if len(item) > 1 else None for item in rows["item"])
                shown = category.show(rows["score"]) + 0.0
                parts.append(rows.assign(system=system.name, question=questions, score=shown, unit=category.unit))
        columns = ["system", "level", "clip", "question", "dataset", "score", "unit", *FLAGS]
        return join_tables(parts).to_frame().reindex(columns=columns)

    def __repr__(self) -> str:
        if self.remarks.no_siq:
            return f"<Scoreboard of {', '.join(self.pool.systems)}: {self.remarks.no_siq}>"
        shown = self.places if self.scale is None else self.siq
        measure = "mean rank" if self.scale is None else "SIQ"
        systems = (f"{self.pool.systems[row]} {shown[row]:.1f}" for row in self.order)
        return f"<Scoreboard by {measure}: {', '.join(systems)}>"

    def _repr_html_(self) -> str:
        """Return an HTML table with the remarks below; all texts are escaped."""
        import pandas as pd

        frame = self.to_frame()
        if self.scale is None:
            shown = pd.DataFrame({"mean rank": frame["mean_rank"].map("{:.3g}".format, na_action="ignore")})
        else:
            siq = frame["siq"].map("{:.2f}".format, na_action="ignore")
            shown = pd.DataFrame({"rank": frame["rank"], "SIQ": siq})
        if self.scale and self.bars:
            ends = zip(frame["siq_low"], frame["siq_high"], strict=True)
            shown[INTERVAL] = ["" if np.isnan(low) else f"{low:.1f} to {high:.1f}" for low, high in ends]
        for column, unit in frame.attrs["units"].items():
            shown[f"{column.title()} {unit}"] = frame[column].map("{:.2f}".format, na_action="ignore")
            if column in self.z:
                shown[f"{column.title()} Z"] = frame[f"{column}_z"].map("{:+.2f}".format, na_action="ignore")
        shown["control"] = frame["control"]
        remarks = [*self.remarks.readings(), *self.remarks.lines(self.levels), *self.remarks.warnings()]
        notes = "".join(f"<li>{html.escape(line)}</li>" for line in remarks)
        return f"{shown.to_html(na_rep='')}<ul>{notes}</ul>"


def _ends(name: str, interval: Interval | None, like: np.ndarray) -> dict[str, np.ndarray]:
    """Return the two columns of an interval, the lower end first; NaN without one."""
    if interval is None:
        return dict.fromkeys((f"{name}_low", f"{name}_high"), np.full(len(like), np.nan))
    return {f"{name}_low": np.minimum(*interval) + 0.0, f"{name}_high": np.maximum(*interval) + 0.0}
