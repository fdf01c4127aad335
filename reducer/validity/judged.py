"""Label task success by a judge that compares the answers to transcript and reference, in both orders."""

from __future__ import annotations

import math
from collections.abc import Sequence

from speechiq.metrics.judging import Judging, PairCase, judge_pairs
from speechiq.reducer.validity.answer_key import Success
from speechiq.reducer.validity.exchanges import Exchange


def label_judged(exchanges: Sequence[Exchange], judging: Judging) -> Success:
    """Return which answers to transcripts are as good and as complete as those to the references.

    Equal in every draw and in both orders is a success; an expected score (`by=likelihood`) is rounded to a verdict.
    Items on which the orders disagree are failures, and counted. Equal answers are not sent to the judge.

    Args:
        exchanges: The answers.
        judging: From `read_judging`, with a rubric of kind `pairwise`.

    Raises:
        SpeechIQError: The judge cannot work.
    """
    cases = [PairCase(of.question, of.from_reference, of.from_transcript, name="/".join(of.key[1])) for of in exchanges]
    found = judge_pairs(cases, judging)
    success, unjudged, inconsistent = {}, 0, 0
    for of, verdict in zip(exchanges, found, strict=True):
        if any(map(math.isnan, verdict.combined)):
            unjudged += 1
            continue
        one, other = (list(map(round, scores)) for scores in (verdict.shown_first, verdict.shown_second))
        inconsistent += one != other
        success[of.key] = not any([*one, *other])
    same = sum(of.same for of in exchanges)
    return Success(
        success,
        [
            f"{same} of {len(exchanges)} items have equal answers: successes without the judge",
            f"{inconsistent} of {len(success)} items are judged differently in the two orders: failures",
            *[f"{unjudged} of {len(exchanges)} items are unjudged: left out"] * bool(unjudged),
        ],
    )
