"""Combine ASR + GER: a recognizer and a language model that corrects its n-best lists act as one recognizer."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from msgspec import Meta

from speechiq.core.batches import OnResult, drop
from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import TextPrompt
from speechiq.core.response import Response
from speechiq.core.usage import counted_as
from speechiq.engines.base import ASREngine, TextEngine
from speechiq.engines.options import Count, Options
from speechiq.harness_patch.systems.correction import PROMPT_VERSION, ask, read

NBEST = 5
#: An answer may have `EXTRA` + `SLACK` * (tokens of the transcript) tokens, rounded up to a power of two.
EXTRA, SLACK = 64, 1.5


class CorrectionOptions(Options, frozen=True, kw_only=True):
    """Define the options of a corrector in addition to those of its engine."""

    max_gen_toks: Annotated[
        Count | None,
        Meta(description="Maximum number of tokens of an answer; by default by the length of the transcript"),
    ] = None


class CorrectedRecognizer(ASREngine):
    """Replace the recognizer's first text by the corrector's text for all later stages.

    If the recognizer has no n-best list, its one text is corrected. If its texts have no words, the corrector is not
    called. The recognizer and the corrector load and free their models themselves; the corrector decodes greedily.
    """

    def __init__(self, asr: ASREngine, ger: TextEngine, *, max_gen_toks: int | None = None) -> None:
        self.asr, self.ger = asr, ger
        self.max_gen_toks = max_gen_toks

    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        """Return transcripts with the recognizer's coverage, its hypotheses, and their provenance."""
        responses = self.asr.transcribe(clips)
        hypotheses = [_distinct(response.hypotheses or (response.text,)) for response in responses]
        with_words = [i for i, texts in enumerate(hypotheses) if any(map(str.split, texts))]
        limits = {i: self._limit(clips[i], max(hypotheses[i], key=len)) for i in with_words}
        prompts = {
            i: TextPrompt(ask(hypotheses[i]), about=clips[i].name, seconds=clips[i].duration) for i in with_words
        }
        found = {i: read(answer, hypotheses[i]) for i, answer in self._ask(prompts, limits).items()}
        corrected = []
        for i, (response, texts) in enumerate(zip(responses, hypotheses, strict=True)):
            text, provenance = found.get(i, (texts[0], "skipped"))
            corrected.append(replace(response, text=text, hypotheses=texts, provenance=provenance))
        on_result(range(len(corrected)), corrected)
        return corrected

    def _ask(self, prompts: Mapping[int, TextPrompt], limits: Mapping[int, int]) -> dict[int, str]:
        """Return the corrector's answer to each prompt; prompts with the same limit share a call."""
        answers: dict[int, str] = {}
        with self.ger.keep_loaded(), counted_as("correcting"):
            for limit in sorted(set(limits.values())):
                places = [i for i in prompts if limits[i] == limit]
                settings = {"do_sample": False, "max_gen_toks": limit}
                found = self.ger.generate([prompts[i] for i in places], [[0]] * len(places), settings)
                answers.update((i, answer) for i, (answer,) in zip(places, found, strict=True))
        return answers

    def _limit(self, clip: Clip, text: str) -> int:
        """Return the maximum number of tokens of a correction."""
        tokens = self.ger.count(text)
        if self.max_gen_toks is None:
            return int(2 ** math.ceil(math.log2(EXTRA + SLACK * tokens)))
        if tokens > self.max_gen_toks:
            raise SpeechIQError(
                f"ger_max_gen_toks={self.max_gen_toks}",
                f"the correction of {clip.name}, a transcript of {len(text)} characters, might be cut off",
                "give a higher number or leave it out",
            )
        return self.max_gen_toks

    def describe(self) -> dict[str, Any]:
        """Describe both stages and the limits of the corrector; see `Engine.describe`."""
        by_length = {"tokens_beside": EXTRA, "tokens_per_token": SLACK}
        limit = {"max_gen_toks": self.max_gen_toks} if self.max_gen_toks else by_length
        corrector = {**self.ger.describe(), "prompt_version": PROMPT_VERSION, "do_sample": False, **limit}
        return {**self.asr.describe(), "corrector": corrector}


def _distinct(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
