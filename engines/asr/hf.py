"""Run recognizers of `transformers`: the config of a checkpoint decides which class runs it."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from transformers import (
    AutoModelForCTC,
    AutoModelForRNNT,
    AutoModelForSpeechSeq2Seq,
    AutoModelForTDT,
    BatchFeature,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from speechiq.core.batches import group_by_size
from speechiq.core.checkpoints.names import find_audio_language_model, read_config
from speechiq.core.checkpoints.opening import first_line
from speechiq.core.clip import SAMPLING_RATE
from speechiq.core.errors import SpeechIQError
from speechiq.engines._shared.checkpoint import ORDER, Loading
from speechiq.engines._shared.chunking import TOKENS_PER_S
from speechiq.engines.asr.checkpoint import (
    Beams,
    CheckpointASR,
    ChunkedASR,
    ChunkedOptions,
    NBest,
    TokenBudget,
    count_beams,
)
from speechiq.engines.asr.whisper import WhisperASR
from speechiq.engines.base import Engine, Setup
from speechiq.engines.languages import AUTO, ENGLISH, FOLLOWS, refuse_language
from speechiq.engines.options import Options, only_given, read_options

#: Ten symbols per frame of 80 ms, blanks included; only a model that repeats itself without end writes more.
STEPS_PER_S = 125


class CTCASR(ChunkedASR):
    """Decode greedily: the most likely token of each frame, repeats merged, blanks dropped.

    Only audio of equal length shares a batch, because many of these encoders let padding leak into the result, despite
    the attention mask.
    """

    model_class = AutoModelForCTC
    padded = False

    def __init__(self, model: str, options: ChunkedOptions, setup: Setup) -> None:
        super().__init__(model, options, setup)
        architectures = self.checkpoint.config.architectures or []
        if architectures and not any("CTC" in name for name in architectures):
            raise SpeechIQError(
                model,
                f"its architecture is {architectures[0]}, which writes no text",
                "give a checkpoint that was trained for recognition",
            )

    def decode_chunks(self, model: PreTrainedModel, chunks: Sequence[np.ndarray]) -> list[list[str]]:
        """Return the one transcript of each chunk; see `ChunkedASR.decode_chunks`."""
        features = self.features(model, chunks)
        # `generate`, where a model has it, blanks frames past the end.
        tokens = model.generate(**features) if hasattr(model, "generate") else model(**features).logits.argmax(-1)
        blank = self.checkpoint.config.pad_token_id
        return [[collapse(self.processor.tokenizer, frames, blank)] for frames in tokens.tolist()]


def collapse(tokenizer: PreTrainedTokenizerBase, frames: Sequence[int], blank: int) -> str:
    """Return the text of one token per frame: repeats are merged, then blanks are dropped.

    The tokenizer does not do this, because some drop special tokens first, the blank among them, and then merge the
    "ll" of "hello".
    """
    ids = [token for token, _ in groupby(frames) if token != blank]
    return tokenizer.decode(ids, skip_special_tokens=True, group_tokens=False).strip()


class TransducerASR(ChunkedASR):
    """Decode greedily by the model's own `generate`."""

    def decode_chunks(self, model: PreTrainedModel, chunks: Sequence[np.ndarray]) -> list[list[str]]:
        """Return the one transcript of each chunk; see `ChunkedASR.decode_chunks`."""
        steps = [math.ceil(STEPS_PER_S * len(chunk) / SAMPLING_RATE) for chunk in chunks]
        output = model.generate(
            **self.features(model, chunks),
            max_new_tokens=max(steps),
            stopping_criteria=[TokenBudget([1 + limit for limit in steps])],
        )
        texts = self.processor.batch_decode(output.sequences, skip_special_tokens=True)
        return [[text.strip()] for text in texts]

    def describe(self) -> dict[str, Any]:
        """Return the checkpoint and the limits of decoding; see `Engine.describe`."""
        return super().describe() | {"steps_per_s": STEPS_PER_S}


class TDTASR(TransducerASR):
    """Run token-and-duration transducers (parakeet_tdt), which also predict how many frames to skip."""

    model_class = AutoModelForTDT


class RNNTASR(TransducerASR):
    """Run recurrent neural network transducers (parakeet_rnnt, nemotron)."""

    model_class = AutoModelForRNNT


POSITIONS = ("max_target_positions", "max_text_positions", "max_position_embeddings")


class Seq2SeqOptions(ChunkedOptions, frozen=True, kw_only=True):
    """Define the options of `Seq2SeqASR`."""

    language: Annotated[str | None, Meta(description=f"Spoken language, for checkpoints that take one; {FOLLOWS}.")] = (
        None
    )
    num_beams: Beams = None
    nbest: NBest = None


