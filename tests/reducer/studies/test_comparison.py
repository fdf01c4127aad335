"""Two systems against each other: a slow reading of the definitions, and what may never count."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test

from speechiq.core.errors import SpeechIQError
from speechiq.reducer import LEVELS, ScoreMatrix, calibrate
from speechiq.reducer.scores.draws import draw
from speechiq.reducer.scores.scale import Weighting, flat
from speechiq.reducer.stats import contrast
from speechiq.reducer.stats.contrast import permute
from speechiq.reducer.stats.estimate import Difference, plain
from speechiq.reducer.studies.compare import comparison_grid
from speechiq.reducer.studies.comparison import (
    compare_all,
    compare_scores,
    comparison_content,
    draw_gaps,
)
from tests.reducer.scores.test_bootstrap import make_pool
from tests.reducer.scores.test_scale import oracle, variance


def part(pool: ScoreMatrix, names: tuple[str, ...]) -> ScoreMatrix:
    rows = [pool.systems.index(name) for name in names]
    return ScoreMatrix(names, pool.clips, {level: raw[rows] for level, raw in pool.raw.items()})


def oracle_shares(pool: ScoreMatrix, one: int, other: int, rule: str) -> dict[str, dict[str, float]]:
    """clip -> level -> 15 w V_i (x_a - x_b) / (sum V std), one number at a time."""
    _, _, weights = oracle({level: raw.tolist() for level, raw in pool.raw.items()}, rule)
    shares: dict[str, dict[str, float]] = {}
    for level, raw in pool.raw.items():
        v = [variance(column) for column in raw.T.tolist()]
        x = [sum(cell * weight for cell, weight in zip(row, v, strict=True)) / sum(v) for row in raw.tolist()]
        std = variance(x) ** 0.5
        for i, clip in enumerate(pool.clips[level]):
            gap = raw[one, i] - raw[other, i]
            shares.setdefault(clip, {})[level] = 15 * weights[level] * v[i] * gap / (sum(v) * std)
    return shares


@pytest.mark.parametrize("rule", ["inverse-std", "inverse-variance"])
def test_differences_are_the_systems_and_intervals_those_of_the_draws(rule):
    pool = make_pool()
    found = compare_scores(pool, "s1", "s3", rule=Weighting(rule), draws=80, seed=2)
    siq, z, _ = oracle({level: raw.tolist() for level, raw in pool.raw.items()}, rule)
    drawn = draw(pool, rule=Weighting(rule), draws=80, seed=2, pairs=[(1, 3)])
    assert (found.a, found.b, found.draws, found.seed, found.left_out) == ("s1", "s3", 80, 2, drawn.left_out)
    assert found.siq.value == pytest.approx(siq[1] - siq[3], abs=1e-8)
    assert (found.siq.low, found.siq.high) == pytest.approx(tuple(np.ravel(drawn.siq_interval)), abs=1e-7)
    for level, raw in pool.raw.items():
        assert found.raw[level].value == pytest.approx(raw[1].mean() - raw[3].mean(), abs=1e-8)
        assert found.z[level].value == pytest.approx(z[level][1] - z[level][3], abs=1e-8)
        assert found.raw[level].low <= found.raw[level].value <= found.raw[level].high


def test_raw_intervals_are_those_of_the_gaps():
    """Each draw's mean gap, divided by its own standard error: a slow reading for clips that all levels have."""
    generator = np.random.default_rng(3)
    raw = {level: generator.gamma(1, 0.2, (3, 20)) for level in LEVELS}
    pool = ScoreMatrix(("a", "b", "c"), {level: tuple(map(str, range(10, 30))) for level in LEVELS}, raw)
    found = compare_scores(pool, "a", "b", draws=100, seed=4)
    draws = np.random.default_rng(4).multinomial(20, [1 / 20] * 20, size=100)
    for level in LEVELS:
        gap = raw[level][0] - raw[level][1]
        far = []
        for often in draws:
            drawn = np.repeat(gap, often)
            far.append((drawn.mean() - gap.mean()) * min(gap.std() / drawn.std(), 4))
        half = np.percentile(np.abs(far), 95)
        assert (found.raw[level].low, found.raw[level].high) == pytest.approx(
            (gap.mean() - half, gap.mean() + half), abs=1e-8
        )


