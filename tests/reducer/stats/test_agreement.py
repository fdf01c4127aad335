"""Agreement of raters, and means of a judge that a person's scores correct."""

from __future__ import annotations

import math
from functools import partial

import krippendorff as reference
import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from speechiq.reducer.stats import agreement
from speechiq.reducer.stats.agreement import correct
from speechiq.reducer.stats.bootstrap import estimate_share, resample
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
def test_kappa_and_correlations_are_those_of_libraries(seed):
    one, other = ratings(seed, raters=2, missing=0).T
    one[one == 3], other[other == 3] = 2, 2  # grades keep their distance if one between them is not given
    expected = cohen_kappa_score(one.astype(int), other.astype(int), weights="quadratic", labels=range(6))
    assert agreement.weighted_kappa(one, other, ONCE)[0] == pytest.approx(expected)
    assert agreement.spearman(one, other, ONCE)[0] == pytest.approx(stats.spearmanr(one, other).statistic)
    assert agreement.pearson(one, other, ONCE)[0] == pytest.approx(stats.pearsonr(one, other).statistic)


def test_counts_are_repeated_items():
    counts = np.random.default_rng(0).multinomial(60, np.full(60, 1 / 60), size=4)
    repeated = [np.repeat(np.arange(60), of) for of in counts]
    given, (one, other) = ratings(1), ratings(2, raters=2, missing=0).T
    for ordinal in (True, False):
        expected = [agreement.krippendorff(given[rows], ONCE, ordinal=ordinal)[0] for rows in repeated]
        assert agreement.krippendorff(given, counts.astype(float), ordinal=ordinal) == pytest.approx(expected)
    statistics = (agreement.spearman, agreement.pearson, agreement.weighted_kappa, agreement.mean_difference)
    for statistic in statistics:
        expected = [statistic(one[rows], other[rows], ONCE)[0] for rows in repeated]
        assert statistic(one, other, counts.astype(float)) == pytest.approx(expected)
    expected = [agreement.share_equal(given[rows], ONCE)[0] for rows in repeated]
    assert agreement.share_equal(given, counts.astype(float)) == pytest.approx(expected)


def test_what_is_not_defined_is_nan():
    same, one_draw = np.full((60, 3), 4.0), ratings(0, raters=1, missing=0)
    assert np.isnan(agreement.krippendorff(same, ONCE, ordinal=True)[0])
    assert np.isnan(agreement.weighted_kappa(same[:, 0], same[:, 1], ONCE)[0])
    for correlate in (agreement.spearman, agreement.pearson):
        assert np.isnan(correlate(same[:, 0], one_draw[:, 0], ONCE)[0])
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


def slow(judge, person):
    """The estimate with loops over answers, one answer per clip: variances of both means and their covariance."""
    both = [(j, p) for j, p in zip(judge, person, strict=True) if not math.isnan(p)]
    mean = sum(judge) / len(judge)
    gaps = [p - j for j, p in both]
    gap = sum(gaps) / len(gaps)
    of_judge = sum((j - mean) ** 2 for j in judge) / (len(judge) - 1) / len(judge)
    of_gap = sum((g - gap) ** 2 for g in gaps) / (len(gaps) - 1) / len(gaps)
    shared = sum((j - mean) * (p - j - gap) for j, p in both) / (len(both) * len(judge))
    shared *= math.sqrt(len(both) / (len(both) - 1) * len(judge) / (len(judge) - 1))
    half = stats.t.ppf(0.975, len(gaps) - 1) * math.sqrt(of_judge + of_gap + 2 * shared)
    return mean + gap, mean + gap - half, mean + gap + half


def draw(rng, answers, scored, *, clips=None):
    """Scores of 0 to 5: a person's, and those of a judge that is too kind and knows only half of it."""
    clips = answers if clips is None else clips
    clip = np.arange(answers) % clips
    person = np.clip(np.round(rng.normal(2.5, 1.0, clips)[clip] + rng.normal(0, 0.8, answers)), 0, 5)
    judge = np.clip(np.round(0.5 * person + 2 + rng.normal(0, 0.7, answers)), 0, 5)
    seen = np.full(answers, np.nan)
    chosen = rng.choice(answers, scored, replace=False)
    seen[chosen] = person[chosen]
    return judge, seen, clip


def test_the_estimate_is_that_of_a_slow_formula():
    rng = np.random.default_rng(1)
    for answers, scored in ((12, 3), (60, 30), (200, 200)):
        judge, person, clips = draw(rng, answers, scored)
        found = correct(judge, person, clips)
        assert (found.value, found.low, found.high) == pytest.approx(slow(judge, person), abs=1e-12)
        assert found.n == scored


def test_if_all_is_scored_the_judge_does_not_count():
    judge, person, clips = draw(np.random.default_rng(2), 40, 40)
    found = correct(judge, person, clips)
    mean = stats.ttest_1samp(person, 0).confidence_interval()
    assert found.value == pytest.approx(person.mean())
    assert (found.low, found.high) == pytest.approx((mean.low, mean.high), abs=1e-12)


