"""ASR + GER: a recogniser whose n-best list a language model corrects, which is a recogniser again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.core.response import Response
from speechiq.harness_patch.systems.correction import PROMPT_VERSION, ask, read
from speechiq.siq_tasks.audio import AudioClip

NBEST = 5
MAX_GEN_TOKS = 2048
CHARACTERS_A_TOKEN = 2


class Corrected:
    """The corrector's text takes the place of the recogniser's first one, for all that follows.

    A recogniser without an n-best list is corrected from its one text; where it heard nothing, the corrector is
    not asked. The recogniser and the corrector load and free their models by themselves.

    Args:
        asr: an engine with `transcribe(clips)`.
        ger: an engine with `generate` of texts; it decodes greedily.
        max_gen_toks: the most tokens of an answer.

    Raises:
        SpeechIQError: `max_gen_toks` is no such number.
    """

    def __init__(self, asr, ger, *, max_gen_toks: int = MAX_GEN_TOKS) -> None:
        if not isinstance(max_gen_toks, int) or max_gen_toks < 1:
            raise SpeechIQError(f"ger_max_gen_toks={max_gen_toks}: not a whole number above 0; give one")
        self.asr, self.ger = asr, ger
        self.settings = {"do_sample": False, "max_gen_toks": max_gen_toks}

    def transcribe(self, clips: Sequence[AudioClip]) -> list[Response]:
        """Transcripts that keep `hypotheses` and `heard` of the recogniser's and say their `correction`.

        Raises:
            SpeechIQError: a transcript so long that its correction might be cut off.
        """
        heard = self.asr.transcribe(clips)
        possible = [_distinct(response.hypotheses or [response]) for response in heard]
        for clip, texts in zip(clips, possible, strict=True):
            if max(map(len, texts)) > self.settings["max_gen_toks"] * CHARACTERS_A_TOKEN:
                raise SpeechIQError(
                    f"ger_max_gen_toks={self.settings['max_gen_toks']}: the correction of {clip.name}, a transcript "
                    f"of {max(map(len, texts))} characters, might be cut off; raise it"
                )
        asked = [i for i, texts in enumerate(possible) if any(map(str.split, texts))]
        prompts = [ask(possible[i]) for i in asked]
        answers = self.ger.generate(prompts, [[0]] * len(prompts), self.settings) if prompts else []
        read_off = {i: read(answer, possible[i]) for i, (answer,) in zip(asked, answers, strict=True)}
        corrected = []
        for i, (response, texts) in enumerate(zip(heard, possible, strict=True)):
            text, correction = read_off.get(i, (texts[0], "skipped"))
            corrected.append(Response(text, **vars(response) | {"hypotheses": texts, "correction": correction}))
        return corrected

    def describe(self) -> dict[str, Any]:
        corrector = {**self.ger.describe(), "prompt_version": PROMPT_VERSION, **self.settings}
        return {**self.asr.describe(), "corrector": corrector}


def _distinct(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(str, texts)))
