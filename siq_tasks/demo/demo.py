"""The bundled set: 14 clips with three questions each, all inside the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from speechiq.siq_tasks.docs import Loaded, build_docs, read_settings
from speechiq.siq_tasks.options import takes
from speechiq.siq_tasks.questions.file import join, read_questions

HERE = Path(__file__).parent


def list_clips(**_told_to_others: Any) -> list[dict[str, Any]]:
    """The demo's clips, their files named by their place inside `siq_tasks`."""
    clips = json.loads(HERE.joinpath("clips.json").read_text(encoding="utf-8"))
    return [clip | {"path": f"demo/{clip['file']}"} for clip in clips]


@takes()
def load(level: str, **told: Any) -> Loaded:
    """`custom_dataset` of the demo's tasks; lm-eval passes every item of metadata and model_args."""
    clips, questions = list_clips(), []
    if level == "apply":
        questions = join(read_questions(HERE / "questions.jsonl"), [clip["id"] for clip in clips], "demo")
    return Loaded(build_docs(level, "demo", clips, questions, told), read_settings(level, told))
