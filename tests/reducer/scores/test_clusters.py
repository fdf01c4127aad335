"""Intervals and tests over clusters: against formulas, against aggregated clips, and what outputs say of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer import LEVELS, ScoreMatrix, align, calibrate
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.bootstrap import resample
from speechiq.reducer.scores.draws import Clips, draw
from speechiq.reducer.scores.remarks import observe
from speechiq.reducer.stats import bootstrap
from speechiq.reducer.stats.agreement import compare_raters, correct
from speechiq.reducer.stats.bootstrap import estimate_share
from speechiq.reducer.stats.classifier import auc
from speechiq.reducer.stats.contrast import permute, separates
from speechiq.reducer.stats.grid import find_caution
from speechiq.reducer.studies.comparison import compare_scores

SIZES = (3, 1, 6, 2, 4, 5, 2, 3)


def make_pool(sizes=SIZES, systems: int = 4, spread: float = 0.3, clustered: bool = True) -> ScoreMatrix:
    """Return systems whose scores share much within a cluster of clips."""
    generator = np.random.default_rng(5)
    place = np.repeat(np.arange(len(sizes)), sizes)
    names = tuple(f"{i:03}" for i in range(len(place)))

    def scores(skill: np.ndarray) -> np.ndarray:
        shared, own = generator.normal(size=(2, systems, len(place)))
        return skill[:, None] + spread * shared[:, : len(sizes)][:, place] + 0.1 * own

    raw = {level: scores(np.linspace(-1, 0, systems)) for level in LEVELS}
    raw["apply"] = (raw["apply"] > -0.5).astype(float)
    clusters = {name: f"call {number}" for name, number in zip(names, place.tolist(), strict=True)} if clustered else {}
    return ScoreMatrix(tuple("abcdefgh"[:systems]), dict.fromkeys(LEVELS, names), raw, LEVELS, clusters=clusters)


def clustered_error(values: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Return the clustered standard error of a mean as inspect_ai computes it, from its formula."""
    gaps = values - values.mean(axis=-1, keepdims=True)
    names = np.unique(clusters)
    squares = sum(
        gaps[..., i] * gaps[..., j]
        for name in names
        for i, j in itertools.product(np.flatnonzero(clusters == name), repeat=2)
    )
    return np.sqrt(squares * len(names) / (len(names) - 1)) / values.shape[-1]


def test_standard_errors_are_those_of_the_formula():
    pool = make_pool(sizes=(4, 5, 6) * 20)
    bars = resample(pool, scale=calibrate(pool), draws=20_000)
    expected = clustered_error(pool.raw["remember"], Clips.from_matrix(pool).clusters)
    assert bars.std["remember"] == pytest.approx(expected, rel=0.01)


def test_clusters_of_one_clip_change_nothing():
    alone = make_pool(sizes=(1,) * 12)
    for scale in (None, calibrate(alone)):
        named, without = (resample(pool, scale=scale, draws=100) for pool in (alone, alone._replace(clusters={})))
        for level in LEVELS:
            assert np.array_equal(named.intervals[level], without.intervals[level])
            assert np.array_equal(named.z[level], without.z[level])
        assert np.array_equal(named.siq, without.siq) and np.array_equal(named.siq_std, without.siq_std)


def test_equal_clips_of_a_cluster_are_worth_one():
    """A clip that is there five times says no more than once, so that intervals of the copies are as wide."""
    once = make_pool(sizes=(1,) * 30, spread=0.0)
    raw = {level: np.repeat(values, 5, axis=1) for level, values in once.raw.items()}
    names = tuple(f"{i:03}" for i in range(150))
    copies = once._replace(raw=raw, clips=dict.fromkeys(LEVELS, names))
    copies = copies._replace(clusters={name: f"{i // 5:03}" for i, name in enumerate(names)})
    widths = [np.ptp(draw(pool, draws=400).raw_draws["remember"].interval, axis=0) for pool in (once, copies)]
    assert widths[1] == pytest.approx(widths[0], rel=1e-9)


def test_clusters_widen_every_interval():
    pool = make_pool(sizes=(10,) * 12)
    bars, naive = (resample(of, draws=400) for of in (pool, pool._replace(clusters={})))
    for level in LEVELS:
        wide, narrow = (np.ptp(of.intervals[level], axis=0) for of in (bars, naive))
        assert (wide > 1.5 * narrow).all(), level
    assert np.ptp(bars.siq, axis=0).mean() > np.ptp(naive.siq, axis=0).mean()


def test_signs_change_by_cluster():
    parts = np.array([[1.0, 2.0, 4.0, 1.0]])
    assert permute(parts, clusters=np.array([0, 0, 1, 1])).tolist() == [2 / 4]
    sums = [3.0, -1.0, 5.0, 2.0, -4.0, 1.0, 2.0, 3.0]
    patterns = [abs(np.dot(signs, sums)) >= abs(sum(sums)) for signs in itertools.product((1, -1), repeat=8)]
    spread_out = np.repeat(np.array(sums) / np.array(SIZES), SIZES)[None]
    assert permute(spread_out, clusters=np.repeat(np.arange(8), SIZES))[0] == pytest.approx(np.mean(patterns))


def test_a_comparison_draws_and_permutes_clusters():
    pool = make_pool(sizes=(10,) * 6)
    clustered, naive = (compare_scores(of, "b", "c", draws=200) for of in (pool, pool._replace(clusters={})))
    gap, narrow = clustered.raw["remember"], naive.raw["remember"]
    assert (gap.a, gap.b) == (narrow.a, narrow.b) and gap.high - gap.low > narrow.high - narrow.low
    assert gap.p * 32 == pytest.approx(round(gap.p * 32)), "64 patterns of signs, in pairs"
    assert clustered.clusters == 6 and clustered.caution.startswith(
        "Few clusters (60 clips in 6 clusters): the intervals are unreliable"
    )


