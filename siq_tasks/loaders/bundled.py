"""Load the sets inside the package: a folder with the list `clips.json` and files of questions."""

import json
from typing import Any

from speechiq.core.files.json_text import read_objects
from speechiq.core.recordings.audio_file import PACKAGE
from speechiq.siq_tasks.loaders.docs import Loaded, build_docs
from speechiq.siq_tasks.settings import read_task_type, takes

DEMO = PACKAGE / "demo"


def list_clips(bundle: str = DEMO.name, **_metadata: Any) -> list[dict[str, Any]]:
    """Return the clips of a folder of `siq_tasks/`, with paths relative to `siq_tasks/`."""
    clips = json.loads(PACKAGE.joinpath(bundle, "clips.json").read_bytes())
    return [clip | {"path": f"{bundle}/{clip['file']}"} for clip in clips]


@takes()
def load(
    bundle: str = DEMO.name,
    dataset: str = DEMO.name,
    category: str | None = None,
    questions: str = "questions.jsonl",
    **metadata: Any,
) -> Loaded:
    """Load the docs of one task; clips of another category than that of the task are left out.

    `questions` is a file in the folder, read if the docs are questions: a line per question, as `build_docs` takes it.
    """
    task_type = read_task_type(metadata)
    clips = [clip for clip in list_clips(bundle) if clip.get("category", category) == category]
    ids = {clip["id"] for clip in clips}
    file = PACKAGE / bundle / questions
    rows = [line.row for line in read_objects(file, "correct it")] if task_type.has_questions else []
    docs = build_docs(dataset, clips, [row for row in rows if row["id"] in ids], metadata)
    return Loaded(docs, task_type.read_settings(metadata))
