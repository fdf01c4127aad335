"""The bundled set: 14 clips with three questions each, all inside the package."""

from __future__ import annotations

import json
from pathlib import Path

from datasets import Dataset

from speechiq.metrics.similarity import DEFAULT_EMBEDDER
from speechiq.siq_tasks.docs import build_docs

HERE = Path(__file__).parent


def load(level: str, embedder: str = DEFAULT_EMBEDDER, **_told_to_others) -> dict[str, Dataset]:
    """`custom_dataset` of the demo's tasks; lm-eval passes every item of metadata and model_args."""
    clips = json.loads(HERE.joinpath("clips.json").read_text(encoding="utf-8"))
    lines = HERE.joinpath("questions.jsonl").read_text(encoding="utf-8").splitlines()
    inside = [clip | {"path": f"demo/{clip['file']}"} for clip in clips]
    return build_docs(level, "demo", inside, [json.loads(line) for line in lines], embedder)