def test_the_clips_parts_make_up_the_difference():
    pool = make_pool()
    found = compare_scores(pool, "s1", "s3", draws=40)
    shares = oracle_shares(pool, 1, 3, "inverse-std")
    assert {share.clip for share in found.clips} == shares.keys()
    for share in found.clips:
        assert share.total == pytest.approx(sum(shares[share.clip].values()), abs=1e-9)
        assert share.levels == pytest.approx(dict.fromkeys(LEVELS, 0.0) | shares[share.clip], abs=1e-9)
    assert sum(share.total for share in found.clips) == pytest.approx(found.siq.value, abs=1e-8)
    sizes = [abs(share.total) for share in found.clips]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > 0


@pytest.mark.parametrize(
    ("parts", "p"),
    [
        # Of the 8 ways to give signs to 1, 2, 4, two sum to 7 or -7; of those to 1, 1, 2 four reach 2.
        ([[1.0, 2.0, 4.0], [1.0, -1.0, 2.0], [0.0, 0.0, 0.0]], [2 / 8, 6 / 8, 1.0]),
        # Two systems tie in total, but for rounding.
        ([[0.1, 0.2, -0.3], [1 / 3, -1 / 3, 0.0]], [1.0, 1.0]),
        ([20 * [0.1, 0.2, -0.3]], [1.0]),
    ],
)
def test_permutation_by_hand(parts, p):
    assert permute(np.array(parts)).tolist() == p


@pytest.mark.parametrize("clips", [3, 11, 14])
def test_permutation_tries_every_pattern_where_it_can(clips):
    parts = np.random.default_rng(0).normal(size=(3, clips)) + 0.3
    sums = np.array(list(product([1, -1], repeat=clips))) @ parts.T
    expected = (np.abs(sums) >= np.abs(parts.sum(axis=1)) - 1e-9).mean(axis=0)
    assert permute(parts) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=15, deadline=None)
@given(cells=st.lists(st.integers(-3, 3), min_size=2, max_size=14), unit=st.sampled_from([1 / 3, 0.1, 1e-7, 1e6 / 7]))
def test_sums_that_tie_but_for_rounding_tie(cells, unit):
    parts = np.array([cells]) * unit
    sums = np.array(list(product([1, -1], repeat=len(cells)))) @ np.array(cells)
    assert permute(parts)[0] == pytest.approx((np.abs(sums) >= abs(sum(cells))).mean(), abs=1e-12)


def test_permutation_is_scipys_where_it_cannot(monkeypatch):
    parts = np.random.default_rng(1).normal(size=(2, 40)) + 0.2
    options = {"permutation_type": "samples", "n_resamples": contrast.FLIPS, "vectorized": True, "axis": -1, "rng": 4}
    expected = [permutation_test((row,), lambda of, axis: of.sum(axis=axis), **options).pvalue for row in parts]
    assert permute(parts, 4) == pytest.approx(expected, abs=1e-12)
    monkeypatch.setattr(contrast, "PATTERN_CELLS", 400)
    assert permute(parts, 4) == pytest.approx(expected, abs=0.03), "memory is bounded, draws are as good"


def test_a_system_differs_from_itself_by_nothing():
    pool = make_pool(twins=True)
    for one, other in (("s2", "s2"), ("s4", "s5")):
        for scale in (None, calibrate(pool)):
            found = compare_scores(pool, one, other, scale=scale, draws=60)
            assert found.better is None and set(found.sides.values()) == {0}
            for difference in (*found.raw.values(), *found.z.values(), found.siq):
                assert (difference.value, difference.low, difference.high, difference.p) == (0, 0, 0, 1)
            assert not any(share.total for share in found.clips)


