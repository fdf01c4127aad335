"""The influence of the order on verdicts about pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from speechiq.metrics.judge.judging import PairJudgment
from speechiq.reducer.studies.agreement import measure_position_bias


def pairs(truth: np.ndarray, first: float, seed: int = 0) -> list[PairJudgment]:
    """Return verdicts of a judge that takes the first place with probability `first` and else sees the truth."""
    random = np.random.default_rng(seed)
    found = []
    for better in truth:
        by_place = random.random(2) < first
        shown_first = 1.0 if by_place[0] else float(better)
        shown_second = -1.0 if by_place[1] else float(better)
        found.append(PairJudgment((shown_first,), (shown_second,), ((shown_first + shown_second) / 2,), ("", "")))
    return found


def test_a_fair_judge_has_none():
    truth = np.random.default_rng(1).choice([-1, 0, 1], 200)
    found = measure_position_bias(pairs(truth, 0.0), [str(i) for i in range(200)])
    assert found.changed.value == found.reversed.value == 0.0 and found.first.value == 0.5
    assert found.first.low < 0.5 < found.first.high and 0 == found.changed.low < found.changed.high


def test_a_judge_of_places_is_found():
    truth = np.random.default_rng(1).choice([-1, 1], 400)
    found = measure_position_bias(pairs(truth, 0.4), [str(i) for i in range(400)])
    assert found.first.low <= 0.7 <= found.first.high, "0.4 + 0.6 / 2"
    assert found.changed.low <= 0.4 <= found.changed.high and found.reversed == found.changed
    assert measure_position_bias(pairs(truth, 1.0), [str(i) for i in range(400)]).first.value == 1.0


def test_draws_without_a_verdict_are_left_out():
    judged = PairJudgment((1.0, math.nan, 0.0), (1.0, 1.0, -1.0), (1.0, math.nan, -0.5), ("",) * 6)
    found = measure_position_bias([judged], ["a"])
    assert found.unjudged == pytest.approx(1 / 3) and found.changed.value == 0.5 and found.reversed.value == 0.0
    assert found.first.value == pytest.approx(2 / 3) and found.first.high - found.first.low > 0.5


def test_nothing_is_no_crash():
    assert math.isnan(measure_position_bias([], []).first.value)
