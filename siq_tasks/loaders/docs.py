"""Build the docs of a level from clips and questions: the part that all data sets share."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from datasets import Dataset

from speechiq.core.errors import SpeechIQError
from speechiq.core.recordings.audio_file import AudioFile
from speechiq.engines.languages import FIELD, read_language
from speechiq.siq_tasks.conditions.prompts import check_options
from speechiq.siq_tasks.loaders.content import QUESTION_ITEMS
from speechiq.siq_tasks.loaders.entities import CLASSES, ENTITIES
from speechiq.siq_tasks.loaders.row_choice import CLUSTER, GROUPS
from speechiq.siq_tasks.settings import read_task_type

#: Fields of a clip that its doc has too, if the data set has them.
EXTRA_ITEMS = (ENTITIES, CLASSES, CLUSTER)
#: Items of questions that are in the columns of a data set: further right answers, the right letters or label, that of
#: most questions, the wording of the instruction, what a good reply has, and what each score of a judge means.
ROW_ITEMS = (
    "accepted", "gold", "majority", "instruction", "instruction_id", "checklist", "keywords", "checks", "grades",
)  # fmt: skip
CLIP_ITEMS = ("path", "sha256", "sampling_rate", "duration", "offset")


class Loaded(NamedTuple):
    """Hold the result of a loader: the docs, and what it adds to the task's metadata."""

    docs: Dataset
    record: dict[str, Any]


def build_docs(
    dataset: str,
    clips: Sequence[Mapping[str, Any]],
    questions: Sequence[Mapping[str, Any]],
    metadata: Mapping[str, Any],
) -> Dataset:
    """Return the docs of one task, checked before any model is loaded.

    Args:
        clips: `id`, `text` (reference), maybe `entities`, `entity_classes`, `groups` and `cluster`, and the items of
            `core.clip.file_clip`, all of them or, in a set without audio, none.
        questions: `id` (of the clip), and items of `QUESTION_ITEMS` and `ROW_ITEMS`. A question of a question file has
            `options` (4 texts) and `answer` (A to D).
        metadata: Of the task, whose type states whether there is one doc per clip or per question. With a `language`,
            each doc has it.
    """
    task_type = read_task_type(metadata)
    settings = task_type.read_settings(metadata)
    if language := read_language(metadata):
        settings[FIELD] = language
    docs: dict[str, dict[str, Any]] = {}
    for clip in clips:
        audio = {item: clip[item] for item in CLIP_ITEMS if item in clip}
        doc = {"id": clip["id"], "dataset": dataset, "audio": audio, "text": clip["text"]}
        doc |= {item: clip[item] for item in EXTRA_ITEMS if item in clip} | settings
        refuse_taken(groups := clip.get(GROUPS, {}), doc)  # Nothing is scored by groups.
        doc = docs[clip["id"]] = doc | groups
        if audio:
            AudioFile(audio["path"], audio["sha256"]).check()
        task_type.check(doc)
    if task_type.has_questions or questions:
        items = (*QUESTION_ITEMS, *ROW_ITEMS)
        rows = []
        for row in questions:
            asked = docs[row["id"]] | {item: row[item] for item in items if item in row}
            check_options(asked)
            rows.append(asked)
        return Dataset.from_list(rows)
    return Dataset.from_list(list(docs.values()))


def refuse_taken(fields: Iterable[str], items: Iterable[str] = ("id", "dataset", "audio", "text")) -> None:
    """Raise a `SpeechIQError` if a field of groups has the name of an item of docs."""
    if taken := sorted({*fields} & {*items, *EXTRA_ITEMS, *QUESTION_ITEMS, *ROW_ITEMS}):
        raise SpeechIQError("metadata.group_columns", f"{taken[0]!r} is a field of every doc", "choose another name")
