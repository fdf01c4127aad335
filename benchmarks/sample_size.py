"""Measure whether `siq compare` finds a planted difference as often as `siq study power` promises.

    python benchmarks/sample_size.py [--sets 1000] [--pilots 1000] [--power 0.8] [--shifts 0.25 0.8]

Differences between two systems are drawn clip by clip, in clusters of 20 clips with an intra-cluster correlation or
without clusters: normal ones; those of three answers per clip, most of them 0; and errors with a long tail. A large
pilot run gives the recommended number of clips, and sets of this number are compared. Then small pilot runs show how
far their recommendation can be from the true number, and the power of that without their draws; further populations
there are skewed: exponential, a word error rate, and a lognormal one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
from measure import write
from scipy.special import log_ndtr
from tqdm import tqdm

from speechiq.reducer import ScoreMatrix
from speechiq.reducer.stats.power import ALPHA, Spread, count_needed, measure_spread, power_of
from speechiq.reducer.studies.comparison import compare_scores

LEVEL, CLUSTER = "level", 20
#: Planted differences: means of the normal numbers, which have a standard deviation of 1.
SHIFTS = (0.25, 0.8)
CORRELATIONS = (0.0, 0.05, 0.2)
TRUTH, PILOT = 2_000_000, 20_000
#: More clusters than that have the power 1.
MOST = 1e6
#: Name -> how a normal number becomes the difference on a clip.
POPULATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "normal": lambda numbers: numbers,
    "answers": lambda numbers: np.clip(np.trunc(1.2 * numbers), -3, 3) / 3,
    "errors": lambda numbers: numbers * np.abs(numbers),
}


#: Skewed differences of small pilot runs.
SKEWED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exponential": lambda numbers: -log_ndtr(-numbers),
    "word errors": lambda numbers: np.maximum(0.0, np.round(20 * 0.12 * np.exp(0.8 * numbers)) / 20 - 0.05),
    "lognormal": np.expm1,
}


class Design(NamedTuple):
    """Describe clips: the population of their differences, the planted difference, clips per cluster, and ICC."""

    population: str
    shift: float
    size: int
    correlation: float


#: Clips of small pilot runs, and how many of them are in a cluster.
PILOTS = ((14, 1), (50, 1), (200, 1), (200, CLUSTER), (1000, CLUSTER))


def sample(design: Design, clips: int, generator: np.random.Generator) -> np.ndarray:
    """Return the differences on clips of a design, the clips of a cluster side by side."""
    population, shift, size, correlation = design
    shared = np.repeat(generator.normal(size=-(-clips // size)), size)[:clips]
    own = generator.normal(size=clips)
    return (POPULATIONS | SKEWED)[population](shift + np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own)


def spread_of(differences: np.ndarray, size: int, draws: int = 0, seed: int = 0) -> Spread:
    """Return how differences on clips in clusters of a size vary."""
    return measure_spread(differences, np.arange(len(differences)) // size, draws=draws, seed=seed)


def compare(differences: np.ndarray, size: int, seed: int) -> tuple[bool, bool]:
    """Return whether the p value and the interval of `siq compare` find the difference, in the right direction."""
    clips = tuple(f"{number:06}" for number in range(len(differences)))
    clusters = {clip: str(number // size) for number, clip in enumerate(clips)} if size > 1 else {}
    scores = {LEVEL: np.stack([differences, np.zeros(len(clips))])}
    pool = ScoreMatrix(("a", "b"), {LEVEL: clips}, scores, clusters=clusters)
    found = compare_scores(pool, "a", "b", draws=400, seed=seed, raw_only="no scale").raw[LEVEL]
    return found.p <= ALPHA and found.value > 0, found.low > 0


def show(title: str, heads: list[str], rows: list[list[str]]) -> None:
    """Print a table as Markdown."""
    print(f"\n{title}\n")
    for row in (heads, ["---"] * len(heads), *rows):
        print(f"| {' | '.join(row)} |")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1000, help="sets of the recommended size, each compared")
    parser.add_argument("--pilots", type=int, default=1000, help="small pilot runs of each size")
    parser.add_argument("--shifts", type=float, nargs="+", default=SHIFTS, help="planted differences")
    parser.add_argument("--power", type=float, default=0.8)
    args = parser.parse_args()
    planted = [
        Design(name, shift, CLUSTER if icc else 1, icc)
        for shift in args.shifts
        for name in POPULATIONS
        for icc in CORRELATIONS
    ]
    rates = []
    for design in tqdm(planted, desc="sets"):
        truth, pilot = (
            spread_of(sample(design, clips, np.random.default_rng(seed)), design.size)
            for seed, clips in enumerate((TRUTH, PILOT), 1)
        )
        clips = int(pilot.needed(truth.mean, args.power).value) * design.size
        seeds = range(args.sets)
        sets = (sample(design, clips, np.random.default_rng([3, seed])) for seed in seeds)
        found = np.mean([compare(drawn, design.size, seed) for seed, drawn in zip(seeds, sets, strict=True)], axis=0)
        rates.append([*design, round(pilot.icc, 3), clips, clips // design.size, *found.tolist()])
    show(
        f"Percent of sets of the recommended size in which siq compare finds the difference (aim {100 * args.power:g})",
        ["differences", "shift", "ICC", "clips", "clusters", "p below 5 %", "interval above 0"],
        [
            [row[0], f"{row[1]:g}", f"{row[3]:g}", *map(str, row[5:7]), *(f"{100 * rate:.1f}" for rate in row[7:])]
            for row in rates
        ],
    )
    small = []
    for name, (clips, size) in tqdm(list(product([*POPULATIONS, *SKEWED], PILOTS)), desc="pilots"):
        design = Design(name, SHIFTS[0], size, CORRELATIONS[size > 1])
        truth = spread_of(sample(design, TRUTH, np.random.default_rng(1)), size)
        difference = SHIFTS[0] * truth.deviation if name in SKEWED else truth.mean
        needed = truth.needed(difference, args.power).value
        seeds = range(args.pilots)
        pilots = [spread_of(sample(design, clips, np.random.default_rng([4, seed])), size, 400, seed) for seed in seeds]
        plans = np.array([spread.needed(difference, args.power)[:3] for spread in pilots])
        plugged = [count_needed(np.array([spread.unit.value]), difference, args.power) for spread in pilots]
        powers, without = (
            np.mean([power_of(np.array([truth.unit.value]), difference, number) for number in numbers])
            for numbers in (np.minimum(plans[:, 0], MOST), np.minimum(plugged, MOST))
        )
        covered = (plans[:, 1] <= needed) & (needed <= plans[:, 2])
        figures = [float(each) for each in (powers, without, covered.mean(), (plans[:, 2] >= needed).mean())]
        small.append([name, clips, clips // size, *figures])
    show(
        "Small pilot runs: mean power of the recommended number, percent of intervals that contain the true number, "
        "and of upper ends that are enough",
        ["differences", "clips", "clusters", "power", "without draws", "interval", "upper end"],
        [[*map(str, row[:3]), *(f"{100 * rate:.1f}" for rate in row[3:])] for row in small],
    )
    write(
        "sample_size", {"power": args.power, "sets": args.sets, "rates": rates, "pilots": args.pilots, "small": small}
    )


if __name__ == "__main__":
    main()
