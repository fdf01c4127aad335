"""Measure what the installed suite costs other programs: interpreter start and `lm_eval ls tasks`.

    python benchmarks/startup.py [--starts 100] [--lists 2]

Two empty environments import this one's packages. One has `speechiq.pth` at the top of its site-packages, as an
installed wheel has, the other one does not. The aim is less than 5 ms at interpreter start.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sysconfig
import tempfile
import venv
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import measure

ROOT = Path(__file__).parent.parent
AIM_MS = 5


def make_environment(folder: Path, *, hook: bool) -> Path:
    """Return an interpreter that imports this environment's packages and speechiq, with or without the hook."""
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    command = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    packages.joinpath("others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    packages.joinpath("speechiq").symlink_to(ROOT, target_is_directory=True)
    if hook:
        shutil.copy(ROOT / "speechiq.pth", packages)
    return python


def compare(without: Path, with_hook: Path, arguments: list[str], rounds: int) -> dict[str, Any]:
    """Return median seconds of the command without and with the hook, of their difference per round, and the ratio."""
    ways = {
        "without": lambda: measure.run_child([str(without), *arguments]),
        "with": lambda: measure.run_child([str(with_hook), *arguments]),
    }
    for way in ways.values():
        way()
    costs = measure.in_turn(ways, rounds)
    more = [slower.wall - quicker.wall for slower, quicker in zip(costs["with"], costs["without"], strict=True)]
    numbers = {way: median_wall(costs[way]) for way in ways} | {"more": statistics.median(more)}
    return numbers | {"ratio": measure.ratio(costs["with"], costs["without"])["wall"]}


def compare_index(python: Path, rounds: int) -> dict[str, Any]:
    """Return median seconds in which lm-eval lists all tasks or only the suite's, and the ratio."""
    ways = {
        which: partial(measure.run_child, [str(python), "-m", "lm_eval", "ls", "tasks"], SIQ_TASKS=which)
        for which in ("all", "only")
    }
    costs = measure.in_turn(ways, rounds)
    numbers = {way: median_wall(costs[way]) for way in ways}
    return numbers | {"ratio": measure.ratio(costs["only"], costs["all"])["wall"]}


def median_wall(costs: Sequence[measure.Cost]) -> float:
    """Return the median of wall seconds."""
    return statistics.median(cost.wall for cost in costs)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=100, help="interpreter starts per environment")
    parser.add_argument("--lists", type=int, default=2, help="runs of `lm_eval ls tasks` per environment; 0 for none")
    args = parser.parse_args()
    commands = {
        "python -c pass": (["-c", "pass"], args.starts),
        "lm_eval ls tasks": (["-m", "lm_eval", "ls", "tasks"], args.lists),
    }
    commands = {name: (arguments, rounds) for name, (arguments, rounds) in commands.items() if rounds}
    with tempfile.TemporaryDirectory() as folder:
        pythons = [make_environment(Path(folder, str(hook)), hook=hook) for hook in (False, True)]
        found = {name: compare(*pythons, arguments, rounds) for name, (arguments, rounds) in commands.items()}
        index = compare_index(pythons[True], args.lists) if args.lists else None
    print(f"{'command':18} without, ms   with, ms   more, ms   ratio")
    for name, row in found.items():
        ms = [1000 * row[way] for way in ("without", "with", "more")]
        print(f"{name:18} {ms[0]:11.1f} {ms[1]:10.1f} {ms[2]:10.1f}   {row['ratio']}")
    if index:
        print(f"with SIQ_TASKS=only {index['only']:.1f} s of {index['all']:.1f} s, ratio {index['ratio']}")
    measure.write("startup", {"aim_ms": AIM_MS, "commands": found, "index": index})


if __name__ == "__main__":
    main()
