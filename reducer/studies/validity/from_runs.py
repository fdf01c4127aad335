"""Predict failure from runs: by labels of files, or by the answers in the runs."""

from collections.abc import Collection, Sequence
from itertools import combinations
from pathlib import Path

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.labels import Labels, read_labels
from speechiq.reducer.studies.validity.answer_key import Success, label_answers, leave_out
from speechiq.reducer.studies.validity.prediction import Prediction, predict
from speechiq.reducer.studies.validity.tables import Tables
from speechiq.reducer.studies.validity.units import gather

BY_ANSWERS = "answers to the questions of each clip"


def read_sources(paths: Sequence[Path], tables: Tables) -> list[Labels]:
    """Read files of labels, and check them against runs."""
    items = tables.items
    sources = [read_labels(path, items) for path in paths]
    for a, b in combinations(sources, 2):
        if a.success.keys().isdisjoint(b.success):
            raise SpeechIQError(f"{a.name} and {b.name} share no item", fix="label the same items")
    return sources


def predict_runs(
    tables: Tables,
    sources: Sequence[Labels] = (),
    *,
    metrics: Collection[str] | None = None,
    combine: Sequence[str] = (),
    against: str | None = None,
    defined: str | None = None,
    undefined: str | None = None,
    only_errors: bool = False,
    only_answerable: bool = False,
    draws: int = 1000,
    seed: int = 0,
) -> Prediction:
    """Measure how well each metric predicts the labels of the first source, or without one the answers in the runs.

    Options are those of `leave_out`, `gather` and `prediction.predict`, which also say what they raise.
    """
    success = Success(sources[0].success, []) if sources else label_answers(tables)
    success = leave_out(success, tables, only_errors=only_errors, only_answerable=only_answerable)
    units = gather(tables.columns, success.success, metrics, defined, undefined)
    units = units._replace(notes=success.notes + units.notes)
    name = sources[0].name if sources else BY_ANSWERS
    return predict(units, name, combine=combine, against=against, draws=draws, seed=seed)
