"""Measure how preparing a subset grows: seconds, clips per second and peak memory from 100 to 1,000 clips.

    python benchmarks/prepare_subset.py [--clips 100 300 1000] [--rounds 3]

Each size runs in a process of its own over one parquet file of noise, 5 s per clip, stored as on the Hub. The last
column is the time per clip relative to the first size: 1 is linear.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import soundfile
from measure import alternate, by_size, rounds_option, write
from tqdm import tqdm

RATE, SECONDS = 16_000, 5
FEATURES = {"audio": {"sampling_rate": RATE, "_type": "Audio"}, "text": {"dtype": "string", "_type": "Value"}}
SCHEMA = pa.schema(
    {"audio": pa.struct({"bytes": pa.binary(), "path": pa.string()}), "text": pa.string()},
    {"huggingface": json.dumps({"info": {"features": FEATURES}})},
)
PROGRAM = """
import json, resource, sys, time
from speechiq.siq_tasks.loaders.clips import prepare
start = time.perf_counter()
prepare(dataset="noise", dataset_path=sys.argv[1], subset=int(sys.argv[2]))
first = time.perf_counter() - start
start = time.perf_counter()
prepare(dataset="noise", dataset_path=sys.argv[1], subset=int(sys.argv[2]))
print(json.dumps([first, time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def write_set(folder: Path, clips: int) -> None:
    """Write a parquet file with `clips` rows of noise, each of another length, with ten rows in memory at a time."""
    random = np.random.default_rng(0)
    with pq.ParquetWriter(folder / "test.parquet", SCHEMA) as writer:
        for start in tqdm(range(0, clips, 10), desc="noise"):
            rows = []
            for i in range(start, min(start + 10, clips)):
                file = io.BytesIO()
                soundfile.write(file, 0.1 * random.standard_normal(RATE * SECONDS + i), RATE, format="FLAC")
                rows.append({"audio": {"bytes": file.getvalue(), "path": f"{i}.flac"}, "text": f"clip {i}"})
            writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))


def measure(folder: Path, clips: int) -> dict[str, float]:
    """Return the seconds of a first and of a second run, and peak MB, in a new process with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(folder), str(clips)],
            env={**os.environ, "SIQ_CACHE": cache, "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"},
            stdout=subprocess.PIPE,
            check=True,
        )
    first, again, peak = json.loads(done.stdout)
    return {"first_s": first, "a_clip": first / clips, "again_s": again, "peak_mb": peak}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, nargs="+", default=[100, 300, 1000])
    rounds_option(parser, 3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_set(Path(folder), max(args.clips))
        ways = {size: partial(measure, Path(folder), size) for size in args.clips}
        measured = by_size(alternate(ways, args.rounds), ("a_clip",))
    print(" clips       s   clips/s   again s   peak MB   time per clip, relative")
    for size, row in measured.items():
        print(
            f"{size:6} {row['first_s']:7.2f} {1 / row['a_clip']:9.1f} {row['again_s']:9.4f} {row['peak_mb']:9.0f} "
            f"{row['a_clip_relative']!s:>25}"
        )
    write("prepare_subset", {"clips": measured})


if __name__ == "__main__":
    main()
