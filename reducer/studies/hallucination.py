"""Count invented answers: majorities other than (E) on questions that have no answer (section 5.5, Table 4)."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.letters.options import UNPARSED
from speechiq.reducer.runs.answers import NONE_OF_THE_ABOVE, Answers
from speechiq.reducer.runs.rows import Item
from speechiq.reducer.stats.coverage import caution_of_estimates, name_units
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import INTERVAL, Column, Grid
from speechiq.reducer.stats.interval import CONFIDENCE
from speechiq.reducer.stats.proportion import share
from speechiq.reducer.studies.unanswerable import UNANSWERABLE, Confirmed, check_wording


class Hallucination(NamedTuple):
    """Hold counts of one system on the unanswerable questions.

    Attributes:
        control: `gold`, `silence` or `letter:X`; empty for a system that listens.
        hallucinated: Number of votes for one of (A) to (D).
        none_of_the_above: Number of votes for (E), the right answer.
        unparsed: Number of votes without a letter; they count as neither.
        rate: Share of hallucinated votes, with its interval over clips (`proportion.share`).
    """

    system: str
    control: str
    asked: int
    hallucinated: int
    none_of_the_above: int
    unparsed: int
    rate: Estimate


def count(answers: Answers, confirmed: Mapping[Item, Confirmed]) -> list[Hallucination]:
    """Count the hallucinations of every system on the questions with the verdict `unanswerable`, lowest rate first."""
    items = {item: question for item, question in confirmed.items() if question.verdict == UNANSWERABLE}
    if not items:
        raise SpeechIQError(
            f"the set has no question with the verdict {UNANSWERABLE!r}",
            fix="confirm one with `siq study unanswerable --review`",
        )
    check_wording(items, {item: question.asked for item, question in answers.questions.items()})
    rows = []
    for system, answered in answers.votes.items():
        votes = [answered[item].vote for item in items]
        invented = [vote not in (NONE_OF_THE_ABOVE, UNPARSED) for vote in votes]
        rate = share(invented, np.ones(len(votes)), [clip for clip, *_ in items], answers.clusters)
        counts = len(votes), sum(invented), votes.count(NONE_OF_THE_ABOVE), votes.count(UNPARSED)
        rows.append(Hallucination(system, answers.controls.get(system, ""), *counts, rate))
    return sorted(rows, key=lambda row: (row.rate.value, row.system))


def as_grid(counts: list[Hallucination]) -> Grid:
    """Return the counts as a grid, one row per system."""
    columns = [
        Column("system", "System"),
        Column("control", "Control"),
        Column("asked"),
        Column("hallucinated", "Hallucinated", "d"),
        Column("rate", f"Rate %\n{INTERVAL}", ".1f", factor=100),
        Column("none_of_the_above", "None of\nthe above", "d"),
        Column("unparsed", "Unreadable", "d"),
    ]
    few = caution_of_estimates(count.rate for count in counts)
    units = name_units(count.rate for count in counts)
    notes = [f"{counts[0].asked} unanswerable questions; interval: Wilson over {units}, {100 * CONFIDENCE:.0f} %"]
    notes += filter(None, [few])
    return Grid("Hallucination", columns, [count._asdict() for count in counts], notes)
