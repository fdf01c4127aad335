"""Error bars against a loop that resamples clips one by one, and what they promise."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speechiq.core.errors import SpeechIQError
from speechiq.reducer import LEVELS, ScoreMatrix, calibrate, competition_ranks, score
from speechiq.reducer.output.markup import as_latex, as_markdown
from speechiq.reducer.scores import own_scale
from speechiq.reducer.scores.bootstrap import leave_one_out, resample
from speechiq.reducer.scores.draws import draw
from speechiq.reducer.scores.scale import PAPER, Weighting
from speechiq.reducer.stats import bootstrap
from speechiq.reducer.stats.estimate import ENOUGH, ENOUGH_FOR_SIQ, Difference, Estimate
from speechiq.reducer.stats.grid import MEASURED, Column, Grid, Important, find_caution

RULES = [*map(Weighting, ["inverse-std", "inverse-variance", "equal", "1,2,5"]), Weighting(clips="equal")]


def make_pool(systems: int = 5, clips: int = 12, seed: int = 0, twins: bool = False) -> ScoreMatrix:
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
    return ScoreMatrix(tuple(f"s{j}" for j in range(systems)), {level: tuple(names[at[level]]) for level in raw}, raw)


def naive_draws(pool: ScoreMatrix, scale=None, rule=PAPER, draws: int = 60, seed: int = 0):
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
        drawn = ScoreMatrix(
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


def assert_same_draws(pool: ScoreMatrix, **options) -> None:
    drawn = draw(pool, draws=60, seed=3, **options)
    scores, left_out = naive_draws(pool, draws=60, seed=3, **options)
    assert drawn.left_out == left_out and len(drawn.siq) == 60 - left_out
    assert drawn.siq == pytest.approx(np.array([of.siq for of in scores]), abs=1e-8)
    for level in pool.raw:
        assert drawn.raw[level] == pytest.approx(np.array([of.levels[level].raw for of in scores]), abs=1e-10)


@pytest.mark.parametrize("rule", RULES)
def test_equals_scoring_each_draw_as_a_pool_of_its_own(rule):
    assert_same_draws(make_pool(), rule=rule)
    assert_same_draws(make_pool(systems=2, clips=4, seed=1), rule=rule)


def test_equals_scoring_each_draw_on_a_frozen_scale():
    pool = make_pool()
    scale = calibrate(pool, Weighting("inverse-variance"))
    assert_same_draws(pool, scale=scale)
    alone = ScoreMatrix(pool.systems[:1], pool.clips, {level: raw[:1] for level, raw in pool.raw.items()})
    assert_same_draws(alone, scale=scale)


def oracle_stretch(values: np.ndarray, weights: np.ndarray, often: np.ndarray) -> list[float]:
    """Standard errors of each system's weighted mean where a clip counts `often` times, one number at a time."""
    errors = []
    for row in values.tolist():
        cells = list(zip(row, weights.tolist(), often.tolist(), strict=True))
        total = sum(v * n for _, v, n in cells)
        mean = sum(x * v * n for x, v, n in cells) / total
        errors.append(math.sqrt(sum(n * (v * (x - mean) / total) ** 2 for x, v, n in cells)))
    return errors


def slopes(function, counts: np.ndarray) -> np.ndarray:
    """How a function of counts moves with the count of each clip, shape (clips, numbers)."""
    steps = 1e-6 * np.eye(len(counts))
    return np.array([(function(counts + step) - function(counts - step)) / 2e-6 for step in steps])


