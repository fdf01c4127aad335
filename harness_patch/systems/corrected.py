"""ASR + GER: a recognizer whose n-best list a language model corrects, which is a recognizer again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import TextPrompt
from speechiq.core.response import Response
from speechiq.engines.options import Count, Options
from speechiq.harness_patch.systems.correction import PROMPT_VERSION, ask, read
from speechiq.harness_patch.systems.system import LanguageModel, Recognizer

NBEST = 5
#: An answer may have so many tokens beside those of the transcript, times so much, in the next power of two.
BESIDE, SLACK = 64, 1.5


class CorrectionOptions(Options, frozen=True, kw_only=True):
    """Options of a corrector, beside those of its engine.

    Attributes:
        max_gen_toks: the most tokens of an answer; by default by the length of the transcript.
    """

    max_gen_toks: Count | None = None


class Corrected:
    """The corrector's text takes the place of the recognizer's first one, for all that follows.

    A recognizer without an n-best list is corrected from its one text; where it heard nothing, the corrector is
    not asked. The recognizer and the corrector load and free their models by themselves.

    Args:
        asr: the recognizer.
        ger: the corrector; it decodes greedily.
        max_gen_toks: see `CorrectionOptions`.
    """

    def __init__(self, asr: Recognizer, ger: LanguageModel, *, max_gen_toks: int | None = None) -> None:
        self.asr, self.ger = asr, ger
        self.max_gen_toks = max_gen_toks

    def transcribe(self, clips: Sequence[Clip]) -> list[Response]:
        """Return transcripts with the recognizer's coverage, all that it held possible, and their provenance.

        Raises:
            SpeechIQError: a transcript so long that its correction might be cut off.
        """
        heard = self.asr.transcribe(clips)
        possible = [_distinct(response.hypotheses or (response.text,)) for response in heard]
        asked = [i for i, texts in enumerate(possible) if any(map(str.split, texts))]
        limits = {i: self._limit(clips[i], max(possible[i], key=len)) for i in asked}
        prompts = {i: TextPrompt(ask(possible[i]), about=clips[i].name) for i in asked}
        read_off = {i: read(answer, possible[i]) for i, answer in self._ask(prompts, limits).items()}
        corrected = []
        for i, (response, texts) in enumerate(zip(heard, possible, strict=True)):
            text, provenance = read_off.get(i, (texts[0], "skipped"))
            corrected.append(replace(response, text=text, hypotheses=texts, provenance=provenance))
        return corrected

    def _ask(self, prompts: Mapping[int, TextPrompt], limits: Mapping[int, int]) -> dict[int, str]:
        """Return the corrector's answer to each prompt, those of one limit in one call."""
        answers: dict[int, str] = {}
        with self.ger.at_work():
            for limit in sorted(set(limits.values())):
                places = [i for i in prompts if limits[i] == limit]
                settings = {"do_sample": False, "max_gen_toks": limit}
                found = self.ger.generate([prompts[i] for i in places], [[0]] * len(places), settings)
                answers.update((i, answer) for i, (answer,) in zip(places, found, strict=True))
        return answers

    def _limit(self, clip: Clip, text: str) -> int:
        """Return how many tokens the correction of a text may have."""
        tokens = self.ger.count(text)
        if self.max_gen_toks is None:
            return int(2 ** math.ceil(math.log2(BESIDE + SLACK * tokens)))
        if tokens > self.max_gen_toks:
            raise SpeechIQError(
                f"ger_max_gen_toks={self.max_gen_toks}: the correction of {clip.name}, a transcript of {len(text)} "
                f"characters, might be cut off; raise it or leave it out"
            )
        return self.max_gen_toks

    def describe(self) -> dict[str, Any]:
        by_length = {"tokens_beside": BESIDE, "tokens_per_token": SLACK}
        limit = {"max_gen_toks": self.max_gen_toks} if self.max_gen_toks else by_length
        corrector = {**self.ger.describe(), "prompt_version": PROMPT_VERSION, "do_sample": False, **limit}
        return {**self.asr.describe(), "corrector": corrector}


def _distinct(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
