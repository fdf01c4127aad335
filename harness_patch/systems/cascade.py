"""Combine ASR + LLM: the transcript is the only input about the speech (paper, section 2.2)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from speechiq.core.batches import OnResult, drop
from speechiq.core.clip import Clip
from speechiq.core.prompt import Prompt, Scored, TextPrompt
from speechiq.core.response import Response
from speechiq.engines._shared.checkpoint import ModelLifetime
from speechiq.engines.base import ASREngine, AudioEngine, Seeds, TextEngine
from speechiq.siq_tasks.loaders.audio import transcription_prompt


class Cascade(AudioEngine):
    """Run a recognizer, then a language model, one of them in memory at a time; each clip is transcribed once."""

    def __init__(self, asr: ASREngine, llm: TextEngine) -> None:
        self.asr, self.llm, self.streams = asr, llm, llm.streams
        self._known: dict[Clip, Response] = {}
        self._lifetime = ModelLifetime(self._remember_transcripts)

    def keep_loaded(self) -> AbstractContextManager[None]:
        """Return a block inside which each clip of a prompt is transcribed once; it keeps no model loaded."""
        return self._lifetime.keep_loaded()

    @contextmanager
    def _remember_transcripts(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._known.clear()

    def transcribe(self, prompts: Sequence[Prompt], on_result: OnResult = drop) -> list[Response]:
        """Transcribe the clip of each prompt; see `AudioEngine.transcribe`."""
        return self.asr.transcribe([prompt.clip for prompt in prompts], on_result=on_result)

    def coverage(self, prompts: Sequence[Prompt]) -> list[float]:
        """Return the share of the audio in the transcripts of each prompt; see `AudioEngine.coverage`."""
        known = self._transcripts(prompts)
        return [prompt.coverage([known[clip].coverage for clip in prompt.clips]) for prompt in prompts]

    def generate(
        self, prompts: Sequence[Prompt], seeds: Seeds, settings: Mapping[str, Any], on_result: OnResult = drop
    ) -> list[list[str]]:
        """Let the language model answer each prompt once per seed; see `AudioEngine.generate`."""
        return self.llm.generate(self._as_text(prompts), seeds, settings, on_result=on_result)

    def has_loglikelihood(self) -> bool:
        """Return whether the language model has log-likelihoods; see `Writer.has_loglikelihood`."""
        return self.llm.has_loglikelihood()

    def check_sampling(self, settings: Mapping[str, Any]) -> None:
        """Refuse a language model that does not sample; see `Writer.check_sampling`."""
        self.llm.check_sampling(settings)

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Describe how the language model samples; see `Writer.sampling`."""
        return self.llm.sampling(settings)

    def loglikelihood(
        self, prompts: Sequence[Prompt], continuations: Sequence[Sequence[str]], on_result: OnResult = drop
    ) -> list[list[Scored]]:
        """Score continuations by the language model; see `AudioEngine.loglikelihood`."""
        return self.llm.loglikelihood(self._as_text(prompts), continuations, on_result=on_result)

    def _as_text(self, prompts: Sequence[Prompt]) -> list[TextPrompt]:
        """Return each prompt with its clips replaced by their transcripts."""
        known, texts = self._transcripts(prompts), []
        for prompt in prompts:
            text, shared = "", 0
            for part in prompt.content:
                if isinstance(part, Clip):
                    text += known[part].text.strip()
                    shared = len(text)
                else:
                    text += part
            names = ", ".join(clip.name for clip in prompt.clips)
            texts.append(TextPrompt(text, shared, names, prompt.seconds))
        return texts

    def _transcripts(self, prompts: Sequence[Prompt]) -> Mapping[Clip, Response]:
        with self._lifetime.loaded():
            clips = dict.fromkeys(clip for prompt in prompts for clip in prompt.clips)
            new = [clip for clip in clips if clip not in self._known]
            self._known.update(zip(new, self.asr.transcribe(new) if new else [], strict=True))
            return {clip: self._known[clip] for clip in clips}

    def describe(self) -> dict[str, Any]:
        """Describe both stages; see `Engine.describe`."""
        return {"kind": "cascade", "asr": self.asr.describe(), "llm": self.llm.describe()}


class Instructed(ASREngine):
    """Transcribe with an audio model, always with the prompt of the level Remember: a clip has one transcript."""

    def __init__(self, engine: AudioEngine) -> None:
        self.engine = engine

    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        """Transcribe each clip; see `ASREngine.transcribe`."""
        prompts = [Prompt.about(transcription_prompt(), [clip]) for clip in clips]
        return self.engine.transcribe(prompts, on_result=on_result)

    def describe(self) -> dict[str, Any]:
        """Describe the audio model; see `Engine.describe`."""
        return self.engine.describe()
