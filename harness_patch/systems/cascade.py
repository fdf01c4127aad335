"""ASR + LLM: the transcript is all that the language model knows of the speech (paper, section 2.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from speechiq.core.clip import Clip
from speechiq.core.prompt import Prompt, Scored, Words
from speechiq.core.response import Response
from speechiq.engines._shared.residence import Residence
from speechiq.harness_patch.systems.system import Recognizer, Writer
from speechiq.siq_tasks.audio import transcription_prompt


class Cascade:
    """A recogniser, then a language model; each clip is transcribed once for all levels.

    A recogniser that is asked in words is asked by those of the level Remember, whatever the cascade itself is asked.
    Its stages load and free their models by themselves, so that one is in memory at a time.

    Args:
        asr: the recognizer.
        llm: the language model.
    """

    def __init__(self, asr: Recognizer, llm: Writer) -> None:
        self.asr, self.llm = asr, llm
        self._known: dict[int, tuple[Clip, Response]] = {}
        self._residence = Residence(self._knowing)

    def at_work(self) -> AbstractContextManager[None]:
        """Return a block inside which the recogniser is asked once for a clip of a prompt; it keeps no model loaded."""
        return self._residence.staying()

    @contextmanager
    def _knowing(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._known.clear()

    def transcribe(self, clips: Sequence[Clip]) -> list[Response]:
        return self.asr.transcribe([Clip(clip, words=transcription_prompt()) for clip in clips])

    def heard(self, prompts: Sequence[Prompt]) -> list[float]:
        return [
            prompt.share_heard([transcript.heard for transcript in transcripts])
            for prompt, transcripts in zip(prompts, self._transcripts(prompts), strict=True)
        ]

    def generate(
        self, prompts: Sequence[Prompt], seeds: Sequence[Sequence[int]], settings: Mapping[str, Any]
    ) -> list[list[str]]:
        return self.llm.generate(self._as_text(prompts), seeds, settings)

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        return self.llm.sampling(settings)

    def loglikelihood(self, prompts: Sequence[Prompt], continuations: Sequence[Sequence[str]]) -> list[list[Scored]]:
        return self.llm.loglikelihood(self._as_text(prompts), continuations)

    def _as_text(self, prompts: Sequence[Prompt]) -> list[Words]:
        """Each prompt with its transcripts in the places of its clips."""
        texts = []
        for prompt, transcripts in zip(prompts, self._transcripts(prompts), strict=True):
            *before, last = prompt.words
            heard = "".join(words + text.strip() for words, text in zip(before, transcripts, strict=True))
            about = ", ".join(clip.name for clip in prompt.clips)
            texts.append(Words(heard + last, len(heard), about))
        return texts

    def _transcripts(self, prompts: Sequence[Prompt]) -> list[list[Response]]:
        with self._residence.loaded():
            new = [clip for prompt in prompts for clip in prompt.clips if id(clip) not in self._known]
            for clip, transcript in zip(new, self.transcribe(new) if new else [], strict=True):
                self._known[id(clip)] = clip, transcript
            return [[self._known[id(clip)][1] for clip in prompt.clips] for prompt in prompts]

    def describe(self) -> dict[str, Any]:
        return {"kind": "cascade", "asr": self.asr.describe(), "llm": self.llm.describe()}
