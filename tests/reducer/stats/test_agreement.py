"""Agreement statistics against reference implementations, on ratings with gaps, ties and weights."""

from __future__ import annotations

from functools import partial

import krippendorff as reference
import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import cohen_kappa_score

from speechiq.reducer.stats import agreement
from speechiq.reducer.stats.bootstrap import resample
from speechiq.reducer.stats.estimate import plain

ONCE = np.ones((1, 60))


def ratings(seed: int, raters: int = 3, grades: int = 6, missing: float = 0.2) -> np.ndarray:
    """Return ratings that agree in part; some are missing."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, grades, 60)
    noisy = np.clip(truth[:, None] + random.integers(-1, 2, (60, raters)), 0, grades - 1).astype(float)
    noisy[random.random(noisy.shape) < missing] = np.nan
    return noisy


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scale", ["ordinal", "interval"])
def test_alpha_is_that_of_the_reference(seed, scale):
    given = ratings(seed)
    expected = reference.alpha(given.T, level_of_measurement=scale)
    found = agreement.krippendorff(given, ONCE, ordinal=scale == "ordinal")
    assert found[0] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_kappa_is_that_of_scikit_learn_with_all_grades(seed):
    one, other = ratings(seed, raters=2, missing=0).T
    one[one == 3], other[other == 3] = 2, 2  # grades keep their distance if one between them is not given
    expected = cohen_kappa_score(one.astype(int), other.astype(int), weights="quadratic", labels=range(6))
    assert agreement.weighted_kappa(one, other, ONCE)[0] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_spearman_is_that_of_scipy(seed):
    one, other = ratings(seed, raters=2, missing=0).T
    assert agreement.spearman(one, other, ONCE)[0] == pytest.approx(spearmanr(one, other).statistic)


def test_counts_are_repeated_items():
    counts = np.random.default_rng(0).multinomial(60, np.full(60, 1 / 60), size=4)
    repeated = [np.repeat(np.arange(60), of) for of in counts]
    given, (one, other) = ratings(1), ratings(2, raters=2, missing=0).T
    for ordinal in (True, False):
        expected = [agreement.krippendorff(given[rows], ONCE, ordinal=ordinal)[0] for rows in repeated]
        assert agreement.krippendorff(given, counts.astype(float), ordinal=ordinal) == pytest.approx(expected)
    for statistic in (agreement.spearman, agreement.weighted_kappa, agreement.mean_difference):
        expected = [statistic(one[rows], other[rows], ONCE)[0] for rows in repeated]
        assert statistic(one, other, counts.astype(float)) == pytest.approx(expected)
    expected = [agreement.share_equal(given[rows], ONCE)[0] for rows in repeated]
    assert agreement.share_equal(given, counts.astype(float)) == pytest.approx(expected)


def test_what_is_not_defined_is_nan():
    same, one_draw = np.full((60, 3), 4.0), ratings(0, raters=1, missing=0)
    assert np.isnan(agreement.krippendorff(same, ONCE, ordinal=True)[0])
    assert np.isnan(agreement.weighted_kappa(same[:, 0], same[:, 1], ONCE)[0])
    assert np.isnan(agreement.spearman(same[:, 0], one_draw[:, 0], ONCE)[0])
    assert np.isnan(agreement.krippendorff(one_draw, ONCE, ordinal=True)[0])
    assert np.isnan(agreement.share_equal(one_draw, ONCE)[0]) and agreement.share_equal(same, ONCE)[0] == 1.0


def test_items_of_a_clip_are_drawn_together():
    random = np.random.default_rng(0)
    ability = np.repeat(random.normal(size=20), 5)
    clips = [f"clip{i // 5}" for i in range(100)]

    def mean(counts: np.ndarray) -> np.ndarray:
        return counts @ ability / counts.sum(axis=1)

    together = resample(mean, clips, draws=2000).estimate
    apart = resample(mean, [str(i) for i in range(100)], draws=2000).estimate
    assert together.high - together.low > 1.8 * (apart.high - apart.low)
    assert resample(mean, clips, draws=2000).estimate == together
    assert together.low < together.value < together.high and together.value == pytest.approx(ability.mean())


def test_without_draws_there_is_no_interval():
    found = resample(lambda counts: counts.mean(axis=1), ["a", "b"], draws=0).estimate
    assert plain(found) == {"value": 1.0, "low": None, "high": None}


def test_the_interval_of_spearman_covers_the_truth():
    random = np.random.default_rng(3)
    truth, hits = 6 / np.pi * np.arcsin(0.5 / 2), 0
    for _ in range(100):
        one, other = random.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=60).T
        statistic = partial(agreement.spearman, one, other)
        found = resample(statistic, [*map(str, range(60))], draws=300).estimate
        hits += found.low <= truth <= found.high
    assert hits >= 88
