"""Load sets of passages that are read aloud sentence by sentence, with questions in their rows."""

from typing import Any

from speechiq.core.ids import check_plain
from speechiq.metrics.settings import Subject
from speechiq.siq_tasks.loaders import clips
from speechiq.siq_tasks.loaders.docs import Loaded, build_docs
from speechiq.siq_tasks.loaders.sentences import (
    COLUMNS,
    PARTS,
    QUESTIONS,
    SENTENCES,
    PassageSettings,
    read_sentence_rule,
)
from speechiq.siq_tasks.settings import read_task_type, takes

#: Keys of metadata that this loader reads, with those of every task and of `PassageSettings`.
KEYS = ("dataset_path", "dataset_name", "split", "dataset_revision", "leave_out", "subset", "selection", "ties")


def list_columns(**_: Any) -> list[str]:
    """Return the columns that a task reads, as `COLUMN.PART` for those of sentences."""
    return [*COLUMNS, *(f"{SENTENCES}.{part}" for part in PARTS)]


def list_clips(dataset: Any = None, **metadata: Any) -> list[dict[str, Any]]:
    """Return the passages of a test, each with its questions; see `clips.prepare` and `sentences`."""
    return _prepare(dataset, metadata).clips


@takes(*KEYS, *Subject(PassageSettings).keys)
def load(dataset: Any = None, **metadata: Any) -> Loaded:
    """Load the docs of one task: one per passage, or for Apply one per question, whose id is that of its passage."""
    task_type = read_task_type(metadata)
    settings = task_type.read_settings(metadata)
    test = _prepare(dataset, metadata)
    asked = test.clips if task_type.has_questions else []
    questions = [question | {"id": clip["id"]} for clip in asked for question in clip[QUESTIONS]]
    return Loaded(build_docs(dataset, test.clips, questions, metadata), test.record | settings)


def _prepare(dataset: Any, metadata: dict[str, Any]) -> clips.Prepared:
    rule = read_sentence_rule(metadata, check_plain(dataset, "metadata.dataset"))
    return clips.prepare(dataset=dataset, sentences=rule, **metadata)
