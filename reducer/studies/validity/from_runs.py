"""Predict failure from runs and labels."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from speechiq.reducer.runs.labels import Labels
from speechiq.reducer.studies.validity.prediction import Prediction, predict
from speechiq.reducer.studies.validity.sources import choose_success
from speechiq.reducer.studies.validity.tables import Tables
from speechiq.reducer.studies.validity.units import gather

BY_ANSWERS = "answers to the questions of each clip"


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

    Args:
        tables: The numbers of the runs.
        sources: Labels of files.
        metrics: As for `gather`.
        combine: As for `prediction.predict`.
        against: As for `prediction.predict`.
        defined: As for `gather`.
        undefined: As for `gather`.
        only_errors: As for `leave_out`.
        only_answerable: As for `leave_out`.
        draws: As for `prediction.predict`.
        seed: As for `prediction.predict`.

    Raises:
        SpeechIQError: As for all of these.
    """
    success = choose_success(sources, tables, only_errors=only_errors, only_answerable=only_answerable)
    units = gather(tables.columns, success.success, metrics, defined, undefined)
    name = sources[0].name if sources else BY_ANSWERS
    units = units._replace(notes=success.notes + units.notes)
    return predict(units, name, combine=combine, against=against, draws=draws, seed=seed)
