"""Equations 3 to 8 against a slow implementation of their text, the paper's Table 2, and the guards."""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import pstdev

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from speechiq.core.errors import SpeechIQError
from speechiq.reducer import LEVELS, ScoreMatrix, System, align, calibrate, combine, competition_ranks, score
from speechiq.reducer.scores.scale import Weighting, correlate_levels, discrimination, share_out

Table = dict[str, list[list[float]]]


def mean(values):
    return math.fsum(values) / len(values)


def variance(values):
    center = mean(values)
    return mean([(value - center) ** 2 for value in values])


def oracle_levels(raw: Table):
    """X_j, its mean and its standard deviation per level: eqs. 3 and 4, one number at a time."""
    for level, rows in raw.items():
        systems, clips = range(len(rows)), range(len(rows[0]))
        v = [variance([rows[j][i] for j in systems]) for i in clips]
        total = math.fsum(v)
        x = [math.fsum(rows[j][i] * v[i] for i in clips) / total if total else 0.0 for j in systems]
        yield level, x, mean(x), math.sqrt(variance(x))


def oracle(raw: Table, rule: str):
    """SIQ, Z and level weights: eqs. 5 to 8."""
    z = {level: [(xj - mu) / sigma for xj in x] for level, x, mu, sigma in oracle_levels(raw)}
    power = {"inverse-std": 1, "inverse-variance": 2, "equal": 0}[rule]
    w = {
        level: 1 / (math.sqrt(variance([cell for row in rows for cell in row])) ** power + 1e-6)
        for level, rows in raw.items()
    }
    total = math.fsum(w.values())
    w = {level: value / total for level, value in w.items()}
    systems = range(len(next(iter(raw.values()))))
    return [100 + 15 * math.fsum(w[level] * z[level][j] for level in raw) for j in systems], z, w


def as_pool(raw: Table) -> ScoreMatrix:
    arrays = {level: np.array(rows) for level, rows in raw.items()}
    names = tuple(f"s{j:02}" for j in range(len(raw["remember"])))
    return ScoreMatrix(names, {k: tuple(map(str, range(a.shape[1]))) for k, a in arrays.items()}, arrays)


@st.composite
def tables(draw) -> Table:
    """Raw scores on a grid of hundredths, WER up to 3, systems apart on every level."""
    systems = draw(st.integers(2, 6))
    lowest = {"remember": -300, "understand": -100, "apply": 0}
    raw = {}
    for level, low in lowest.items():
        cell = st.integers(low, 0 if level == "remember" else 100)
        clips = draw(st.integers(1, 6))
        rows = draw(st.lists(st.lists(cell, min_size=clips, max_size=clips), min_size=systems, max_size=systems))
        raw[level] = [[value / 100 for value in row] for row in rows]
    assume(all(sigma > 1e-3 for _, _, _, sigma in oracle_levels(raw)))
    return raw


def score_table(raw: Table, rule: str = "inverse-std"):
    pool = as_pool(raw)
    return score(pool, calibrate(pool, Weighting(rule)))


@pytest.mark.parametrize("rule", ["inverse-std", "inverse-variance", "equal"])
@given(raw=tables())
def test_matches_the_equations(rule, raw):
    scores = score_table(raw, rule)
    siq, z, weights = oracle(raw, rule)
    assert scores.siq == pytest.approx(siq, abs=1e-9)
    for level in raw:
        assert scores.levels[level].z == pytest.approx(z[level], abs=1e-9)
        assert scores.levels[level].raw == pytest.approx([mean(row) for row in raw[level]], abs=1e-12)
        assert scores.scale.levels[level].weight == pytest.approx(weights[level], abs=1e-12)


@given(raw=tables(), data=st.data())
def test_order_of_systems_and_clips_does_not_count(raw, data):
    systems = [
        System.of_scores(
            f"s{j}", {level: {(f"c{i}",): x for i, x in enumerate(raw[level][j])} for level in raw}, levels=LEVELS
        )
        for j in range(len(raw["remember"]))
    ]
    shuffled = [
        System.of_scores(
            s.name, {k: dict(data.draw(st.permutations(list(v.items())))) for k, v in s.scores.items()}, levels=LEVELS
        )
        for s in data.draw(st.permutations(systems))
    ]
    one, other = align(systems), align(shuffled)
    assert one.systems == other.systems and one.clips == other.clips
    assert np.array_equal(score(one, calibrate(one)).siq, score(other, calibrate(other)).siq)


@given(raw=tables(), factor=st.floats(0.1, 10), shift=st.floats(-5, 5))
def test_affine_change_of_a_level_leaves_its_z(raw, factor, shift):
    changed = raw | {"apply": [[factor * cell + shift for cell in row] for row in raw["apply"]]}
    before, after = score_table(raw), score_table(changed)
    assert after.levels["apply"].z == pytest.approx(before.levels["apply"].z, abs=1e-9)


