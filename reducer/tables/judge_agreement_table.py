"""Show how far two judges agree on the same answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.reducer.scores.remarks import title
from speechiq.reducer.studies.judges.second_judge import JudgeAgreement
from speechiq.reducer.tables.reliability_table import show_estimate
from speechiq.reducer.tables.table import SYSTEM, show_share

MEANINGS = (
    "scores in percent of the rubric's scale; answers that one of the judges left unjudged are left out",
    "A - B: mean difference, above 0 if A is more generous",
    "Kappa: Cohen's, quadratic weights; Alpha: Krippendorff's; 1 full agreement, 0 that of chance",
    "Spearman: rank correlation; Equal: answers with equal scores",
    "two judges can agree and both be wrong: `siq judge check` compares a judge with people",
)


def as_table(found: Sequence[JudgeAgreement], draws: int, seed: int) -> Table:
    """Return a table with a row per category and system.

    Args:
        found: The agreements.
        draws: Number of draws for the intervals.
        seed: Seed of the draws.
    """
    table = Table(title="Agreement of two judges", box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    table.add_column("Category", no_wrap=True)
    table.add_column(SYSTEM, overflow="fold")
    for name in ("Answers", "A %", "B %", "A - B", "Kappa", "Alpha", "Spearman", "Equal %", "Unjudged\nA, B"):
        table.add_column(name, justify="right", no_wrap=True)
    for of in found:
        table.add_row(
            Text(title(of.category)),
            Text(of.system),
            str(of.answers),
            f"{100 * of.mean_a:.2f}",
            f"{100 * of.mean_b:.2f}",
            show_estimate(of.bias, factor=100.0, sign="+"),
            *map(show_estimate, (of.kappa, of.alpha, of.spearman)),
            show_share(of.equal),
            f"{of.unjudged_a}, {of.unjudged_b}",
        )
    table.caption = Text("\n".join(caption(found, draws, seed)))
    return table


def caption(found: Sequence[JudgeAgreement], draws: int, seed: int) -> Iterator[str]:
    """Yield who the judges are, and the meanings of the columns."""
    judges = {(title(of.category), of.judge_a, of.judge_b, of.ordinal) for of in found}
    for category, a, b, ordinal in sorted(judges):
        yield f"{category}: A {a}; B {b}; alpha for the {'ordinal' if ordinal else 'interval'} scale"
    yield from MEANINGS
    if draws:
        yield f"intervals: 95 %, from {draws} draws of clips, seed {seed}"
