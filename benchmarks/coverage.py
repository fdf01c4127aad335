"""Measure how often the 95 % intervals of `siq score` and `siq compare` contain the true score, by number of clips.

    python benchmarks/coverage.py [--clips 14 50 100 200 800] [--sets 200] [--draws 400] [--runs runs/demo]
    python benchmarks/coverage.py --clusters 6 10 20 50 200 [--icc 0 .02 .05 .1 .2] [--sets 200]

Sets of clips are drawn from populations whose true scores are known: the statistic on a million clips. The
populations imitate published systems: word error rates with a long tail and sometimes above 1, similarities near 1,
three questions per clip, one difficulty per clip for all systems. The first two systems are equal, so that `siq
compare` should find a difference in 5 % of the sets. `close` populations are nine systems with an SIQ from 95 to 107 on
50 fixed clips, from which sets are drawn with replacement; three further kinds come with any clip and with 50 fixed
ones. `--runs` adds the clips of real runs, drawn with replacement. The old interval, plain percentiles of the same
draws, is shown for comparison. The last tables are those of the docs.

`--clusters` prints the coverage for 400 clips in so many clusters instead, by the share of the variance that is between
clusters (ICC), of 3 and of 10 systems.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import numpy as np
from measure import write
from populations import (
    LIKE,
    SYSTEMS,
    Population,
    as_pool,
    broken,
    close,
    crossing,
    limited,
    published,
    recorded,
    tailed,
    truth,
)
from tqdm import tqdm

from speechiq.core.errors import SpeechIQError
from speechiq.reducer import LEVELS, Scores, calibrate, read_systems
from speechiq.reducer.scores.bootstrap import resample
from speechiq.reducer.scores.draws import draw
from speechiq.reducer.scores.scale import flat
from speechiq.reducer.studies.comparison import draw_gaps

TAILS = (2.5, 97.5)
TABLES = ("siq", "siq old", "siq on norms", "difference", "equal siq")
#: Of the grid of clusters: clips of a set, tail and systems of its populations, and the intervals of its columns.
CLIPS, TAIL = 400, 0.4
POOLS = [[0, 6, 9], [*range(9), 11]]
KINDS = [*(f"mean {level}" for level in LEVELS), "SIQ", "SIQ on norms", "difference of means", "difference in SIQ"]


def measure(
    population: Population, known: Scores, clips: int, sets: int, draws: int, own: bool
) -> dict[str, list[float]]:
    """Return score -> share of intervals that contain the truth, its standard error, worst system, mean width.

    Sets that cannot be scored, because all systems tie on a level, are left out.

    Args:
        population: The source of the clips.
        known: The true scores, from `truth`.
        clips: Number of clips per set.
        sets: Number of sets.
        draws: Number of draws of the bootstrap.
        own: Whether to measure only SIQ on the systems' own scale.
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
        note("siq", *drawn.siq_interval, true_siq)
        if own:
            continue
        for level, of in known.levels.items():
            note(f"z {level}", *drawn.z_intervals[level], of.z)
            note(f"raw {level}", *drawn.raw_draws[level].interval, of.raw)
        scale = calibrate(pool)
        fixed = 100 + 15 * sum(
            of.weight * (known.levels[level].weighted - of.mean) / of.std for level, of in scale.levels.items()
        )
        frozen = draw(pool, scale=scale, draws=draws, seed=trial)
        note("siq on norms old", *np.percentile(frozen.siq, TAILS, axis=0), fixed)
        note("siq on norms", *frozen.siq_interval, fixed)
        pair = draw(pool, draws=draws, seed=trial, pairs=[(0, systems - 1)])
        note("difference", *pair.siq_interval, true_siq[0] - true_siq[-1])
        if population.equal:
            note("equal siq old", *np.percentile(drawn.siq[:, 0] - drawn.siq[:, 1], TAILS), 0.0)
            note("equal siq", *draw(pool, draws=draws, seed=trial, pairs=[(0, 1)]).siq_interval, 0.0)
            on_norms = draw_gaps(pool, [(0, 1)], scale, draws, trial).siq_interval
            note("equal siq on norms", *on_norms, 100.0)
            for level, drawn in draw_gaps(pool, [(0, 1)], flat(pool), draws, trial).raw_draws.items():
                note(f"equal raw {level}", *drawn.interval, 0.0)
    return {
        name: [
            float(np.mean(of)),
            float(np.mean(of, axis=1).std() / len(of) ** 0.5),
            float(np.mean(of, axis=0).min()),
            float(np.mean(widths[name])),
        ]
        for name, of in contained.items()
    }


def measure_clusters(rows: list[int], known: Scores, clusters: int, icc: float, sets: int, draws: int) -> list[float]:
    """Return the shares of intervals that contain the truth, in the order of `KINDS`; arguments as for `measure`."""
    population, last = published(rows, TAIL, clusters, icc), len(rows) - 1
    contained: dict[str, list[np.ndarray]] = {kind: [] for kind in KINDS}

    def note(kind: str, low: np.ndarray, high: np.ndarray, true: np.ndarray | float) -> None:
        contained[kind].append(np.atleast_1d((low <= true + 1e-9) & (true <= high + 1e-9)))

    for trial in range(sets):
        pool = as_pool(population.sample(CLIPS, np.random.default_rng([3, clusters, trial])), clusters)
        bars, scale = resample(pool, draws=draws, seed=trial), calibrate(pool)
        for level, of in known.levels.items():
            note(f"mean {level}", *bars.intervals[level], of.raw)
        note("SIQ", *bars.siq, known.siq)
        fixed = 100 + 15 * sum(
            of.weight * (known.levels[level].weighted - of.mean) / of.std for level, of in scale.levels.items()
        )
        note("SIQ on norms", *resample(pool, scale=scale, draws=draws, seed=trial).siq, fixed)
        for level, drawn in draw_gaps(pool, [(0, last)], flat(pool), draws, trial).raw_draws.items():
            note("difference of means", *drawn.interval, known.levels[level].raw[0] - known.levels[level].raw[last])
        pair = draw(pool, draws=draws, seed=trial, pairs=[(0, last)])
        note("difference in SIQ", *pair.siq_interval, known.siq[0] - known.siq[last])
    return [100 * float(np.mean(np.concatenate(parts))) for parts in contained.values()]