def oracle_own(
    pool: ScoreMatrix, shares: dict[str, float], draws: int, seed: int, pair: tuple[int, int] | None
) -> dict[str, np.ndarray]:
    """Ends of the intervals of Z by level, and of SIQ, on the pool's own scale, draw by draw, by numerical slopes."""
    systems, clips = pool.raw["apply"].shape
    generator = np.random.default_rng(seed)
    order, size = generator.permutation(clips), clips if pair else math.ceil(clips / 2)
    counts = generator.multinomial(size, [1 / clips] * clips, size=draws)[:, order]
    ratio, ones = math.sqrt(size / clips), np.ones(clips)
    pick = (lambda z: z[[pair[0]]] - z[[pair[1]]]) if pair else (lambda z: z)

    def ability(level: str, often: np.ndarray) -> np.ndarray:
        weights = often * pool.raw[level].var(axis=0)
        return ((pool.raw[level] - pool.raw[level].mean(axis=0)) * weights).sum(axis=1) / weights.sum()

    def clean(level: str, often: np.ndarray) -> np.ndarray:
        return kept[level] * ability(level, ones) + ratio * (ability(level, often) - ability(level, ones))

    def z_of(source):
        def z(level: str, often: np.ndarray) -> np.ndarray:
            return pick(source(level, often) / source(level, often).std())

        return z

    kept = {}
    for level in LEVELS:
        whole = ability(level, ones)
        noise = np.mean([(ratio * (ability(level, often) - whole)) ** 2 for often in counts])
        kept[level] = math.sqrt(max(1 - noise / whole.var(), 0.1))
    found = {}
    for name, parts in {**{level: {level: 1.0} for level in LEVELS}, "siq": shares}.items():

        def value(source, often, parts=parts):
            return sum(share * z_of(source)(level, often) for level, share in parts.items())

        score = value(ability, ones)
        squares = slopes(lambda often, value=value: value(ability, often), ones) ** 2
        error = np.sqrt(squares.sum(axis=0) + (0 if pair else squares.max(axis=0)))
        far = []
        for often in counts:
            slope = slopes(lambda many, value=value: value(clean, many), often.astype(float))
            own = np.sqrt((often[:, None] * slope**2).sum(axis=0))
            far.append(np.abs(value(clean, often) - score) / np.maximum(own, error / 10))
        rank = math.ceil(0.95 * draws) - 1
        pooled = np.sort(np.ravel(far))[math.ceil(0.95 * np.size(far)) - 1]
        half = np.maximum(np.sort(far, axis=0)[rank], pooled) * error
        span = math.sqrt(systems - 1) * (2 if pair else 1) * (15 if name == "siq" else 1)
        found[name] = np.clip([score - half, score + half], -span, span)
    return found


@pytest.mark.parametrize("pair", [None, (1, 3)])
def test_intervals_on_the_own_scale_equal_a_slow_reading_of_their_definition(pair):
    pool = make_full_pool(10)
    drawn = draw(pool, rule=Weighting("1,2,5"), draws=40, seed=5, pairs=pair and [pair])
    shares = dict(zip(LEVELS, (15 / 8, 30 / 8, 75 / 8), strict=True))
    ends = oracle_own(pool, shares, 40, 5, pair)
    for level in LEVELS:
        assert np.array(drawn.z_intervals[level]) == pytest.approx(ends[level], rel=1e-5)
    assert np.array(drawn.siq_interval) == pytest.approx(ends["siq"] + (0 if pair else 100), rel=1e-5)


def test_intervals_of_raw_scores_equal_a_slow_reading_of_their_definition():
    pool = make_full_pool(16)
    generator = np.random.default_rng(5)
    counts = [generator.multinomial(16, [1 / 16] * 16) for _ in range(120)]
    bars = resample(pool, draws=120, seed=5)
    for level, raw in pool.raw.items():
        mean, error = raw.mean(axis=1), np.array(oracle_stretch(raw, np.ones(16), np.ones(16)))
        far = [
            ((raw * often).mean(axis=1) - mean) * error / np.maximum(oracle_stretch(raw, np.ones(16), often), error / 4)
            for often in counts
        ]
        half = np.percentile(np.abs(far), 95, axis=0)
        ends = np.clip([mean - half, mean + half], *LEVELS[level].measure.raw_range)
        if not LEVELS[level].measure.is_bounded:
            assert np.array(bars.intervals[level]) == pytest.approx(ends, abs=1e-8)


def test_a_large_set_draws_groups_of_its_clusters(monkeypatch):
    pool = make_pool(clips=400)
    plain = resample(pool, draws=400)
    monkeypatch.setattr(own_scale, "LARGEST", 100)
    grouped = resample(pool, draws=400)
    assert np.ptp(grouped.siq, axis=0) == pytest.approx(np.ptp(plain.siq, axis=0), rel=0.25)
    assert np.array_equal(grouped.siq_draws, plain.siq_draws), "the draws themselves stay"


def make_full_pool(clips: int) -> ScoreMatrix:
    """Make a pool whose levels all have the same clips."""
    pool, generator = make_pool(clips=clips, seed=2), np.random.default_rng(9)
    shape = pool.raw["remember"].shape
    skill = np.linspace(0.3, 0.9, shape[0])[:, None]
    raw = {
        "remember": pool.raw["remember"],
        "understand": 1 - generator.random(shape) * (1.2 - skill) / 2,
        "apply": (generator.random((3, *shape)) < skill).mean(axis=0),
    }
    return ScoreMatrix(pool.systems, dict.fromkeys(LEVELS, pool.clips["remember"]), raw, LEVELS)


