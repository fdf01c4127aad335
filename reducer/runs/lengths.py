"""Read how long the references of clips are, so that error rates of clips can be pooled."""

from __future__ import annotations

import re
from collections.abc import Iterable

from speechiq.metrics.words.normalizer import DEFAULT, normalize
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.rows import TextRow, read_rows
from speechiq.reducer.runs.samples import Item

#: Error rates by word; those of the suite's rules, and of the basic rules.
OF_WORDS = re.compile(r"(wer|wer_first|wer_oracle|substitutions|deletions|insertions)")
OF_BASIC_WORDS, OF_CHARACTERS = "wer_basic", "cer"


def can_pool(column: str) -> bool:
    """Return whether a column is a rate of errors by words or characters of the reference.

    >>> can_pool("wer"), can_pool("llm_semdist_eowl")
    (True, False)
    """
    return column in (OF_BASIC_WORDS, OF_CHARACTERS) or OF_WORDS.fullmatch(column) is not None


def read_lengths(tasks: Iterable[TaskRun], column: str) -> dict[Item, float]:
    """Return clip -> the number of words or characters of its reference that a column counts errors by.

    Args:
        tasks: Tasks of a system.
        column: An error rate that `can_pool` accepts.
    """
    lengths: dict[Item, float] = {}
    for task in tasks:
        for row in read_rows(task.samples, TextRow) if column in task.signs else ():
            recorded = row.doc.normalizer or DEFAULT
            text = normalize(str(row.doc.text), "basic" if column == OF_BASIC_WORDS else str(recorded))
            lengths[(str(row.doc.id),)] = float(len(text) if column == OF_CHARACTERS else len(text.split()))
    return lengths
