"""Measure how reading and scoring runs grows: seconds to read, score and draw, and peak memory.

    python benchmarks/score_scale.py [--systems 10] [--clips 300 1000 3000] [--text 1000] [--draws 1000]
        [--clusters 200] [--rounds 3]

Each size, a number of systems and clips, runs in a process of its own over files as lm-eval writes them: one row per
clip at Remember and Understand, three at Apply, each with `--text` characters that scoring does not use. The last
column is the time per row relative to the first size: 1 is linear. Seconds are those of the processor. `--clusters`
measures each size also with its clips in so many clusters. The full size is `--systems 100 --clips 10000 --text
100`: 5 million rows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from measure import alternate, by_size, rounds_option, write
from tqdm import tqdm

from speechiq.siq_tasks.index import TEMPLATES, read_task

LEVELS = {"remember": "wer", "understand": "similarity", "apply": "acc"}
STAMP = "2025-01-01T00-00-00.000000"
PROGRAM = """
import json, resource, sys, time
from pathlib import Path
from speechiq.reducer import align, calibrate, read_systems, score
from speechiq.reducer.scores.bootstrap import resample
ticks = [time.process_time()]
def tick():
    ticks.append(time.process_time())
systems = read_systems([Path(sys.argv[1])])
tick()
pool = align(systems)
score(pool, calibrate(pool))
tick()
resample(pool, draws=int(sys.argv[2]))
tick()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([*(b - a for a, b in zip(ticks, ticks[1:])), peak]))
"""


def write_system(folder: Path, number: int, clips: int, text: str, clusters: int = 0) -> int:
    """Write one system's results and samples; return its number of rows."""
    folder.mkdir()
    tasks = {f"noise_{level}": level for level in LEVELS}
    configs = {
        task: {"metadata": read_task(TEMPLATES / f"_{level}.yaml")["metadata"] | {"version": 1, "dataset": "noise"}}
        for task, level in tasks.items()
    }
    results = {"configs": configs, "config": {}, "model_name": f"org/system-{number:03}", "date": 1.0}
    folder.joinpath(f"results_{STAMP}.json").write_text(json.dumps(results))
    count = 0
    for task, level in tasks.items():
        with folder.joinpath(f"samples_{task}_{STAMP}.jsonl").open("w") as file:
            for row in _rows(level, number, clips, text, clusters):
                file.write(row)
                count += 1
    return count


def _rows(level: str, number: int, clips: int, text: str, clusters: int) -> Iterator[str]:
    random = np.random.default_rng([number, len(level)])
    questions = 3 if level == "apply" else 1
    for clip, scores in enumerate(random.random((clips, questions)).tolist()):
        for question, score in enumerate(scores):
            named = f'"id": "noise/{clip:05}", "question_id": "{clip:05}-q{question}"'
            named += f', "cluster": "noise/{clip % clusters}"' if clusters else ""
            yield (
                f'{{"doc_id": {clip}, "doc": {{{named}, "text": "{text}"}}, "resps": [["{text}"]], "filter": "none", '
                f'"metrics": ["{LEVELS[level]}"], "{LEVELS[level]}": {score}, '
                f'"audio_coverage": 1.0, "repetition": 0.0}}\n'
            )


def write_runs(folder: Path, systems: int, clips: int, text: int, clusters: int = 0) -> tuple[int, float]:
    """Write the runs of all systems below a folder; return the number of rows, and MB on disk."""
    folder.mkdir()
    folders = [folder / f"{number:03}" for number in range(systems)]
    rows = sum(
        write_system(path, number, clips, "word " * (text // 10), clusters)
        for number, path in enumerate(tqdm(folders, desc=f"{systems} systems x {clips} clips"))
    )
    return rows, sum(path.stat().st_size for path in folder.rglob("*.jsonl")) / 1e6


def measure(folder: Path, rows: int, mb: float, draws: int) -> dict[str, float]:
    """Return the size of runs, seconds to read, score and draw, and peak MB, in a new process."""
    command = [sys.executable, "-c", PROGRAM, str(folder), str(draws)]
    read, score, draw, peak = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    times = {"read_s": read, "score_s": score, "draw_s": draw, "a_row": (read + score + draw) / rows}
    return {"rows": rows, "mb": mb, **times, "peak_mb": peak}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=10)
    parser.add_argument("--clips", type=int, nargs="+", default=[300, 1000, 3000])
    parser.add_argument("--text", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--clusters", type=int, default=0)
    rounds_option(parser, 3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ways = {}
        for clips, clusters in product(args.clips, [0, *[args.clusters] * bool(args.clusters)]):
            name = f"{clips} in {clusters} clusters" if clusters else str(clips)
            runs = Path(folder, name)
            sizes = write_runs(runs, args.systems, clips, args.text, clusters)
            ways[name] = partial(measure, runs, *sizes, args.draws)
        measured = by_size(alternate(ways, args.rounds), ("a_row",))
    print(
        "                   clips     rows      MB  read s  us/row  score s  draw s  peak MB   time per row, relative"
    )
    for clips, row in measured.items():
        each = 1e6 * row["read_s"] / row["rows"]
        print(
            f"{clips:>24} {row['rows']:8.0f} {row['mb']:7.0f} {row['read_s']:7.2f} {each:7.2f} {row['score_s']:8.3f} "
            f"{row['draw_s']:7.2f} {row['peak_mb']:8.0f} {row['a_row_relative']!s:>24}"
        )
    write("score_scale", {"systems": args.systems, "clips": measured})


if __name__ == "__main__":
    main()
