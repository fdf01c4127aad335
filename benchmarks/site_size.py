"""Measure how large the site of a registry gets, what it costs to build, and how fast it opens in headless Chromium.

    python benchmarks/site_size.py [--systems 5 50 200] [--clips 800] [--rounds 1] [--browser /usr/bin/chromium]

Results have invented rows (see `report_size`), three questions per clip and no texts. `build` is the processor time of
a process that checks the results and writes their site, and `peak` its memory; `index` is the size of that page, `all`
that of all files. `open` is the time from the navigation until the leaderboard can be sorted and
filtered, and `compare` that until two systems are compared item by item.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from functools import partial
from itertools import product
from pathlib import Path

import measure
import report_size
from playwright.sync_api import sync_playwright

from speechiq.reducer import read_systems
from speechiq.reducer.publishing import folder
from speechiq.reducer.publishing.declarations import Declaration
from speechiq.reducer.publishing.record import draft
from speechiq.reducer.publishing.site.build import build, write
from speechiq.reducer.scores import norms, suites
from speechiq.reducer.scores.scoring import ScoringOptions

READY = {
    "open_s": ("index.html", "[data-for$=standings] .count"),
    "compare_s": ("compare.html", "#compare-table tbody td"),
}


def publish(root: Path, systems: int, clips: int) -> None:
    """Write invented results, with norms of the first systems."""
    report_size.write_runs(root / "runs", systems, clips)
    for file in root.glob("runs/*/results*.json"):
        content = json.loads(file.read_text())
        counts = {task: clips * measure.ROWS[task.rpartition("_")[2]] for task in content["configs"]}
        content["n-samples"] = {task: {"original": count, "effective": count} for task, count in counts.items()}
        file.write_text(json.dumps(content))
    population = read_systems([root / "runs" / str(number) for number in range(min(systems, 10))])
    scale = norms.freeze(norms.build(population.systems, "noise"), "noise@1", example=True)
    found = suites.find([root / "runs"], False, ScoringOptions(norms=scale))
    declared = Declaration(contamination="none known", interests="none", openness="weights", parameters=7.0)
    folder.write_norms(scale, root / "results")
    declarations = {task.system: declared for tasks in found.tasks.values() for task in tasks}
    list(folder.write([*draft(found, scale, declarations, texts=False)], root / "results"))


def build_site(root: str) -> None:
    """Check results and write their site, and print the processor seconds."""
    write(build(Path(root, "results")), Path(root, "site"))
    print(time.process_time())


def run(root: Path, browser: str) -> dict[str, float]:
    """Return what it costs to build the site and to open it, and its size."""
    child = measure.run_child(measure.calling("site_size.build_site", str(root)))
    site = root / "site"
    sizes = {file.relative_to(site).as_posix(): file.stat().st_size for file in site.rglob("*") if file.is_file()}
    row = {"build_s": float(child.output), "peak_mb": child.peak_mb, "all_mb": sum(sizes.values()) / 1e6}
    row["index_kb"] = sizes["index.html"] / 1e3
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=report_size.QUIET)
        for name, (page, place) in READY.items():
            tab = chromium.new_page()
            start = time.perf_counter()
            tab.goto(site.joinpath(page).as_uri(), wait_until="commit")
            tab.wait_for_function("(place) => document.querySelector(place)?.textContent", arg=place)
            row[name] = time.perf_counter() - start
        chromium.close()
    return row


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, nargs="+", default=[5, 50, 200])
    parser.add_argument("--clips", type=int, default=800)
    parser.add_argument("--browser", default="/usr/bin/chromium")
    measure.rounds_option(parser, 1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        sizes = {size: Path(temporary, "{}x{}".format(*size)) for size in product(args.systems, [args.clips])}
        for size, root in sizes.items():
            publish(root, *size)
        ways = {size: partial(run, root, args.browser) for size, root in sizes.items()}
        rows = measure.by_size(measure.alternate(ways, args.rounds), ("build_s",))
    print("systems  build s  peak MB   all MB index KB  open s  compare s")
    for (systems, _), row in rows.items():
        numbers = (row[name] for name in ("build_s", "peak_mb", "all_mb", "index_kb", "open_s", "compare_s"))
        print("{:7} {:8.1f} {:8.0f} {:8.1f} {:8.0f} {:7.2f} {:10.2f}".format(systems, *numbers))
    measure.write("site_size", {"sizes": [{"systems": size[0], "clips": size[1], **row} for size, row in rows.items()]})


if __name__ == "__main__":
    main()
