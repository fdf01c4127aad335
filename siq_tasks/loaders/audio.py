"""Define the `doc_to_audio` of task templates: the clip of a doc, and what the task asks about it."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from speechiq.core.clip import as_text_clip, file_clip
from speechiq.metrics.choice import list_options
from speechiq.siq_tasks.index import read_task


@cache
def transcription_prompt() -> str:
    """Return the prompt of the level Remember, with which an audio model in a cascade transcribes for all levels."""
    prompt: str = read_task(Path(__file__).parents[1] / "templates" / "_remember.yaml")["doc_to_text"]
    return prompt


class AudioItems(dict[str, Any]):
    """Hold the audio of a request in lm-eval's form: JSON items, which its logs accept, and `array` for any model type.

    The items are those of the doc's clip, and `purpose` (`transcribe` or `answer`), `question` and `options`. `array`
    is decoded at each access and is not one of the items.
    """

    def __missing__(self, key: str) -> Any:
        if key == "array":
            return (file_clip(self) if "sha256" in self else as_text_clip("of a set of texts")).samples
        raise KeyError(key)


def to_transcribe(doc: Mapping[str, Any]) -> list[AudioItems]:
    """Return the clip, to be transcribed."""
    return [AudioItems(doc["audio"], purpose="transcribe")]


def to_answer_freely(doc: Mapping[str, Any]) -> list[AudioItems]:
    """Return the clip, and a question without options."""
    return [AudioItems(doc["audio"], purpose="answer", question=doc.get("instruction", doc["question"]))]


def to_respond(doc: Mapping[str, Any]) -> list[AudioItems]:
    """Return the clip, which is a spoken query, without a question in words."""
    return [AudioItems(doc["audio"], purpose="answer")]


def to_answer(doc: Mapping[str, Any]) -> list[AudioItems]:
    """Return the clip, a question and its four options with (E)."""
    return [AudioItems(doc["audio"], purpose="answer", question=doc["question"], options=list_options(doc))]


def to_reply_aloud(doc: Mapping[str, Any]) -> list[AudioItems]:
    """Return the clip, which is a spoken query, to be answered aloud."""
    return [AudioItems(doc["audio"], purpose="reply")]


def to_choose(doc: Mapping[str, Any]) -> list[AudioItems]:
    """Return the clip, a question and its options, to which none is added."""
    return [AudioItems(doc["audio"], purpose="answer", question=doc["instruction"], options=list(doc["options"]))]