def test_standard_errors_and_rank_probabilities_are_those_of_the_draws():
    pool = make_pool(twins=True)
    bars = resample(pool, draws=200, seed=5)
    scores, left_out = naive_draws(pool, draws=200, seed=5)
    assert (bars.draws, bars.seed, bars.left_out) == (200, 5, left_out)
    siq = np.array([of.siq for of in scores])
    assert bars.siq_std == pytest.approx(siq.std(axis=0, ddof=1), abs=1e-8)
    for level in LEVELS:
        raw = np.array([of.levels[level].raw for of in scores])
        assert bars.std[level] == pytest.approx(raw.std(axis=0, ddof=1), abs=1e-10)
    ranks = np.array([competition_ranks(of.siq) for of in scores])
    for j in range(len(pool.systems)):
        for rank in range(1, len(pool.systems) + 1):
            assert bars.ranks[j, rank - 1] == pytest.approx((ranks[:, j] == rank).mean())
    assert bars.ranks.sum(axis=1) == pytest.approx(1)
    assert np.array_equal(bars.ranks[-1], bars.ranks[-2]), "twins share every rank"


@pytest.mark.parametrize("frozen", [False, True])
def test_an_interval_holds_its_score_and_what_a_score_can_be(frozen):
    pool = make_pool(clips=8, seed=3)
    scale = calibrate(pool)
    bars = resample(pool, scale=scale if frozen else None, draws=100)
    scores = score(pool, scale)
    pairs = [(bars.siq, scores.siq)]
    pairs += [(bars.z[level], of.z) for level, of in scores.levels.items()]
    pairs += [(bars.intervals[level], of.raw) for level, of in scores.levels.items()]
    for (low, high), value in pairs:
        assert (low <= value + 1e-9).all() and (high >= value - 1e-9).all() and (low < high).all()
    if not frozen:
        assert np.abs(np.array(bars.siq) - 100).max() <= 15 * math.sqrt(4) + 1e-9
        assert all(np.abs(np.array(ends)).max() <= 2 + 1e-9 for ends in bars.z.values())


def test_other_units_of_a_level_leave_its_z_alone():
    pool = make_pool()
    moved = pool._replace(raw=pool.raw | {"remember": 7 * pool.raw["remember"] + 3})
    bars, other = resample(pool, draws=100), resample(moved, draws=100)
    assert np.array(other.z["remember"]) == pytest.approx(np.array(bars.z["remember"]), abs=1e-7)
    raw, moved_raw = (np.array(draw(of, draws=100).raw_draws["remember"].interval) for of in (pool, moved))
    assert moved_raw == pytest.approx(7 * raw + 3, abs=1e-7)
    equal, other = (
        resample(pool, rule=Weighting("equal"), draws=100),
        resample(moved, rule=Weighting("equal"), draws=100),
    )
    assert np.array(other.siq) == pytest.approx(np.array(equal.siq), abs=1e-6)


def test_on_a_frozen_scale_nobody_else_counts():
    pool = make_pool()
    scale = calibrate(pool)
    alone = ScoreMatrix(pool.systems[1:2], pool.clips, {level: raw[1:2] for level, raw in pool.raw.items()})
    bars, other = resample(pool, scale=scale, draws=100), resample(alone, scale=scale, draws=100)
    assert np.array(other.siq)[:, 0] == pytest.approx(np.array(bars.siq)[:, 1], abs=1e-8)


def test_small_sets_are_marked():
    (own, worst), (norms, worst_on_norms) = MEASURED[14]

    def siq_of(clips: int) -> Estimate:
        return Estimate(100.0, 95.0, 105.0, clusters=clips, clips=clips, enough=ENOUGH_FOR_SIQ)

    assert find_caution([siq_of(100)]) is None
    of_14 = (
        f"Small test set (14 clips): 95 % intervals of SIQ contained the truth in {own} % of simulated sets, worst "
        f"system {worst} % (on norms {norms} and {worst_on_norms} %)"
    )
    assert find_caution([siq_of(14)]) == of_14
    small, one = find_caution([siq_of(2)]), find_caution([siq_of(1)])
    assert "(2 clips): " in small and "of 14 clips contained" in small and "(1 clip): " in one
    assert "of 50 clips contained" in find_caution([siq_of(99)])


RAW = Estimate(0.5, 0.4, 0.6, clusters=14, clips=14, enough=ENOUGH)
FEW = RAW._replace(clusters=6, clips=200)


