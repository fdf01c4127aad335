"""Score free answers of an assistant by what they mention: the right answer may be anywhere in a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from speechiq.metrics.columns import higher, returns
from speechiq.metrics.defined import mean
from speechiq.metrics.judge.free_answers import COLUMNS
from speechiq.metrics.judge.free_answers import score as score_judged
from speechiq.metrics.words.normalizer import normalize
from speechiq.metrics.words.word_classes import mark


def contains_answer(answer: str, accepted: Sequence[str]) -> float:
    """Return 1 if an answer contains an accepted answer, word for word, else 0.

    Words are compared as Whisper's English rules write them. A right answer that is denied ("not Lima") counts too.

    Args:
        answer: Any text.
        accepted: The right answers.

    Returns:
        1 or 0; NaN if no right answer has a word.

    >>> contains_answer("The capital of Peru is Lima.", ["Lima"]), contains_answer("It is Limassol.", ["Lima"])
    (1.0, 0.0)
    """
    phrases = list(filter(None, map(normalize, accepted)))
    return float(any(mark(normalize(answer).split(), phrases))) if phrases else math.nan


@returns(higher("contains_answer", aggregation=mean), COLUMNS)
def score(doc: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Score one answer to a spoken query; the `process_results` of `_answer.yaml`.

    Args:
        doc: As for `judge.score`; `accepted` has the right answers.
        results: One item of the output of `judge.Judge`.

    Returns:
        `contains_answer`, and what `judge.score` returns.
    """
    return {"contains_answer": contains_answer(results[0]["answer"], doc["accepted"])} | score_judged(doc, results)
