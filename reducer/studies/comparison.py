"""Hold the differences between two systems, and show them as a table, as plain data and as a verdict.

A system is better only if every interval that must agree lies on its side of 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from speechiq.reducer.runs.measure import Category
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.stats.coverage import caution
from speechiq.reducer.stats.estimate import Difference, plain

if TYPE_CHECKING:
    import pandas as pd

SIQ = "siq"


class Share(NamedTuple):
    """A clip's part in the difference.

    Attributes:
        clip: Id of the clip.
        total: Part in the SIQ difference, in SIQ; without a scale, in the mean of the levels' raw differences, in
            percent; for a suite without a scale, in the mean of the categories' differences, each in standard
            deviations of its raw scores. All clips' parts sum to that difference. Above 0, a is better.
        levels: Level -> its part in `total`.
    """

    clip: str
    total: float
    levels: dict[str, float]


class Undefined(NamedTuple):
    """The items of a level that are left out of a comparison because one of the systems has no score for them.

    Attributes:
        a: Number of items without a score of A.
        b: The same of B.
        items: Number of all items.
        compared: Number of items with a score of both.
    """

    a: int
    b: int
    items: int
    compared: int


class Row(NamedTuple):
    """One score of both systems, in the unit that people read.

    Attributes:
        key: Name of a level, of a level with `_z`, or `siq`.
        label: The same for people, without `_z`.
        unit: Unit of the numbers, or `Z`; empty for SIQ.
        difference: The scores and their difference.
        side: The system that the interval speaks for (`Difference.side` of scores that grow with ability).
    """

    key: str
    label: str
    unit: str
    difference: Difference
    side: int


class Comparison(NamedTuple):
    """The differences between two systems.

    Attributes:
        a: Name of system a.
        b: Name of system b.
        draws: Number of draws.
        left_out: Number of draws that could not be scored; they do not count.
        seed: Seed of draws and permutations.
        raw: Level -> difference of the mean raw scores, fractions that grow with ability.
        z: Level -> difference in Z_j; empty without a scale.
        siq: Difference in SIQ; None without a scale.
        asked: What must agree for a system to be better: levels, `siq`.
        clips: Every clip's part, largest first.
        no_siq: Why SIQ is missing and what to do; None if it is not.
        levels: Level -> how it is scored.
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

        rows = {
            row.key: {"unit": row.unit or row.label, **row.difference.record, "better": self.name_of(row.side) or ""}
            for row in self.rows
        }
        for level, counts in self.undefined.items():
            rows[level] |= {"undefined_a": counts.a, "undefined_b": counts.b, "items": counts.compared}
        frame = pd.DataFrame.from_dict(rows, orient="index")
        columns = ["unit", "a", "b", "difference"]
        frame = frame[columns + [name for name in frame.columns if name not in columns]].rename_axis(index="score")
        frame.attrs |= {"a": self.a, "b": self.b}
        return frame

    def __repr__(self) -> str:
        return f"<Comparison of a={self.a!r} and b={self.b!r}, better: {self.better!r}>"

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(na_rep=""))

    @property
    def caution(self) -> str | None:
        """Return the caution about intervals from few clips (`coverage.caution`)."""
        return caution(len(self.clips))

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
    def rows(self) -> list[Row]:
        """Return a row per level, then its Z, and SIQ last."""
        rows = []
        for level, difference in self.raw.items():
            category, label = self.levels[level], title(level)
            shown = difference.map(float(category.show(1.0)))
            rows.append(Row(level, label, category.unit, shown, difference.side))
            if level in self.z:
                rows.append(Row(f"{level}_z", label, "Z", self.z[level], self.z[level].side))
        return [*rows, *([Row(SIQ, "SIQ", "", self.siq, self.siq.side)] if self.siq else [])]

    def swap(self) -> Comparison:
        """Return the comparison of B with A."""
        raw, z = ({level: of.swap() for level, of in each.items()} for each in (self.raw, self.z))
        clips = [Share(of.clip, -of.total, {level: -part for level, part in of.levels.items()}) for of in self.clips]
        return self._replace(a=self.b, b=self.a, raw=raw, z=z, siq=self.siq and self.siq.swap(), clips=clips)


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as plain data; `difference` is a minus b.

    `scores` have the sign and the unit of their columns, which `measures` describes: an error rate falls with ability.
    """
    measures = {level: comparison.levels[level].measure for level in comparison.raw}

    def record(difference: Difference, sign: float = 1.0) -> dict[str, Any]:
        return difference.map(sign).record | {"better": comparison.name_of(difference.side)}

    rest = {key: value for key, value in comparison._asdict().items() if key not in ("levels", "undefined", "raw")}
    content = rest | {
        "measures": {level: measure.record for level, measure in measures.items()},
        "scores": {level: record(of, measures[level].sign) for level, of in comparison.raw.items()},
        "z": {level: record(of) for level, of in comparison.z.items()},
        "caution": comparison.caution,
        "siq": comparison.siq and record(comparison.siq),
        "better": comparison.better,
    }
    return dict(plain(content))
