"""Measure how the commands that read finished runs grow with systems and clips: processor seconds and peak memory.

    python benchmarks/commands.py [--systems 10 100 1000] [--clips 200 2000 20000] [--rounds 1]

Each command is a process over runs of invented words (`report_size`). Systems grow with the fewest clips, and clips
with the fewest systems. `score` and `compare` print, `report` also writes the page, and `check` reads the same results
as published (`site_size`). The exponent is that of the time over systems x clips from the last but one to the last
size: 1 is linear.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import measure
import site_size
from tqdm import tqdm

SIQ = (sys.executable, "-m", "speechiq.cli.main")


class Size(NamedTuple):
    """Hold how many systems ran on how many clips."""

    systems: int
    clips: int


def commands(root: Path) -> dict[str, list[str]]:
    """Return the words of each command on the runs and published results below a folder."""
    runs = str(root / "runs")
    return {
        "score": ["score", runs],
        "compare": ["compare", "noise/listener-0+", "noise/listener-1+", runs],
        "report": ["score", runs, "-o", str(root / "report.html"), "--force"],
        "check": ["publish", "check", str(root / "results")],
    }


def run(root: Path) -> dict[str, float]:
    """Return the processor seconds and the peak memory of each command."""
    measured = {}
    for name, words in commands(root).items():
        before = sum(os.times()[2:4])
        child = measure.run_child([*SIQ, *words])
        measured |= {f"{name}_s": sum(os.times()[2:4]) - before, f"{name}_mb": child.peak_mb}
    return measured


def exponent(sizes: Sequence[Size], seconds: Sequence[float]) -> float:
    """Return the exponent of growth between the last two of at least two sizes."""
    (small, large), (less, more) = sizes[-2:], seconds[-2:]
    return math.log(more / less) / math.log(math.prod(large) / math.prod(small))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--clips", type=int, nargs="+", default=[200, 2000, 20000])
    measure.rounds_option(parser, 1)
    args = parser.parse_args()
    grown = {
        "systems": [Size(systems, args.clips[0]) for systems in args.systems],
        "clips": [Size(args.systems[0], clips) for clips in args.clips],
    }
    with tempfile.TemporaryDirectory() as folder:
        ways = {}
        for size in tqdm(dict.fromkeys([*grown["systems"], *grown["clips"]]), desc="runs"):
            root = Path(folder, "{}x{}".format(*size))
            site_size.publish(root, *size)
            ways[size] = partial(run, root)
        rows = measure.by_size(measure.alternate(ways, args.rounds), ())
    names = list(commands(Path()))
    print(f"{'systems':>8}{'clips':>8}", *(f"{name + ' s':>12}{'MB':>8}" for name in names))
    for size, row in rows.items():
        cells = (f"{row[name + '_s']:12.1f}{row[name + '_mb']:8.0f}" for name in names)
        print(f"{size.systems:8}{size.clips:8}", *cells)
    exponents = {
        of: {name: exponent(sizes, [rows[size][f"{name}_s"] for size in sizes]) for name in names}
        for of, sizes in grown.items()
        if len(sizes) > 1
    }
    for of, found in exponents.items():
        print(f"exponent with more {of}:", ", ".join(f"{name} {value:.2f}" for name, value in found.items()))
    measure.write("commands", {"sizes": [size._asdict() | row for size, row in rows.items()], "exponents": exponents})


if __name__ == "__main__":
    main()
