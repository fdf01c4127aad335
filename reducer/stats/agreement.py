"""Measure how far scores of the same answers agree: weighted kappa, Krippendorff's alpha, correlations, shares, and W.

Every statistic but Kendall's W takes how often each item counts, shape (draws, items), and returns a value for each
draw: a row of ones is the statistic itself, rows of a bootstrap give its interval (`compare_raters`).

Where a person scored some of the answers of a judge, the judge's mean score is corrected by the prediction-powered
estimate (Angelopoulos and others, Science 2023): the judge's mean over all answers plus the mean of (person - judge)
over those that the person scored. If these are a random sample, the estimate has no bias, however wrong the judge is; a
good judge makes its interval short.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from speechiq.reducer.stats.bootstrap import NO_CLUSTERS, number_clusters, resample, wilson
from speechiq.reducer.stats.estimate import CONFIDENCE, ROUNDING, UNDEFINED, Estimate


def compare_raters(
    a: np.ndarray,
    b: np.ndarray,
    clips: Sequence[Hashable],
    clusters: Mapping[Any, str] = NO_CLUSTERS,
    *,
    ordinal: bool = False,
    draws: int,
) -> dict[str, Estimate]:
    """Measure the agreement of raters A and B on the items that both scored, with intervals from one set of draws.

    Draws are of clips or clusters. `kappa` is Cohen's with quadratic weights, which weight nothing if there are two
    scores only; `bias` is the mean score of A minus that of B.

    Args:
        a, b: Scores of the two raters, shape (items,), at least one.
        ordinal: Whether scores are grades, of which only the order counts (`krippendorff`).

    >>> agreement = compare_raters(np.array([0.0, 1, 2]), np.array([0.0, 1, 1]), "abc", draws=0)
    >>> round(agreement["kappa"].value, 3), round(agreement["bias"].value, 3)
    (0.667, 0.333)
    """
    ratings = np.column_stack([a, b])

    def statistics(counts: np.ndarray) -> np.ndarray:
        return np.column_stack(
            [
                share_equal(ratings, counts),
                weighted_kappa(a, b, counts),
                krippendorff(ratings, counts, ordinal=ordinal),
                spearman(a, b, counts),
                pearson(a, b, counts),
                mean_difference(a, b, counts),
            ]
        )

    # What is drawn may be questions or answers.
    estimates = resample(statistics, list(clips), clusters, draws=draws, enough=0).estimates
    return dict(zip(("equal", "kappa", "alpha", "spearman", "pearson", "bias"), estimates, strict=True))


def weighted_kappa(a: np.ndarray, b: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return Cohen's kappa with quadratic weights of two raters; NaN if both give one and the same score.

    Weights are squared differences of the scores, so that scores need not be whole (means of draws). For whole scores
    this is scikit-learn's `cohen_kappa_score(weights="quadratic")` with all grades of the scale as labels.

    >>> weighted_kappa(np.array([0.0, 1, 2]), np.array([0.0, 1, 1]), np.ones((1, 3))).round(3).tolist()
    [0.667]
    """
    total = counts.sum(axis=1)
    means = counts @ a / total, counts @ b / total
    variances = counts @ a**2 / total - means[0] ** 2 + counts @ b**2 / total - means[1] ** 2
    observed = counts @ (a - b) ** 2 / total
    return 1 - _divide(observed, variances + (means[0] - means[1]) ** 2)


def krippendorff(ratings: np.ndarray, counts: np.ndarray, *, ordinal: bool) -> np.ndarray:
    """Return Krippendorff's alpha for the interval or the ordinal scale; NaN if all scores are equal.

    The ordinal difference of two values is that of their mean ranks, so that ordinal alpha is interval alpha of ranks.

    Args:
        ratings: Shape (items, raters); NaN if a rater has no score. Items with fewer than two scores do not count.
        ordinal: Whether scores are grades, of which only the order counts.

    >>> ratings = np.array([[1.0, 1], [2, 3], [3, 3], [5, np.nan]])
    >>> krippendorff(ratings, np.ones((1, 4)), ordinal=False).round(3).tolist()
    [0.828]
    """
    paired = (~np.isnan(ratings)).sum(axis=1) > 1
    items, raters = np.nonzero(~np.isnan(ratings) & paired[:, None])
    values = ratings[items, raters]
    if not len(values):
        return np.full(len(counts), np.nan)
    weights = counts[:, items]
    shown = _ranks(values, weights) if ordinal else np.broadcast_to(values, weights.shape)
    starts = np.flatnonzero(np.diff(items, prepend=-1))
    size = np.diff([*starts, len(items)])
    within = np.add.reduceat(shown**2, starts, axis=1) - np.add.reduceat(shown, starts, axis=1) ** 2 / size
    total = weights.sum(axis=1)
    mean = _divide((weights * shown).sum(axis=1), total)
    spread = (weights * (shown - mean[:, None]) ** 2).sum(axis=1)
    observed = (counts[:, items[starts]] * within * size / (size - 1)).sum(axis=1)
    return 1 - _divide(observed * (total - 1), spread * total)


