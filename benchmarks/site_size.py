"""Measure how large the site of a registry gets, what it costs to build, and how fast it opens in headless Chromium.

    python benchmarks/site_size.py [--systems 5 50 200] [--clips 800] [--browser /usr/bin/chromium]

Results have invented rows (`report_size`), three questions per clip and no texts. `build` is the processor time of the
check and the site, by all processes, `index` the size of the leaderboard and `all` that of all files. `open` is the
time from the navigation until the leaderboard can be sorted and filtered.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import measure
import report_size
from playwright.sync_api import sync_playwright

from speechiq.reducer import read_systems
from speechiq.reducer.output.published import folder
from speechiq.reducer.output.published.folder import Declaration
from speechiq.reducer.output.published.record import draft
from speechiq.reducer.output.published.site import build_site, write_site
from speechiq.reducer.scores import norms, suites
from speechiq.reducer.scores.suites import ScoringOptions


def publish(root: Path, systems: int, clips: int) -> None:
    """Write invented results, on norms of the first systems."""
    report_size.write_runs(root / "runs", systems, clips)
    for file in root.glob("runs/*/results*.json"):
        content = json.loads(file.read_text())
        counts = {task: clips * measure.ROWS[task.rpartition("_")[2]] for task in content["configs"]}
        content["n-samples"] = {task: {"original": count, "effective": count} for task, count in counts.items()}
        file.write_text(json.dumps(content))
    population = read_systems([root / "runs" / str(number) for number in range(min(systems, 10))])
    scale = norms.freeze_norms(norms.build_norms(population, "noise"), "noise@1", example=True)
    found = suites.find_suites([root / "runs"], False, ScoringOptions(norms=scale))
    declared = Declaration(contamination="none known", interests="none", openness="weights", parameters=7.0)
    declarations = {task.system: declared for tasks in found.tasks.values() for task in tasks}
    folder.write_norms(scale, root / "results")
    list(folder.write_results([*draft(found, scale, declarations, texts=False)], root / "results"))


def run(root: Path, browser: str) -> dict[str, float]:
    """Return what it costs to build the site and to open it, and its size."""
    start = sum(os.times()[:4])
    write_site(build_site(root / "results"), root / "site")
    built, index = sum(os.times()[:4]) - start, root / "site" / "index.html"
    size = sum(file.stat().st_size for file in root.glob("site/**/*.*"))
    with sync_playwright() as playwright:
        tab = playwright.chromium.launch(executable_path=browser, args=report_size.QUIET).new_page()
        start = time.perf_counter()
        tab.goto(index.as_uri(), wait_until="commit")
        tab.wait_for_function("() => document.querySelector('[data-for$=standings] .count')?.textContent")
        opened = time.perf_counter() - start
    return {"build_s": built, "index_kb": index.stat().st_size / 1e3, "all_mb": size / 1e6, "open_s": opened}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, nargs="+", default=[5, 50, 200])
    parser.add_argument("--clips", type=int, default=800)
    parser.add_argument("--browser", default="/usr/bin/chromium")
    args, rows = parser.parse_args(), []
    for systems in args.systems:
        with tempfile.TemporaryDirectory() as temporary:
            publish(Path(temporary), systems, args.clips)
            rows.append({"systems": systems, "clips": args.clips, **run(Path(temporary), args.browser)})
        print({name: round(number, 2) for name, number in rows[-1].items()})
    measure.write("site_size", {"sizes": rows})


if __name__ == "__main__":
    main()
