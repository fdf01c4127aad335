"""Load the bundled demo set: 14 clips with three questions each, inside the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from speechiq.siq_tasks.forms import read_form
from speechiq.siq_tasks.loaders.docs import Loaded, build_docs
from speechiq.siq_tasks.options import takes
from speechiq.siq_tasks.questions.file import join, read_questions

HERE = Path(__file__).parent


def list_clips(**_metadata: Any) -> list[dict[str, Any]]:
    """Return the demo's clips, with paths relative to `siq_tasks`."""
    clips = json.loads(HERE.joinpath("clips.json").read_text(encoding="utf-8"))
    return [clip | {"path": f"demo/{clip['file']}"} for clip in clips]


@takes()
def load(**metadata: Any) -> Loaded:
    """Load the docs of one task; lm-eval passes every item of metadata and model_args."""
    form, clips, questions = read_form(metadata), list_clips(), []
    if form.has_questions:
        questions = join(read_questions(HERE / "questions.jsonl"), [clip["id"] for clip in clips], "demo")
    return Loaded(build_docs("demo", clips, questions, metadata), form.read_settings(metadata))