class Seq2SeqASR(ChunkedASR):
    """Decode greedily or by beam search; see `ChunkedASR` for long clips.

    The text of a chunk has at most `TOKENS_PER_S` tokens per second of the chunk, or the checkpoint's own limit.
    """

    model_class = AutoModelForSpeechSeq2Seq
    record = Seq2SeqOptions
    gives_nbest = True

    def __init__(self, model: str, options: Seq2SeqOptions, setup: Setup) -> None:
        self.num_beams, self.nbest = count_beams(options.num_beams, options.nbest), options.nbest
        super().__init__(model, options, setup)
        self.language = setup.choose_language(options.language) or ENGLISH
        self.target = self._choose_target()
        self._try_request()
        if options.language not in (None, AUTO) and not self._takes_language():
            raise SpeechIQError(
                f"asr_language={options.language}", f"{model} has no option for the language", "leave it out"
            )

    @classmethod
    def fits(cls, config: PreTrainedConfig) -> bool:
        """Return whether the checkpoint is an encoder-decoder other than Whisper."""
        return super().fits(config) and not WhisperASR.fits(config)

    def _choose_target(self) -> dict[str, str]:
        """Return the target language for a model whose `generate` needs one; the model may have a longer code."""
        known = getattr(self.checkpoint.generation_config, "text_decoder_lang_to_code_id", None) or {}
        code = next((code for code in known if code.startswith(self.language)), None)
        if known and code is None:
            refuse_language(self.language, self.checkpoint.name, list(known))
        return only_given(tgt_lang=code)

    def _try_request(self) -> None:
        """Refuse a request that the processor cannot make, before the weights are loaded."""
        try:
            self.request([np.zeros(SAMPLING_RATE, np.float32)])
        except (KeyError, TypeError, ValueError) as error:
            raise SpeechIQError(
                self.checkpoint.name,
                f"its processor cannot make a transcription request with "
                f"asr_language={self.language} ({first_line(error)})",
                "give another language or fix the checkpoint",
            ) from error

    def request(self, audio: Sequence[np.ndarray], **settings: Any) -> BatchFeature:
        """Return the processor's own transcription request if it has one, else its output for the arrays."""
        make_request = getattr(self.processor, "apply_transcription_request", None)
        if make_request is None:
            return super().request(audio, **settings, **self._language_arguments(self.processor.__call__))
        return make_request(list(audio), **settings, **self._language_arguments(make_request))

    def _language_arguments(self, function: Callable[..., Any]) -> dict[str, str]:
        """Return the language under the names that `function` has for it."""
        parameters = inspect.signature(function).parameters
        return {name: self.language for name in ("language", "source_language") if name in parameters}

    def _takes_language(self) -> bool:
        make_request = getattr(self.processor, "apply_transcription_request", self.processor.__call__)
        return bool(self.target or self._language_arguments(make_request))

    def decode_chunks(self, model: PreTrainedModel, chunks: Sequence[np.ndarray]) -> list[list[str]]:
        """Return the transcripts of each chunk, best first; see `ChunkedASR.decode_chunks`."""
        inputs = self.features(model, chunks)
        prompt = inputs["decoder_input_ids"].shape[1] if "decoder_input_ids" in inputs else 1
        limits = [_limit_tokens(model, len(chunk) / SAMPLING_RATE, prompt) for chunk in chunks]
        output = model.generate(
            **inputs,
            **self.target,
            do_sample=False,
            num_beams=self.num_beams,
            num_return_sequences=self.num_beams if self.nbest else 1,
            max_new_tokens=max(limits),
            stopping_criteria=[TokenBudget([prompt + limit for limit in limits])],
        )
        texts = self.processor.tokenizer.batch_decode(output[:, prompt:], skip_special_tokens=True)
        return group_by_size(map(str.strip, texts), [len(texts) // len(chunks)] * len(chunks))

    def describe(self) -> dict[str, Any]:
        """Return the checkpoint and how it decodes; see `Engine.describe`."""
        described = super().describe()
        if self._takes_language():
            described["language"] = self.language
        decoding = {"do_sample": False, "num_beams": self.num_beams, "tokens_per_s": TOKENS_PER_S}
        return described | decoding | only_given(nbest=self.nbest)


def _limit_tokens(model: PreTrainedModel, seconds: float, prompt: int) -> int:
    """Return the most tokens of a transcript of so many seconds, after a prompt of so many tokens."""
    decoder, own = model.config.get_text_config(decoder=True), model.generation_config
    positions = [getattr(decoder, name) for name in POSITIONS if getattr(decoder, name, None)][:1]
    limits = [limit - prompt for limit in (*positions, own.max_length) if limit]
    return min([math.ceil(TOKENS_PER_S * seconds), *limits, *filter(None, [own.max_new_tokens])])


CLASSES: tuple[type[CheckpointASR], ...] = (WhisperASR, Seq2SeqASR, CTCASR, TDTASR, RNNTASR)


class TransformersASR(CheckpointASR):
    """Choose the class that runs a checkpoint of a recognizer: a hub id, a folder, or `demo:NAME`."""

    @classmethod
    def choose(cls, model: str, given: Mapping[str, Any], setup: Setup) -> type[Engine]:
        """Return the class for the checkpoint's architecture; an audio language model transcribes as it does alone."""
        which = {name: given[name] for name in ("revision", "trust_remote_code") if name in given}
        source = read_options(Loading, which, engine=setup.engine, prefix=setup.prefix).source
        config = read_config(model, **source)
        for recognizer in CLASSES:
            if recognizer.fits(config):
                return recognizer
        if find_audio_language_model(config) is not None:
            from speechiq.engines.audio.hf import AudioLLM

            return AudioLLM
        raise SpeechIQError(model, f"a {config.model_type} checkpoint is not a speech recognizer", ORDER)

    @classmethod
    def option_records(cls) -> tuple[type[Options], ...]:
        """Return the records of all classes in `CLASSES`."""
        return tuple(recognizer.record for recognizer in CLASSES)
