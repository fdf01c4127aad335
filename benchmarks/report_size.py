"""Measure how large a report gets, what it costs to build, and how fast it opens in headless Chromium.

    python benchmarks/report_size.py [--systems 5 20 100] [--clips 2000] [--rounds 1] [--browser /usr/bin/chromium]

Each size is a tree of runs as lm-eval writes them, with invented words: 90 per clip, three questions per clip, five
answers per question. `build` is the time in which a process builds and writes the report, `processor` that of all its
processes on the processor, and `peak` its memory; `page` is the size of the page alone, `all` that of the page and the
folder beside it. `open` is the time from the navigation until the leaderboard can be sorted and filtered, `clips` from
the click on a clip's name until its texts are visible, and `search` until all texts are read and the clips with a word
are listed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path

import measure
import numpy as np
from playwright.sync_api import sync_playwright
from tqdm import tqdm

from speechiq.core.files.page import name_folder
from speechiq.reducer.output.page import build as report
from speechiq.siq_tasks.index import TEMPLATES, read_task

WORDS, VOCABULARY, QUESTIONS = 90, 8000, 3
LETTERS = "ABCDE"
STAMP = "2025-01-01T00-00-00.000000"
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
#: No invented word; no clip has it.
SEARCH = "zzz"
READY = "() => document.querySelector('[data-for=standings] .count')?.textContent"


def invent(random: np.random.Generator, clips: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return a vocabulary, and each clip's words as indices into it, common words more often."""
    letters = np.array(list("aeioubcdfghklmnprstvw"))
    words = np.array(["".join(random.choice(letters, random.integers(2, 10))) for _ in range(VOCABULARY)])
    texts = [(random.pareto(0.7, WORDS) * 20).astype(int) % VOCABULARY for _ in range(clips)]
    return words, texts


def write_system(folder: Path, name: str, skill: float, words: np.ndarray, texts: list[np.ndarray], seed: int) -> None:
    """Write one system's run: the higher the skill (0 to 1), the fewer wrong words and letters."""
    random = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    rows: dict[str, list[dict]] = {"remember": [], "understand": [], "apply": []}
    for number, text in enumerate(texts):
        doc = {
            "id": f"noise/{number:05}",
            "dataset": "noise",
            "text": " ".join(words[text]),
            "audio": {"duration": 30.0},
        }
        wrong = random.random(WORDS) > skill
        transcript = " ".join(words[np.where(wrong, random.integers(0, VOCABULARY, WORDS), text)])
        rows["remember"].append({"doc": doc, "filtered_resps": [transcript], "wer": wrong.mean()})
        rows["understand"].append({"doc": doc, "similarity": 1 - wrong.mean() / 2})
        rows["apply"] += list(answer(random, doc, skill))
    for level, of_level in rows.items():
        lines = "".join(json.dumps(row) + "\n" for row in of_level)
        folder.joinpath(f"samples_noise_{level}_{STAMP}.jsonl").write_text(lines)
    described = {level: read_task(TEMPLATES / f"_{level}.yaml")["metadata"] for level in rows}
    configs = {
        f"noise_{level}": {"metadata": metadata | {"version": 1, "dataset": "noise"}}
        for level, metadata in described.items()
    }
    described = {"kind": "cascade", "asr": {"model": name.partition("+")[0]}, "llm": {}}
    results = {"date": 0.0, "model_name": name, "configs": configs, "config": {"siq": {"system": described}}}
    folder.joinpath(f"results_{STAMP}.json").write_text(json.dumps(results))


def answer(random: np.random.Generator, doc: dict, skill: float) -> Iterator[dict]:
    """Yield the sample rows of a clip's questions."""
    for number in range(QUESTIONS):
        right = LETTERS[(len(doc["id"]) + number) % 4]
        vote = right if random.random() < skill else str(random.choice(list(LETTERS)))
        question = {
            "question_id": f"{doc['id']}-q{number}",
            "question": f"Which word is at position {number} of the speech, and why is it there?",
            "options": doc["text"].split()[number : number + 4],
            "answer": right,
        }
        row = {"acc": float(vote == right), "unparsed": 0.0, "none_of_the_above": float(vote == "E")}
        yield {"doc": doc | question, "filtered_resps": [[vote, [vote] * 5]], **row}


