"""ASR + LLM: the transcript is all that the language model knows of the speech (paper, section 2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from speechiq.harness_patch.systems.answering import Answering
from speechiq.harness_patch.systems.system import AUDIO, Question, Transcript
from speechiq.siq_tasks.audio import AudioClip


class Cascade:
    """A recogniser, then a language model; each clip is transcribed once for all levels.

    Args:
        asr: an engine with `transcribe(clips)`.
        llm: an engine with `generate` and `loglikelihood`.
        answering: how the language model answers.
        seed: of the sampled answers.
    """

    def __init__(self, asr, llm, answering: Answering, seed: int) -> None:
        self.asr, self.llm, self.answering, self.seed = asr, llm, answering, seed
        self._heard: dict[tuple, Transcript] = {}

    def transcribe(self, clips: Sequence[AudioClip]) -> list[Transcript]:
        keys = [(clip.key, clip.get("reference")) for clip in clips]
        new = {key: clip for key, clip in zip(keys, clips, strict=True) if key not in self._heard}
        if new:
            self._heard.update(zip(new, self.asr.transcribe(list(new.values())), strict=True))
        return [self._heard[key] for key in keys]

    def answer(self, questions: Sequence[Question], n: int) -> list[list[str]]:
        heard = [transcript.text for transcript in self.transcribe([question.clip for question in questions])]
        return self.answering.answer(self.llm, questions, heard, n, self.seed)

    def loglikelihood(self, clips: Sequence[AudioClip], contexts: Sequence[str], continuations: Sequence[str]):
        """How likely each continuation is after its context, the transcript in the place of the audio."""
        heard = self.transcribe(clips)
        texts = [context.replace(AUDIO, h.text) for context, h in zip(contexts, heard, strict=True)]
        return [scored for (scored,) in self.llm.loglikelihood(texts, [[text] for text in continuations])]

    def describe(self) -> dict[str, Any]:
        answering = dict(self.answering.describe())
        return {"kind": "cascade", "asr": self.asr.describe(), "llm": self.llm.describe() | answering}