def share_equal(ratings: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the share of pairs of scores of one item that are equal, the mean over items; NaN without such pairs.

    >>> share_equal(np.array([[1.0, 1, 2], [3, 3, np.nan]]), np.ones((1, 2))).round(3).tolist()
    [0.667]
    """
    known = ~np.isnan(ratings)
    pairs = [(i, j) for j in range(ratings.shape[1]) for i in range(j)]
    both = np.array([known[:, i] & known[:, j] for i, j in pairs]).reshape(len(pairs), len(ratings))
    equal = np.array([np.abs(ratings[:, i] - ratings[:, j]) < ROUNDING for i, j in pairs]).reshape(both.shape)
    asked = both.sum(axis=0)
    paired = counts[:, asked > 0]
    share = equal.sum(axis=0)[asked > 0] / asked[asked > 0]
    return _divide(paired @ share, paired.sum(axis=1))


def spearman(a: np.ndarray, b: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the rank correlation of two columns; NaN if all values of one are equal.

    >>> spearman(np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 4, 3]), np.ones((1, 4))).round(3).tolist()
    [0.8]
    """
    total = counts.sum(axis=1, keepdims=True)
    return _correlate([_ranks(values, counts) - (total + 1) / 2 for values in (a, b)], counts)


def pearson(a: np.ndarray, b: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the linear correlation of two columns; NaN if all values of one are equal.

    >>> pearson(np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 4, 9]), np.ones((1, 4))).round(3).tolist()
    [0.943]
    """
    means = [mean_difference(values, np.zeros(len(values)), counts)[:, None] for values in (a, b)]
    return _correlate([a - means[0], b - means[1]], counts)


def _correlate(centered: Sequence[np.ndarray], counts: np.ndarray) -> np.ndarray:
    """Return the correlation of two columns of deviations from their means, shape (draws, items)."""
    covariance = (counts * centered[0] * centered[1]).sum(axis=1)
    return _divide(covariance, np.sqrt(np.prod([(counts * values**2).sum(axis=1) for values in centered], axis=0)))


class Concordance(NamedTuple):
    """Hold Kendall's W, from 0 (no common order) to 1 (the same order), and its p-value for orders at random."""

    w: float
    p: float


#: Random orders from which a p-value is computed.
ORDERS = 9_999


def concordance(ratings: np.ndarray) -> Concordance:
    """Return Kendall's W of people who ranked the same items, corrected for ties (Kendall and Gibbons, 1990).

    With m people, n items, S the sum of squared deviations of the items' rank sums from their mean, and t the size of
    each group of ties of a person, W = 12 S / (m² (n³ - n) - m sum(t³ - t)). The p-value is the share of random orders
    of each person's ranks with a W as large, which also holds for few people and items, where the chi-square
    distribution of m (n - 1) W does not. Both are undefined for one person, one item, and people who only have ties.

    Args:
        ratings: Shape (people, items), smaller is better; any ranks, of which only the order and the ties count.

    >>> round(concordance(np.array([[1, 2, 3], [1, 2, 3], [1, 3, 2]])).w, 3)
    0.778
    """
    from scipy.stats import permutation_test, rankdata

    people, items = ratings.shape
    ranks = rankdata(ratings, axis=1)
    # The sum of squared deviations of a person's ranks is (n³ - n - sum(t³ - t)) / 12.
    most = people * float(((ranks - (items + 1) / 2) ** 2).sum())
    if people < 2 or most < ROUNDING:
        return Concordance(math.nan, math.nan)

    def share(*rows: np.ndarray, axis: int) -> np.ndarray:
        sums = sum(rows) - people * (items + 1) / 2
        return np.asarray((sums**2).sum(axis=axis) / most)

    test = permutation_test(
        tuple(ranks),
        share,
        permutation_type="pairings",
        alternative="greater",
        n_resamples=ORDERS,
        vectorized=True,
        batch=1_000,
        rng=0,
    )
    return Concordance(float(test.statistic), float(test.pvalue))


def mean_difference(a: np.ndarray, b: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the mean of `a` minus `b`, shapes as for `spearman`."""
    return _divide(counts @ (a - b), counts.sum(axis=1))


def _ranks(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the mean ranks of values that count several times or not at all, shape (draws, values)."""
    distinct, place = np.unique(np.round(values, 9), return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(distinct)))
    times = np.add.reduceat(counts[:, order], starts, axis=1)
    return np.asarray((np.cumsum(times, axis=1) - times + (times + 1) / 2)[:, place])


def _divide(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return a ratio; NaN if the divisor is 0 to rounding."""
    ratio: np.ndarray = np.divide(above, below, out=np.full(np.shape(above), np.nan), where=np.abs(below) > ROUNDING)
    return ratio


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
    (`bootstrap.wilson`). The interval ends at the bounds of the score.

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