def test_the_other_way_round_changes_the_sign_alone():
    pool = make_pool(clips=60)
    there, back = compare_scores(pool, "s0", "s4", draws=100), compare_scores(pool, "s4", "s0", draws=100)
    assert (there.better, back.better) == ("s4", "s4")
    for one, other in ((there.siq, back.siq), *zip(there.raw.values(), back.raw.values(), strict=True)):
        assert other.value == -one.value and other.p == pytest.approx(one.p)
        assert (other.low, other.high) == pytest.approx((-one.high, -one.low), abs=1e-9)


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"raw_only": "no scale"}, {"draws": 0}])
def test_many_pairs_are_compared_as_each_alone(options):
    pool = make_pool()._replace(levels=LEVELS)
    options = {"draws": 60, **options} | ({"scale": calibrate(pool)} if "scale" in options else {})
    pairs = [("s0", "s1"), ("s3", "s1"), ("s4", "s0")]
    for (a, b), found in zip(pairs, compare_all(pool, pairs, **options), strict=True):
        alone = compare_scores(pool, a, b, **options)
        assert plain(comparison_content(found)) == plain(comparison_content(alone))


@settings(max_examples=10)
@given(order=st.permutations(range(5)))
def test_order_of_systems_does_not_count(order):
    pool = make_pool()
    found = compare_scores(pool, "s1", "s3", draws=40)
    other = compare_scores(part(pool, tuple(pool.systems[j] for j in order)), "s1", "s3", draws=40)
    assert other.siq == pytest.approx(found.siq, abs=1e-8)
    assert [share.clip for share in other.clips] == [share.clip for share in found.clips]


def test_better_only_where_all_that_is_asked_agrees():
    generator = np.random.default_rng(0)
    good = generator.random(30) / 10
    raw = {
        "remember": np.array([good + 0.5, good, good + 0.2]),
        "understand": np.array([good + 0.5, good, good + 0.2]),
        "apply": np.array([good, good + generator.normal(size=30), good + 0.2]),
    }
    pool = ScoreMatrix(("a", "b", "c"), {level: tuple(map(str, range(10, 40))) for level in raw}, raw)
    agreed = compare_scores(pool, "a", "b", required=["remember", "understand", "remember"], draws=100)
    assert agreed.better == "a" and agreed.sides == {"remember": 1, "understand": 1}
    assert compare_scores(pool, "b", "a", required=["understand"], draws=100).better == "a"
    everything = compare_scores(pool, "a", "b", draws=100)
    assert everything.required == (*LEVELS, "siq")
    assert everything.better is None and everything.sides["apply"] == 0
    raw["apply"] = np.array([good, good, good + 2])
    torn = compare_scores(pool._replace(raw=raw), "a", "c", required=["remember", "apply"], draws=100)
    assert torn.better is None and torn.sides == {"remember": 1, "apply": -1}, "each certain, on opposite sides"


def test_two_systems_alone_have_no_siq():
    pool = part(make_pool(), ("s1", "s3"))
    tied = pool._replace(raw=pool.raw | {"apply": np.ones_like(pool.raw["apply"])})
    found = compare_scores(tied, "s1", "s3", draws=60)
    assert found.siq is None and found.z == {} and found.required == tuple(LEVELS)
    assert found.raw["apply"].value == 0 and found.raw["remember"].value != 0
    mean = np.mean([difference.value for difference in found.raw.values()])
    assert sum(share.total for share in found.clips) == pytest.approx(100 * mean, abs=1e-6)
    with pytest.raises(SpeechIQError, match=r"siq cannot be compared here: two systems alone .* --norms demo"):
        compare_scores(tied, "s1", "s3", required=["siq"])


def test_a_frozen_scale_is_read_off():
    whole = make_pool()
    scale = calibrate(whole)
    found = compare_scores(part(whole, ("s1", "s3")), "s1", "s3", scale=scale, draws=60)
    assert found.siq.value == compare_scores(whole, "s1", "s3", draws=60).siq.value
    alone = compare_scores(part(whole, ("s1", "s3", "s4")), "s1", "s3", scale=scale, draws=60)
    assert alone.siq == pytest.approx(found.siq, abs=1e-8), "nobody else counts"
    gap = draw_gaps(whole, [(1, 3)], scale, 60, 0).siq_interval
    assert (found.siq.low, found.siq.high) == pytest.approx((gap.low[0] - 100, gap.high[0] - 100), abs=1e-8)


