"""Load the bundled spoken queries: 27 clips with checklists, inside the package."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.loaders.docs import Loaded, build_docs
from speechiq.siq_tasks.options import takes
from speechiq.siq_tasks.task_types import read_task_type

HERE = Path(__file__).parent / "demo"
DATASET = "demo_reply"


def list_clips(**_metadata: Any) -> list[dict[str, Any]]:
    """Return all queries, with paths relative to `siq_tasks`."""
    clips = json.loads(HERE.joinpath("clips.json").read_text(encoding="utf-8"))
    return [clip | {"path": f"wildspeech/demo/{clip['file']}"} for clip in clips]


@takes()
def load(category: str | None = None, **metadata: Any) -> Loaded:
    """Load the queries of one category.

    Args:
        category: Category in the task's metadata: `tc`, `ii`, `sr`, `oe` or `pf`.
        **metadata: Metadata of the task.

    Raises:
        SpeechIQError: No query has the category.
    """
    clips = [clip for clip in list_clips() if clip["category"] == category]
    if not clips:
        raise SpeechIQError(f"metadata.category: {category!r:.80} is not one of tc, ii, sr, oe, pf; correct it")
    docs = build_docs(DATASET, clips, [_ask(clip) for clip in clips], metadata)
    return Loaded(docs, read_task_type(metadata).read_settings(metadata))


def _ask(clip: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": clip["id"],
        "question_id": clip["id"],
        "question": clip["text"],
        "answer": "",
        "accepted": [],
        "checklist": clip["checklist"],
        "keywords": clip["keywords"],
    }