def test_a_level_separates_systems_by_the_formula():
    """Two systems differ by the clustered error times Student's quantile, or they do not."""
    clusters, generator = np.repeat(np.arange(8), SIZES), np.random.default_rng(0)
    gap = generator.normal(size=8)[clusters] + 0.1 * generator.normal(size=len(clusters))
    gap -= gap.mean()
    limit = 2.364624 * clustered_error(gap[None], clusters)[0]
    for factor, expected in ((1.001, True), (0.999, False)):
        raw = np.stack([gap + factor * limit, np.zeros(len(gap))])
        assert separates(raw, clusters) is expected
    assert separates(np.stack([gap + 0.9 * limit, np.zeros(len(gap))])), "single clips say more than they know"


def test_equal_systems_differ_in_five_per_cent_of_the_sets():
    """Twelve calls of ten clips, with half of the variance between calls: only tests over calls hold their level."""
    generator, calls = np.random.default_rng(2), np.repeat(np.arange(12), 10)
    clips, alone = range(120), np.arange(120)
    clusters = dict(zip(clips, map(str, calls), strict=True))
    gaps = generator.normal(size=(100, 12))[:, calls] + generator.normal(size=(100, 120))

    def excludes_zero(gap: np.ndarray, names: dict[int, str]) -> bool:
        mean = bootstrap.resample(lambda n: n @ gap / n.sum(axis=1), clips, names, draws=100).estimate
        return not mean.low <= 0 <= mean.high

    for differ, ways in {
        lambda gap, numbers: separates(np.stack([gap, np.zeros(120)]), numbers): (calls, alone),
        excludes_zero: (clusters, {}),
    }.items():
        clustered, naive = (np.mean([differ(gap, way) for gap in gaps]) for way in ways)
        assert clustered <= 0.09 and naive > 0.25
    assert np.mean([permute(gap[None], 0, calls)[0] < 0.05 for gap in gaps[:50]]) <= 0.1


def test_an_undefined_score_leaves_its_cluster():
    clusters = np.array([0, 0, 1, 1, 2, 2])
    raw = np.array([[1.0, 1.1, 0.9, 1.0, np.nan, np.nan], [0.0, 0.1, 0.0, 0.0, 0.0, np.nan]])
    assert separates(raw, clusters) is separates(raw[:, :4], clusters[:4])


def test_studies_draw_clusters():
    generator, clips = np.random.default_rng(1), [f"{i:02}" for i in range(48)]
    clusters = {clip: f"call {i // 6}" for i, clip in enumerate(clips)}
    shared = np.repeat(generator.normal(size=8), 6)
    noise = [0.3 * generator.normal(size=48) for _ in range(2)]
    a, b = shared + noise[0], np.round(shared + noise[1])
    for name, estimates in {
        "mean": [
            bootstrap.resample(lambda n: n @ a / n.sum(axis=1), clips, of, draws=400).estimate for of in (clusters, {})
        ],
        "bias": [compare_raters(a, shared, clips, of, draws=400)["spearman"] for of in (clusters, {})],
        "auc": [bootstrap.resample(lambda n: auc(a, b > 0, n), clips, of, draws=400).estimate for of in (clusters, {})],
        "share": [estimate_share(b > 0, np.ones(48), clips, of) for of in (clusters, {})],
        "corrected": [correct(a, b, clips, clusters=of) for of in (clusters, {})],
    }.items():
        wide, narrow = estimates
        assert wide.value == narrow.value and (wide.clusters, narrow.clusters) == (8, 48), name
        if name in ("mean", "share"):
            assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low), name
        assert find_caution([wide, "text"]).startswith("Few clusters (48 clips in 8 clusters): ")
        small = find_caution([narrow])
        assert small.startswith("Small test set (48 clips): ") if narrow.enough else small is None
        assert bool(narrow.enough) is (name in ("mean", "auc")), name


def test_an_interval_and_its_p_value_agree():
    values = np.random.default_rng(0).normal(size=4000)
    for shift in np.linspace(0, 4, 40):
        drawn = np.concatenate([[[shift, 0.0]], np.stack([values + shift, np.zeros(4000)], axis=1)])
        gap = bootstrap.Resampled(drawn, 60, 8, 60).difference(0, 1)
        assert (gap.p < 0.045) <= (gap.low > 0) <= (gap.p < 0.055)


def test_one_cluster_has_no_interval():
    with pytest.raises(SpeechIQError, match="a single cluster of 20 clips has no error bar: run more clips"):
        resample(make_pool(sizes=(20,)), draws=100)
    alone = bootstrap.resample(
        lambda n: n @ np.arange(3.0) / n.sum(axis=1), list("abc"), dict.fromkeys("abc", "x"), draws=99
    ).estimate
    assert np.isnan(alone.low) and alone.clusters == 1
    for clips in (1, 6):
        assert np.isnan(bootstrap.Resampled(np.ones((9, 2)), 6, 1, clips).difference(0, 1).p)


def test_clusters_of_all_systems_and_levels_are_one():
    pool = make_pool()
    systems = [
        System.of_scores(
            name, {level: {(clip,): 0.5 for clip in clips} for level, clips in pool.clips.items()}, levels=LEVELS
        )
        for name in pool.systems
    ]
    aligned = align([systems[0].cluster_by(pool.clusters), *systems[1:]])
    assert aligned.clusters == pool.clusters
    assert (aligned.smallest, aligned.units, align(systems).units) == ((26, 8), "clusters", "clips")
    for of, expected in ((aligned, "26 clips in 8 clusters"), (align(systems), "26 clips")):
        assert next(observe(of, systems).counted()).partition(",")[0] == expected
