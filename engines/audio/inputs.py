"""Turn prompts into the inputs of an audio model, within its audio limits and its context."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from speechiq.core.checkpoints.opening import check_tokens
from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt
from speechiq.engines._shared.checkpoint_writer import ModelInputs
from speechiq.engines._shared.chunking import SPAN_S, list_chunks
from speechiq.engines._shared.prefill import LONGER
from speechiq.engines.audio.prompts import AudioPrompts

FIRST_TRIAL_S = 32
#: Tokens of the model's context that audio leaves free for the text of a prompt and for the answer.
RESERVED = 1024


class InputBuilder:
    """Build the inputs of a model for questions, transcripts and continuations."""

    def __init__(self, name: str, prompts: AudioPrompts, context: int | None) -> None:
        self.name, self.prompts, self.context = name, prompts, context
        self.limits = AudioLimits(prompts, context)

    def check_clips(self, prompts: Sequence[Prompt]) -> None:
        """Refuse prompts with several clips if the model takes one clip per prompt."""
        several = [prompt for prompt in prompts if len(prompt.clips) > 1]
        if several and not self.prompts.takes_several:
            raise SpeechIQError(
                self.name,
                f"takes one clip per prompt, and {several[0].clips[0].name} comes with others",
                "choose another model for this task",
            )

    def coverage(self, prompt: Prompt) -> float:
        """Return the share of the prompt's audio that the model receives."""
        received = self.limits.in_one_prompt(prompt.clips)
        return prompt.coverage([seconds / clip.duration for seconds, clip in zip(received, prompt.clips, strict=True)])

    def parts(self, prompt: Prompt) -> list[str | np.ndarray]:
        """Return the prompt's text and its audio as arrays, each clip in chunks and as far as the model takes it."""
        received = iter(self.limits.in_one_prompt(prompt.clips))
        parts: list[str | np.ndarray] = []
        for part in prompt.content:
            if isinstance(part, Clip):
                parts += [chunk.samples for chunk in self.limits.chunks(part, next(received))]
            else:
                parts.append(part)
        return [part for part in parts if len(part)]

    def build(self, prompt: Prompt, more: int) -> ModelInputs:
        """Return the inputs for a prompt, which may not exceed the context together with `more` tokens."""
        inputs = self.prompts.ask(self.parts(prompt))
        check_tokens(self.name, prompt.name, inputs.ids, more, self.context, LONGER)
        return inputs

    def for_transcript(self, prompt: Prompt, limit: int) -> ModelInputs:
        """Return the inputs for a transcript: by the processor's own request if it has one, else by the prompt."""
        if self.prompts.has_request:
            return self.prompts.transcribe(prompt.clip.samples)
        return self.build(prompt, 1)


class AudioLimits:
    """Find by trial how much audio a model takes in one chunk and in one prompt.

    Many processors drop what exceeds their window without a warning. `context` is None if the config does not state it.

    Attributes:
        tried: the longest chunk that was tried, in seconds.
        limit: the longest chunk that the model takes, in seconds; infinite as long as no chunk was too long.
    """

    def __init__(self, prompts: AudioPrompts, context: int | None) -> None:
        self.prompts, self.free_tokens = prompts, (context or math.inf) - RESERVED
        self.tried, self.limit = 0, math.inf
        self._probe = cache(prompts.probe)

    def in_one_chunk(self, seconds: float) -> float:
        """Return how many seconds the model receives of so many seconds in one chunk."""
        while self.limit == math.inf and self.tried < seconds:
            trial = max(2 * self.tried, FIRST_TRIAL_S)
            if not self._takes(trial):
                self.limit = self._search(self.tried, trial)
                if self.limit < 1:
                    raise SpeechIQError(
                        self.prompts.name,
                        f"takes less than one second of audio next to {RESERVED} tokens of text",
                        "choose a model with a longer context",
                    )
            self.tried = trial
        return min(seconds, self.limit)

    def in_one_prompt(self, clips: Sequence[Clip]) -> list[float]:
        """Return per clip of one prompt how many of its seconds the model receives, in one chunk or in several."""
        received: list[float] = []
        for clip in clips:
            seconds = self.in_one_chunk(clip.duration)
            if seconds < clip.duration and self.prompts.takes_several:
                seconds = clip.duration
            received.append(max(0.0, min(seconds, self._longest_prompt() - sum(received))))
        return received

    def chunks(self, clip: Clip, seconds: float = math.inf) -> list[Clip]:
        """Return the first seconds of a clip in chunks that the model takes, split at pauses of the speech."""
        clip = clip if seconds >= clip.duration else clip.part(0.0, seconds)
        return list_chunks(clip, self.in_one_chunk(clip.duration))

    def transcript_chunks(self, clip: Clip) -> list[Clip]:
        """Return a clip in chunks for its transcript: none is longer than `SPAN_S`, however much the model takes."""
        return list_chunks(clip, self.in_one_chunk(min(clip.duration, SPAN_S)))

    def describe(self) -> dict[str, Any]:
        """Return the limits that were found so far."""
        if self.limit == math.inf:
            return {}
        return {"longest_chunk_s": self.limit, "takes_chunks": self.prompts.takes_several}

    def _takes(self, seconds: int) -> bool:
        received, tokens = self._probe(seconds)
        return received and tokens <= self.free_tokens

    def _search(self, taken: int, lost: int) -> int:
        while lost - taken > 1:
            middle = (taken + lost) // 2
            taken, lost = (middle, lost) if self._takes(middle) else (taken, middle)
        return taken

    def _longest_prompt(self) -> float:
        longest = min(self.limit, self.tried)
        return self.free_tokens * longest / self._probe(longest)[1]