@given(raw=tables(), value=st.floats(-1, 1))
def test_clip_on_which_all_agree_leaves_z(raw, value):
    grown = {level: [[*row, value] for row in rows] for level, rows in raw.items()}
    before, after = score_table(raw), score_table(grown)
    for level in raw:
        assert after.levels[level].z == pytest.approx(before.levels[level].z, abs=1e-9)
    fixed = score_table(raw, "equal"), score_table(grown, "equal")
    assert fixed[1].siq == pytest.approx(fixed[0].siq, abs=1e-9)


def test_table_2_of_the_paper():
    rows = json.loads(Path(__file__).with_name("table2.json").read_text())
    z = {level: np.array([row[level] for row in rows]) for level in LEVELS}
    printed = np.array([row["siq"] for row in rows])
    fitted = {"remember": 0.0368, "understand": 0.7530, "apply": 0.2083}
    assert len(rows) == 13
    assert np.abs(combine(z, fitted) - printed).max() < 0.75
    whole = share_out({level: of.std() for level, of in z.items()}, ",".join(map(str, fitted.values())))
    assert whole == pytest.approx({level: weight / 0.9981 for level, weight in fitted.items()})
    assert np.abs(combine(z, whole) - printed).max() < 0.76, "the fit's weights sum to 0.9981, those of a rule to 1"


def test_weights_of_ones_own_are_a_rule():
    pool = as_pool({level: [[0.0, 0.2], [1.0, 0.9], [0.5, 0.1]] for level in LEVELS})
    assert [of.weight for of in calibrate(pool, Weighting("1, 2,1")).levels.values()] == [0.25, 0.5, 0.25]
    one, other = (score(pool, calibrate(pool, Weighting(rule))) for rule in ("1,1,1", "equal"))
    assert one.siq.tolist() == other.siq.tolist()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("magic", "'magic'.*inverse-std, inverse-variance, correlation, equal, or one number"),
        ("", "unknown rule"),
        ("1,2", "or one number each for remember, understand, apply"),
        ("1,2,3,4", "unknown rule"),
        ("a,b,c", "unknown rule"),
        ("1,-1,1", "not negative"),
        ("0,0,0", "one of them above 0"),
        ("nan,1,1", "finite"),
        ("inf,1,1", "finite"),
        ("1e308,1e308,1e308", "finite"),
    ],
)
def test_weights_that_are_none(rule, message):
    pool = as_pool({level: [[0.0], [1.0]] for level in LEVELS})
    with pytest.raises(SpeechIQError, match=message):
        calibrate(pool, Weighting(rule))


def test_agreement_has_no_discrimination_at_all():
    raw = np.full((3, 2), 0.1)
    assert raw.var(axis=0).any() and not discrimination(raw).any()


def test_ties_share_a_rank():
    raw = {level: [[0.1, 0.2], [0.1, 0.2], [0.0, 0.1], [0.3, 0.3]] for level in LEVELS}
    assert competition_ranks(score_table(raw).siq).tolist() == [2, 2, 4, 1]
    assert competition_ranks(np.array([100.0, 100.0 + 1e-12])).tolist() == [1, 1]
    assert competition_ranks(np.array([[2.0, 3.0, 2.0], [-np.inf, 0.0, -np.inf]])).tolist() == [[2, 1, 2], [2, 1, 2]]


def test_alone_or_in_company_a_system_scores_the_same_to_the_last_bit():
    raw = {level: np.random.default_rng(0).random((4, 10_001)) for level in LEVELS}
    pool = as_pool(raw)
    scale = calibrate(pool)
    for j, siq in enumerate(score(pool, scale).siq):
        alone = {level: of[j : j + 1] for level, of in raw.items()}
        assert score(pool._replace(systems=("s",), raw=alone), scale).siq.tolist() == [siq]


ONE = {"remember": {("a",): -0.5}, "understand": {("a",): 0.5}, "apply": {("a", "q"): 1.0}}
TWO = {"remember": {("a",): 0.0}, "understand": {("a",): 1.0}, "apply": {("a", "q"): 0.0}}


def without(level: str) -> dict:
    return {name: of for name, of in TWO.items() if name != level}


NO_NUMBER = "system 's1', level apply, clip 'a' question 'q': the score is"


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ([], "at least two, got 1 \\('s0'\\)"),
        *(([without(level)], f"system 's1' has no {level} scores") for level in LEVELS),
        ([TWO | {"remember": {("a",): 0.0, ("b",): 0.0}}], "level remember: 1 of 2 items.*clip 'b'.*missing in 's0':"),
        ([TWO | {"apply": {("a", "other"): 0.0}}], "level apply: 2 of 2 items.*clip 'a' question 'other'"),
        *(
            ([TWO | {"apply": {("a", "q"): value}}], f"{NO_NUMBER} {value}")
            for value in (math.nan, math.inf, -math.inf)
        ),
    ],
)
def test_systems_that_cannot_be_scored_together(others, message):
    with pytest.raises(SpeechIQError, match=message):
        calibrate(align([System.of_scores(f"s{j}", of, levels=LEVELS) for j, of in enumerate([ONE, *others])]))


