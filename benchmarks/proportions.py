"""Measure how often the 95 % intervals of shares and grades contain the true mean, by number of clips.

    python benchmarks/proportions.py [--clips 5 14 50 200] [--sets 1000] [--draws 200]

Shares: each clip has one or three questions, whose answers are right at one of nine rates; answers on one clip agree
more than by chance if their intraclass correlation is above 0. Means: scores between two limits, of kinds that judges
and metrics give. The interval that draws of clips would give is shown for comparison.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from measure import write
from tqdm import tqdm

from speechiq.metrics.measure import Category, Measure
from speechiq.reducer import ScoreMatrix
from speechiq.reducer.scores.bootstrap import bound_means
from speechiq.reducer.scores.draws import draw
from speechiq.reducer.scores.scale import flat

LEVEL = "mean"
RATES = np.array([0.02, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.98])
DESIGNS = [(1, 0.0), (3, 0.0), (3, 0.2), (3, 0.5)]
TRUTH = 2_000_000

Sample = Callable[[int, np.random.Generator], np.ndarray]


class Coverage(NamedTuple):
    """Coverage of the intervals of each row of a population, of those from draws, and both mean widths."""

    covered: list[float]
    by_draws: list[float]
    width: float
    width_by_draws: float
    zero_width_by_draws: float


def shares(questions: int, correlation: float) -> Sample:
    """Return a population with a row per rate: the share of right answers of each clip, shape (rates, clips).

    Args:
        questions: Number of questions per clip.
        correlation: Intraclass correlation of the answers on a clip (beta-binomial).
    """

    def sample(clips: int, generator: np.random.Generator) -> np.ndarray:
        chance = np.repeat(RATES[:, None], clips, axis=1)
        if correlation:
            size = 1 / correlation - 1
            chance = generator.beta(RATES[:, None] * size, (1 - RATES[:, None]) * size, chance.shape)
        return generator.binomial(questions, chance) / questions

    return sample


def rarely(share: float, usual: float, other: Sample) -> Sample:
    """Return a population of one usual score, with a share of other scores."""
    return lambda clips, generator: np.where(generator.random((1, clips)) < share, other(clips, generator), usual)


def grades(chances: list[float]) -> Sample:
    """Return a population of whole grades from 0, with the chance of each, divided by the highest."""
    return lambda clips, generator: generator.choice(len(chances), (1, clips), p=chances) / (len(chances) - 1)


MEANS: dict[str, Sample] = {
    "METEOR, 30 % of the captions 0": rarely(0.7, 0.0, lambda clips, generator: generator.beta(1, 6, (1, clips))),
    "METEOR, 90 % of the captions 0": rarely(0.1, 0.0, lambda clips, generator: generator.beta(1, 4, (1, clips))),
    "F1 of words, half of the answers 0 or 1": rarely(
        0.5, 0.0, lambda clips, generator: np.where(
            generator.random((1, clips)) < 0.5, 1.0, generator.beta(2, 2, (1, clips))
        )
    ),
    "grades 0 to 5, spread out": grades([0.05, 0.1, 0.15, 0.25, 0.25, 0.2]),
    "grades 0 to 5, 90 % the best": grades([0.02, 0.01, 0.01, 0.02, 0.04, 0.9]),
    "points 1 to 10, spread out": grades([0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.15, 0.1, 0.04, 0.01]),
    "points 1 to 10, 90 % the worst": grades([0.9, *[0.1 / 9] * 9]),
}  # fmt: skip


def measure(sample: Sample, truth: np.ndarray, clips: int, sets: int, draws: int) -> Coverage:
    """Return the coverage over sets of clips.

    Args:
        sample: The population.
        truth: Its true means, one per row.
        clips: Number of clips of a set.
        sets: Number of sets.
        draws: Number of draws of each set, for the interval that is compared.
    """
    levels = {LEVEL: Category("benchmark", LEVEL, Measure(LEVEL, "higher", "%", range=(0.0, 1.0)), ("clip",))}
    names = tuple(f"{i:04}" for i in range(clips))
    ends = []
    for trial in range(sets):
        raw = sample(clips, np.random.default_rng([clips, trial]))
        pool = ScoreMatrix(tuple(map(str, range(len(raw)))), {LEVEL: names}, {LEVEL: raw}, levels)
        drawn = draw(pool, scale=flat(pool), draws=draws, seed=trial).raw_draws[LEVEL]._replace(lowest=0.0, highest=1.0)
        ends.append((bound_means(pool, LEVEL, drawn.interval), drawn.interval))
    low, high = np.array(ends).transpose(2, 1, 0, 3)
    covered = ((low <= truth + 1e-9) & (truth <= high + 1e-9)).mean(axis=1)
    widths = (high - low).mean(axis=(1, 2)).tolist()
    return Coverage(*covered.tolist(), *widths, float((high[1] == low[1]).mean()))


def show(title: str, heads: list[str], rows: list[list[str]]) -> None:
    """Print a table as Markdown."""
    print(f"\n{title}\n")
    for row in (heads, ["---"] * len(heads), *rows):
        print(f"| {' | '.join(row)} |")


def percents(parts: list[float]) -> list[str]:
    """Return parts of 1 in whole percent."""
    return [f"{100 * part:.0f}" for part in parts]


def averages(found: Coverage) -> list[str]:
    """Return the mean coverage in percent: of the intervals, of those from draws, and of their worst rate."""
    parts = np.mean(found.covered), np.mean(found.by_draws), min(found.by_draws)
    return [f"{100 * part:.1f}" for part in parts]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, nargs="+", default=[5, 14, 50, 200])
    parser.add_argument("--sets", type=int, default=1000, help="sets of clips per population and number of clips")
    parser.add_argument("--draws", type=int, default=200)
    args = parser.parse_args()
    of_shares = {
        (*design, clips): measure(shares(*design), RATES, clips, args.sets, args.draws)
        for design in tqdm(DESIGNS, desc="shares")
        for clips in args.clips
    }
    show(
        "Percent of intervals of a share that contain the true rate",
        ["clips", "questions", "correlation", *(f"{rate:g}" for rate in RATES), "mean", "draws", "lowest of draws"],
        [
            [str(clips), str(questions), f"{correlation:g}", *percents(found.covered), *averages(found)]
            for (questions, correlation, clips), found in of_shares.items()
        ],
    )
    of_means = {}
    for name, sample in tqdm(MEANS.items(), desc="means"):
        truth = sample(TRUTH, np.random.default_rng(1)).mean(axis=1)
        of_means[name] = {clips: measure(sample, truth, clips, args.sets, args.draws) for clips in args.clips}
    show(
        "Percent of intervals of a mean that contain the true mean (draws of clips)",
        ["scores", *(f"{clips} clips" for clips in args.clips)],
        [
            [name, *(f"{100 * of.covered[0]:.0f} ({100 * of.by_draws[0]:.0f})" for of in row.values())]
            for name, row in of_means.items()
        ],
    )
    write(
        "proportions",
        {
            "sets": args.sets,
            "draws": args.draws,
            "rates": RATES.tolist(),
            "shares": {"/".join(map(str, key)): of._asdict() for key, of in of_shares.items()},
            "means": {name: {clips: of._asdict() for clips, of in row.items()} for name, row in of_means.items()},
        },
    )


if __name__ == "__main__":
    main()
