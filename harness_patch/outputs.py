"""Check the files that lm-eval wrote after a run.

If lm-eval cannot write a file, it only logs that, prints its table and exits with 0.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch._lm_eval import find_saved_file


def check_results(tracker: Any, results: Mapping[str, Any], samples: Mapping[str, list] | None = None) -> None:
    """Read back the results that lm-eval's `EvaluationTracker` has just saved, if they are of a speech run."""
    tracker.is_of_speech = _is_of_speech(results)
    if not tracker.is_of_speech:
        return
    file = find_saved_file(tracker, ".json")
    try:
        complete = set(json.loads(_read(file))["results"]) == set(results["results"])
    except (OSError, ValueError, KeyError) as error:
        raise _incomplete(tracker, file, f"was not written to its end ({error})") from error
    if not complete:
        raise _incomplete(tracker, file, "misses results")
    for task, rows in (samples or {}).items():
        docs = results.get("n-samples", {}).get(task, {}).get("effective", len(rows))
        if len(rows) < docs:
            raise SpeechIQError(task, f"{len(rows)} rows for {docs} docs were scored", "run it again")


def check_samples(tracker: Any, task_name: str, samples: list) -> None:
    """Read back the sample rows that lm-eval's `EvaluationTracker` has just saved, if they are of a speech run."""
    if not tracker.is_of_speech:
        return
    file = find_saved_file(tracker, ".jsonl", f"samples_{task_name}_")
    try:
        lines = _read(file).splitlines(keepends=True)
    except OSError as error:
        raise _incomplete(tracker, file, f"was not written to its end ({error})") from error
    complete = sum(line.endswith(b"\n") for line in lines)
    if complete != len(samples) or complete != len(lines):
        raise _incomplete(tracker, file, f"has {complete} of {len(samples)} rows")


def _is_of_speech(results: Mapping[str, Any]) -> bool:
    """Return whether a speech system ran, or a task that declares its measure."""
    tasks = results.get("configs", {}).values()
    described = ("measure" in (task.get("metadata") or {}) for task in tasks)
    return "siq" in results.get("config", {}) or any(described)


def _read(file: Path) -> bytes:
    """Return the bytes of a file after the operating system has written its buffers to the disk."""
    with file.open("rb+") as content:
        os.fsync(content.fileno())
        return content.read()


def _incomplete(tracker: Any, file: Path, fault: str) -> SpeechIQError:
    return SpeechIQError(
        file,
        f"{fault}, as on a full disk, so the run is not saved",
        f"free disk space or choose another --output_path, delete the files of this run (*{tracker.date_id}*), then "
        "run the same command again; answers come from the response cache",
    )
