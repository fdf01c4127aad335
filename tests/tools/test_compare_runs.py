"""Test the comparison of two folders of runs, as a user runs it."""

import json
from pathlib import Path

import pytest

from tests.conftest import run

SAMPLES = "s/samples_t_2026-01-01T00-00-00.1.jsonl"
RESULTS = "s/results_2026-01-01T00-00-00.1.json"
ROW = {"doc_id": 0, "wer": 0.5, "ner": float("nan")}


def write(folder: Path, row: str, **results) -> Path:
    (folder / "s").mkdir(parents=True)
    (folder / SAMPLES).write_text(row + "\n")
    (folder / RESULTS).write_text(json.dumps({"results": {"t": results}, "configs": {}, "date": 1.0}))
    return folder


@pytest.mark.parametrize(
    ("row", "wer", "lines"),
    [
        (json.dumps(ROW), 0.5, []),
        (json.dumps(ROW | {"wer": 0.25}), 0.5, ["s/samples_t.jsonl row.wer: 0.5 is now 0.25"]),
        (json.dumps(ROW, separators=(",", ":")), 0.5, ["row: the same values in other bytes"]),
        ("\n".join([json.dumps(ROW)] * 2), 0.5, ["is now {'doc_id': 0"]),
        (json.dumps(ROW), 0.1 + 0.2, ["results.t.wer: 0.5 is now 0.30000000000000004"]),
    ],
    ids=["equal", "another score", "other bytes", "a row more", "a digit of a score"],
)
def test_what_differs_is_named_by_its_place(tmp_path, row, wer, lines):
    before = write(tmp_path / "before", json.dumps(ROW), wer=0.5)
    after = write(tmp_path / "after", row, wer=wer)
    done = run("python", "tools/compare_runs.py", str(before), str(after))
    assert done.returncode == bool(lines), done.stderr
    assert done.stdout.endswith(f"2 files compared, {len(lines)} differences\n")
    assert all(line in done.stdout for line in lines)


def test_a_file_in_one_folder_only(tmp_path):
    before, after = (write(tmp_path / name, json.dumps(ROW)) for name in ("before", "after"))
    (after / RESULTS).unlink()
    done = run("python", "tools/compare_runs.py", str(before), str(after))
    assert done.returncode == 1 and "s/results.json: in one folder only" in done.stdout