def print_clusters(clusters: list[int], shares: list[float], sets: int, draws: int, name: str) -> None:
    """Print the coverage of each number of clusters, ICC and number of systems as a table."""
    known = {len(rows): truth(published(rows, TAIL)) for rows in POOLS}
    print("| clusters | ICC | systems | " + " | ".join(KINDS) + " |\n" + "|---" * (3 + len(KINDS)) + "|")
    measured = []
    for count, icc, rows in product(clusters, shares, POOLS):
        covered = measure_clusters(rows, known[len(rows)], count, icc, sets, draws)
        measured.append({"clusters": count, "icc": icc, "systems": len(rows)} | dict(zip(KINDS, covered, strict=True)))
        cells = " | ".join(f"{share:.1f}" for share in covered)
        print(f"| {count} | {icc:g} | {len(rows)} | {cells} |", flush=True)
    write(name, {"sets": sets, "draws": draws, "clips": CLIPS, "cells": measured})


def print_table(what: str, measured: dict[str, dict[int, dict[str, list[float]]]]) -> None:
    """Print the coverage of one interval by population and number of clips: the mean and the worst system."""
    sizes = next(iter(measured.values()))
    shown = {name: rows for name, rows in measured.items() if all(what in row for row in rows.values())}
    if not shown:
        return
    errors = [rows[clips][what][1] for rows in shown.values() for clips in sizes]
    print(f"\n{what}: Monte Carlo error {100 * min(errors):.1f} to {100 * max(errors):.1f}")
    print(
        "| population | " + " | ".join(f"{clips} clips" for clips in sizes) + " |\n" + "|---" * (1 + len(sizes)) + "|"
    )
    for name, rows in shown.items():
        cells = (f"{100 * rows[clips][what][0]:.1f} ({100 * rows[clips][what][2]:.0f})" for clips in sizes)
        print(f"| {name} | {' | '.join(cells)} |")
    for label, part in (("mean", 0), ("worst system", 2)):
        lowest = (f"{100 * min(rows[clips][what][part] for rows in shown.values()):.0f}" for clips in sizes)
        print(f"| lowest {label} | {' | '.join(lowest)} |")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, nargs="+", default=[14, 50, 100, 200, 800])
    parser.add_argument("--sets", type=int, default=200, help="sets of clips per population and number of clips")
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--runs", type=Path, help="a folder of runs, such as those of `make demo`")
    parser.add_argument("--own", action="store_true", help="measure only SIQ on the systems' own scale")
    parser.add_argument("--populations", nargs="+", help="only these")
    parser.add_argument("--name", default="coverage", help="name of the JSON file")
    parser.add_argument("--clusters", type=int, nargs="+", help="numbers of clusters; measures these alone")
    parser.add_argument("--icc", type=float, nargs="+", default=[0, 0.02, 0.05, 0.1, 0.2], help="of `--clusters`")
    args = parser.parse_args()
    if args.clusters:
        return print_clusters(args.clusters, args.icc, args.sets, args.draws, args.name)
    every = list(range(len(SYSTEMS)))
    populations = {
        "unlike": published(every, 0.5),
        "like": published(LIKE, 0.35),
        "like, longer tail": published(LIKE, 0.5),
        "close": close(558),
        "close, one level flat": close(172, flat_level=True),
        "close, one clip decides": close(1060),
        "crossing": crossing(71),
        "crossing, 50 clips": limited(crossing(72), 50, 72),
        "broken clips": broken(73),
        "broken, 50 clips": limited(broken(74), 50, 74),
        "long tails": tailed(75),
        "long tails, 50 clips": limited(tailed(76), 50, 76),
    }
    if args.runs:
        systems = read_systems([args.runs])
        populations |= {
            "demo": recorded(systems),
            "demo, no controls": recorded([of for of in systems if not of.control]),
        }
    measured: dict[str, dict[int, dict[str, list[float]]]] = {}
    for name in args.populations or populations:
        known = truth(populations[name])
        measured[name] = {
            clips: measure(populations[name], known, clips, args.sets, args.draws, args.own)
            for clips in tqdm(args.clips, desc=name)
        }
        print(f"\n{name}: percent of intervals that contain the truth +- standard error, (worst system), mean width")
        print(f"{'':24}" + "".join(f"{f'{clips} clips':>28}" for clips in args.clips))
        for what in measured[name][args.clips[0]]:
            cells = (measured[name][clips][what] for clips in args.clips)
            shown = (f"{100 * a:.1f} +- {100 * b:.1f} ({100 * c:.0f}) {width:.3g}" for a, b, c, width in cells)
            print(f"{what:24}" + "".join(f"{cell:>28}" for cell in shown), flush=True)
    for what in TABLES:
        print_table(what, measured)
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
