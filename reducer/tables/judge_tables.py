"""Show how well a judge agrees with persons, and mean scores corrected by theirs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.core.console import count_of, printable
from speechiq.metrics.judge.rubric import Rubric
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.studies.judges.check import FEWEST, Checked, Group
from speechiq.reducer.studies.judges.settings import JudgeSettings
from speechiq.reducer.tables.records import known
from speechiq.reducer.tables.table import UNKNOWN

#: Most grades of a table of grades.
MOST_GRADES = 11
GROUP, PERSON = ("System", "Category"), "Person"


def as_tables(checked: Checked, settings: JudgeSettings) -> Iterator[Table]:
    """Yield the tables of one rubric: agreement, corrected scores, and the judge's grades by the person's.

    Args:
        checked: What the scores show.
        settings: The judge.
    """
    rubric = checked.rubric
    low, high = rubric.scale
    yield _table(
        f"Judge {settings.name} against persons, rubric {rubric.name} ({low} to {high})",
        [
            "System",
            "Category",
            "Scored",
            "Weighted kappa\n95 % interval",
            "Spearman\n95 % interval",
            "Bias\n95 % interval",
        ],
        [
            [*_names(of), str(of.corrected.mean.n), _show(of.kappa), _show(of.spearman), _show(of.bias, signed=True)]
            for of in checked.groups
        ],
        ["bias: mean of judge minus person, on the scale of the rubric", *_notes(checked)],
    )
    yield _table(
        "Mean scores in % of the scale",
        [*GROUP, "Answers", "Judge", "Corrected", "95 % interval"],
        [[*_names(of), str(of.corrected.answers), *_percent(of, rubric)] for of in checked.groups],
        ["corrected: the judge's mean over all answers + the mean of person - judge over the scored ones"],
    )
    if len(checked.grades) <= MOST_GRADES:
        yield _table(
            "Answers by grade",
            [PERSON, *(f"judge {grade}" for grade in checked.grades)],
            [
                [str(grade), *map(str, row)]
                for grade, row in zip(checked.grades, checked.confusion.tolist(), strict=True)
            ],
            [],
        )


def as_records(checked: Sequence[Checked]) -> list[dict[str, Any]]:
    """Return the numbers as plain data, a record for each rubric; unknown numbers are None."""
    return [
        {
            "rubric": of.rubric.name,
            "rubric_sha256": of.rubric.sha256,
            "scale": list(of.rubric.scale),
            "unjudged": of.unjudged,
            "groups": [_group(group) for group in of.groups],
            "left_out": of.left_out,
            "grades": of.grades,
            "confusion": of.confusion.tolist(),
            "persons": [person._asdict() | {"kappa": known(person.kappa)} for person in of.persons],
        }
        for of in checked
    ]


def as_rows(checked: Sequence[Checked]) -> list[dict[str, Any]]:
    """Return a row for each group of each rubric, for CSV."""
    return [{"rubric": of.rubric.name} | _group(group) for of in checked for group in of.groups]


def _group(of: Group) -> dict[str, Any]:
    row: dict[str, Any] = {"system": of.system, "category": of.category}
    row |= {"answers": of.corrected.answers, "scored": of.corrected.mean.n}
    for name, estimate in (("kappa", of.kappa), ("spearman", of.spearman), ("bias", of.bias)):
        value, low, high = map(known, estimate[:3])
        row |= {name: value, f"{name}_low": low, f"{name}_high": high}
    values = {"judge": of.corrected.judge, "corrected": of.corrected.mean.value}
    values |= {"corrected_low": of.corrected.mean.low, "corrected_high": of.corrected.mean.high}
    return row | {name: known(value) for name, value in values.items()}


def _notes(checked: Checked) -> Iterator[str]:
    if checked.left_out:
        yield f"fewer than {FEWEST} scored answers: {', '.join(map(printable, checked.left_out))}"
    if checked.unjudged:
        yield f"answers without a score of the judge, which count in nothing: {checked.unjudged}"
    for of in checked.persons:
        kappa = UNKNOWN if math.isnan(of.kappa) else f"{of.kappa:.2f}"
        yield f"persons {of.one} and {of.other}: weighted kappa {kappa} on {count_of(of.answers, 'answer')}"


def _names(of: Group) -> list[str]:
    return [of.system or "all", of.category or "all"]


def _show(of: Estimate, *, signed: bool = False) -> str:
    form = "+z.2f" if signed else "z.2f"
    if math.isnan(of.value):
        return UNKNOWN
    interval = UNKNOWN if math.isnan(of.low) else f"{of.low:{form}} to {of.high:{form}}"
    return f"{of.value:{form}}\n{interval}"


def _percent(of: Group, rubric: Rubric) -> list[str]:
    judge, value, low, high = (100 * rubric.as_share(score) for score in (of.corrected.judge, *of.corrected.mean[:3]))
    return [f"{judge:.1f}", f"{value:.1f}", UNKNOWN if math.isnan(low) else f"{low:.1f} to {high:.1f}"]


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> Table:
    table = Table(title=Text(printable(title)), box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    table.title_justify = table.caption_justify = "left"
    for column in columns:
        table.add_column(column, justify="left" if column in (*GROUP, PERSON) else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text("\n".join(map(printable, cell.split("\n")))) for cell in row))
    table.caption = Text("\n".join(map(printable, notes))) if notes else None
    return table
