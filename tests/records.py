"""Make records that tests need without a recording, and their form in lm-eval."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from speechiq.core.clip import SAMPLING_RATE, Clip
from speechiq.core.recordings.audio_file import AudioFile
from speechiq.core.response import Response
from speechiq.metrics.judge.free_answers import item_of
from speechiq.metrics.judge.judging import Judgment
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.scores.levels import LEVELS
from speechiq.siq_tasks.index import TEMPLATES, read_task
from speechiq.siq_tasks.loaders.audio import AudioItems


def write_each(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write the text of each file, and return their paths in order."""
    paths = [folder / name for name in files]
    for path, content in zip(paths, files.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return paths


def named(name: str, seconds: float = 1.0) -> Clip:
    """Return a clip of a file that does not exist, for engines that do not decode it."""
    return Clip(AudioFile(f"{name}.wav", f"{name:0>64}"), 0.0, seconds, id=name)


def items(clip: Clip, **request: Any) -> AudioItems:
    """Return the audio items of a request about a clip of a file."""
    return AudioItems(
        path=clip.source.name,
        sha256=clip.source.sha256,
        sampling_rate=SAMPLING_RATE,
        offset=clip.offset,
        duration=clip.length,
        **request,
    )


def texts(responses: Iterable[Response]) -> list[str]:
    """Return the texts of responses."""
    return [response.text for response in responses]


def describe(level: str, **metadata: Any) -> dict[str, Any]:
    """Return the metadata that a task of a level of SIQ records."""
    return _read_template(level) | {"version": 1, "dataset": "demo", "prompt_version": 1} | metadata


def write_samples(folder: Path, level: str, *rows: Mapping[str, Any]) -> TaskRun:
    """Write the sample file of one task of a level, and return its run."""
    task = TaskRun(0.0, str(folder / "results_x.json"), "system", "task", LEVELS[level], {}, {})
    task.samples.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return task


def edit_rows(folder: Path, change: Callable[[dict], object], files: str = "samples_*.jsonl") -> None:
    """Change the rows of all sample files below a folder in place; a row that `change` returns takes its place."""
    for file in folder.rglob(files):
        change_rows(file, change)


def judge_transcripts(folder: Path) -> None:
    """Change the transcripts of all sample files below a folder to what a judge of their meaning leaves."""

    def judge(row: dict) -> None:
        (response,) = row["filtered_resps"]
        if isinstance(response, str):
            row["filtered_resps"] = [str(item_of(response, Judgment((3.0,), ("Score: 3",)), 1.0))]

    edit_rows(folder, judge)


def change_rows(samples: Path, change: Callable[[dict], object]) -> None:
    """Change each row of a sample file: in place, or to what `change` returns."""
    rows = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    changed = [change(row) or row for row in rows]
    samples.write_text("".join(json.dumps(row) + "\n" for row in changed), encoding="utf-8")


@cache
def _read_template(level: str) -> dict[str, Any]:
    return dict(read_task(TEMPLATES / f"_{level}.yaml")["metadata"])
