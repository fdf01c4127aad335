"""Measure what `siq study listen` says of planted models: gaps, their intervals, and how often a test rejects 0.

    python benchmarks/listening.py [--sets 1000] [--clusters 12 30] [--draws 200]

A planted model answers right at one rate where it has what it answers from, and guesses one of four options elsewhere.
Each set has clusters of two clips with three questions each. Answers of a run on one cluster agree more than by chance
(beta-binomial, intraclass correlation 0.2).
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from measure import write
from planted import CATEGORY, PLANTED, plant
from tqdm import tqdm

from speechiq.reducer.studies.listening import AUDIO, compare_listening
from speechiq.siq_tasks.conditions.spec import MUTED, TEXT


def simulate(model: str, clusters: int, sets: int, draws: int) -> dict[str, Any]:
    """Return what the study says of a planted model over many sets: means, coverage and rejections, as shares."""
    found: list[dict[str, Any]] = []
    for trial in range(sets):
        runs = plant(model, clusters, np.random.default_rng([clusters, trial]))
        found.append(compare_listening(model, CATEGORY, runs, draws, trial))
    rates = PLANTED[model]
    numbers: dict[str, Any] = {"right_blind": float(np.mean([row["right_blind"].value for row in found]))}
    planted = {
        "gap": ("speech_gap", rates[TEXT] - rates[AUDIO]),
        "gain": ("gain_over_muted", rates[AUDIO] - rates[MUTED]),
    }
    for name, (key, truth) in planted.items():
        differences = [row[key] for row in found]
        numbers[name] = {
            "planted": 100 * truth,
            "mean": float(np.mean([difference.value for difference in differences])),
            "covered": float(np.mean([each.low <= 100 * truth <= each.high for each in differences])),
            "rejected": float(np.mean([row[f"{key}_p"] < 0.05 for row in found])),
        }
    return numbers


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1000, help="sets per planted model and number of clusters")
    parser.add_argument("--clusters", type=int, nargs="+", default=[12, 30])
    parser.add_argument("--draws", type=int, default=200)
    args = parser.parse_args()
    rows = {
        f"{model}, {clusters} clusters": simulate(model, clusters, args.sets, args.draws)
        for model in tqdm(PLANTED)
        for clusters in args.clusters
    }
    heads = ["planted", "mean", "interval covers", "test rejects 0"]
    print(f"| answers | {' | '.join(f'{name}: {head}' for name in ('gap', 'gain') for head in heads)} | right blind |")
    print("|---|" + "---:|" * (2 * len(heads) + 1))
    for name, row in rows.items():
        cells = [
            f"{of['planted']:+.0f} | {of['mean']:+.1f} | {of['covered']:.1%} | {of['rejected']:.1%}"
            for of in (row["gap"], row["gain"])
        ]
        print(f"| {name} | {' | '.join(cells)} | {row['right_blind']:.1f} % |")
    write("listening", {"sets": args.sets, "draws": args.draws, "planted": rows})


if __name__ == "__main__":
    main()