@pytest.mark.parametrize(("answers", "scored", "clips"), [(300, 30, None), (60, 20, None), (300, 60, 75)])
def test_intervals_cover_the_true_mean(answers, scored, clips):
    rng, draws, inside, shorter = np.random.default_rng(3), 800, 0, 0
    _, everyone, _ = draw(rng, 200_000, 200_000)
    truth = everyone.mean()
    for _ in range(draws):
        judge, person, clip = draw(rng, answers, scored, clips=clips)
        found = correct(judge, person, clip)
        inside += found.low <= truth <= found.high
        shorter += abs(found.value - truth) < abs(judge.mean() - truth)
    assert 0.93 <= inside / draws <= 0.98
    assert shorter / draws > 0.8


def test_a_good_judge_makes_the_interval_shorter_than_the_person_alone():
    rng = np.random.default_rng(4)
    truth = rng.normal(3, 1, 400)
    judge, person = truth + rng.normal(0, 0.2, 400), np.where(np.arange(400) < 30, truth, np.nan)
    found, alone = correct(judge, person, range(400)), stats.ttest_1samp(truth[:30], 0).confidence_interval()
    assert found.high - found.low < 0.5 * (alone.high - alone.low)


def test_few_scores_have_no_interval_and_all_ends_are_on_the_scale():
    judge = np.array([1.0, 1.0, 0.5])
    none = correct(judge, np.full(3, np.nan), "abc")
    assert math.isnan(none.value) and none.n == 0
    one = correct(judge, np.array([1.0, 1.0, np.nan]), "aab", (0, 1))
    assert one.value == pytest.approx(2.5 / 3) and math.isnan(one.low)
    wide = correct(judge, np.array([0.0, 1.0, np.nan]), "abc", (0, 1))
    assert (wide.low, wide.high) == (0, 1)


def test_scores_that_all_agree_have_an_interval_of_their_clips():
    """A judge and a person who give the highest score to all answers say nothing about answers of other clips."""
    judge, person = np.full(20, 5.0), np.where(np.arange(20) < 10, 5.0, np.nan)
    found = correct(judge, person, range(20), (0, 5))
    wilson = stats.binomtest(10, 10).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((5 * wilson.low, 5.0))
    assert found.value == 5.0


def test_clusters_that_all_agree_have_the_interval_of_a_share():
    """Five calls of four clips with one score say as much as a share that is equal on five calls."""
    clips, calls = range(20), {str(clip): f"call {clip // 4}" for clip in range(20)}
    for grade in (2.0, 5.0):
        found = correct(np.full(20, grade), np.full(20, grade), clips, (0, 5), calls)
        equal = estimate_share(np.full(20, grade / 5), np.ones(20), clips, calls)
        assert found[:3] == pytest.approx(equal.map(5.0)[:3]) and (found.clips, found.clusters) == (20, 5)


@pytest.mark.parametrize(
    ("orders", "w"),
    [
        # S = 14 of rank sums 3, 7, 8; 12 S / (9 * 24).
        ([[1, 2, 3], [1, 2, 3], [1, 3, 2]], 168 / 216),
        # S = 16.5 of rank sums 2, 4.5, 6, 7.5, a tie of two in each; 12 S / (4 * 60 - 2 * 12).
        ([[1, 2, 2, 4], [1, 2, 3, 3]], 198 / 216),
        ([[1, 2, 2, 4]] * 3, 1.0),
        ([[1, 2], [2, 1]], 0.0),
    ],
)
def test_w_is_that_of_a_computation_by_hand(orders, w):
    assert agreement.concordance(np.array(orders)).w == pytest.approx(w)


@pytest.mark.parametrize("seed", range(3))
def test_w_and_its_p_value_are_those_of_friedmans_test_in_a_large_table(seed):
    random = np.random.default_rng(seed)
    orders = np.round(random.normal(size=(20, 10)) + np.linspace(0, 0.6, 10), 1)
    expected = stats.friedmanchisquare(*orders.T)
    found = agreement.concordance(orders)
    assert found.w == pytest.approx(expected.statistic / (20 * 9))
    assert found.p == pytest.approx(expected.pvalue, abs=0.02)


def test_the_p_value_of_few_people_is_exact():
    # 7 of the 36 pairs of orders beside a first one have a W of at least 0.778.
    assert agreement.concordance(np.array([[1, 2, 3], [1, 2, 3], [1, 3, 2]])).p == pytest.approx(7 / 36)


@pytest.mark.parametrize("orders", [[[1, 2, 3]], [[1], [1]], [[1, 1, 1], [2, 2, 2]]])
def test_w_is_undefined_without_two_orders(orders):
    assert all(map(math.isnan, agreement.concordance(np.array(orders))))
