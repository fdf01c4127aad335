"""Define what a model is asked: words with clips in them, and words alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul
from typing import NamedTuple

from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError

AUDIO = "<audio>"


class Scored(NamedTuple):
    """A continuation's log-probability, and whether greedy decoding would have said it."""

    logprob: float
    is_greedy: bool


class Prompt(NamedTuple):
    """Words with clips in them: each `<audio>` of `text` stands for one clip, in order; without clips it is a word."""

    text: str
    clips: tuple[Clip, ...] = ()

    @classmethod
    def about(cls, text: str, clips: Sequence[Clip]) -> Prompt:
        """A prompt in which every clip has its place; those that the words forget come first.

        Raises:
            SpeechIQError: more places than clips.
        """
        forgotten = len(clips) - text.count(AUDIO)
        if clips and forgotten < 0:
            raise SpeechIQError(
                f"{clips[0].name}: its prompt {text[:60]!r} has more {AUDIO} ({text.count(AUDIO)}) than clips "
                f"({len(clips)}); let doc_to_audio give a clip for each, or doc_to_text say it in other words"
            )
        return cls(f"{AUDIO}\n" * forgotten + text, tuple(clips))

    @property
    def words(self) -> list[str]:
        """What stands before, between and after the clips."""
        return self.text.split(AUDIO) if self.clips else [self.text]

    def share_heard(self, shares: Sequence[float]) -> float:
        """Of all seconds of the clips, the share that was heard, from each clip's share; NaN without clips."""
        seconds = [clip["duration"] for clip in self.clips]
        return sum(map(mul, shares, seconds)) / sum(seconds) if seconds else math.nan


class Words(str):
    """A prompt for a language model.

    Attributes:
        heard: characters up to the end of the last transcript in it, which prompts about one clip may share.
        about: how messages call what it is about; empty for a prompt about no clip.
    """

    heard: int
    about: str

    def __new__(cls, text: str, heard: int, about: str = "") -> Words:
        words = super().__new__(cls, text)
        words.heard, words.about = heard, about
        return words
