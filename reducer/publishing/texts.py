"""Compute again, from published texts, what rows say: the digest of the docs, error rates and votes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.publishing.folder import AGAIN
from speechiq.reducer.publishing.schema import TaskRecord
from speechiq.reducer.scores.levels import SUITE as SIQ

#: Columns that depend on more than published texts: what a system received, and its n-best list.
FROM_MORE = {"audio_coverage", "wer_first", "wer_oracle", "corrector_trimmed", "corrector_refused"}
#: Largest difference of two numbers that is rounding.
ROUNDING = 1e-6
#: Characters of the longest text that is aligned again: time and memory grow with the square.
LONGEST = 50_000
Scorer = Callable[[Mapping[str, Any], Sequence[Any]], Mapping[str, float]]


def compare_texts(task: TaskRecord, rows: Sequence[Mapping[str, Any]]) -> Iterator[SpeechIQError]:
    """Yield what differs between the texts of rows and their numbers and digest.

    The numbers are those of the levels of SIQ; of Understand, the similarities that the embedder returned.
    """
    from speechiq.siq_tasks.loaders.docs import digest_content

    try:
        digest = digest_content([row["doc"] for row in rows])
        if digest != (recorded := task.metadata.get("content_sha256")) and recorded is not None:
            yield SpeechIQError(f"task {task.task!r}", "its docs have another content_sha256 than recorded", AGAIN)
        if (scorer := _find_scorer(task)) is None:
            return
        short = (row for row in rows if max(map(len, (row["doc"]["text"], str(row["filtered_resps"])))) <= LONGEST)
        for row in short:
            yield from _compare_row(task.task, row, scorer(row["doc"], row["filtered_resps"]))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        yield SpeechIQError(f"task {task.task!r}", f"its texts cannot be scored ({error!r:.200})", AGAIN)


def _find_scorer(task: TaskRecord) -> Scorer | None:
    """Return the function that scores a level of SIQ; None for tasks of other suites."""
    from speechiq.metrics import choice, similarity
    from speechiq.metrics.words import wer

    scorers: dict[object, Scorer] = {
        "remember": wer.score,
        # lm-eval writes the similarities as texts.
        "understand": lambda doc, responses: similarity.score(doc, [[*map(float, responses[0])]]),
        "apply": choice.score,
    }
    return scorers.get(task.metadata.get("category")) if task.metadata.get("suite") == SIQ else None


def _compare_row(task: str, row: Mapping[str, Any], scores: Mapping[str, float]) -> Iterator[SpeechIQError]:
    for column, value in scores.items():
        recorded = row.get(column)
        if column in FROM_MORE or (recorded is None and math.isnan(value)):
            continue
        if not (
            isinstance(recorded, int | float) and math.isclose(recorded, value, rel_tol=ROUNDING, abs_tol=ROUNDING)
        ):
            item = row["doc"].get("question_id") or row["doc"]["id"]
            yield SpeechIQError(
                f"task {task!r}, {item!r:.100}", f"{column} is {recorded!r}, and its texts give {value:g}", AGAIN
            )