@pytest.mark.parametrize(
    "rows",
    [[[0.1, 0.7]] * 3, [[0.0, 0.0]] * 3, [[0.1, 0.3, 0.7], [0.3, 0.7, 0.1], [0.7, 0.1, 0.3]]],
    ids=["alike", "all zero", "alike on average"],
)
def test_all_tie(rows):
    pool = as_pool({level: [[0.0], [0.5], [1.0]] for level in LEVELS} | {"understand": rows})
    with pytest.raises(SpeechIQError, match="level understand: all 3 systems have the same score"):
        calibrate(pool)


def test_equal_clip_weights_give_plain_means():
    raw = {"remember": [[0.0, -0.4], [-0.1, -0.2], [-0.9, -0.6]]}
    raw |= {"understand": [[0.9, 0.7], [0.8, 0.8], [0.1, 0.6]], "apply": [[1.0, 0.5], [0.5, 0.0], [0.0, 0.0]]}
    pool = as_pool(raw)
    scored = score(pool, calibrate(pool, Weighting("equal", "equal")))
    # Means -0.2, -0.15, -0.75; 0.8, 0.8, 0.35; 0.75, 0.25, 0; Z by their population moments.
    by_hand = {"remember": (-0.2, -0.15, -0.75), "understand": (0.8, 0.8, 0.35), "apply": (0.75, 0.25, 0.0)}
    z = {level: [(x - mean(means)) / pstdev(means) for x in means] for level, means in by_hand.items()}
    for level, of in scored.levels.items():
        assert of.weighted == pytest.approx(by_hand[level]) and of.weighted == pytest.approx(of.raw)
        assert of.z == pytest.approx(z[level])
    assert scored.siq == pytest.approx([100 + 15 * mean(row) for row in zip(*z.values(), strict=True)])
    assert not np.allclose(scored.siq, score(pool, calibrate(pool, Weighting("equal"))).siq)


def test_a_level_weighs_by_its_mean_correlation_with_the_others():
    generator = np.random.default_rng(4)
    skill = generator.normal(size=7)
    noise = generator.normal(size=(2, 7))
    ability = {"remember": skill, "understand": skill + 0.3 * noise[0], "apply": noise[1] - skill}
    pool = as_pool({level: (0.3 * x)[:, None].tolist() for level, x in ability.items()})
    scale = calibrate(pool, Weighting("correlation"))
    r = np.corrcoef([*ability.values()])
    agreement = dict(zip(ability, (r.sum(axis=1) - 1) / 2, strict=True))
    assert {level: of.agreement for level, of in scale.levels.items()} == pytest.approx(agreement)
    positive = {level: max(mean_r, 0) + 1e-6 for level, mean_r in agreement.items()}
    expected = {level: weight / sum(positive.values()) for level, weight in positive.items()}
    assert {level: of.weight for level, of in scale.levels.items()} == pytest.approx(expected)
    assert scale.levels["apply"].weight < 1e-4 < scale.levels["understand"].weight


def test_correlations_of_draws_are_those_of_each_draw():
    drawn = np.random.default_rng(0).normal(size=(3, 40, 6))
    found = correlate_levels(dict(zip(LEVELS, drawn, strict=True)))
    for number in range(40):
        r = np.corrcoef(drawn[:, number])
        assert [float(of[number, 0]) for of in found.values()] == pytest.approx(((r.sum(axis=1) - 1) / 2).tolist())


@pytest.mark.parametrize(
    ("systems", "signs", "message"),
    [
        (4, (1, 1, 1), "level weights by correlation: 4 systems, fewer than 5; give more systems, or choose another"),
        (6, (1, -1, 0), r"no level correlates with the others \(remember -0"),
    ],
)
def test_no_weights_by_correlation(systems, signs, message):
    skill = np.random.default_rng(1).normal(size=systems)
    rest = np.random.default_rng(2).normal(size=systems)
    rest -= np.polyval(np.polyfit(skill, rest, 1), skill)
    ability = {level: skill * sign + rest * (not sign) for level, sign in zip(LEVELS, signs, strict=True)}
    with pytest.raises(SpeechIQError, match=message):
        calibrate(as_pool({level: x[:, None].tolist() for level, x in ability.items()}), Weighting("correlation"))


@pytest.mark.parametrize(("rule", "message"), [("equals", "did you mean equal"), ("x", "choose variance or equal")])
def test_unknown_clip_weights(rule, message):
    with pytest.raises(SpeechIQError, match=f"unknown rule of clip weights '{rule}'.*{message}"):
        Weighting.read(None, rule)
