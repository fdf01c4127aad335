"""Correlations of rankings, against the paper's Table 3 and against numbers computed another way."""

import math

import numpy as np
import pytest
from scipy import stats

from speechiq.reducer.studies import correlated
from speechiq.reducer.studies.correlated import correlate

#: Ranks of ten systems in Table 3 of the paper.
TABLE_3 = {
    "Human": [3, 8, 7, 1, 4, 6, 2, 5, 9, 10],
    "WER": [2, 10, 7, 4, 6, 5, 3, 1, 8, 9],
    "SemDist": [4, 8, 7, 2, 5, 6, 1, 3, 10, 9],
    "LLM-S": [4, 8, 6, 5, 7, 2, 3, 1, 10, 9],
    "BLEU": [3, 6, 8, 4, 5, 7, 2, 1, 9, 10],
    "SIQ_rm": [4, 8, 7, 3, 6, 5, 2, 1, 10, 9],
    "SIQ_all": [2, 10, 7, 1, 4, 6, 3, 5, 8, 9],
}
#: As printed, but for SemDist, which its ranks give as .939 and the paper prints as .721.
SPEARMAN = {"WER": 0.770, "SemDist": 0.939, "LLM-S": 0.624, "BLEU": 0.806, "SIQ_rm": 0.830, "SIQ_all": 0.952}


@pytest.mark.parametrize("metric", SPEARMAN)
def test_table_3_of_the_paper_is_recomputed_from_its_ranks(metric):
    found = correlate(TABLE_3["Human"], TABLE_3[metric])
    assert round(found["spearman"][0].value, 3) == SPEARMAN[metric]


def test_coefficients_are_those_of_their_definitions():
    rng = np.random.default_rng(3)
    one, other = rng.normal(size=12), rng.normal(size=12)
    found = correlate(one, other)
    assert found["pearson"][0].value == pytest.approx(np.corrcoef(one, other)[0, 1], abs=1e-12)
    ranks = [stats.rankdata(values) for values in (one, other)]
    assert found["spearman"][0].value == pytest.approx(np.corrcoef(*ranks)[0, 1], abs=1e-12)
    pairs = [(i, j) for i in range(12) for j in range(i)]
    signs = [np.sign(one[i] - one[j]) * np.sign(other[i] - other[j]) for i, j in pairs]
    assert found["kendall"][0].value == pytest.approx(np.mean(signs), abs=1e-12)
    interval = stats.pearsonr(one, other).confidence_interval()
    assert (found["pearson"][0].low, found["pearson"][0].high) == pytest.approx(tuple(interval), abs=1e-9)


def test_intervals_cover_the_correlation_that_the_data_have(monkeypatch):
    monkeypatch.setattr(correlated, "ORDERS", 9)  # the p-values are not looked at
    rng, truth, inside = np.random.default_rng(4), 0.6, 0
    spearman = 6 / math.pi * math.asin(truth / 2)
    for _ in range(400):
        one = rng.normal(size=30)
        other = truth * one + math.sqrt(1 - truth**2) * rng.normal(size=30)
        found = correlate(one, other)["spearman"][0]
        inside += found.low <= spearman <= found.high
    assert 0.92 <= inside / 400 <= 0.98


def test_equal_scores_have_no_correlation_and_few_systems_no_interval():
    assert all(math.isnan(value) for value in correlate([1, 2, 3], [5, 5, 5])["pearson"][0][:3])
    few = correlate([1, 2, 3, 4], [1, 2, 4, 3])["spearman"][0]
    assert few.value == pytest.approx(0.8) and math.isnan(few.low) and math.isnan(few.high)
    exact = correlate([1, 2, 3, 4, 5], [2, 4, 6, 8, 10])
    assert [coefficient.value for coefficient, _ in exact.values()] == pytest.approx([1, 1, 1])
    assert all(math.isnan(coefficient.low) for coefficient, _ in exact.values())


@pytest.mark.parametrize(
    ("order", "p"),
    [([1, 2, 3], 2 / 6), ([1, 2, 3, 4, 5, 6], 2 / 720), ([2, 1, 3, 5, 4, 6], 24 / 720), ([6, 5, 4, 3, 2, 1], 2 / 720)],
)
def test_p_is_the_share_of_orders_that_agree_as_well(order, p):
    found = correlate(range(1, len(order) + 1), order)
    assert [found[name][1] for name in ("pearson", "spearman")] == pytest.approx([p, p])


def test_p_of_many_systems_is_never_zero():
    found = correlate(range(12), range(12))
    assert all(0 < p < 0.001 for _, p in found.values())
