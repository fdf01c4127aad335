"""Error bars against a loop that resamples clips one by one, and what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speechiq.core.errors import SpeechIQError
from speechiq.reducer import LEVELS, Pool, calibrate, score
from speechiq.reducer import bootstrap as module
from speechiq.reducer.bootstrap import draw, leave_one_out, resample

RULES = ["inverse-std", "inverse-variance", "equal", "1,2,5"]


def make_pool(systems: int = 5, clips: int = 12, seed: int = 0, twins: bool = False) -> Pool:
    """Scores as they come: WER above 1 now and then, accuracies in thirds, levels with clips of their own."""
    generator = np.random.default_rng(seed)
    skill = np.sort(generator.random(systems))[:, None]
    names = [f"clip/{i:03}" for i in range(clips)]
    raw = {
        "remember": -generator.gamma(1, 1.2 - skill, (systems, clips)),
        "understand": 1 - generator.random((systems, clips)) * (1.2 - skill) / 2,
        "apply": (generator.random((3, systems, clips)) < 0.2 + 0.7 * skill).mean(axis=0),
    }
    at = {"remember": slice(None), "understand": slice(1, None), "apply": slice(0, clips, 2)}
    raw = {level: values[:, at[level]] for level, values in raw.items()}
    if twins:
        raw = {level: np.vstack([values, values[-1:]]) for level, values in raw.items()}
        systems += 1
    return Pool(tuple(f"s{j}" for j in range(systems)), {level: tuple(names[at[level]]) for level in raw}, raw)


def naive_draws(pool: Pool, scale=None, rule: str = "inverse-std", draws: int = 60, seed: int = 0):
    """Each draw as a pool of its own, a clip as often as it was drawn; (scores, draws left out)."""
    names = sorted({clip for clips in pool.clips.values() for clip in clips})
    generator = np.random.default_rng(seed)
    scores, left_out = [], 0
    for _ in range(draws):
        often = dict(zip(names, generator.multinomial(len(names), [1 / len(names)] * len(names)), strict=True))
        at = {
            level: [i for i, clip in enumerate(clips) for _ in range(often[clip])]
            for level, clips in pool.clips.items()
        }
        drawn = Pool(
            pool.systems,
            {level: tuple(f"{pool.clips[level][i]}#{n}" for n, i in enumerate(of)) for level, of in at.items()},
            {level: pool.raw[level][:, of] for level, of in at.items()},
        )
        try:
            if not all(at.values()):
                raise SpeechIQError("no clip of a level")
            here = scale and scale._replace(
                levels={
                    level: of._replace(discrimination=of.discrimination[at[level]])
                    for level, of in scale.levels.items()
                }
            )
            if here and not all(of.discrimination.any() for of in here.levels.values()):
                raise SpeechIQError("no clip tells systems apart")
            scores.append(score(drawn, here or calibrate(drawn, rule)))
        except SpeechIQError:
            left_out += 1
    return scores, left_out


def assert_same_draws(pool: Pool, **options) -> None:
    drawn = draw(pool, draws=60, seed=3, **options)
    scores, left_out = naive_draws(pool, draws=60, seed=3, **options)
    assert drawn.left_out == left_out and len(drawn.siq) == 60 - left_out
    assert drawn.siq == pytest.approx(np.array([of.siq for of in scores]), abs=1e-8)
    for level in pool.raw:
        assert drawn.raw[level] == pytest.approx(np.array([of.levels[level].raw for of in scores]), abs=1e-10)
        assert drawn.z[level] == pytest.approx(np.array([of.levels[level].z for of in scores]), abs=1e-8)


@pytest.mark.parametrize("rule", RULES)
def test_equals_scoring_each_draw_as_a_pool_of_its_own(rule):
    assert_same_draws(make_pool(), rule=rule)
    assert_same_draws(make_pool(systems=2, clips=4, seed=1), rule=rule)


def test_equals_scoring_each_draw_on_a_frozen_scale():
    pool = make_pool()
    scale = calibrate(pool, "inverse-variance")
    assert_same_draws(pool, scale=scale)
    alone = Pool(pool.systems[:1], pool.clips, {level: raw[:1] for level, raw in pool.raw.items()})
    assert_same_draws(alone, scale=scale)


def test_intervals_and_rank_probabilities_are_those_of_the_draws():
    pool = make_pool(twins=True)
    bars = resample(pool, draws=200, seed=5)
    scores, left_out = naive_draws(pool, draws=200, seed=5)
    assert (bars.draws, bars.seed, bars.left_out) == (200, 5, left_out)
    siq = np.array([of.siq for of in scores])
    assert bars.siq.low == pytest.approx(np.percentile(siq, 2.5, axis=0), abs=1e-8)
    assert bars.siq.high == pytest.approx(np.percentile(siq, 97.5, axis=0), abs=1e-8)
    assert bars.siq_std == pytest.approx(siq.std(axis=0, ddof=1), abs=1e-8)
    for level in LEVELS:
        raw = np.array([of.levels[level].raw for of in scores])
        assert bars.raw[level].high == pytest.approx(np.percentile(raw, 97.5, axis=0), abs=1e-10)
        assert bars.raw_std[level] == pytest.approx(raw.std(axis=0, ddof=1), abs=1e-10)
        assert (bars.z[level].low <= bars.z[level].high).all()
    ranks = np.array([of.ranks for of in scores])
    for j in range(len(pool.systems)):
        for rank in range(1, len(pool.systems) + 1):
            assert bars.ranks[j, rank - 1] == pytest.approx((ranks[:, j] == rank).mean())
    assert bars.ranks.sum(axis=1) == pytest.approx(1)
    assert np.array_equal(bars.ranks[-1], bars.ranks[-2]), "twins share every rank"


def test_the_seed_alone_decides(monkeypatch):
    pool = make_pool()
    first = resample(pool, draws=100, seed=7)
    monkeypatch.setattr(module, "CHUNK_CELLS", 30)
    again = resample(pool, draws=100, seed=7)
    assert again.siq.low == pytest.approx(first.siq.low, abs=1e-9)
    assert not np.allclose(resample(pool, draws=100, seed=8).siq.low, first.siq.low)


@settings(max_examples=10)
@given(order=st.permutations(range(5)))
def test_order_of_systems_does_not_count(order):
    pool = make_pool()
    turned = Pool(tuple(pool.systems[j] for j in order), pool.clips, {k: raw[order] for k, raw in pool.raw.items()})
    bars, other = resample(pool, draws=50), resample(turned, draws=50)
    assert other.siq.high == pytest.approx(bars.siq.high[order], abs=1e-9)
    assert other.ranks == pytest.approx(bars.ranks[order], abs=1e-12)


def test_more_clips_make_narrower_intervals():
    width = {clips: np.ptp(resample(make_pool(clips=clips), draws=300).siq, axis=0).mean() for clips in (20, 320)}
    assert 2.5 < width[20] / width[320] < 7, "about the square root of 16"


def test_draws_without_a_telling_clip_are_left_out_and_counted():
    raw = np.array([[0.0, *[0.5] * 9], [1.0, *[0.5] * 9], [0.3, *[0.5] * 9]])
    pool = Pool(("a", "b", "c"), {level: tuple("0123456789") for level in LEVELS}, dict.fromkeys(LEVELS, raw))
    bars = resample(pool, draws=2000)
    assert bars.left_out / 2000 == pytest.approx(0.9**10, abs=0.05), "draws that miss the one clip"
    assert bars.ranks.tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    apart = {level: np.roll(raw, i, axis=1) for i, level in enumerate(LEVELS)}
    with pytest.raises(SpeechIQError, match=r"\d+ of 1000 draws hold no clip that tells the systems apart, .* level"):
        resample(pool._replace(raw=apart))


def test_refusals():
    pool = make_pool(clips=1)
    one_clip = Pool(pool.systems, dict.fromkeys(LEVELS, ("c",)), dict.fromkeys(LEVELS, pool.raw["remember"]))
    with pytest.raises(SpeechIQError, match="a single clip has no error bar"):
        resample(one_clip)
    with pytest.raises(SpeechIQError, match="10 draws have no 95 % interval: give at least 40"):
        resample(make_pool(), draws=10)
    with pytest.raises(SpeechIQError, match="unknown rule of level weights 'magic'"):
        resample(make_pool(), rule="magic")
    with pytest.raises(SpeechIQError, match="needs at least two, got 1"):
        resample(make_pool(systems=1))


def test_intervals_cover_the_truth():
    """Scores drawn from one known source: the 95 % interval of the mean holds its true mean about 95 times in 100."""
    generator = np.random.default_rng(0)
    held = []
    for trial in range(200):
        raw = {level: generator.random((3, 60)) * [[0.8], [0.9], [1.0]] for level in LEVELS}
        pool = Pool(("a", "b", "c"), {level: tuple(f"{i:02}" for i in range(60)) for level in LEVELS}, raw)
        bars = resample(pool, draws=200, seed=trial).raw["apply"]
        held.append((bars.low < [0.4, 0.45, 0.5]) & (bars.high > [0.4, 0.45, 0.5]))
    assert 0.90 < np.mean(held) < 0.98


def test_leaving_a_system_out():
    pool = make_pool()
    whole = score(pool, calibrate(pool)).siq
    shifts = leave_one_out(pool)
    for j in range(len(pool.systems)):
        others = [i for i in range(len(pool.systems)) if i != j]
        rest = Pool(
            tuple(pool.systems[i] for i in others), pool.clips, {level: raw[others] for level, raw in pool.raw.items()}
        )
        assert math.isnan(shifts[j, j])
        assert shifts[j, others] == pytest.approx(score(rest, calibrate(rest)).siq - whole[others], abs=1e-12)
    assert np.isnan(leave_one_out(make_pool(systems=2))).all()


def test_leaving_out_the_only_system_that_differs():
    pool = make_pool(systems=1, twins=True)
    odd = Pool(("x", *pool.systems), pool.clips, {k: np.vstack([raw[:1] / 2, raw]) for k, raw in pool.raw.items()})
    shifts = leave_one_out(odd)
    assert np.isnan(shifts[0]).all() and np.isfinite(shifts[1, [0, 2]]).all()
