"""Gaps between groups: agreement with exact tests, whole clusters, and cases without a test."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from speechiq.reducer.stats.contrast import compare_groups


def compare(scores, groups, clusters=None, **options):
    scores = np.atleast_2d(np.asarray(scores, dtype=float))
    names = [*range(scores.shape[1])] if clusters is None else clusters
    return compare_groups(scores, groups, names, **{"draws": 2000} | options)


def test_p_of_two_groups_is_that_of_a_permutation_test():
    generator = np.random.default_rng(5)
    scores = np.concatenate([generator.normal(0.8, 1, 12), generator.normal(0, 1, 12)])
    ((gap,),) = [pairs.values() for pairs in compare(scores, ["a"] * 12 + ["b"] * 12)]
    known = stats.permutation_test(
        (scores[:12], scores[12:]), lambda a, b, axis: a.mean(axis) - b.mean(axis), vectorized=True, rng=1
    )
    assert gap.value == pytest.approx(scores[:12].mean() - scores[12:].mean())
    assert gap.p == pytest.approx(known.pvalue, abs=0.02)
    welch = stats.ttest_ind(scores[:12], scores[12:], equal_var=False).confidence_interval()
    assert (gap.low, gap.high) == pytest.approx(welch, abs=0.15)


def test_the_interval_excludes_0_where_p_is_below_5_per_cent():
    generator = np.random.default_rng(0)
    systems = generator.normal(size=(200, 30)) + 1.0 * (np.arange(30) < 12)
    groups = ["a"] * 12 + ["b"] * 10 + ["c"] * 8
    agreed = [
        (gap.p < 0.05) == (gap.side != 0) for pairs in compare(systems, groups, draws=400) for gap in pairs.values()
    ]
    assert len(agreed) == 600 and np.mean(agreed) > 0.98


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(5, 5), (4, 20), (3, 6, 12), (4, 4, 6, 6, 8, 8, 10, 20)])
def test_a_gap_that_is_not_there_is_found_in_5_per_cent_of_sets(sizes):
    generator, found = np.random.default_rng(3), []
    for _ in range(300):
        clusters = np.repeat(np.arange(sum(sizes)), generator.integers(1, 10, sum(sizes)))
        scores = generator.normal(size=sum(sizes))[clusters] + generator.normal(size=len(clusters))
        groups = np.repeat([str(g) for g in range(len(sizes))], sizes)[clusters]
        (pairs,) = compare(scores, groups, clusters, draws=200)
        found.append(any(gap.p < 0.05 for gap in pairs.values()))
    assert np.mean(found) <= 0.05 + 2.5 * math.sqrt(0.05 * 0.95 / 300)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wer", "accuracy"])
def test_the_interval_has_the_planted_gap(kind, monkeypatch):
    folder = Path(__file__).parents[3] / "benchmarks"
    monkeypatch.syspath_prepend(str(folder))
    spec = importlib.util.spec_from_file_location("benchmark_of_gaps", folder / "group_gaps.py")
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    found, others, covered = benchmark.measure(kind, (20, 40), 5, 0.2, benchmark.GAPS[kind], 100, 200)
    assert found > 0.6 and others == 0 and covered > 0.87


def test_clips_of_a_cluster_count_as_one():
    generator = np.random.default_rng(1)
    clusters = np.repeat(np.arange(8), 20)
    scores = generator.normal(size=8)[clusters] + 0.1 * generator.normal(size=160)
    groups = np.where(clusters < 4, "a", "b")
    (by_clip,), (by_cluster,) = compare(scores, groups), compare(scores, groups, clusters)
    assert by_clip["a", "b"].value == by_cluster["a", "b"].value
    assert np.ptp(by_cluster["a", "b"].estimate.ends) > 3 * np.ptp(by_clip["a", "b"].estimate.ends)
    assert by_cluster["a", "b"].p > 0.05 and min(by_cluster["a", "b"].p, by_clip["a", "b"].p) > 0


def test_a_planted_gap_is_the_one_that_is_found():
    scores = np.random.default_rng(2).normal(size=60) + 3.0 * (np.arange(60) >= 40)
    (pairs,) = compare(scores, ["a"] * 20 + ["b"] * 20 + ["c"] * 20)
    assert pairs["a", "c"].p == pairs["b", "c"].p == pytest.approx(1 / 2001) and pairs["a", "b"].p > 0.2
    assert pairs["a", "c"].low < -3 < pairs["a", "c"].high


def test_a_group_of_one_cluster_has_a_difference_and_no_test():
    scores = [1.0, 2.0, 3.0, 4.0, 9.0]
    (pairs,) = compare(scores, ["a", "a", "b", "b", "c"])
    assert pairs["a", "c"].value == -7.5 and math.isnan(pairs["a", "c"].p) and math.isnan(pairs["b", "c"].low)
    assert pairs["a", "b"].p == compare(scores[:4], ["a", "a", "b", "b"])[0]["a", "b"].p


def test_equal_scores_are_no_gap_and_groups_without_spread_have_no_interval():
    (flat,), (apart,) = compare([1.0] * 8, ["a", "b"] * 4), compare([1.0, 0.0] * 4, ["a", "b"] * 4)
    assert flat["a", "b"].p == 1 and flat["a", "b"].value == 0
    assert apart["a", "b"].value == 1 and apart["a", "b"].p < 0.06 and math.isnan(apart["a", "b"].low)


def test_undefined_scores_are_left_out_for_their_system_alone():
    generator = np.random.default_rng(4)
    scores, groups = generator.normal(size=(2, 20)), ["a"] * 10 + ["b"] * 10
    holes = scores.copy()
    holes[0, :3] = np.nan
    first, second = compare(holes, groups)
    assert second == compare(scores, groups)[1]
    assert first["a", "b"].a == pytest.approx(scores[0, 3:10].mean()) and first["a", "b"].p > 0
    holes[0, :10] = np.nan
    none, _ = compare(holes, groups)
    assert math.isnan(none["a", "b"].value) and math.isnan(none["a", "b"].p)


def test_neither_the_unit_nor_the_order_of_clips_moves_a_p_value():
    scores = np.random.default_rng(6).normal(size=24)
    groups = np.array(["a", "b", "c"] * 8)
    (pairs,), (scaled,) = compare(scores, groups), compare(-100 * scores, groups)
    assert [gap.p for gap in pairs.values()] == [gap.p for gap in scaled.values()]
    assert compare(scores, groups, draws=0)[0]["a", "b"]._replace(low=0, high=0, p=0) == pairs["a", "b"]._replace(
        low=0, high=0, p=0
    )
