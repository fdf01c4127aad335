"""Define prompts: texts with clips in them, and text alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from operator import mul
from typing import Any, NamedTuple

from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError

AUDIO = "<audio>"
#: The key of metadata with a file of the user's own prompts, and of docs and results with the prompts themselves.
PROMPTS = "prompts"


class Scored(NamedTuple):
    """Hold the log-probability of a continuation, and whether greedy decoding would have written it."""

    logprob: float
    is_greedy: bool


class OwnPrompts(NamedTuple):
    """Hold the user's own prompts of the stages of a system; empty for those of the package.

    Attributes:
        transcribe: Request for a transcript, to an audio model.
        correct: Prompt of a corrector, with `{hypotheses}`.
        system: Text of a system turn before the prompts of the model that answers.
    """

    transcribe: str = ""
    correct: str = ""
    system: str = ""


NO_PROMPTS = OwnPrompts()


@dataclass(frozen=True, slots=True)
class Prompt:
    """Hold the texts and clips of a message of a user, in their order.

    >>> Prompt.about("What is the topic?").content
    ('What is the topic?',)
    """

    content: tuple[str | Clip, ...]

    @classmethod
    def about(cls, text: str, clips: Sequence[Clip] = ()) -> Prompt:
        """Return a prompt with a clip in the place of each `<audio>` of the text.

        Clips without a place come first. Without clips `<audio>` is a word like any other.
        """
        without_place = len(clips) - text.count(AUDIO)
        if clips and without_place < 0:
            raise SpeechIQError(
                clips[0].name,
                f"its prompt {text[:60]!r} has more {AUDIO} ({text.count(AUDIO)}) than clips ({len(clips)})",
                "give a clip for each in doc_to_audio, or use another word in doc_to_text",
            )
        words = [text]
        if clips:
            in_front = "".join(f"{AUDIO}\n" for _ in range(without_place))
            words = (in_front + text).split(AUDIO)
        content = chain.from_iterable(zip_longest(words, clips, fillvalue=""))
        return cls(tuple(filter(None, content)))

    def written(self, transcript: str) -> Prompt:
        """Return the prompt without audio, with a transcript in the place of each clip.

        >>> Prompt.about("Is it warm?").written("So it is.").text
        'Is it warm?'
        """
        parts = (transcript.strip() if isinstance(part, Clip) else part for part in self.content)
        return Prompt.about("".join(parts))

    @property
    def clips(self) -> tuple[Clip, ...]:
        """Return the clips in their order."""
        return tuple(part for part in self.content if isinstance(part, Clip))

    @property
    def clip(self) -> Clip:
        """Return the only clip."""
        clips = self.clips
        if len(clips) != 1:
            raise SpeechIQError(self.name, f"has {len(clips)} clips", "give one clip per transcript")
        return clips[0]

    @property
    def text(self) -> str:
        """Return the text, with `<audio>` in the place of each clip."""
        return "".join(AUDIO if isinstance(part, Clip) else part for part in self.content)

    @property
    def key(self) -> list[str]:
        """Return what distinguishes this prompt from any other."""
        return [self.text, *(clip.key for clip in self.clips)]

    @property
    def name(self) -> str:
        """Return the name of the prompt in messages."""
        return _name(self.text, ", ".join(clip.name for clip in self.clips))

    @property
    def subject(self) -> str:
        """Return what distinguishes the clips of this prompt from those of others."""
        return "".join(clip.key for clip in self.clips)

    @property
    def seconds(self) -> float:
        """Return the seconds of audio of all clips together."""
        return sum(clip.duration for clip in self.clips)

    def coverage(self, shares: Sequence[float]) -> float:
        """Return the audio coverage of all clips together, from that of each clip; NaN without clips.

        Clips without audio count equally.
        """
        seconds = [clip.duration for clip in self.clips]
        if not any(seconds):
            seconds = [1.0 for _ in seconds]
        return sum(map(mul, shares, seconds)) / sum(seconds) if seconds else math.nan


def as_messages(content: Any, system: Any = "") -> list[dict[str, Any]]:
    """Return the messages of a chat API or template: a system turn, if there is one, and the turn of the user.

    >>> as_messages("Who?", "Be brief.")
    [{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': 'Who?'}]
    """
    turns = [{"role": "system", "content": system}] if system else []
    return [*turns, {"role": "user", "content": content}]


@dataclass(frozen=True, slots=True)
class TextPrompt:
    """Hold a prompt for a language model.

    Attributes:
        shared: Characters up to the end of the last transcript in it, which prompts about one clip may share.
        about: Names of the clips that it is about, for messages; empty for a prompt about no clip.
        seconds: Seconds of audio of these clips together.
    """

    text: str
    shared: int = 0
    about: str = ""
    seconds: float = 0.0

    @property
    def key(self) -> list[str]:
        """Return what distinguishes this prompt from any other."""
        return [self.text]

    @property
    def name(self) -> str:
        """Return the name of the prompt in messages."""
        return _name(self.text, self.about)

    @property
    def subject(self) -> str:
        """Return what distinguishes the clips that it is about from those of others."""
        return self.about


def audio_seconds(prompts: Iterable[Prompt | TextPrompt]) -> float:
    """Return the seconds of audio that prompts are about; several prompts about one clip count once.

    >>> audio_seconds([TextPrompt("Who?", about="a", seconds=2.0), TextPrompt("When?", about="a", seconds=2.0)])
    2.0
    """
    return sum({prompt.subject: prompt.seconds for prompt in prompts}.values())


def _name(text: str, about: str) -> str:
    return f"the prompt about {about}" if about else f"the prompt {text[:60]!r}"
