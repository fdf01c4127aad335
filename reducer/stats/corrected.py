"""Correct a judge's mean score by the scores that a person gave to some of the answers.

This is the prediction-powered estimate of a mean (Angelopoulos and others, Science 2023): the judge's mean over all
answers plus the mean of (person - judge) over those that the person scored. If these are a random sample, the estimate
has no bias, however wrong the judge is; a good judge makes its interval short.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from speechiq.reducer.stats.bootstrap import NO_CLUSTERS, number_clusters
from speechiq.reducer.stats.estimate import CONFIDENCE, UNDEFINED, Estimate
from speechiq.reducer.stats.proportion import wilson

#: A half width below this is 0 but for rounding.
ROUNDING = 1e-9


def correct(
    judge: np.ndarray,
    person: np.ndarray,
    clips: Sequence[Hashable],
    bounds: tuple[float, float] = (-math.inf, math.inf),
    clusters: Mapping[Any, str] = NO_CLUSTERS,
) -> Estimate:
    """Return the judge's mean score, corrected by a person's scores (NaN for an answer without one).

    It is undefined without any score of the person, and its interval for answers of one clip.

    The variance is that of the sum over clips, or `clusters` of clips, of each answer's part in the estimate. So the
    answers of a clip may depend on each other, and the answers that the person scored count in both means, as they are
    part of both. If all parts agree, each clip or cluster that the person scored counts as one answer
    (`proportion.wilson`). The interval ends at the bounds of the score.

    >>> correct(np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0, 0.0]), "abcd").value
    0.25
    """
    from scipy.special import stdtrit

    scored = ~np.isnan(person)
    if not scored.any():
        return UNDEFINED
    names = [str(name) for name in clips]
    clip = number_clusters(names, clusters)
    gap = person[scored] - judge[scored]
    value = float(judge.mean()) + float(gap.mean())
    parts = _parts(judge, clip)
    parts[scored] += _parts(gap, clip[scored])
    seen, seen_clips = len(np.unique(clip[scored])), len({*np.array(names)[scored]})
    error = math.sqrt(float((np.bincount(clip, parts) ** 2).sum()))
    half = float(stdtrit(seen - 1, (1 + CONFIDENCE) / 2)) * error if seen > 1 else math.nan
    value, low, high = (float(np.clip(end, *bounds)) for end in (value, value - half, value + half))
    span = bounds[1] - bounds[0]
    if half < ROUNDING and math.isfinite(span):
        ends = wilson(np.full(seen, (value - bounds[0]) / span), np.ones(seen), seen_clips)
        low, high = (bounds[0] + span * float(end) for end in ends)
    return Estimate(value, low, high, int(scored.sum()), seen, clips=seen_clips)


def _parts(values: np.ndarray, clip: np.ndarray) -> np.ndarray:
    """Return each value's part in the deviation of their mean, for a sample of clips."""
    clips = len(np.unique(clip))
    return np.asarray((values - values.mean()) / len(values) * math.sqrt(clips / max(clips - 1, 1)))
