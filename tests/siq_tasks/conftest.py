"""Local copies of the Hub's data sets: parquet of exactly their schema, with real speech, a folder for all."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import soundfile
from datasets import Audio, Dataset

from speechiq.siq_tasks.loaders import bundled

README = """---
configs:
- config_name: earnings22
  data_files: [{split: test, path: earnings22/test-*.parquet}]
- config_name: voxpopuli
  data_files: [{split: test, path: voxpopuli/test-*.parquet}]
- config_name: default
  data_files: [{split: train, path: data/train-*.parquet}]
---
"""
#: Data set -> its ids from the cluster, the row and the demo's name; those of Med-ASR are places of rows.
NAMES = {"earnings22": "443229{0}_{2}", "voxpopuli": "2009020{0}-0900-PLENARY-3-en_{2}", "medasr": "{1:05}"}


def encode(seconds: float, rate: int = 16_000, channels: int = 1, kind: str = "WAV", silent: bool = False) -> bytes:
    """A tone of its own for each length, or silence, as an audio file."""
    tone = 0.3 * (not silent) * np.sin(2 * np.pi * 40 * seconds * np.arange(round(rate * seconds)) / rate)
    file = io.BytesIO()
    soundfile.write(file, np.stack([tone] * channels, axis=1), rate, format=kind)
    return file.getvalue()


def write_parquet(file: Path, rows: list[dict]) -> None:
    """Rows as the Hub stores them: `audio` is a struct of bytes and path, its feature in the schema's metadata."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    audio = {"audio": columns.pop("audio")}
    write_table(file, columns, audio)


def write_table(file: Path, columns: dict[str, list], audio: dict[str, list[bytes]]) -> None:
    """Columns as the Hub stores them; the part of a nested column is `COLUMN.PART`."""
    values: dict[str, list] = {}
    for name, given in columns.items():
        outer, _, inner = name.partition(".")
        values[outer] = [{inner: value} for value in given] if inner else given
    table = Dataset.from_dict(values)
    for name, sounds in audio.items():
        stored = [sound and {"bytes": sound, "path": f"{i}.wav"} for i, sound in enumerate(sounds)]
        table = table.add_column(name, stored, feature=Audio(sampling_rate=16_000))
    file.parent.mkdir(parents=True, exist_ok=True)
    table.to_parquet(file)


def write_lines(file: Path, *rows: dict) -> Path:
    """Write a file with a JSON object per line."""
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def read_lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def esb_row(key: str, audio: bytes, text: str, seconds: float) -> dict:
    return {"audio": audio, "dataset": "esb", "text": text, "id": key, "audio_length_s": seconds}


class Hub(NamedTuple):
    """A folder that `--metadata dataset_path=...` names in the Hub's place, and the questions for it."""

    path: Path
    questions: Path


@pytest.fixture(scope="session")
def hub(tmp_path_factory) -> Hub:
    """Four clips of the demo and one segment to ignore in each of the three sets."""
    folder, questions = tmp_path_factory.mktemp("hub"), tmp_path_factory.mktemp("questions")
    folder.joinpath("README.md").write_text(README)
    clips = [clip for clip in bundled.list_clips() if clip["domain"] != "human"]
    asked = read_lines(bundled.DEMO / "questions.jsonl")
    for dataset, domain in (("earnings22", "earnings"), ("voxpopuli", "parliament"), ("medasr", "medical")):
        mine = [clip for clip in clips if clip["domain"] == domain]
        names = {clip["id"]: NAMES[dataset].format(i % 2, i, Path(clip["id"]).name) for i, clip in enumerate(mine)}
        rows = [
            esb_row(names[clip["id"]], bundled.DEMO.joinpath(clip["file"]).read_bytes(), clip["text"], clip["duration"])
            for clip in mine
        ]
        rows.append(
            esb_row(NAMES[dataset].format(0, 9, "ignored"), encode(40.0), "ignore_time_segment_in_scoring", 40.0)
        )
        if dataset == "medasr":
            rows = [{"audio": row["audio"], "transcription": row["text"]} for row in rows]
        place = "data/train" if dataset == "medasr" else f"{dataset}/test"
        write_parquet(folder / f"{place}-00000-of-00001.parquet", rows)
        lines = [row | {"id": f"{dataset}/{names[row['id']]}"} for row in asked if row["id"] in names]
        write_lines(questions / f"{dataset}.jsonl", *lines)
    return Hub(folder, questions)


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory):
    """Make a clip folder for all tests of a file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIQ_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("HF_DATASETS_CACHE", str(tmp_path_factory.mktemp("datasets")))
        yield


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A clip folder of the test's own."""
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    return tmp_path / "cache"
