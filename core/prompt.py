"""Define what a model is asked: turns of words with clips in them, and words alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from operator import mul
from typing import NamedTuple

from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError

AUDIO = "<audio>"
USER = "user"


class Scored(NamedTuple):
    """The log-probability of a continuation, and whether greedy decoding would have written it."""

    logprob: float
    is_greedy: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: who says it, and its words and clips in their order."""

    role: str
    content: tuple[str | Clip, ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """Turns of a conversation; a model answers the last one.

    >>> Prompt.about("What is said?").turns
    (Turn(role='user', content=('What is said?',)),)
    """

    turns: tuple[Turn, ...]

    @classmethod
    def about(cls, text: str, clips: Sequence[Clip] = ()) -> Prompt:
        """Return one turn of a user, in which each `<audio>` of the text is the place of a clip.

        Clips without a place come first. Without clips `<audio>` is a word like any other.

        Raises:
            SpeechIQError: More places than clips.
        """
        forgotten = len(clips) - text.count(AUDIO)
        if clips and forgotten < 0:
            raise SpeechIQError(
                f"{clips[0].name}: its prompt {text[:60]!r} has more {AUDIO} ({text.count(AUDIO)}) than clips "
                f"({len(clips)}); let doc_to_audio give a clip for each, or doc_to_text say it in other words"
            )
        words = (f"{AUDIO}\n" * forgotten + text).split(AUDIO) if clips else [text]
        content = chain.from_iterable(zip_longest(words, clips, fillvalue=""))
        return cls((Turn(USER, tuple(part for part in content if part)),))

    @property
    def content(self) -> tuple[str | Clip, ...]:
        """Return the words and clips of a prompt that is one turn of a user.

        Raises:
            SpeechIQError: It is another conversation, which no engine takes.
        """
        if [turn.role for turn in self.turns] != [USER]:
            said = ", ".join(turn.role for turn in self.turns) or "nobody"
            raise SpeechIQError(f"a prompt with turns of {said}: engines take one turn of the user; join the turns")
        return self.turns[0].content

    @property
    def clips(self) -> tuple[Clip, ...]:
        return tuple(part for part in self.content if isinstance(part, Clip))

    @property
    def clip(self) -> Clip:
        """Return the only clip.

        Raises:
            SpeechIQError: There are several, or none.
        """
        clips = self.clips
        if len(clips) != 1:
            raise SpeechIQError(f"{self.name}: has {len(clips)} clips; give one clip per transcript")
        return clips[0]

    @property
    def text(self) -> str:
        """Return the words, with `<audio>` in the place of each clip."""
        return "".join(AUDIO if isinstance(part, Clip) else part for part in self.content)

    @property
    def key(self) -> list[str]:
        """Return what distinguishes this prompt from any other."""
        return [self.text, *(clip.key for clip in self.clips)]

    @property
    def name(self) -> str:
        """Return how messages call the prompt."""
        return _name(self.text, ", ".join(clip.name for clip in self.clips))

    def coverage(self, shares: Sequence[float]) -> float:
        """Return the share of the seconds of all clips that was fed, of each clip's share; NaN without clips."""
        seconds = [clip.duration for clip in self.clips]
        return sum(map(mul, shares, seconds)) / sum(seconds) if seconds else math.nan


@dataclass(frozen=True, slots=True)
class TextPrompt:
    """A prompt for a language model.

    Attributes:
        text: Its words.
        shared: Characters up to the end of the last transcript in it, which prompts about one clip may share.
        about: How messages call the clips that it is about; empty for a prompt about no clip.
    """

    text: str
    shared: int = 0
    about: str = ""

    @property
    def key(self) -> list[str]:
        """Return what distinguishes this prompt from any other."""
        return [self.text]

    @property
    def name(self) -> str:
        """Return how messages call the prompt."""
        return _name(self.text, self.about)


def _name(text: str, about: str) -> str:
    return f"the prompt about {about}" if about else f"the prompt {text[:60]!r}"
