"""Turn prompts into the inputs of an audio model, within its audio limits and its context."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from speechiq.core.checkpoints.context import check_tokens
from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt
from speechiq.engines._shared.prefill import LONGER
from speechiq.engines.audio.limits import AudioLimits
from speechiq.engines.audio.prompts import AudioPrompts, ModelInputs


class InputBuilder:
    """Build the inputs of a model for questions, transcripts and continuations.

    Args:
        name: name of the checkpoint, for errors.
        prompts: the processor and its chat template.
        context: the model's context in tokens; None if its config does not state it.
    """

    def __init__(self, name: str, prompts: AudioPrompts, context: int | None) -> None:
        self.name, self.prompts, self.context = name, prompts, context
        self.limits = AudioLimits(prompts, context)

    def check_clips(self, prompts: Sequence[Prompt]) -> None:
        """Refuse prompts with several clips if the model takes one clip per prompt.

        Raises:
            SpeechIQError: such a prompt; names its first clip.
        """
        several = [prompt for prompt in prompts if len(prompt.clips) > 1]
        if several and not self.prompts.takes_several:
            raise SpeechIQError(
                f"{self.name}: takes one clip per prompt, and {several[0].clips[0].name} comes with others; "
                f"choose another model for this task"
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
        """Return the inputs for a prompt.

        Args:
            prompt: with any number of clips.
            more: tokens that the model reads or writes after the prompt.

        Raises:
            SpeechIQError: the prompt and `more` tokens exceed the context.
        """
        inputs = self.prompts.ask(self.parts(prompt))
        check_tokens(self.name, prompt.name, inputs.ids, more, self.context, LONGER)
        return inputs

    def for_transcript(self, prompt: Prompt, limit: int) -> ModelInputs:
        """Return the inputs for a transcript: by the processor's own request if it has one, else by the prompt."""
        if self.prompts.has_request:
            return self.prompts.transcribe(prompt.clip.samples)
        return self.build(prompt, 1)

    def for_continuations(self, prompt: Prompt, continuations: Sequence[Sequence[int]]) -> ModelInputs:
        """Return the inputs for a prompt whose continuations (token ids) are scored."""
        return self.build(prompt, max(map(len, continuations), default=0))
