"""Build the docs of a level from clips and questions: the part that all data sets share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from datasets import Dataset

from speechiq.core.clip import AudioFile
from speechiq.core.errors import SpeechIQError
from speechiq.metrics.embedder import read_embedding
from speechiq.metrics.normalizer import read_normalizer
from speechiq.siq_tasks.suite import LEVELS

QUESTION_ITEMS = ("question_id", "question", "options", "answer")
CLIP_ITEMS = ("path", "sha256", "sampling_rate", "duration", "offset")


class Loaded(NamedTuple):
    """Hold the result of a loader: the docs, and what it adds to the task's metadata."""

    docs: Dataset
    record: dict[str, Any]


def check_level(level: Any) -> str:
    """Return `metadata.level` of a task, or raise a `SpeechIQError` if it is not one of the three."""
    if not isinstance(level, str) or level not in LEVELS:
        raise SpeechIQError(f"metadata.level: {level!r:.80} is not one of {', '.join(LEVELS)}; correct it")
    return level


def build_docs(
    level: str,
    dataset: str,
    clips: Sequence[Mapping[str, Any]],
    questions: Sequence[Mapping[str, Any]],
    metadata: Mapping[str, Any],
) -> Dataset:
    """Return the docs of one task, checked before any model is loaded.

    Args:
        level: `remember` or `understand` (one doc per clip), or `apply` (one doc per question).
        dataset: Name of the data set.
        clips: `id`, `text` (reference) and the items of `core.clip.file_clip`.
        questions: `id` (of the clip), `question_id`, `question`, `options` (4 texts), `answer` (A to D).
        metadata: Metadata of the task; it states how the level Remember normalizes texts, and how Understand embeds
            them.

    Raises:
        SpeechIQError: A clip cannot be decoded, the embedder is not a language model, or the normalizer is unknown.
    """
    settings = read_settings(level, metadata)
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
        audio = doc["audio"]
        AudioFile(audio["path"], audio["sha256"]).check(audio.get("offset") or 0.0, audio["duration"])
    if level == "apply":
        return Dataset.from_list([docs[row["id"]] | {item: row[item] for item in QUESTION_ITEMS} for row in questions])
    return Dataset.from_list([doc | settings for doc in docs.values()])


def read_settings(level: str, metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that the docs of a level contain: how texts are normalized or embedded.

    Raises:
        SpeechIQError: A value is unknown, or the embedder cannot be used.
    """
    if level == "remember":
        return read_normalizer(metadata)
    return read_embedding(metadata) if level == "understand" else {}


def digest_content(docs: Iterable[Mapping[str, Any]]) -> str:
    """Return the sha256 of the audio, references, questions and answers of docs, independent of order and paths.

    >>> clip = {"id": "a", "audio": {"sha256": "0a", "path": "here"}, "text": "Yes."}
    >>> digest_content([clip]) == digest_content([clip | {"audio": {"sha256": "0a", "path": "there"}}])
    True
    >>> digest_content([clip]) == digest_content([clip | {"text": "No."}])
    False
    """
    content = [
        [doc["audio"].get("sha256"), doc["audio"].get("offset"), *map(doc.get, ("id", "text", *QUESTION_ITEMS))]
        for doc in docs
    ]
    return hashlib.sha256("\n".join(sorted(map(json.dumps, content))).encode()).hexdigest()
