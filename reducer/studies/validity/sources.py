"""Choose what is predicted: labels of a file, or the answers in the runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.labels import Labels, read_labels
from speechiq.reducer.studies.validity.answer_key import Success, label_answers, leave_out
from speechiq.reducer.studies.validity.tables import Tables


def read_sources(paths: Sequence[Path], tables: Tables) -> list[Labels]:
    """Read files of labels, and check them against runs.

    Raises:
        SpeechIQError: As for `read_labels`, or two files share no item.
    """
    items = tables.items
    sources = [read_labels(path, items) for path in paths]
    for a, b in combinations(sources, 2):
        if a.success.keys().isdisjoint(b.success):
            raise SpeechIQError(f"{a.name} and {b.name} share no item; label the same items")
    return sources


def choose_success(
    sources: Sequence[Labels],
    tables: Tables,
    *,
    only_errors: bool = False,
    only_answerable: bool = False,
) -> Success:
    """Return the labels to predict: those of the first source, or by the answers in the runs.

    Args:
        sources: Labels of files.
        tables: The numbers of the runs.
        only_errors: As for `leave_out`.
        only_answerable: As for `leave_out`.

    Raises:
        SpeechIQError: As for `label_answers` and `leave_out`.
    """
    success = Success(sources[0].success, []) if sources else label_answers(tables)
    return leave_out(success, tables, only_errors=only_errors, only_answerable=only_answerable)
