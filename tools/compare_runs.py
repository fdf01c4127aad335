"""Compare two folders of runs: samples byte by byte, scores digit by digit. A move or a rename changes neither.

    python tools/compare_runs.py runs/before runs/after

Files are paired by system and task; dates in their names, and times, sizes and paths inside results, are left out.
Prints each difference by its place, and exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

#: lm-eval's date in the name of a file.
DATE = re.compile(r"_\d{4}-\d\d-\d\dT[\d.-]+(?=\.jsonl?$)")
#: Parts of a results file and of a scoreboard that say what was measured.
RESULTS = ("results", "configs", "versions", "n-shot", "higher_is_better", "n-samples", "task_hashes")
#: Keys of these parts that differ between two runs of the same code.
OF_A_RUN = frozenset({"date", "start_time", "end_time", "total_evaluation_time_seconds", "seconds", "source", "files"})


def find_files(folder: Path) -> dict[str, Path]:
    """Return the results, samples and scoreboards below a folder by name without date; the latest of each."""
    paths = sorted([*folder.rglob("*.json"), *folder.rglob("*.jsonl")])
    return {DATE.sub("", str(path.relative_to(folder))): path for path in paths}


def compare_files(before: Path, after: Path) -> Iterator[str]:
    """Yield the place of each difference between two files of one name."""
    if before.suffix == ".jsonl":
        pairs = zip_longest(before.read_bytes().splitlines(), after.read_bytes().splitlines(), fillvalue=b"null")
        for one, other in pairs:
            if one != other:
                places = [*compare_values(json.loads(one), json.loads(other), "row")]
                yield from places or ["row: the same values in other bytes"]
        return
    one, other = (json.loads(path.read_text(encoding="utf-8")) for path in (before, after))
    if "results" in one and "configs" in one:
        one, other = ({part: file.get(part) for part in RESULTS} for file in (one, other))
    yield from compare_values(one, other, "")


def compare_values(one: Any, other: Any, place: str) -> Iterator[str]:
    """Yield the place of each value that differs; numbers by their text, so that NaN equals NaN and -0.0 is not 0.0."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other} - OF_A_RUN):
            yield from compare_values(one.get(key), other.get(key), f"{place}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for first, second in zip(one, other, strict=True):
            yield from compare_values(first, second, f"{place}[]")
    elif repr(one) != repr(other):
        yield f"{place}: {str(one)[:60]} is now {str(other)[:60]}"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="folder of runs of the code before a change")
    parser.add_argument("after", type=Path, help="folder of the same runs after it")
    args = parser.parse_args()
    before, after = find_files(args.before), find_files(args.after)
    differences = Counter(f"{name}: in one folder only" for name in before.keys() ^ after.keys())
    for name in sorted(before.keys() & after.keys()):
        differences.update(f"{name} {line}" for line in compare_files(before[name], after[name]))
    for line, count in differences.items():
        print(line, f"({count} times)" if count > 1 else "")
    print(f"{len(before.keys() & after.keys())} files compared, {differences.total()} differences")
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