@pytest.mark.parametrize(
    ("cells", "begin"),
    [
        ([RAW], "Small test set (14 clips): the intervals are approximate."),
        ([RAW, RAW._replace(clusters=12, clips=12)], "Small test set (12 clips): the intervals"),
        ([RAW, RAW._replace(enough=ENOUGH_FOR_SIQ)], "Small test set (14 clips): 95 % intervals of SIQ"),
        ([RAW._replace(clusters=2, clips=2), FEW], "Few clusters (200 clips in 6 clusters): "),
        ([FEW, FEW._replace(clusters=5)], "Few clusters (200 clips in 5 clusters): "),
        ([Difference(0.5, 0.25, 0.1, 0.4, 0.5, clusters=6, clips=200).estimate], "Few clusters (200 clips in 6"),
        ([FEW._replace(enough=0, clusters=10), RAW._replace(clusters=50, clips=50), RAW._replace(enough=0)], None),
        ([FEW._replace(low=math.nan, high=math.nan, draws=100, clusters=1)], "Few clusters (200 clips in 1 cluster)"),
        ([RAW._replace(low=math.nan, high=math.nan), Estimate(0.5, 0.4, 0.6), 0.5, "text", None], None),
    ],
)
def test_the_least_certain_interval_of_a_table_has_the_caution(cells, begin):
    found = find_caution(cells)
    assert found == begin or found.startswith(begin)
    rows = [{"score": cell, "without a column": FEW} for cell in cells]
    grid = Grid("", [Column("score", "Score", ".1f")], rows)
    assert " ".join(grid.caution_lines).rstrip(".") == (found or "")
    assert not begin or isinstance(grid.caution_lines[0], Important)


def test_a_caution_follows_the_lines_that_a_table_begins_with():
    notes = [Important("A is better"), "in percent", Important("left out: one clip")]
    grid = Grid("", [Column("score", "Score", ".1f")], [{"score": RAW}], notes)
    sentence, figures = grid.caution_lines
    assert sentence.endswith("approximate.") and figures == "Intervals from fewer than 50 clips may be too narrow"
    assert grid.all_notes == ["A is better", sentence, "left out: one clip", figures, "in percent"]
    assert as_markdown(grid).split("\n\n")[1:3] == ["A is better", sentence]
    assert as_latex(grid).count("approximate") == 1


def test_the_seed_alone_decides(monkeypatch):
    pool = make_pool()
    first = resample(pool, draws=100, seed=7)
    monkeypatch.setattr(bootstrap, "CHUNK_CELLS", 30)
    again = resample(pool, draws=100, seed=7)
    assert again.siq.low == pytest.approx(first.siq.low, abs=1e-9)
    assert not np.allclose(resample(pool, draws=100, seed=8).siq.low, first.siq.low)


@settings(max_examples=10)
@given(order=st.permutations(range(5)))
def test_order_of_systems_does_not_count(order):
    pool = make_pool()
    turned = ScoreMatrix(
        tuple(pool.systems[j] for j in order), pool.clips, {k: raw[order] for k, raw in pool.raw.items()}
    )
    bars, other = resample(pool, draws=50), resample(turned, draws=50)
    assert other.siq.high == pytest.approx(bars.siq.high[order], abs=1e-9)
    assert other.ranks == pytest.approx(bars.ranks[order], abs=1e-12)


def test_more_clips_make_narrower_intervals():
    width = {clips: np.ptp(resample(make_pool(clips=clips), draws=300).siq, axis=0).mean() for clips in (20, 320)}
    assert 2.5 < width[20] / width[320] < 7, "about the square root of 16"


def test_draws_without_a_telling_clip_are_left_out_and_counted():
    raw = np.array([[0.0, *[0.5] * 9], [1.0, *[0.5] * 9], [0.3, *[0.5] * 9]])
    pool = ScoreMatrix(("a", "b", "c"), {level: tuple("0123456789") for level in LEVELS}, dict.fromkeys(LEVELS, raw))
    bars = resample(pool, draws=2000)
    assert bars.left_out / 2000 == pytest.approx(0.9**10, abs=0.05), "draws that miss the one clip"
    assert bars.ranks.tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    apart = {level: np.roll(raw, i, axis=1) for i, level in enumerate(LEVELS)}
    with pytest.raises(SpeechIQError, match=r"\d+ of 1000 draws have no clip that separates the systems, .* level"):
        resample(pool._replace(raw=apart))


def test_one_clip_is_refused():
    pool = make_pool(clips=1)
    one_clip = ScoreMatrix(pool.systems, dict.fromkeys(LEVELS, ("c",)), dict.fromkeys(LEVELS, pool.raw["remember"]))
    with pytest.raises(SpeechIQError, match="a single clip has no error bar"):
        resample(one_clip)


