"""Attach to each clip what a task asks of it: the `doc_to_audio` of the three levels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from speechiq.core.clip import Clip
from speechiq.metrics.choice import NONE_OF_THE_ABOVE
from speechiq.siq_tasks.templates import read_task


@cache
def transcription_prompt() -> str:
    """The words by which the level Remember asks for a transcript, and a cascade whatever it is asked itself."""
    return read_task(Path(__file__).with_name("levels") / "_remember.yaml")["doc_to_text"]


def to_transcribe(doc: Mapping) -> list[Clip]:
    """`doc_to_audio` of the levels Remember and Understand."""
    return [Clip(doc["audio"], purpose="transcribe")]


def to_answer(doc: Mapping) -> list[Clip]:
    """`doc_to_audio` of the level Apply: the question travels with the clip."""
    options = [*doc["options"], NONE_OF_THE_ABOVE]
    return [Clip(doc["audio"], purpose="answer", question=doc["question"], options=options)]
