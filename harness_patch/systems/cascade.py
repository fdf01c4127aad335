"""Combine ASR + LLM: the transcript is the only input about the speech (paper, section 2.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from speechiq.core.clip import Clip
from speechiq.core.prompt import Prompt, Scored, TextPrompt
from speechiq.core.response import Response
from speechiq.engines._shared.residence import Residence
from speechiq.harness_patch.systems.system import LanguageModel, Recognizer


class Cascade:
    """Run a recognizer, then a language model; each clip is transcribed once for all levels.

    The stages load and free their models themselves, so one model is in memory at a time.

    Args:
        asr: Recognizer.
        llm: Language model.
    """

    def __init__(self, asr: Recognizer, llm: LanguageModel) -> None:
        self.asr, self.llm = asr, llm
        self._known: dict[Clip, Response] = {}
        self._residence = Residence(self._remember_transcripts)

    def at_work(self) -> AbstractContextManager[None]:
        """Return a block inside which each clip of a prompt is transcribed once; it keeps no model loaded."""
        return self._residence.staying()

    @contextmanager
    def _remember_transcripts(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._known.clear()

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        """Transcribe the clip of each prompt; see `AudioModel.transcribe`."""
        return self.asr.transcribe([prompt.clip for prompt in prompts])

    def coverage(self, prompts: Sequence[Prompt]) -> list[float]:
        """Return the audio coverage of each prompt; see `AudioModel.coverage`."""
        known = self._transcripts(prompts)
        return [prompt.coverage([known[clip].coverage for clip in prompt.clips]) for prompt in prompts]

    def generate(
        self, prompts: Sequence[Prompt], seeds: Sequence[Sequence[int]], settings: Mapping[str, Any]
    ) -> list[list[str]]:
        """Answer each prompt once per seed; see `AudioModel.generate`."""
        return self.llm.generate(self._as_text(prompts), seeds, settings)

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Describe how `generate` samples; see `AudioModel.sampling`."""
        return self.llm.sampling(settings)

    def loglikelihood(self, prompts: Sequence[Prompt], continuations: Sequence[Sequence[str]]) -> list[list[Scored]]:
        """Score continuations after each prompt; see `AudioModel.loglikelihood`."""
        return self.llm.loglikelihood(self._as_text(prompts), continuations)

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
        with self._residence.loaded():
            clips = dict.fromkeys(clip for prompt in prompts for clip in prompt.clips)
            new = [clip for clip in clips if clip not in self._known]
            self._known.update(zip(new, self.asr.transcribe(new) if new else [], strict=True))
            return {clip: self._known[clip] for clip in clips}

    def describe(self) -> dict[str, Any]:
        """Describe both stages; see `AudioModel.describe`."""
        return {"kind": "cascade", "asr": self.asr.describe(), "llm": self.llm.describe()}
