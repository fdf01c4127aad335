"""Count invented answers: majorities other than (E) on questions that have no answer (section 5.5, Table 4)."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.option_letters import UNPARSED
from speechiq.reducer.read.answers import NONE_OF_THE_ABOVE, Answers
from speechiq.reducer.read.samples import Item
from speechiq.reducer.show.records import without_formula
from speechiq.reducer.siq.unanswerable import UNANSWERABLE, Confirmed, refuse_strangers

CONFIDENCE = 0.95


class Hallucination(NamedTuple):
    """One system on the unanswerable questions.

    Attributes:
        system: Its name.
        control: `gold`, `silence` or `letter:X`; empty for a system.
        asked: Number of unanswerable questions.
        hallucinated: Majorities for one of (A) to (D).
        none_of_the_above: Majorities for (E), the right answer.
        unparsed: Questions without a majority that could be read; neither of the two.
        rate: hallucinated / asked.
        low: Lower end of the rate's Wilson interval at 95 %.
        high: Upper end.
    """

    system: str
    control: str
    asked: int
    hallucinated: int
    none_of_the_above: int
    unparsed: int
    rate: float
    low: float
    high: float


def count(answers: Answers, confirmed: Mapping[Item, Confirmed]) -> list[Hallucination]:
    """Every system's hallucinations, fewest first, then by name.

    Args:
        answers: What the systems answered.
        confirmed: The set; its `unanswerable` questions count.

    Raises:
        SpeechIQError: The set has no unanswerable question, or one that the runs lack or word otherwise.
    """
    items = {item: of for item, of in confirmed.items() if of.verdict == UNANSWERABLE}
    if not items:
        raise SpeechIQError(f"the set has no question with the verdict {UNANSWERABLE!r}: nothing to hallucinate on")
    refuse_strangers(items, {item: question.asked for item, question in answers.questions.items()})
    return sorted(
        (
            _of_system(system, answers.controls.get(system, ""), [votes[item].vote for item in items])
            for system, votes in answers.votes.items()
        ),
        key=lambda of: (of.rate, of.system),
    )


def interval(hallucinated: int, asked: int) -> tuple[float, float]:
    """The Wilson interval of a rate at 95 %.

    >>> [round(end, 3) for end in interval(2, 17)]
    [0.033, 0.343]
    """
    from scipy.stats import binomtest

    low, high = binomtest(hallucinated, asked).proportion_ci(CONFIDENCE, method="wilson")
    return float(low), float(high)


def as_table(counts: list[Hallucination]) -> Table:
    """The counts for the terminal; names are plain text, never markup."""
    table = Table(
        title="Hallucination",
        caption=f"{counts[0].asked} unanswerable questions; interval: Wilson, {100 * CONFIDENCE:.0f} %",
        box=SIMPLE_HEAD,
        padding=(0, 0, 0, 1),
    )
    table.add_column("System", overflow="fold")
    for heading in ("Control", "Made up", "Rate %", "Interval %", "(E)", "Unparsed"):
        table.add_column(heading, justify="left" if heading == "Control" else "right", no_wrap=True)
    for of in counts:
        table.add_row(
            Text(of.system),
            Text(of.control),
            str(of.hallucinated),
            f"{100 * of.rate:.1f}",
            f"{100 * of.low:.1f} to {100 * of.high:.1f}",
            str(of.none_of_the_above),
            str(of.unparsed),
        )
    return table


def as_json(counts: list[Hallucination]) -> str:
    """The counts as JSON, unrounded: a list with an object a system, the fields of `Hallucination`."""
    return json.dumps([of._asdict() for of in counts], indent=2, ensure_ascii=False) + "\n"


def as_csv(counts: list[Hallucination]) -> str:
    """The counts as CSV, unrounded; a text that a spreadsheet would take for a formula gets a quote in front."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Hallucination._fields)
    writer.writerows([*map(without_formula, of[:2]), *of[2:]] for of in counts)
    return text.getvalue()


def _of_system(system: str, control: str, votes: list[str]) -> Hallucination:
    none, unparsed = votes.count(NONE_OF_THE_ABOVE), votes.count(UNPARSED)
    hallucinated = len(votes) - none - unparsed
    rate, ends = hallucinated / len(votes), interval(hallucinated, len(votes))
    return Hallucination(system, control, len(votes), hallucinated, none, unparsed, rate, *ends)
