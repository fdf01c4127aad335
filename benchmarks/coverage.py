"""Measure how often the 95 % intervals of `siq score` and `siq compare` contain the true score, by number of clips.

    python benchmarks/coverage.py [--clips 14 50 100 200 800] [--sets 200] [--draws 400] [--runs runs/demo]

Sets of clips are drawn from populations whose true scores are known: the statistic on a million clips. The
populations imitate published systems: word error rates with a long tail and sometimes above 1, similarities near 1,
three questions per clip, one difficulty per clip for all systems. The first two systems are equal, so that `siq
compare` should find a difference in 5 % of the sets. `close` populations are nine systems with an SIQ from 95 to 107 on
50 fixed clips, from which sets are drawn with replacement. `--runs` adds populations made of real runs: each clip is
interpolated between two of theirs. The old interval, plain percentiles of the same draws, is shown for comparison.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measure import write
from tqdm import tqdm

from speechiq.core.errors import SpeechIQError
from speechiq.reducer import LEVELS, ScoreMatrix, Scores, align, calibrate, read_systems, score
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.draws import draw
from speechiq.reducer.scores.scale import DEFAULT_RULE, flat
from speechiq.reducer.studies.coupled import draw_gap, draw_pair

TRUTH, PART = 1_000_000, 100_000
TAILS = (2.5, 97.5)
SYSTEMS = np.array(
    [
        # mean WER, 1 - mean similarity, accuracy, share of clips with repetition
        (0.118, 0.063, 0.917, 0.010),
        (0.118, 0.063, 0.917, 0.010),
        (0.116, 0.060, 0.919, 0.003),
        (0.123, 0.057, 0.917, 0.008),
        (0.122, 0.078, 0.905, 0.004),
        (0.132, 0.067, 0.920, 0.012),
        (0.147, 0.069, 0.753, 0.020),
        (0.130, 0.067, 0.940, 0.005),
        (0.200, 0.072, 0.868, 0.030),
        (0.765, 0.184, 0.844, 0.010),
        (0.630, 0.056, 0.936, 0.010),
        (0.176, 0.240, 0.580, 0.060),
    ]
)
LIKE = [0, 1, 2, 3, 4, 5, 6, 7]
CLOSE, CLOSE_CLIPS = 9, 50


class Population(NamedTuple):
    """A source of clips: `sample(clips, generator)` gives level -> raw scores; `equal`: systems 0 and 1 are equal."""

    sample: Callable[[int, np.random.Generator], dict[str, np.ndarray]]
    equal: bool


def published(rows: list[int], tail: float) -> Population:
    """Return a population of systems like those of the paper's Table 2.

    Args:
        rows: Indices into `SYSTEMS`.
        tail: Standard deviation of the logarithm of a clip's lost similarity, half of it shared by all systems.
    """
    wer, loss, right, loops = SYSTEMS[rows].T[..., None]

    def sample(clips: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        difficulty, own, other = (
            generator.normal(size=size) for size in (clips, (len(rows), clips), (len(rows), clips))
        )
        words = generator.integers(30, 150, size=clips)
        errors = wer * np.exp(0.5 * difficulty + 0.45 * own - (0.5**2 + 0.45**2) / 2)
        circles = generator.random(own.shape) < loops / 2
        errors = np.round(errors * words) / words + circles * generator.gamma(2, 0.3, own.shape)
        slip = 0.6 * own + 0.8 * other
        lost = loss * np.exp(tail * (difficulty + slip) - tail**2) + circles * 0.15 * generator.random(own.shape)
        ease = 1.5 * np.log(right / (1 - right)) - 0.6 * difficulty - 0.5 * slip
        chance = 1 / (1 + np.exp(-(ease + 1.5 * generator.normal(size=(3, 1, clips)))))
        answers = (generator.random(chance.shape) < chance).mean(axis=0)
        return {"remember": -errors, "understand": 1 - np.minimum(lost, 0.9), "apply": answers}

    return Population(sample, True)


def close(seed: int, *, flat_level: bool = False) -> Population:
    """Return a population of 50 clips and of systems that are each good at one level and bad at another.

    Remember and Understand vary little on some systems and much on others. Most clips have all questions right.

    Args:
        seed: Chooses the clips.
        flat_level: Whether the systems hardly differ at Understand.
    """
    generator = np.random.default_rng(seed)
    turns = 2 * np.pi * (np.arange(CLOSE)[:, None] / CLOSE + np.arange(3)[:, None, None] / 3)
    remember, understand, apply = np.cos(turns)
    words = generator.integers(30, 150, CLOSE_CLIPS)
    difficulty = generator.normal(size=CLOSE_CLIPS)
    own, other = generator.normal(size=(2, CLOSE, CLOSE_CLIPS))
    unsteady, vague = generator.uniform((0.05, 0.05), (0.8, 0.3), (CLOSE, 2)).T[..., None]
    gap, vague = (0.05, vague / 2) if flat_level else (0.3, vague)
    errors = np.round(0.12 * np.exp(-0.6 * remember + 0.4 * difficulty + unsteady * own) * words) / words
    lost = 0.2 * np.exp(-gap * understand + 0.3 * difficulty + vague * (0.6 * own + 0.8 * other))
    ease = 2.6 + 1.6 * apply - 0.4 * difficulty + 2.5 * generator.normal(size=(3, 1, CLOSE_CLIPS))
    answers = (generator.random((3, CLOSE, CLOSE_CLIPS)) < 1 / (1 + np.exp(-ease))).mean(axis=0)
    raw = {"remember": -errors, "understand": 1 - np.minimum(lost, 0.9), "apply": answers}

    def sample(clips: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        chosen = generator.integers(CLOSE_CLIPS, size=clips)
        return {level: values[:, chosen] for level, values in raw.items()}

    return Population(sample, False)


def recorded(systems: list[System]) -> Population:
    """Return a population of clips interpolated between two clips of real runs, each question from one of the two."""
    pool = align(systems)

    def sample(clips: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        ids = pool.clips["remember"]
        first, second = generator.integers(len(ids), size=(2, clips))
        share = generator.random(clips) / 2
        scores = {level: raw[:, first] * (1 - share) + raw[:, second] * share for level, raw in pool.raw.items()}
        answers = pool.raw["apply"]
        return scores | {"apply": np.where(generator.random(clips) < 0.5, answers[:, first], answers[:, second])}

    return Population(sample, False)


def as_pool(raw: dict[str, np.ndarray]) -> ScoreMatrix:
    """Return a pool with these raw scores, by level, each of shape (systems, clips)."""
    systems, clips = raw["apply"].shape
    names = tuple(f"{i:07}" for i in range(clips))
    return ScoreMatrix(tuple(f"s{j:02}" for j in range(systems)), dict.fromkeys(LEVELS, names), raw)


def truth(population: Population) -> Scores:
    """Return the scores on a million clips of a population."""
    parts = [population.sample(PART, np.random.default_rng([1, i])) for i in range(TRUTH // PART)]
    pool = as_pool({level: np.concatenate([part[level] for part in parts], axis=1) for level in LEVELS})
    return score(pool, calibrate(pool))


def measure(population: Population, known: Scores, clips: int, sets: int, draws: int) -> dict[str, list[float]]:
    """Return score -> share of intervals that contain the truth, its standard error, worst system, mean width.

    Sets that cannot be scored, because all systems tie on a level, are left out.

    Args:
        population: The source of the clips.
        known: The true scores, from `truth`.
        clips: Number of clips per set.
        sets: Number of sets.
        draws: Number of draws of the bootstrap.
    """
    true_siq, systems = known.siq.copy(), len(known.siq)
    if population.equal:
        true_siq[:2] = true_siq[:2].mean()
    contained: dict[str, list[np.ndarray]] = {}
    widths: dict[str, list[float]] = {}

    def note(name: str, low: np.ndarray, high: np.ndarray, true: np.ndarray | float) -> None:
        contained.setdefault(name, []).append(np.atleast_1d((low <= true + 1e-9) & (true <= high + 1e-9)))
        widths.setdefault(name, []).append(float(np.mean(np.subtract(high, low))))

    for trial in range(sets):
        pool = as_pool(population.sample(clips, np.random.default_rng([2, clips, trial])))
        try:
            drawn = draw(pool, draws=draws, seed=trial)
        except SpeechIQError:
            continue
        note("siq old", *np.percentile(drawn.siq, TAILS, axis=0), true_siq)
        note("siq", *drawn.siq_cloud.interval, true_siq)
        for level, of in known.levels.items():
            note(f"z {level}", *drawn.z_clouds[level].interval, of.z)
            note(f"raw {level}", *drawn.raw_clouds[level].interval, of.raw)
        scale = calibrate(pool)
        fixed = 100 + 15 * sum(
            of.weight * (known.levels[level].weighted - of.mean) / of.std for level, of in scale.levels.items()
        )
        frozen = draw(pool, scale=scale, draws=draws, seed=trial)
        note("siq on norms old", *np.percentile(frozen.siq, TAILS, axis=0), fixed)
        note("siq on norms", *frozen.siq_cloud.interval, fixed)
        pair = draw_pair(pool, DEFAULT_RULE, draws, trial).siq_cloud
        note("difference", *pair.difference(0, systems - 1).interval, true_siq[0] - true_siq[-1])
        if population.equal:
            note("equal siq old", *np.percentile(drawn.siq[:, 0] - drawn.siq[:, 1], TAILS), 0.0)
            note("equal siq", *pair.difference(0, 1).interval, 0.0)
            on_norms = draw_gap(pool, 0, 1, scale, draws, trial).siq_cloud.interval
            note("equal siq on norms", *on_norms, 100.0)
            for level, cloud in draw_gap(pool, 0, 1, flat(pool), draws, trial).raw_clouds.items():
                note(f"equal raw {level}", *cloud.interval, 0.0)
    return {
        name: [
            float(np.mean(of)),
            float(np.mean(of, axis=1).std() / len(of) ** 0.5),
            float(np.mean(of, axis=0).min()),
            float(np.mean(widths[name])),
        ]
        for name, of in contained.items()
    }


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, nargs="+", default=[14, 50, 100, 200, 800])
    parser.add_argument("--sets", type=int, default=200, help="sets of clips per population and number of clips")
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--runs", type=Path, help="a folder of runs, such as those of `make demo`")
    parser.add_argument("--populations", nargs="+", help="only these")
    parser.add_argument("--name", default="coverage", help="name of the JSON file")
    args = parser.parse_args()
    every = list(range(len(SYSTEMS)))
    populations = {
        "unlike": published(every, 0.5),
        "weakest removed": published(every[:-1], 0.5),
        "like": published(LIKE, 0.35),
        "like, longer tail": published(LIKE, 0.5),
        "close": close(558),
        "close, one level flat": close(172, flat_level=True),
        "close, one clip decides": close(1060),
    }
    if args.runs:
        systems = read_systems([args.runs]).systems
        populations |= {
            "recorded": recorded(systems),
            "recorded, no controls": recorded([of for of in systems if not of.control]),
        }
    measured: dict[str, dict[int, dict[str, list[float]]]] = {}
    for name in args.populations or populations:
        known = truth(populations[name])
        measured[name] = {
            clips: measure(populations[name], known, clips, args.sets, args.draws)
            for clips in tqdm(args.clips, desc=name)
        }
        print(f"\n{name}: percent of intervals that contain the truth +- standard error, (worst system), mean width")
        print(f"{'':24}" + "".join(f"{f'{clips} clips':>28}" for clips in args.clips))
        for what in measured[name][args.clips[0]]:
            cells = (measured[name][clips][what] for clips in args.clips)
            shown = (f"{100 * a:.1f} +- {100 * b:.1f} ({100 * c:.0f}) {width:.3g}" for a, b, c, width in cells)
            print(f"{what:24}" + "".join(f"{cell:>28}" for cell in shown), flush=True)
    parts = ("covered", "standard_error", "worst_system", "mean_width")
    plain = {
        name: {
            clips: {what: dict(zip(parts, of, strict=True)) for what, of in row.items()} for clips, row in rows.items()
        }
        for name, rows in measured.items()
    }
    write(args.name, {"sets": args.sets, "draws": args.draws, "populations": plain})


if __name__ == "__main__":
    main()
