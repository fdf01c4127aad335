"""Count invented answers: majorities other than (E) on questions that have no answer (section 5.5, Table 4)."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.letters.options import UNPARSED
from speechiq.reducer.runs.answers import NONE_OF_THE_ABOVE, Answers
from speechiq.reducer.runs.samples import Item
from speechiq.reducer.stats.interval import CONFIDENCE
from speechiq.reducer.stats.proportion import share
from speechiq.reducer.studies.unanswerable import UNANSWERABLE, Confirmed, check_wording
from speechiq.reducer.tables.records import without_formula


class Hallucination(NamedTuple):
    """Counts of one system on the unanswerable questions.

    Attributes:
        system: Name of the system.
        control: `gold`, `silence` or `letter:X`; empty for a system that listens.
        asked: Number of unanswerable questions.
        hallucinated: Number of votes for one of (A) to (D).
        none_of_the_above: Number of votes for (E), the right answer.
        unparsed: Number of votes without a letter; they count as neither.
        rate: hallucinated / asked.
        low: Lower end of the 95 % interval of the rate, over clips (`proportion.share`).
        high: Upper end of the same interval.
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
    """Count the hallucinations of every system, lowest rate first, then by name.

    Args:
        answers: The answers of all systems.
        confirmed: The unanswerable set; its questions with the verdict `unanswerable` count.

    Raises:
        SpeechIQError: The set has no unanswerable question, or one that is missing in the runs or differs in wording.
    """
    items = {item: question for item, question in confirmed.items() if question.verdict == UNANSWERABLE}
    if not items:
        raise SpeechIQError(
            f"the set has no question with the verdict {UNANSWERABLE!r}; confirm one with "
            "`siq study unanswerable confirm`"
        )
    check_wording(items, {item: question.asked for item, question in answers.questions.items()})
    return sorted(
        (
            _of_system(system, answers.controls.get(system, ""), {item: votes[item].vote for item in items})
            for system, votes in answers.votes.items()
        ),
        key=lambda one: (one.rate, one.system),
    )


def as_table(counts: list[Hallucination]) -> Table:
    """Return the counts as a table for the terminal; names are shown as plain text, never as markup."""
    table = Table(
        title="Hallucination",
        caption=f"{counts[0].asked} unanswerable questions; interval: Wilson over clips, {100 * CONFIDENCE:.0f} %",
        box=SIMPLE_HEAD,
        padding=(0, 0, 0, 1),
    )
    table.add_column("System", overflow="fold")
    for heading in ("Control", "Made up", "Rate %", "Interval %", "(E)", "Unparsed"):
        table.add_column(heading, justify="left" if heading == "Control" else "right", no_wrap=True)
    for one in counts:
        table.add_row(
            Text(one.system),
            Text(one.control),
            str(one.hallucinated),
            f"{100 * one.rate:.1f}",
            f"{100 * one.low:.1f} to {100 * one.high:.1f}",
            str(one.none_of_the_above),
            str(one.unparsed),
        )
    return table


def as_json(counts: list[Hallucination]) -> str:
    """Return the counts as JSON, unrounded: a list with one object per system, the fields of `Hallucination`."""
    return json.dumps([one._asdict() for one in counts], indent=2, ensure_ascii=False) + "\n"


def as_csv(counts: list[Hallucination]) -> str:
    """Return the counts as CSV, unrounded; a text that a spreadsheet would take for a formula gets a quote in front."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Hallucination._fields)
    writer.writerows([*map(without_formula, one[:2]), *one[2:]] for one in counts)
    return text.getvalue()


def _of_system(system: str, control: str, votes: Mapping[Item, str]) -> Hallucination:
    counts = Counter(votes.values())
    invented = [vote not in (NONE_OF_THE_ABOVE, UNPARSED) for vote in votes.values()]
    estimate = share(invented, np.ones(len(votes)), [item[0] for item in votes])
    none, unparsed = counts[NONE_OF_THE_ABOVE], counts[UNPARSED]
    return Hallucination(system, control, len(votes), sum(invented), none, unparsed, *estimate)
