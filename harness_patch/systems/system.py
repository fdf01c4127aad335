"""What every speech system does, whatever it is made of: two verbs, batch in, batch out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from speechiq.siq_tasks.audio import AudioClip

AUDIO = "<audio>"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Transcript(NamedTuple):
    """What a system heard in one clip."""

    text: str


class Question(NamedTuple):
    """Something to be answered about one clip.

    Attributes:
        clip: the clip; its items `question` and `options`, where there, say what is asked without the prompt.
        prompt: the task's words, `<audio>` standing where the speech belongs.
        settings: the task's generation settings (`do_sample`, `max_gen_toks`, `until`, ...).
    """

    clip: AudioClip
    prompt: str
    settings: Mapping[str, Any]

    def seeds(self, seed: int, n: int) -> list[int]:
        """One seed an answer, by what is asked of which audio; never by the batch or the process."""
        return [
            int.from_bytes(hashlib.sha256(repr((seed, self.clip.key, self.prompt, i)).encode()).digest()[:8])
            for i in range(n)
        ]


class SpeechSystem(Protocol):
    """A system under test."""

    def transcribe(self, clips: Sequence[AudioClip]) -> list[Transcript]:
        """What was said, a transcript a clip."""

    def answer(self, questions: Sequence[Question], n: int) -> list[list[str]]:
        """`n` independent answers to each question."""

    def loglikelihood(
        self, clips: Sequence[AudioClip], contexts: Sequence[str], continuations: Sequence[str]
    ) -> list[tuple[float, bool]]:
        """Log-probability of each continuation after its context and clip, and whether it is the greedy one."""

    def describe(self) -> dict[str, Any]:
        """What ran and how, for the results file: JSON types only."""
