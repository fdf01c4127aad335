"""Load the bundled demo set: 14 clips with three questions each, inside the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from speechiq.siq_tasks.loaders.docs import Loaded, build_docs
from speechiq.siq_tasks.options import takes
from speechiq.siq_tasks.questions.file import join, read_questions
from speechiq.siq_tasks.task_types import read_task_type

HERE = Path(__file__).parent


def list_clips(**_metadata: Any) -> list[dict[str, Any]]:
    """Return the demo's clips, with paths relative to `siq_tasks`."""
    clips = json.loads(HERE.joinpath("clips.json").read_text(encoding="utf-8"))
    return [clip | {"path": f"demo/{clip['file']}"} for clip in clips]


@takes()
def load(**metadata: Any) -> Loaded:
    """Load the docs of one task; lm-eval passes every item of metadata and model_args."""
    task_type, clips, questions = read_task_type(metadata), list_clips(), []
    if task_type.has_questions:
        questions = join(read_questions(HERE / "questions.jsonl"), [clip["id"] for clip in clips], "demo")
    return Loaded(build_docs("demo", clips, questions, metadata), task_type.read_settings(metadata))