@pytest.mark.parametrize("names", [[], ["wer"], ["remember", ""]])
def test_asking_for_what_is_not_there(names):
    with pytest.raises(SpeechIQError, match="name some of remember, understand, apply, siq"):
        compare_scores(make_pool(), "s1", "s3", required=names)


def test_equal_systems_are_rarely_told_apart():
    """Two systems of one skill: 95 intervals of 100 hold 0, and both together say `better` in fewer than 5."""
    generator = np.random.default_rng(0)
    held = []
    for trial in range(150):
        hard = generator.random(50)
        raw = {level: np.clip(hard + generator.normal(size=(3, 50)) / 5, 0, 1) for level in LEVELS}
        pool = ScoreMatrix(("a", "b", "c"), {level: tuple(map(str, range(10, 60))) for level in LEVELS}, raw)
        raw_draws = draw_gaps(pool, [(0, 1)], flat(pool), 200, trial).raw_draws
        pair = draw(pool, draws=200, seed=trial, pairs=[(0, 1)]).siq_interval
        held.append([low < 0 < high for low, high in (raw_draws["remember"].interval, pair)])
    share = np.mean(held, axis=0)
    assert (share > 0.90).all() and (share < 0.99).all()
    assert np.mean(~np.array(held).any(axis=1)) < 0.05


def test_json_is_plain():
    pool = make_pool(clips=200)._replace(levels=LEVELS)
    data = plain(comparison_content(compare_scores(pool, "s0", "s4", draws=60)))
    assert data["better"] == "s4" and data["siq"]["difference"] < 0
    remember = data["scores"]["remember"]
    assert list(remember) == ["difference", "a", "b", "low", "high", "p", "better"]
    assert data["measures"]["remember"]["direction"] == "lower" and remember["better"] == "s4"
    assert remember["difference"] == pytest.approx(remember["a"] - remember["b"])
    assert 0 < remember["low"] < remember["difference"] < remember["high"]
    assert data["clips"][0].keys() == {"clip", "total", "levels"}
    assert data["caution"] is None and data["draws"] == 60
    alone = part(pool, ("s0", "s4"))._replace(levels=LEVELS)
    assert comparison_content(compare_scores(alone, "s0", "s4", draws=60))["siq"] is None
    few = make_pool()._replace(levels=LEVELS)
    assert comparison_content(compare_scores(few, "s0", "s4", draws=60))["caution"].startswith(
        "Small test set (6 clips): "
    )


@pytest.mark.parametrize(
    ("p", "ends", "conflicts"),
    [
        (0.0008, (-0.1, 2.1), True),
        (0.3, (0.1, 1.9), True),
        (0.0008, (0.1, 1.9), False),
        (0.3, (-0.1, 2.1), False),
        (np.nan, (0.1, 1.9), False),
        (0.0008, (np.nan, np.nan), False),
    ],
)
def test_a_p_value_and_an_interval_that_disagree_say_what_each_asks(p, ends, conflicts):
    agreed, shown = Difference(2.0, 1.0, 0.5, 1.5, 0.001), Difference(2.0, 1.0, *ends, p)
    found = compare_scores(make_pool()._replace(levels=LEVELS), "s1", "s3", draws=80)
    found = found._replace(raw=dict.fromkeys(found.raw, agreed), z=dict.fromkeys(found.z, agreed), siq=shown)
    notes = comparison_grid(found).notes
    assert [row.key for row in found.conflicts] == comparison_content(found)["conflicts"] == ["siq"] * conflicts
    assert any(note.startswith("SIQ: p asks whether these clips separate A from B") for note in notes) == conflicts
    found = found._replace(raw={**found.raw, "remember": shown}, siq=agreed)
    notes = comparison_grid(found).notes
    assert any(note.startswith("Remember") and "p asks whether swapping A and B" in note for note in notes) == conflicts
