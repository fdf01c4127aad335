"""Hold sources of clips whose true scores are known, for the benchmarks of intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from speechiq.reducer import LEVELS, ScoreMatrix, Scores, align, calibrate, score
from speechiq.reducer.runs.systems import System

TRUTH, PART = 1_000_000, 100_000
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
    """Hold how to `sample` clips, (clips, generator) -> level -> raw scores, and if systems 0 and 1 are `equal`."""

    sample: Callable[[int, np.random.Generator], dict[str, np.ndarray]]
    equal: bool


def assign(clips: int, clusters: int) -> np.ndarray:
    """Return the cluster of each clip; the largest has about three times as many as the smallest."""
    sizes = np.cumsum(np.linspace(0.5, 1.5, clusters)) / clusters
    return np.searchsorted(sizes, (np.arange(clips) + 0.5) / clips)


def published(rows: list[int], tail: float, clusters: int = 0, icc: float = 0.0) -> Population:
    """Return a population of systems like those of the paper's Table 2.

    Args:
        rows: Indices into `SYSTEMS`.
        tail: Standard deviation of the logarithm of a clip's lost similarity, half of it shared by all systems.
        clusters: Number of clusters of the clips (`assign`); 0 for clips of which no two share one.
        icc: Share of the variance that is between clusters, in all that differs between clips: their difficulty, and
            how each system finds them.
    """
    wer, loss, right, loops = SYSTEMS[rows].T[..., None]

    def sample(clips: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        def normal(*size: int) -> np.ndarray:
            alone = generator.normal(size=size)
            if not clusters:
                return alone
            shared = generator.normal(size=(*size[:-1], clusters))[..., assign(clips, clusters)]
            return np.sqrt(icc) * shared + np.sqrt(1 - icc) * alone

        difficulty, own, other = (normal(*size) for size in ((clips,), (len(rows), clips), (len(rows), clips)))
        words = generator.integers(30, 150, size=clips)
        errors = wer * np.exp(0.5 * difficulty + 0.45 * own - (0.5**2 + 0.45**2) / 2)
        circles = generator.random(own.shape) < loops / 2
        errors = np.round(errors * words) / words + circles * generator.gamma(2, 0.3, own.shape)
        slip = 0.6 * own + 0.8 * other
        lost = loss * np.exp(tail * (difficulty + slip) - tail**2) + circles * 0.15 * generator.random(own.shape)
        ease = 1.5 * np.log(right / (1 - right)) - 0.6 * difficulty - 0.5 * slip
        chance = 1 / (1 + np.exp(-(ease + 1.5 * normal(3, 1, clips))))
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
    return resampled({"remember": -errors, "understand": 1 - np.minimum(lost, 0.9), "apply": answers})


def tailed(seed: int, systems: int = 9) -> Population:
    """Return a population of near systems whose WER has the tails of Student's t with 3 degrees of freedom.

    A transcript may repeat a phrase, and the difficulty of clips is skewed.
    """
    skill = np.random.default_rng(seed)
    wer, loss = 0.12 * np.exp(0.15 * skill.normal(size=(2, systems, 1)))
    ease, loops = 2 + 0.2 * skill.normal(size=(systems, 1)), 0.04 * skill.random((systems, 1))

    def sample(clips: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        difficulty, own = generator.exponential(size=clips) - 1, generator.standard_t(3, (systems, clips))
        words = generator.integers(8, 80, clips)
        errors = np.round(np.minimum(wer * np.exp(0.5 * difficulty + 0.35 * own), 8) * words) / words
        errors += (generator.random(own.shape) < loops) * generator.gamma(1.5, 0.8, own.shape)
        lost = 0.7 * loss * np.exp(0.35 * difficulty + 0.1 * own + 0.3 * generator.normal(size=own.shape))
        answers = answer(ease - 0.7 * difficulty - 0.15 * own, generator)
        return {"remember": -errors, "understand": 1 - np.minimum(lost, 0.9), "apply": answers}

    return Population(sample, False)


def crossing(seed: int, systems: int = 8, kinds: int = 4) -> Population:
    """Return a population of clips of some kinds, each of which other systems are good at, on all levels alike."""
    strengths = np.random.default_rng(seed).normal(size=(systems, kinds)) * 0.35

    def sample(clips: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        strength = strengths[:, generator.integers(kinds, size=clips)]
        difficulty, own, other = 0.6 * generator.normal(size=clips), *generator.normal(size=(2, systems, clips))
        words = generator.integers(10, 120, clips)
        errors = np.round(0.15 * np.exp(difficulty - strength + 0.5 * own) * words) / words
        lost = 0.1 * np.exp(0.5 * difficulty - 0.6 * strength + 0.3 * own + 0.3 * other)
        answers = answer(2 + 1.5 * strength - 0.8 * difficulty - 0.5 * own, generator)
        return {"remember": -errors, "understand": 1 - np.minimum(lost, 0.9), "apply": answers}

    return Population(sample, False)


def broken(seed: int, systems: int = 6) -> Population:
    """Return a population in which one clip in twelve is so noisy that a system may lose most of it."""
    ease = 2.5 + 0.4 * np.random.default_rng(seed).normal(size=(systems, 1))

    def sample(clips: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        failed = (generator.random(clips) < 1 / 12) & (generator.random((systems, clips)) < 1 / (1 + np.exp(ease - 2)))
        words = generator.integers(5, 40, clips)
        chance = np.where(failed, generator.beta(4, 2, failed.shape), generator.beta(1, 1 + 3 * ease, failed.shape))
        errors = generator.binomial(words, chance) / words
        lost = np.minimum(0.02 + 0.4 * errors * generator.random(errors.shape) + 0.3 * failed, 0.9)
        answers = answer(ease - 4 * chance, generator)
        return {"remember": -errors, "understand": 1 - lost, "apply": answers}

    return Population(sample, False)


def answer(ease: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return the accuracies of three questions per clip, each with a difficulty for all systems."""
    questions = 1.3 * generator.normal(size=(3, 1, ease.shape[1]))
    return (generator.random((3, *ease.shape)) < 1 / (1 + np.exp(-ease - questions))).mean(axis=0)