def build_page(runs: str, page: str) -> None:
    """Build and write the report of some runs, and print the processor seconds, those of its processes included."""
    report.write_report(report.build_report([Path(runs)]), Path(page))
    print(sum(os.times()[:4]))


def open_page(page: Path, browser: str) -> dict[str, float]:
    """Return the seconds until the page can be used, a clip's texts are visible, and all texts are searched."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=QUIET)
        tab = chromium.new_page()
        start = time.perf_counter()
        tab.goto(page.as_uri(), wait_until="commit")
        tab.wait_for_function(READY)
        opened = time.perf_counter() - start
        start = time.perf_counter()
        tab.locator("#deciding a.to-clip").first.click()
        tab.wait_for_selector(".detail .transcript")
        shown = time.perf_counter() - start
        start = time.perf_counter()
        tab.fill("#clip-search", SEARCH)
        tab.wait_for_function("() => document.querySelector('#clip-count').textContent.startsWith('0 of')")
        searched = time.perf_counter() - start
        chromium.close()
    return {"open_s": opened, "clips_s": shown, "search_s": searched}


def write_runs(folder: Path, systems: int, clips: int) -> None:
    """Write the runs of all systems below a folder."""
    words, texts = invent(np.random.default_rng(0), clips)
    for number in range(systems):
        skill = 0.6 + 0.38 * number / systems
        write_system(folder / str(number), f"noise/listener-{number}+noise/thinker", skill, words, texts, number)


def run(runs: Path, browser: str) -> dict[str, float]:
    """Return what it costs to build the report and to open it, and its size."""
    page = runs.parent / "report.html"
    folder = name_folder(page)
    child = measure.run_child(measure.calling("report_size.build_page", str(runs), str(page)))
    page_mb = page.stat().st_size / 1e6
    all_mb = page_mb + sum(file.stat().st_size for file in folder.glob("*")) / 1e6
    opened = open_page(page, browser)
    page.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    built = {"build_s": child.seconds, "processor_s": float(child.output)}
    return {**built, "peak_mb": child.peak_mb, "page_mb": page_mb, "all_mb": all_mb, **opened}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, nargs="+", default=[5, 20, 100])
    parser.add_argument("--clips", type=int, nargs="+", default=[2000])
    parser.add_argument("--browser", default="/usr/bin/chromium")
    measure.rounds_option(parser, 1)
    args = parser.parse_args()
    sizes = list(product(args.systems, args.clips))
    with tempfile.TemporaryDirectory() as folder:
        for size in tqdm(sizes, desc="runs"):
            write_runs(Path(folder, "{}x{}".format(*size)), *size)
        ways = {size: partial(run, Path(folder, "{}x{}".format(*size)), args.browser) for size in sizes}
        rows = measure.by_size(measure.alternate(ways, args.rounds), ("build_s", "open_s"))
    print("systems  clips   build s  processor s   peak MB   page MB    all MB    open s   clips s  search s")
    for (systems, clips), row in rows.items():
        print(
            f"{systems:7} {clips:6} {row['build_s']:9.1f} {row['processor_s']:12.1f} {row['peak_mb']:9.0f} "
            f"{row['page_mb']:9.1f} {row['all_mb']:9.1f} {row['open_s']:9.2f} {row['clips_s']:9.2f} "
            f"{row['search_s']:9.2f}"
        )
    measure.write(
        "report_size", {"sizes": [{"systems": size[0], "clips": size[1], **row} for size, row in rows.items()]}
    )


if __name__ == "__main__":
    main()
