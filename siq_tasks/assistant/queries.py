"""Load the bundled spoken queries: short questions to an assistant, with their entities and right answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from speechiq.siq_tasks.loaders.docs import Loaded, build_docs
from speechiq.siq_tasks.options import takes
from speechiq.siq_tasks.task_types import name_task_type, read_task_type

HERE = Path(__file__).parent
DATASET = "demo_assistant"
#: What the task with options asks about each clip; the query itself is in the audio alone.
QUESTION = "What is the right answer to this?"


def list_clips(**_metadata: Any) -> list[dict[str, Any]]:
    """Return the queries, with paths relative to `siq_tasks`."""
    clips = json.loads(HERE.joinpath("demo", "clips.json").read_text(encoding="utf-8"))
    return [clip | {"path": f"assistant/demo/{clip['file']}"} for clip in clips]


@takes()
def load(**metadata: Any) -> Loaded:
    """Load the docs of one task; lm-eval passes every item of metadata and model_args."""
    task_type, clips = read_task_type(metadata), list_clips()
    ask = ASKING.get(name_task_type(metadata))
    questions = [ask(clip) for clip in clips] if ask else []
    return Loaded(build_docs(DATASET, clips, questions, metadata), task_type.read_settings(metadata))


def _with_options(clip: Mapping[str, Any]) -> dict[str, Any]:
    asked = {"question_id": clip["id"], "question": QUESTION}
    return {item: clip[item] for item in ("id", "options", "answer")} | asked


def _with_answers(clip: Mapping[str, Any]) -> dict[str, Any]:
    asked = {"question_id": clip["id"], "question": clip["text"], "answer": clip["accepted"][0]}
    return {item: clip[item] for item in ("id", "accepted")} | asked


#: Type of a task -> how it asks about a clip; a task of another type asks nothing.
ASKING = {"choose": _with_options, "answer": _with_answers}
