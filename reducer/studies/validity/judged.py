"""Label task success by a judge that compares the answers to transcript and reference, in both orders."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from speechiq.core.console import count_of
from speechiq.metrics.judge.judging import PairCase, PairJudgment, judge_pairs
from speechiq.metrics.judge.settings import Judging
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.studies.judges import position_bias
from speechiq.reducer.studies.validity.answer_key import Success
from speechiq.reducer.studies.validity.exchanges import Exchange


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
    asked = [(of.key[1][0], verdict) for of, verdict in zip(exchanges, found, strict=True) if not of.same]
    return Success(
        success,
        [
            f"{same} of {len(exchanges)} items have equal answers: successes without the judge",
            f"{inconsistent} of {len(success)} items are judged differently in the two orders: failures",
            *[f"{unjudged} of {len(exchanges)} items are unjudged: left out"] * bool(unjudged),
            *_describe_bias(asked),
        ],
    )


def _describe_bias(asked: Sequence[tuple[str, PairJudgment]]) -> Iterator[str]:
    """Yield the position bias of the judge on the pairs that it was asked about, with their clips."""
    if asked:
        clips, pairs = zip(*asked, strict=True)
        bias = position_bias.measure(pairs, clips)
        yield (
            f"position bias over {count_of(bias.pairs, 'pair')}: the order changes "
            f"{_percent(bias.changed)} of the verdicts; the "
            f"answer shown first wins {_percent(bias.first)} of those with a winner, 50 % without a preference"
        )


def _percent(of: Estimate) -> str:
    """Return a share in percent with its interval.

    >>> _percent(Estimate(0.25, 0.125, 0.5)), _percent(Estimate(math.nan, math.nan, math.nan))
    ('25.0 % (12.5 to 50.0)', '- %')
    """
    if math.isnan(of.value):
        return "- %"
    interval = "" if math.isnan(of.low) else f" ({100 * of.low:.1f} to {100 * of.high:.1f})"
    return f"{100 * of.value:.1f} %{interval}"
