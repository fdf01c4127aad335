"""Count invented answers: majorities other than (E) on questions that have no answer (section 5.5, Table 4)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.letters.options import UNPARSED
from speechiq.reducer.runs.answers import NONE_OF_THE_ABOVE, Answers
from speechiq.reducer.runs.rows import Item
from speechiq.reducer.stats.coverage import caution_of_estimates, name_units
from speechiq.reducer.stats.grid import INTERVAL, Column, Grid
from speechiq.reducer.stats.interval import CONFIDENCE
from speechiq.reducer.stats.proportion import share
from speechiq.reducer.studies.unanswerable import UNANSWERABLE, Confirmed, check_wording


def count(answers: Answers, confirmed: Mapping[Item, Confirmed]) -> list[dict[str, Any]]:
    """Count the hallucinations of every system on the questions with the verdict `unanswerable`, lowest rate first.

    Returns:
        A record per system: its `control` (empty for a system that listens), and how many votes it was `asked` for, are
        `hallucinated` (for one of (A) to (D)), `none_of_the_above` ((E), the right answer) and `unparsed`, which count
        as neither; `rate` is the share of the hallucinated ones, with its interval over clips.
    """
    items = {item: question for item, question in confirmed.items() if question.verdict == UNANSWERABLE}
    if not items:
        raise SpeechIQError(
            f"the set has no question with the verdict {UNANSWERABLE!r}",
            fix="confirm one with `siq study unanswerable --review`",
        )
    check_wording(items, {item: question.asked for item, question in answers.questions.items()})
    records = []
    for system, answered in answers.votes.items():
        votes = [answered[item].vote for item in items]
        invented = [vote not in (NONE_OF_THE_ABOVE, UNPARSED) for vote in votes]
        records.append(
            {
                "system": system,
                "control": answers.controls.get(system, ""),
                "asked": len(votes),
                "hallucinated": sum(invented),
                "none_of_the_above": votes.count(NONE_OF_THE_ABOVE),
                "unparsed": votes.count(UNPARSED),
                "rate": share(invented, np.ones(len(votes)), [clip for clip, *_ in items], answers.clusters),
            }
        )
    return sorted(records, key=lambda record: (record["rate"].value, record["system"]))


def as_grid(records: Sequence[Mapping[str, Any]]) -> Grid:
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
    rates = [record["rate"] for record in records]
    units = name_units(rates)
    notes = [f"{records[0]['asked']} unanswerable questions; interval: Wilson over {units}, {100 * CONFIDENCE:.0f} %"]
    notes += filter(None, [caution_of_estimates(rates)])
    return Grid("Hallucination", columns, records, notes)
