"""Measure how often `siq score --group-by` finds a gap between groups that is not there, and how well it states one.

    python benchmarks/group_gaps.py [--sets 1000] [--draws 400] [--spread] [--name group_gaps]

Groups have different numbers of clusters, clusters different numbers of clips. Scores imitate word error rates with a
long tail, and accuracies of which groups with few clips often have 100 %. Without a gap, `found` is the share of sets
in which some pair of groups has p < 0.05. With a gap, the first group, that with the fewest clusters, has higher
scores: `found` is the share of sets in which the largest gap has p < 0.05, `false` the share in which a pair of other
groups has, and `covered` the share in which the interval of the largest gap contains its true value.

With `--spread` no gap is planted: the clips of the first group are 0.7, 1, 1.4 or 2 times as varied as those of the
others, normal or with the long tail of word error rates, and only `found` is printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from measure import write
from tqdm import tqdm

from speechiq.reducer.stats.contrast import compare_groups

#: Number of clusters of each group, and clips per cluster.
DESIGNS = {
    "2 groups: 5, 5 clusters": ((5, 5), 10),
    "2 groups: 4, 20 clusters": ((4, 20), 10),
    "2 groups: 20, 40 clusters": ((20, 40), 5),
    "2 groups: 10, 200 clips": ((10, 200), 1),
    "3 groups: 3, 6, 12 clusters": ((3, 6, 12), 10),
    "4 groups: 6, 12, 50, 200 clips": ((6, 12, 50, 200), 1),
    "5 groups: 4 to 40 clusters": ((4, 6, 10, 20, 40), 5),
    "8 groups: 4 to 40 clusters": ((4, 4, 6, 6, 10, 10, 20, 40), 5),
}
CORRELATIONS = (0.05, 0.2, 0.5)
SPREADS = (0.7, 1.0, 1.4, 2.0)
#: Groups of unequal size: number of clusters of each, and clips per cluster.
UNEQUAL = {
    "12, 150 clips": ((12, 150), 1),
    "6, 60 clips": ((6, 60), 1),
    "10, 30, 90 clips": ((10, 30, 90), 1),
    "6, 20 clusters": ((6, 20), 10),
    "20, 40 clusters": ((20, 40), 5),
}
#: Kind of scores -> the planted gap.
GAPS = {"wer": 0.1, "accuracy": 0.15}


def sample(
    kind: str,
    clusters: int,
    clips: int,
    icc: float,
    gap: float,
    generator: np.random.Generator,
    spread: float = 1.0,
) -> np.ndarray:
    """Return the scores of one group, with the number of the cluster of each clip in the second row."""
    sizes = np.ones(clusters, int)
    if clips > 1:
        sizes = np.maximum(1, np.round(clips * np.exp(generator.normal(-0.18, 0.6, clusters)))).astype(int)
    place = np.repeat(np.arange(clusters), sizes)
    shared = icc**0.5 * generator.normal(size=clusters)[place]
    ease = shared + (1 - icc) ** 0.5 * generator.normal(size=len(place))
    if kind == "wer":
        words = generator.integers(10, 40, len(place))
        deviation = np.sqrt(np.log(1 + spread**2 * (np.exp(0.64) - 1)))
        rate = (0.12 + gap) * np.exp(deviation * ease - deviation**2 / 2)
        return np.stack([generator.poisson(words * rate) / words, place])
    if kind == "normal":
        return np.stack([spread * ease, place])
    from scipy.stats import norm

    return np.stack([(ease < norm.ppf(0.75 + gap)).astype(float), place])


def measure(
    kind: str, clusters: Sequence[int], clips: int, icc: float, gap: float, sets: int, draws: int, spread: float = 1.0
) -> list[float]:
    """Return the shares `found`, `false` and `covered`."""
    counted = np.zeros(3)
    for trial in range(sets):
        generator = np.random.default_rng([trial, len(clusters), clips])
        firsts = [number == 0 for number in range(len(clusters))]
        parts = [
            sample(kind, n, clips, icc, gap * first, generator, spread if first else 1.0)
            for first, n in zip(firsts, clusters, strict=True)
        ]
        groups = [str(g) for g, part in enumerate(parts) for _ in part[0]]
        names = [f"{g} {place:.0f}" for g, part in enumerate(parts) for place in part[1]]
        (pairs,) = compare_groups(np.concatenate([part[0] for part in parts])[None], groups, names, draws=draws)
        a, b = max(pairs, key=lambda pair: abs(pairs[pair].value))
        largest, others = pairs[a, b], [each.p < 0.05 for pair, each in pairs.items() if not gap or "0" not in pair]
        truth = gap * ((a == "0") - (b == "0"))
        counted += [largest.p < 0.05 if gap else any(others), any(others), largest.low <= truth <= largest.high]
    return (counted / sets).tolist()


def measure_spreads(sets: int, draws: int) -> None:
    """Print the percent of sets in which a gap is found that is not there, by the spread of the first group."""
    print("percent found without a gap, by the spread of the first group")
    print(f"{'':26}" + "".join(f"{spread:>8}" for spread in SPREADS))
    for kind in ("normal", "wer"):
        for design, (clusters, clips) in UNEQUAL.items():
            icc = 0.2 if clips > 1 else 0.0
            found = [measure(kind, clusters, clips, icc, 0.0, sets, draws, spread)[0] for spread in SPREADS]
            print(f"{kind:8}{design:18}" + "".join(f"{100 * share:8.1f}" for share in found), flush=True)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--spread", action="store_true", help="groups of unequal spread, without a gap")
    parser.add_argument("--name", default="group_gaps", help="name of the JSON file")
    args = parser.parse_args()
    if args.spread:
        return measure_spreads(args.sets, args.draws)
    measured: dict[str, dict[str, dict[str, list[float]]]] = {}
    for kind, gap in GAPS.items():
        print(f"{kind}: percent found without a gap | with a gap of {gap}: found, false, covered")
        print(f"{'':32}" + "".join(f"{f'ICC {icc}':>28}" for icc in CORRELATIONS))
        for design, (clusters, clips) in tqdm(DESIGNS.items(), desc=kind):
            cells = []
            for icc in CORRELATIONS:
                null, planted = (
                    measure(kind, clusters, clips, icc, size, args.sets, args.draws) for size in (0.0, gap)
                )
                measured.setdefault(kind, {}).setdefault(design, {})[str(icc)] = [null[0], *planted]
                cells.append(f"{100 * null[0]:.1f} | " + ", ".join(f"{100 * share:.1f}" for share in planted))
            print(f"{design:32}" + "".join(f"{cell:>28}" for cell in cells), flush=True)
    write(args.name, {"sets": args.sets, "draws": args.draws, "gaps": GAPS, "shares": measured})


if __name__ == "__main__":
    main()
