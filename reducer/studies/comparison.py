"""Hold the differences between two systems; one is better only if every interval that must agree favors it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from speechiq.reducer.runs.measure import Category
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.stats.estimate import CONFIDENCE, Difference
from speechiq.reducer.stats.grid import caution, count_units

if TYPE_CHECKING:
    import pandas as pd

SIQ = "siq"


class Share(NamedTuple):
    """Hold a clip's part in the difference.

    Attributes:
        total: Part in the SIQ difference, in SIQ; without a scale, in the mean of the levels' raw differences, in
            percent; for a suite without a scale, in the mean of the categories' differences, each in standard
            deviations of its raw scores. All clips' parts sum to that difference. Above 0, a is better.
        levels: Level -> its part in `total`.
    """

    clip: str
    total: float
    levels: dict[str, float]


class Undefined(NamedTuple):
    """Hold numbers of items of a level: without a score of A, of B, all, and those `compared`, with a score of both."""

    a: int
    b: int
    items: int
    compared: int


class ComparisonRow(NamedTuple):
    """Hold one score of both systems, in the unit that people read.

    Attributes:
        key: Name of a level, of a level with `_z`, or `siq`.
        label: The same for people, without `_z`.
        unit: Unit of the numbers, or `Z`; empty for SIQ.
        side: The system that the interval speaks for (`Difference.side` of scores that grow with ability).
    """

    key: str
    label: str
    unit: str
    difference: Difference
    side: int


class Comparison(NamedTuple):
    """Hold the differences between systems a and b.

    Attributes:
        left_out: Number of draws that could not be scored; they do not count.
        raw: Level -> difference of the mean raw scores, fractions that grow with ability.
        z: Level -> difference in Z_j; empty without a scale.
        siq: Difference in SIQ; None without a scale.
        asked: What must agree for a system to be better: levels, `siq`.
        clips: Every clip's part, largest first.
        clusters: Number of clusters of these clips, which is that of clips if no two share one.
        no_siq: Why SIQ is missing and what to do; None if it is not.
        undefined: Level -> what was left out, for levels on which items may have no score.
    """

    a: str
    b: str
    draws: int
    left_out: int
    seed: int
    raw: dict[str, Difference]
    z: dict[str, Difference]
    siq: Difference | None
    asked: tuple[str, ...]
    clips: list[Share]
    clusters: int
    no_siq: str | None = None
    levels: Mapping[str, Category] = MappingProxyType({})
    undefined: Mapping[str, Undefined] = MappingProxyType({})

    def to_frame(self) -> pd.DataFrame:
        """Return the differences as a pandas frame, one row per score.

        Returns:
            Index `score`: each level (`remember`), its Z (`remember_z`) if there is a scale, and `siq`. Columns:
            `unit`; `a` and `b`, the scores of both systems; `difference`, a minus b, with the ends `low` and `high` of
            its 95 % interval; `p` of the permutation test; `better`, the system that the interval speaks for, empty if
            it includes 0. If items may have no score (`measure.undefined: counted`), also `undefined_a` and
            `undefined_b`, the number of such items, and `items`, the number that both systems have a score for.
            `frame.attrs` has the names of `a` and `b`.

        Example:
            ```python
            speechiq.compare("whisper-base", "whisper-tiny.en", "runs").to_frame()
            ```
        """
        import pandas as pd

        rows = {}
        for row in self.rows:
            scores = {"unit": row.unit or row.label, "a": row.difference.a, "b": row.difference.b}
            rows[row.key] = scores | row.difference.record | {"better": self.name_of(row.side) or ""}
        for level, counts in self.undefined.items():
            rows[level] |= {"undefined_a": counts.a, "undefined_b": counts.b, "items": counts.compared}
        frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis(index="score")
        frame.attrs |= {"a": self.a, "b": self.b}
        return frame

    def __repr__(self) -> str:
        return f"<Comparison of a={self.a!r} and b={self.b!r}, better: {self.better!r}>"

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(na_rep=""))

    @property
    def caution(self) -> str | None:
        """Return the caution about intervals from few clips or clusters (`coverage.caution`)."""
        return caution(len(self.clips), self.clusters)

    @property
    def units(self) -> str:
        """Return the number of clips and clusters that a draw takes, in words."""
        return count_units(len(self.clips), self.clusters)

    @property
    def sides(self) -> dict[str, int]:
        """Return the side that each interval of `asked` speaks for (`Difference.side`)."""
        differences = self.raw | ({SIQ: self.siq} if self.siq else {})
        return {name: differences[name].side for name in self.asked}

    @property
    def better(self) -> str | None:
        """Return the system that all intervals of `asked` favor; None if they do not agree on one."""
        sides = {*self.sides.values()}
        return self.name_of(sides.pop()) if len(sides) == 1 else None

    def name_of(self, side: int) -> str | None:
        """Return the system on a side (`Difference.side`); None for 0."""
        return {1: self.a, -1: self.b}.get(side)

    @property
    def conflicts(self) -> list[ComparisonRow]:
        """Return the rows in which the p value and the interval do not agree on whether the difference is chance."""
        tested = [row for row in self.rows if not math.isnan(row.difference.p + row.difference.low)]
        return [row for row in tested if (row.difference.p < 1 - CONFIDENCE) != bool(row.side)]

    @property
    def rows(self) -> list[ComparisonRow]:
        """Return a row per level, then its Z, and SIQ last."""
        rows = []
        for level, difference in self.raw.items():
            category, label = self.levels[level], title(level)
            shown = difference.map(float(category.show(1.0)))
            rows.append(ComparisonRow(level, label, category.unit, shown, difference.side))
            if level in self.z:
                rows.append(ComparisonRow(f"{level}_z", label, "Z", self.z[level], self.z[level].side))
        return [*rows, *([ComparisonRow(SIQ, "SIQ", "", self.siq, self.siq.side)] if self.siq else [])]

    def swap(self) -> Comparison:
        """Return the comparison of B with A."""
        raw, z = ({level: gap.swap() for level, gap in gaps.items()} for gaps in (self.raw, self.z))
        clips = [
            Share(share.clip, -share.total, {level: -part for level, part in share.levels.items()})
            for share in self.clips
        ]
        return self._replace(a=self.b, b=self.a, raw=raw, z=z, siq=self.siq and self.siq.swap(), clips=clips)


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison for the JSON file; `difference` is a minus b.

    `scores` have the sign and the unit of their columns, which `measures` describes: an error rate falls with ability.
    """
    measures = {level: comparison.levels[level].measure for level in comparison.raw}

    def record(difference: Difference, sign: float = 1.0) -> dict[str, Any]:
        return difference.map(sign).record | {"better": comparison.name_of(difference.side)}

    conflicts = [row.key for row in comparison.conflicts]
    fields = {name: value for name, value in comparison._asdict().items() if name not in ("levels", "raw")}
    return fields | {
        "measures": {level: measure.record for level, measure in measures.items()},
        "scores": {level: record(gap, measures[level].sign) for level, gap in comparison.raw.items()},
        "z": {level: record(gap) for level, gap in comparison.z.items()},
        "conflicts": conflicts,
        "caution": comparison.caution,
        "siq": comparison.siq and record(comparison.siq),
        "better": comparison.better,
    }
