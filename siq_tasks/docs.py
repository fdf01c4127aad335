"""From clips and questions to the docs of a level: the part that all datasets share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from datasets import Dataset

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.similarity import check_embedder
from speechiq.siq_tasks.audio import AudioClip

CLIP_ITEMS = ("path", "sha256", "sampling_rate", "duration", "offset")


def build_docs(
    level: str, dataset: str, clips: Sequence[Mapping], questions: Sequence[Mapping], embedder: str
) -> dict[str, Dataset]:
    """The docs of one task, checked before any model is loaded.

    Args:
        level: `remember`, `understand` (a doc a clip) or `apply` (a doc a question).
        dataset: name of the set.
        clips: `id`, `text` (reference) and the items of an `AudioClip`.
        questions: `id` (of the clip), `question_id`, `question`, `options` (4 texts), `answer` (A to D).
        embedder: the language model that the level Understand reads, by name.

    Returns:
        The only split, `test`.

    Raises:
        SpeechIQError: a clip that cannot be heard, a question for no clip, or no language model to embed.
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
        check_embedder(embedder)
        return {"test": Dataset.from_list([doc | {"embedder": embedder} for doc in docs.values()])}
    if level == "apply":
        if strangers := sorted({question["id"] for question in questions} - docs.keys()):
            raise SpeechIQError(
                f"{dataset}: {len(strangers)} clips have questions but are not in the set, "
                f"{strangers[0]} among them; write the questions for this set anew"
            )
        asked = ("question_id", "question", "options", "answer")
        return {
            "test": Dataset.from_list(
                [docs[question["id"]] | {item: question[item] for item in asked} for question in questions]
            )
        }
    return {"test": Dataset.from_list(list(docs.values()))}