def limited(population: Population, clips: int, seed: int) -> Population:
    """Return a population of some clips of another, drawn with replacement."""
    return resampled(population.sample(clips, np.random.default_rng(seed)))


def recorded(systems: list[System]) -> Population:
    """Return a population of the clips of real runs, drawn with replacement."""
    return resampled(align(systems).raw)


def resampled(raw: dict[str, np.ndarray]) -> Population:
    """Return a population of clips with these raw scores, drawn with replacement."""

    def sample(clips: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        chosen = generator.integers(raw["apply"].shape[1], size=clips)
        return {level: values[:, chosen] for level, values in raw.items()}

    return Population(sample, False)


def as_pool(raw: dict[str, np.ndarray], clusters: int = 0) -> ScoreMatrix:
    """Return a pool with these raw scores, by level, each of shape (systems, clips), in clusters by `assign`."""
    systems, clips = raw["apply"].shape
    names = tuple(f"{i:07}" for i in range(clips))
    numbers = assign(clips, clusters).tolist() if clusters else [0] * clips
    named = {name: f"c{place:03}" for name, place in zip(names, numbers, strict=True)} if clusters else {}
    systems_named = tuple(f"s{j:02}" for j in range(systems))
    return ScoreMatrix(systems_named, dict.fromkeys(LEVELS, names), raw, LEVELS if clusters else {}, clusters=named)


def truth(population: Population) -> Scores:
    """Return the scores on a million clips of a population."""
    parts = [population.sample(PART, np.random.default_rng([1, i])) for i in range(TRUTH // PART)]
    pool = as_pool({level: np.concatenate([part[level] for part in parts], axis=1) for level in LEVELS})
    return score(pool, calibrate(pool))
