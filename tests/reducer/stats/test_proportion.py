"""Intervals of shares: against Wilson's own formula and a slow one, their properties, and their coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from speechiq.metrics.measure import Category, Measure
from speechiq.reducer import ScoreMatrix
from speechiq.reducer.scores.bootstrap import resample_alone, resample_raw
from speechiq.reducer.stats.bootstrap import estimate_share, wilson

CLIPS = st.integers(2, 60)
SHARES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)).map(sorted), min_size=2, max_size=60)


def slow(scores: list[float]) -> tuple[float, float]:
    """The interval of clips of one size, one number at a time."""
    n = len(scores)
    p = sum(scores) / n
    variance = sum((score - p) ** 2 for score in scores) / n
    ratio = variance / (p * (1 - p)) if 0 < p < 1 and variance > 1e-12 else 1.0
    differing = n * min(p, 1 - p) / ratio
    ratio = (differing * ratio + 1) / (differing + 1)
    square = ratio * stats.norm.ppf(0.975) ** 2 + (1 - ratio) * stats.t.ppf(0.975, n) ** 2
    answers = n / ratio
    center = (p + square / 2 / answers) / (1 + square / answers)
    half = math.sqrt(square * (p * (1 - p) / answers + square / 4 / answers**2)) / (1 + square / answers)
    return center - half, center + half


def category(name: str = "quality", **of) -> Category:
    measure = {"column": name, "direction": "higher", "unit": "quality %", "range": (0.0, 1.0)}
    return Category("suite", name, Measure(**(measure | of)), ("clip",))


def interval(scores: list[float], control: bool = False, **of) -> tuple[float, float]:
    """The interval of a system's mean raw score, as a suite's table has it."""
    names = tuple(f"{i:03}" for i in range(len(scores)))
    levels = {"quality": category(**of)}
    controls = frozenset(["s"] if control else [])
    pool = ScoreMatrix(("s",), {"quality": names}, {"quality": np.array([scores])}, levels, controls)
    low, high = resample_raw(pool, draws=100).intervals["quality"]
    return float(low[0]), float(high[0])


@given(right=st.integers(0, 40), asked=st.integers(2, 40))
def test_one_answer_per_clip_has_wilsons_interval(right, asked):
    right = min(right, asked)
    expected = stats.binomtest(right, asked).proportion_ci(method="wilson")
    found = estimate_share([1] * right + [0] * (asked - right), [1] * asked, range(asked))
    assert found[:3] == pytest.approx((right / asked, expected.low, expected.high), abs=1e-9)


@given(scores=st.lists(st.sampled_from([0.0, 1 / 3, 2 / 3, 1.0]), min_size=2, max_size=40))
def test_an_accuracy_has_the_interval_of_a_slow_formula(scores):
    assert interval(scores) == pytest.approx(slow(scores), abs=1e-9)


@given(counts=SHARES)
def test_a_share_never_has_zero_width_and_is_in_its_interval(counts):
    found = estimate_share(*zip(*counts, strict=True), range(len(counts)))
    if not sum(size for _, size in counts):
        assert all(map(math.isnan, found[:3]))
        return
    assert 0 <= found.low <= found.value <= found.high <= 1 and found.high - found.low > 1e-3
    mirrored = estimate_share([size - part for part, size in counts], [size for _, size in counts], range(len(counts)))
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((found.low, found.high), abs=1e-9)


@given(
    limits=st.sampled_from([(0.0, 1.0), (1.0, 10.0), (0.0, 5.0), (0.0, 100.0)]),
    direction=st.sampled_from(["higher", "lower"]),
    places=st.lists(st.floats(0, 1), min_size=2, max_size=30),
)
def test_a_mean_between_two_limits_never_has_zero_width(limits, direction, places):
    sign = 1 if direction == "higher" else -1
    scores = [sign * (limits[0] + place * (limits[1] - limits[0])) for place in places]
    low, high = interval(scores, range=limits, direction=direction, unit="points")
    least, largest = sorted(sign * end for end in limits)
    assert least - 1e-9 <= low <= np.mean(scores) + 1e-9 and np.mean(scores) - 1e-9 <= high <= largest + 1e-9
    assert high > low


@given(score=st.floats(-3, 3), clips=CLIPS, unit=st.sampled_from(["WER %", "points"]))
def test_equal_scores_without_limits_never_have_zero_width(score, clips, unit):
    low, high = interval([score] * clips, range=None, unit=unit)
    assert low <= score <= high and low < high if unit == "WER %" else math.isnan(low) and math.isnan(high)


def test_all_right_is_no_certainty_and_more_clips_say_more():
    lows = [interval([1.0] * clips)[0] for clips in (2, 5, 14, 50, 200)]
    assert lows == sorted(lows) and lows[0] < 0.4 and 0.98 < lows[-1] < 1
    assert interval([1.0] * 13 + [2 / 3])[0] > interval([1.0] * 13 + [1 / 3])[0], "one more wrong answer"
    assert interval([1.0] * 13 + [0.0])[0] < interval([1.0] * 14)[0] < interval([1.0] * 13 + [2 / 3])[0] + 0.05


def test_questions_that_agree_within_clips_count_less():
    together, apart = [1.0] * 7 + [0.0] * 7, [2 / 3, 1 / 3] * 7
    assert np.ptp(interval(together)) == pytest.approx(np.ptp(interval([1.0, 0.0] * 7)))
    assert np.ptp(interval(apart)) < 0.7 * np.ptp(interval(together))


def test_a_larger_clip_counts_more():
    """Clips with many questions decide; that a small one differs is worth little."""
    large, small = estimate_share([0, 0, 30], [30, 30, 30], "abc"), estimate_share([0, 0, 1], [30, 30, 1], "abc")
    assert large.value == pytest.approx(1 / 3) and small.value == pytest.approx(1 / 61)
    assert small.high < large.high and small.low < large.low


def test_items_of_a_clip_are_one_unit():
    found = estimate_share([1, 1, 1, 0, 0, 0], [1] * 6, "aaabbb")
    assert found[:3] == pytest.approx((0.5, *stats.binomtest(1, 2).proportion_ci(method="wilson")))


def test_a_control_has_its_transcripts_score_by_definition():
    rate = {"range": (0.0, 1_000_000.0), "direction": "lower", "unit": "WER %"}
    assert interval([0.0] * 5, control=True, **rate) == (0.0, 0.0)
    low, high = interval([0.0] * 5, **rate)
    assert low < -0.3 and high == 0.0, "five perfect transcripts of a recognizer are no proof"
    low, high = interval([0.0] * 5, control=True)
    assert low == 0.0 and high > 0.3, "what a language model answers to it is measured"


def test_further_columns_keep_the_controls():
    levels = {"rate": category("rate", range=(0.0, 1_000_000.0), direction="lower", unit="WER %")}
    names = tuple("abcde")
    pool = ScoreMatrix(("s",), {"rate": names}, {"rate": np.zeros((1, 5))}, levels, frozenset("s"))
    intervals = resample_alone(pool, pool, draws=100).intervals
    assert intervals["rate"].low[0] == intervals["rate"].high[0] == 0.0


@pytest.mark.parametrize("clips", [5, 14, 50])
@pytest.mark.parametrize(("questions", "correlation"), [(1, 0.0), (3, 0.0), (3, 0.5)])
def test_intervals_cover_the_rate(clips, questions, correlation):
    generator = np.random.default_rng([clips, questions, int(10 * correlation)])
    covered = []
    for rate in (0.02, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.98):
        ability = np.full((2000, clips), rate)
        if correlation:
            size = 1 / correlation - 1
            ability = generator.beta(rate * size, (1 - rate) * size, (2000, clips))
        low, high = wilson(generator.binomial(questions, ability) / questions, np.ones(clips))
        covered.append(((low <= rate) & (rate <= high)).mean())
    assert np.mean(covered) > 0.93 and min(covered) > 0.88
