"""Compare a judge with persons by a table that the user made: question, answer, the judge's score, a person's score."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.tables import check_columns, read_field, read_number, read_table
from speechiq.reducer.runs.samples import Item
from speechiq.reducer.stats.grid import Grid
from speechiq.reducer.studies import agreement
from speechiq.reducer.studies.judges.check import FEWEST

COLUMNS = ("question", "answer", "judge", "score")
JUDGE, PERSON = "judge", "person"
#: Rater -> answer -> score.
Ratings = Mapping[str, Mapping[tuple[str, Item], float]]


def read_ratings(files: Sequence[Path]) -> Ratings:
    """Return the scores of the judge and of each person; of an answer several persons have a row each.

    A row without a name in `person` is by the person that the file is named after.
    """
    ratings: dict[str, dict[tuple[str, Item], float]] = {JUDGE: {}}
    for file in files:
        rows = read_table(file)
        check_columns(rows[0], COLUMNS, file)
        for number, row in enumerate(rows, 1):
            where = f"{file} row {number}"
            question, answer = (read_field(row, column, where) for column in COLUMNS[:2])
            key = question, (answer,)
            person = str(row.get(PERSON) or file.stem).strip()
            if person == JUDGE:
                raise SpeechIQError(where, f"{PERSON} is {JUDGE!r}", "give the person another name")
            judge, score = (_read_score(row, column, where) for column in COLUMNS[2:])
            if ratings[JUDGE].setdefault(key, judge) != judge:
                fault = f"the judge gave {judge:g} here and {ratings[JUDGE][key]:g} in another row of this answer"
                raise SpeechIQError(where, fault, "correct one of them")
            if key in ratings.setdefault(person, {}):
                raise SpeechIQError(where, f"{person!r} scored this answer in an earlier row", "delete one row")
            ratings[person][key] = score
    if len(ratings[JUDGE]) < FEWEST:
        raise SpeechIQError(files[0], f"{len(ratings[JUDGE])} answers", f"score at least {FEWEST}, better 30 or more")
    return ratings


def _read_score(row: Mapping[str, Any], column: str, where: str) -> float:
    number = read_number(row.get(column))
    if not math.isfinite(number):
        raise SpeechIQError(where, f"{column} is {row.get(column)!r:.80}, not a number", "write one, or delete the row")
    return number


def compare_ratings(ratings: Ratings, draws: int) -> list[dict[str, Any]]:
    """Return the agreement of the judge with each person, and of each two persons; draws take whole questions."""
    records = agreement.compare_each_pair(ratings.items(), lambda key: key[0], fewest=FEWEST, draws=draws)
    if not records:
        raise SpeechIQError("judge and persons", f"no two of them scored the same {FEWEST} answers", "score more")
    return records


def as_grid(records: Sequence[Mapping[str, Any]]) -> Grid:
    """Return the table of the agreement of each two raters."""
    notes = ["bias: mean of A minus B", "bootstrap samples take whole questions"]
    return agreement.as_grid("Agreement of judge and persons", records, ("equal", "kappa", "spearman", "bias"), notes)
