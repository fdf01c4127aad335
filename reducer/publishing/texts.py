"""Compute again, from published texts, what rows say: the digest of the docs, error rates and votes."""

import math
from collections.abc import Callable, Mapping, Sequence
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
Scorer = Callable[[Mapping[str, Any]], Mapping[str, float]]


def compare_texts(task: TaskRecord, rows: Sequence[Mapping[str, Any]]) -> None:
    """Raise a `SpeechIQError` for the first difference between the texts of rows and their numbers and digest.

    The numbers are those of the levels of SIQ; of Understand, the similarities that the embedder returned.
    """
    from speechiq.siq_tasks.loaders.docs import digest_content

    try:
        if digest_content([row["doc"] for row in rows]) != task.metadata["content_sha256"]:
            raise SpeechIQError(f"task {task.task!r}", "its docs have another content_sha256 than recorded", AGAIN)
        scorer = _find_scorer(task)
        for row in rows:
            if scorer and max(map(len, (row["doc"]["text"], str(row["resps"])))) <= LONGEST:
                _compare_row(f"task {task.task!r}", row, scorer(row))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise SpeechIQError(f"task {task.task!r}", f"its texts cannot be scored ({error!r:.200})", AGAIN) from error


def is_close(recorded: Any, computed: Any) -> bool:
    """Return whether two values are equal, numbers up to the rounding of other machines."""
    if isinstance(recorded, float) and isinstance(computed, float):
        return math.isclose(recorded, computed, rel_tol=ROUNDING, abs_tol=ROUNDING)
    return bool(recorded == computed)


def _find_scorer(task: TaskRecord) -> Scorer | None:
    """Return the function that scores a row of a level of SIQ from its raw answers; None for tasks of other suites."""
    from speechiq.metrics import choice, similarity
    from speechiq.metrics.words import wer

    scorers: dict[object, Scorer] = {
        "remember": lambda row: wer.score(row["doc"], row["resps"][0]),
        # lm-eval writes the similarities as texts.
        "understand": lambda row: similarity.score(row["doc"], [[*map(float, row["filtered_resps"][0])]]),
        "apply": lambda row: choice.score(row["doc"], choice.Vote().apply(row["resps"], [row["doc"]])),
    }
    return scorers.get(task.metadata.get("category")) if task.metadata.get("suite") == SIQ else None


def _compare_row(where: str, row: Mapping[str, Any], scores: Mapping[str, float]) -> None:
    for column in scores.keys() - FROM_MORE:
        recorded, value = row.get(column), scores[column]
        if not is_close(recorded, None if math.isnan(value) else value):
            item = row["doc"].get("question_id") or row["doc"]["id"]
            fault = f"{column} is {recorded!r}, and its texts give {value:g}"
            raise SpeechIQError(f"{where}, {item!r:.100}", fault, AGAIN)