def test_the_docs_show_the_coverage_that_outputs_state():
    docs = Path(__file__).parents[3].joinpath("docs", "concepts", "error_bars.md").read_text(encoding="utf-8")
    for clips, (own, norms) in MEASURED.items():
        assert f"| {clips} | {own[0]} % | {own[1]} % | {norms[0]} % | {norms[1]} % |" in docs


def test_intervals_cover_the_truth():
    """Heavy-tailed scores of one known source: the intervals of SIQ hold its true value about 95 times in 100."""

    def sample(clips: int, generator: np.random.Generator) -> ScoreMatrix:
        hard = generator.normal(size=clips)
        own = generator.normal(size=(5, clips))
        wer = np.exp(0.6 * hard + 0.5 * own + np.log([[0.1], [0.1], [0.13], [0.16], [0.2]]))
        lost = np.exp(
            0.5 * hard + 0.5 * generator.normal(size=(5, clips)) - np.array([[2.7], [2.8], [2.5], [2.4], [2.2]])
        )
        right = (generator.random((3, 5, clips)) < np.array([[0.9], [0.9], [0.85], [0.8], [0.75]])).mean(axis=0)
        names = tuple(f"{i:06}" for i in range(clips))
        raw = {"remember": -wer, "understand": 1 - lost, "apply": right}
        return ScoreMatrix(tuple("abcde"), dict.fromkeys(LEVELS, names), raw)

    whole = sample(200_000, np.random.default_rng(1))
    known = score(whole, calibrate(whole))
    held, old, raw = [], [], []
    for trial in range(150):
        pool = sample(50, np.random.default_rng([2, trial]))
        drawn = draw(pool, draws=200, seed=trial)
        low, high = drawn.siq_interval
        held.append((low <= known.siq) & (known.siq <= high))
        low, high = np.percentile(drawn.siq, (2.5, 97.5), axis=0)
        old.append((low <= known.siq) & (known.siq <= high))
        low, high = drawn.raw_draws["remember"].interval
        raw.append((low <= known.levels["remember"].raw) & (known.levels["remember"].raw <= high))
    assert 0.92 < np.mean(held) < 0.985
    assert 0.88 < np.mean(raw) < 0.985
    assert np.mean(old) < np.mean(held) - 0.03, "plain percentiles are too narrow here"


def test_intervals_cover_the_truth_of_systems_that_are_close_together(monkeypatch):
    """Nine systems with an SIQ from 95 to 107 that vary unequally on 50 clips: no outlier sets the scale."""
    folder = Path(__file__).parents[3] / "benchmarks"
    monkeypatch.syspath_prepend(str(folder))
    spec = importlib.util.spec_from_file_location("benchmark_of_coverage", folder / "coverage.py")
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    population = benchmark.close(558)
    whole = benchmark.as_pool(population.sample(100_000, np.random.default_rng(1)))
    known = score(whole, calibrate(whole)).siq
    assert known.min() > 95 and known.max() < 107
    assert (whole.raw["apply"] == 1).mean() > 0.5, "many ties"
    held = []
    for trial in range(200):
        pool = benchmark.as_pool(population.sample(50, np.random.default_rng([2, trial])))
        low, high = draw(pool, draws=200, seed=trial).siq_interval
        held.append((low <= known) & (known <= high))
    assert 0.93 < np.mean(held) < 0.99
    assert np.mean(held, axis=0).min() > 0.9, "the worst system"


def test_leaving_a_system_out():
    pool = make_pool()
    whole = score(pool, calibrate(pool)).siq
    shifts = leave_one_out(pool)
    for j in range(len(pool.systems)):
        others = [i for i in range(len(pool.systems)) if i != j]
        rest = ScoreMatrix(
            tuple(pool.systems[i] for i in others), pool.clips, {level: raw[others] for level, raw in pool.raw.items()}
        )
        assert math.isnan(shifts[j, j])
        assert shifts[j, others] == pytest.approx(score(rest, calibrate(rest)).siq - whole[others], abs=1e-12)
    assert np.isnan(leave_one_out(make_pool(systems=2))).all()


def test_leaving_out_the_only_system_that_differs():
    pool = make_pool(systems=1, twins=True)
    odd = ScoreMatrix(
        ("x", *pool.systems), pool.clips, {k: np.vstack([raw[:1] / 2, raw]) for k, raw in pool.raw.items()}
    )
    shifts = leave_one_out(odd)
    assert np.isnan(shifts[0]).all() and np.isfinite(shifts[1, [0, 2]]).all()
