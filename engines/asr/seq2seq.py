"""Speech recognition by encoder-decoders other than Whisper (moonshine, canary, speech_to_text, ...)."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from transformers import AutoModelForSpeechSeq2Seq, BatchFeature, PreTrainedConfig, PreTrainedModel

from speechiq.core.clip import SAMPLING_RATE
from speechiq.core.errors import SpeechIQError
from speechiq.core.opening import first_line
from speechiq.engines.asr.chunked import TOKENS_PER_S, ChunkedASR, ChunkedOptions, Spent
from speechiq.engines.asr.nbest import count_beams
from speechiq.engines.asr.whisper import WhisperASR
from speechiq.engines.base import Setup
from speechiq.engines.options import Count

POSITIONS = ("max_target_positions", "max_text_positions", "max_position_embeddings")


class Seq2SeqOptions(ChunkedOptions, frozen=True, kw_only=True):
    """Define the options of `Seq2SeqASR`."""

    language: Annotated[
        str | None, Meta(description="Spoken language, for checkpoints that take one; without it en.")
    ] = None
    num_beams: Annotated[
        Count | None, Meta(description="Beams of the search; 1 is greedy. Without it the value of nbest, or 1.")
    ] = None
    nbest: Annotated[
        Count | None, Meta(description="Most transcripts in the n-best list: those of the beams that differ in words.")
    ] = None


class Seq2SeqASR(ChunkedASR):
    """Greedy or beam-search decoding; long clips in pieces, see `ChunkedASR`.

    Decoding ends at the latest after `TOKENS_PER_S` times the seconds of the piece, or at the checkpoint's own limit.

    Args:
        model, setup: see `ChunkedASR`.
        options: see `Seq2SeqOptions`.

    Raises:
        SpeechIQError: too few beams, or a language that the checkpoint does not know or is not told.
    """

    model_class = AutoModelForSpeechSeq2Seq
    record = Seq2SeqOptions
    gives_nbest = True

    def __init__(self, model: str, options: Seq2SeqOptions, setup: Setup) -> None:
        self.num_beams, self.nbest = count_beams(options.num_beams, options.nbest), options.nbest
        super().__init__(model, options, setup)
        self.language = options.language or "en"
        self.target = self._choose_target()
        self._try_request()
        if options.language and not self._is_told():
            raise SpeechIQError(f"asr_language={options.language}: {model} cannot be told the language; leave it out")

    @classmethod
    def fits(cls, config: PreTrainedConfig) -> bool:
        return super().fits(config) and not WhisperASR.fits(config)

    def _choose_target(self) -> dict[str, str]:
        """The language to write in, for a model whose `generate` must be told; it may know a longer code."""
        known = getattr(self.checkpoint.generation_config, "text_decoder_lang_to_code_id", None) or {}
        code = next((code for code in known if code.startswith(self.language)), None)
        if known and code is None:
            raise SpeechIQError(
                f"asr_language={self.language}: unknown to {self.checkpoint.name}; "
                f"it knows {', '.join(list(known)[:12])}"
            )
        return {"tgt_lang": code} if code else {}

    def _try_request(self) -> None:
        """Let what the processor cannot be asked come out before the weights are loaded."""
        try:
            self.request([np.zeros(SAMPLING_RATE, np.float32)])
        except (KeyError, TypeError, ValueError) as error:
            raise SpeechIQError(
                f"{self.checkpoint.name}: its processor cannot be asked for a transcript with "
                f"asr_language={self.language} ({first_line(error)}); give another language or fix the checkpoint"
            ) from error

    def request(self, sounds: Sequence[np.ndarray], **settings: Any) -> BatchFeature:
        """A transcription request where the processor has one."""
        ask = getattr(self.processor, "apply_transcription_request", None)
        if ask is None:
            return super().request(sounds, **settings, **self._tell(self.processor.__call__))
        return ask(list(sounds), **settings, **self._tell(ask))

    def _tell(self, function: Callable[..., Any]) -> dict[str, str]:
        """The language, by the name that `function` has for it."""
        takes = inspect.signature(function).parameters
        return {name: self.language for name in ("language", "source_language") if name in takes}

    def _is_told(self) -> bool:
        asks = getattr(self.processor, "apply_transcription_request", self.processor.__call__)
        return bool(self.target or self._tell(asks))

    def decode_chunks(self, model: PreTrainedModel, pieces: Sequence[np.ndarray]) -> list[list[str]]:
        inputs = self.features(model, pieces)
        prompt = inputs["decoder_input_ids"].shape[1] if "decoder_input_ids" in inputs else 1
        budgets = [_budget(model, len(piece) / SAMPLING_RATE, prompt) for piece in pieces]
        found = model.generate(
            **inputs,
            **self.target,
            do_sample=False,
            num_beams=self.num_beams,
            num_return_sequences=self.num_beams if self.nbest else 1,
            max_new_tokens=max(budgets),
            stopping_criteria=[Spent([prompt + budget for budget in budgets])],
        )
        texts = self.processor.tokenizer.batch_decode(found[:, prompt:], skip_special_tokens=True)
        share = len(texts) // len(pieces)
        return [[text.strip() for text in texts[i : i + share]] for i in range(0, len(texts), share)]

    def describe(self) -> dict[str, Any]:
        decoding = {"do_sample": False, "num_beams": self.num_beams, "tokens_per_s": TOKENS_PER_S}
        language = {"language": self.language} if self._is_told() else {}
        nbest = {"nbest": self.nbest} if self.nbest else {}
        return super().describe() | language | decoding | nbest


def _budget(model: PreTrainedModel, seconds: float, prompt: int) -> int:
    """How many tokens may be written about a piece."""
    decoder, own = model.config.get_text_config(decoder=True), model.generation_config
    positions = [getattr(decoder, name) for name in POSITIONS if getattr(decoder, name, None)][:1]
    limits = [limit - prompt for limit in (*positions, own.max_length) if limit]
    return min([math.ceil(TOKENS_PER_S * seconds), *limits, *filter(None, [own.max_new_tokens])])
