"""Judge's means corrected by a person: against independent formulas, and in simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from speechiq.reducer.stats.agreement import correct
from speechiq.reducer.stats.bootstrap import estimate_share


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
