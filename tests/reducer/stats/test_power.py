"""Sample sizes of paired comparisons: textbook formulas, clusters, and power in simulation."""

import math

import numpy as np
import pytest
from scipy.stats import nct, t, ttest_1samp

from speechiq.reducer.stats.contrast import permute
from speechiq.reducer.stats.power import FEWEST_PLANNED, count_needed, measure_spread, power_of, shown_by


def draw(clusters: int, size: int, icc: float, mean: float, seed: object) -> np.ndarray:
    """Return differences with variance 1, a row per cluster."""
    generator = np.random.default_rng(seed)
    shared, own = generator.normal(size=(clusters, 1)), generator.normal(size=(clusters, size))
    return mean + np.sqrt(icc) * shared + np.sqrt(1 - icc) * own


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("effect", [0.05, 0.3, 0.9])
def test_the_number_is_the_first_with_the_power(effect, power):
    def exact_power(clusters: float) -> float:
        freedom = clusters - 1
        return float(nct.sf(t.ppf(0.975, freedom), freedom, effect * math.sqrt(clusters)))

    needed = count_needed(np.array([1.0]), effect, power)
    assert exact_power(needed) >= power - 1e-6
    assert needed == FEWEST_PLANNED or exact_power(needed - 1) < power
    assert shown_by(needed, power) <= effect


def test_clips_without_clusters_have_the_textbook_numbers():
    # Cohen (1988): a paired effect of 0.5 standard deviations needs 34 pairs for a power of 80 %.
    differences = np.random.default_rng(0).normal(size=500)
    spread = measure_spread(differences / differences.std(ddof=1), np.arange(500))
    assert spread.needed(0.5, 0.8).value == 34 and spread.icc == 0
    assert spread.needed(spread.smallest(0.8).value, 0.8).value == 500


@pytest.mark.parametrize("icc", [0, 0.05, 0.2])
def test_the_correlation_and_the_design_effect_are_recovered(icc):
    differences = draw(20_000, 10, icc, 0.0, 1).ravel()
    spread = measure_spread(differences, np.repeat(np.arange(20_000), 10))
    assert spread.icc == pytest.approx(icc, abs=0.005)
    assert 10 * spread.unit.value**2 == pytest.approx(1 + 9 * icc, rel=0.03)


def test_clusters_of_unequal_sizes_share_one_correlation():
    sizes = np.random.default_rng(2).integers(1, 30, 10_000)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    generator = np.random.default_rng(3)
    differences = 0.4 * generator.normal(size=len(sizes))[clusters] + 0.6 * generator.normal(size=len(clusters))
    spread = measure_spread(differences, clusters)
    assert spread.icc == pytest.approx(0.16 / 0.52, abs=0.02)
    by_hand = np.bincount(clusters, differences).var() / sizes.mean() ** 2
    assert spread.unit.value**2 == pytest.approx(by_hand, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("icc, size", [(0, 1), (0.05, 20), (0.2, 20)])
def test_the_recommended_size_finds_a_planted_difference_as_often_as_promised(icc, size):
    pilot = draw(2000, size, icc, 0.0, 4)
    spread = measure_spread(pilot.ravel(), np.repeat(np.arange(2000), size))
    clusters = int(spread.needed(0.25, 0.8).value)
    sets = np.array([draw(clusters, size, icc, 0.25, [5, seed]).mean(axis=1) for seed in range(3000)])
    tests = ttest_1samp(sets, 0, axis=1)
    assert 0.77 <= np.mean((tests.pvalue < 0.05) & (tests.statistic > 0)) <= 0.83
    if icc:
        found = [float(permute(each[None], seed=1)[0]) < 0.05 for each in sets[:60]]
        assert 0.62 <= np.mean(found) <= 0.97


def test_the_upper_end_of_a_pilot_run_is_enough_in_most_cases():
    needed = count_needed(np.array([1.0]), 0.5, 0.8)
    pilots = [
        measure_spread(np.random.default_rng([6, seed]).normal(size=30), np.arange(30), draws=200)
        for seed in range(200)
    ]
    plans = np.array([pilot.needed(0.5, 0.8)[:3] for pilot in pilots])
    assert np.mean(plans[:, 2] >= needed) > 0.92
    assert np.mean((plans[:, 1] <= needed) & (needed <= plans[:, 2])) > 0.85


def test_a_pilot_run_that_hardly_differs_has_no_safe_number():
    spread = measure_spread(np.eye(1, 10)[0], np.arange(10), draws=400)
    needed = spread.needed(0.1, 0.8)
    assert needed.low < needed.value < needed.high == math.inf
    assert count_needed(np.array([1e5]), 1e-9, 0.8) == math.inf


def test_no_draws_give_no_interval_and_constants_no_spread():
    spread = measure_spread(np.full(9, 0.1) + 0.2, np.arange(9))
    assert spread.unit.value == 0 and spread.needed(1.0, 0.8).value == FEWEST_PLANNED
    needed = measure_spread(np.arange(9.0), np.arange(9)).needed(1.0, 0.8)
    assert math.isnan(needed.low) and math.isnan(needed.high)


def test_small_skewed_pilot_runs_plan_with_the_promised_power_on_average():
    """The deviation of 30 skewed differences is too small in most pilot runs; draws show how uncertain it is."""
    pilots = [np.random.default_rng([7, seed]).exponential(size=30) for seed in range(150)]
    powers = {}
    for draws in (0, 200):
        plans = [measure_spread(pilot, np.arange(30), draws=draws).needed(0.35, 0.8).value for pilot in pilots]
        powers[draws] = np.mean([power_of(np.array([1.0]), 0.35, plan) for plan in plans])
    assert powers[0] < 0.75 < powers[200] < 0.85
