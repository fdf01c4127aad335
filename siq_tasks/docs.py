"""From clips and questions to the docs of a level: the part that all datasets share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from datasets import Dataset

from speechiq.metrics.embedder import read_embedding
from speechiq.siq_tasks.audio import AudioClip

CLIP_ITEMS = ("path", "sha256", "sampling_rate", "duration", "offset")


class Loaded(NamedTuple):
    """What a loader gives: the docs, and what it found out that belongs into the task's metadata."""

    docs: Dataset
    record: dict[str, Any]


def build_docs(
    level: str, dataset: str, clips: Sequence[Mapping], questions: Sequence[Mapping], told: Mapping[str, Any]
) -> Dataset:
    """The docs of one task, checked before any model is loaded.

    Args:
        level: `remember`, `understand` (a doc a clip) or `apply` (a doc a question).
        dataset: name of the set.
        clips: `id`, `text` (reference) and the items of an `AudioClip`.
        questions: `id` (of the clip), `question_id`, `question`, `options` (4 texts), `answer` (A to D).
        told: the task's metadata; the level Understand reads from it how texts are embedded.

    Raises:
        SpeechIQError: a clip that cannot be heard, or no language model to embed.
    """
    docs = {
        clip["id"]: {
            "id": clip["id"],
            "dataset": dataset,
            "audio": {item: clip[item] for item in CLIP_ITEMS if item in clip},
            "text": clip["text"],
        }
        for clip in clips
    }
    for doc in docs.values():
        AudioClip(doc["audio"]).check()
    if level == "understand":
        embedding = read_embedding(told)
        return Dataset.from_list([doc | embedding for doc in docs.values()])
    if level == "apply":
        asked = ("question_id", "question", "options", "answer")
        return Dataset.from_list([docs[row["id"]] | {item: row[item] for item in asked} for row in questions])
    return Dataset.from_list(list(docs.values()))
