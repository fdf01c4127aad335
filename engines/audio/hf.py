"""Run an audio model end to end by `transformers`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple

import torch
from msgspec import Meta
from transformers import AutoProcessor, BatchFeature, Cache, PreTrainedConfig, PreTrainedModel

from speechiq.core.batches import OnResult, collect_parts, drop, once, run_in_batches
from speechiq.core.checkpoints.context import read_context
from speechiq.core.checkpoints.names import find_audio_language_model, is_language_model, is_speech_recognizer
from speechiq.core.errors import SpeechIQError
from speechiq.core.extras import missing
from speechiq.core.progress import progress_bar
from speechiq.core.prompt import Prompt, Scored, audio_seconds
from speechiq.core.response import Response
from speechiq.core.usage import measured, usage
from speechiq.engines._shared.checkpoint import Checkpoint
from speechiq.engines._shared.encodings import EncodingCache, cache_encodings
from speechiq.engines._shared.loading import Loading
from speechiq.engines._shared.prefill import (
    ANSWER,
    Decode,
    OnFinished,
    Prefill,
    PrefixCaches,
    Request,
    Result,
    can_join,
    fill_cache,
    loglikelihoods,
    prefill_text,
    write,
)
from speechiq.engines._shared.sampling import sampling_settings
from speechiq.engines.asr.chunked import TOKENS_PER_S
from speechiq.engines.audio.inputs import InputBuilder
from speechiq.engines.audio.prompts import AudioPrompts, ModelInputs
from speechiq.engines.base import AudioEngine, Setup

log = logging.getLogger(__name__)

#: Tokens of a transcript in addition to those for its seconds, for words that some models put before it.
TOKENS_BESIDE = 64


def _advise(model: str, config: PreTrainedConfig) -> str:
    """Return what to do with a checkpoint that is not an audio model."""
    if is_speech_recognizer(config):
        return f"it only transcribes: add a language model, pretrained={model}+LLM"
    if is_language_model(config):
        return f"it only reads text: put a recognizer before it, pretrained=ASR+{model}"
    return "choose a model that takes audio and text"


class Transcript(NamedTuple):
    """The transcript of a chunk, and whether it was cut off before its end."""

    text: str
    cut: bool


class AudioOptions(Loading, frozen=True, kw_only=True):
    """Define the options of `AudioLLM`."""

    language: Annotated[
        str, Meta(description="Spoken language, for processors whose transcription request has one.")
    ] = "en"
    asked_by: Annotated[
        Literal["processor", "task"] | None,
        Meta(description="Source of the prompt for transcripts; without it the processor, if it has one."),
    ] = None


class AudioLLM(AudioEngine):
    """Run an audio model by the chat template of its own processor, with one prefill per prompt.

    The prefix of a prompt, up to the end of its audio, is prefilled alone and without padding, so that nothing depends
    on the batch, and once for all questions about the clip. The caches are joined and copied, and the rest is done in
    batches. Audio is encoded once for transcript and questions, as long as the model stays in memory.

    A clip that is longer than the model takes is transcribed in chunks. In a question it is several chunks of audio; if
    the model takes only one, the clip is cut there, and the coverage states the share that is left. The transcript of a
    chunk has at most `TOKENS_BESIDE` tokens and `TOKENS_PER_S` per second; a warning counts transcripts that were cut.

    Args:
        model: hub id, folder, or `demo:NAME`.
        options: see `AudioOptions`.
        setup: of this run; a batch is counted in prompts.

    Raises:
        SpeechIQError: a checkpoint that takes no audio, that only transcribes, or that has no chat template.
    """

    record = AudioOptions

    def __init__(self, model: str, options: AudioOptions, setup: Setup) -> None:
        self.checkpoint = Checkpoint(
            model, AutoAudioModel, AutoAudioModel.fits, "an audio model", options, setup, fix=partial(_advise, model),
            equip=self._cache_encodings,
        )  # fmt: skip
        if getattr(self.checkpoint.config, "has_lora_adapter", False) and find_spec("peft") is None:
            raise SpeechIQError(f"{model}: takes audio by an adapter that comes with it, and {missing('peft')}")
        processor = self.checkpoint.load_processor(AutoProcessor)
        self.prompts = AudioPrompts(model, processor, options.language, options.asked_by)
        self.asks_in_words = not self.prompts.has_request
        self.context = read_context(self.checkpoint.config, self.prompts.tokenizer)
        self.own = self.checkpoint.generation_config
        self.inputs = InputBuilder(model, self.prompts, self.context)
        self._encodings: EncodingCache | None = None

    @contextmanager
    def _cache_encodings(self, model: PreTrainedModel) -> Iterator[None]:
        try:
            with cache_encodings(model) as self._encodings:
                yield
        finally:
            self._encodings = None

    def keep_loaded(self) -> AbstractContextManager[None]:
        """Return a block in which the model stays in memory from call to call."""
        return self.checkpoint.keep_loaded()

    def transcribe(self, prompts: Sequence[Prompt], on_result: OnResult = drop) -> list[Response]:
        """Transcribe the clip of each prompt, by its text or by the processor's own request."""
        chunks = [self.inputs.limits.transcript_chunks(prompt.clip) for prompt in prompts]
        sizes = list(map(len, chunks))
        label = "transcribing", sum(sizes), "chunk"
        texts = [prompt.text for prompt, size in zip(prompts, sizes, strict=True) for _ in range(size)]
        requests = [Prompt.about(text, [chunk]) for text, chunk in zip(texts, chain.from_iterable(chunks), strict=True)]
        limits = [int(TOKENS_BESIDE + TOKENS_PER_S * prompt.clip.duration) for prompt in requests]
        on_chunk = collect_parts(sizes, _join, on_result)
        parts = iter(self._run(label, requests, limits, self.inputs.for_transcript, self._decode_transcripts, on_chunk))
        transcripts = [[next(parts) for _ in range(size)] for size in sizes]
        if cut := sum(any(part.cut for part in of_clip) for of_clip in transcripts):
            log.warning(
                "%s transcribing: %d of %d transcripts were cut off after %d tokens and %d per second",
                self.checkpoint.name, cut, len(prompts), TOKENS_BESIDE, TOKENS_PER_S,
            )  # fmt: skip
        return list(map(_join, transcripts))

    def coverage(self, prompts: Sequence[Prompt]) -> list[float]:
        """Return per prompt the share of its audio that the model receives; see `AudioEngine.coverage`."""
        return list(map(self.inputs.coverage, prompts))

    def generate(
        self,
        prompts: Sequence[Prompt],
        seeds: Sequence[Sequence[int]],
        settings: Mapping[str, Any],
        on_result: OnResult = drop,
    ) -> list[list[str]]:
        """Answer each prompt once per seed, sampled by `settings`, else by the model's own defaults.

        Raises:
            SpeechIQError: a prompt that, together with its answer, exceeds the model's context.
        """
        label, more = ("answering", sum(map(len, seeds)), "answer"), int(settings.get("max_gen_toks", ANSWER))
        decode = partial(self._decode_answers, settings)
        return self._run(
            label,
            prompts,
            seeds,
            lambda prompt, _: self.inputs.build(prompt, more),
            decode,
            on_result,
            steps=lambda item: len(item[1]),
        )

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sampling settings in effect; see `sampling.sampling_settings`."""
        return sampling_settings(settings, self.own)

    def effective(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given settings and the defaults in effect, for the keys of the response cache."""
        return {**settings, **self.sampling(settings)}

    def loglikelihood(
        self, prompts: Sequence[Prompt], continuations: Sequence[Sequence[str]], on_result: OnResult = drop
    ) -> list[list[Scored]]:
        """Return the log-probability of each continuation as the beginning of the model's answer.

        Every prompt, also one without clips, is in the chat template: the model was trained on audio only there.
        """
        tokens = [[self.prompts.tokenize(text) for text in group] for group in continuations]
        label = "answering by likelihood", len(prompts), "prompt"
        return self._run(label, prompts, tokens, self.inputs.for_continuations, loglikelihoods, on_result)

    def _run(
        self,
        label: tuple[str, int, str],
        prompts: Sequence[Prompt],
        requests: Sequence[Request],
        build: Callable[[Prompt, Request], ModelInputs],
        decode: Decode[Request, Result],
        on_result: OnResult,
        steps: Callable[[tuple[Prompt, Request]], int] = once,
    ) -> list[Result]:
        """Return the results of `decode` for the prompts and their requests, batch by batch.

        Args:
            label: of the progress bar: verb, total and unit.
            prompts: with or without clips.
            requests: one per prompt, such as its seeds or its continuations.
            build: returns the inputs for a prompt and its request.
            decode: continues the prompts of a batch.
            on_result: see `engines.base`.
            steps: how much an item adds to the progress bar.
        """
        if not prompts:
            return []
        self.inputs.check_clips(prompts)
        verb, total, unit = label
        title = f"{self.checkpoint.name} {verb}"
        with (
            self.checkpoint.loaded() as model,
            progress_bar(total=total, verb=title, unit=unit) as progress,
            measured(verb, audio_seconds(prompts)),
        ):
            return run_in_batches(
                list(zip(prompts, requests, strict=True)),
                partial(self._run_batch, model, PrefixCaches(), build, decode, progress.update),
                length=lambda item: sum(clip.duration for clip in item[0].clips) or len(item[0].text),
                batch_size=self.checkpoint.batch_size,
                progress=progress,
                on_result=on_result,
                kind=lambda item: bool(item[0].clips),
                steps=steps,
            )

    def _run_batch(
        self,
        model: PreTrainedModel,
        prefix_caches: PrefixCaches,
        build: Callable[[Prompt, Request], ModelInputs],
        decode: Decode[Request, Result],
        on_finished: OnFinished,
        batch: Sequence[tuple[Prompt, Request]],
    ) -> Sequence[Result]:
        rows, caches = [], []
        for prompt, request in batch:
            inputs = build(prompt, request)
            rows.append(inputs.ids)
            if prompt.clips:
                key: tuple[str | int, ...] = (*(clip.key for clip in prompt.clips), *inputs.ids[: inputs.prefix])
                caches.append(prefix_caches.get(key, partial(self._prefill_prefix, model, inputs, len(prompt.clips))))
        prefix_caches.drop_all_but_last()
        requests = [request for _, request in batch]
        if caches and not can_join(caches[0]):
            return [
                decode(model, prefill_text(model, [row], [cache]), [request], on_finished)[0]
                for row, cache, request in zip(rows, caches, requests, strict=True)
            ]
        return decode(model, prefill_text(model, rows, caches), requests, on_finished)

    def _prefill_prefix(self, model: PreTrainedModel, inputs: ModelInputs, clips: int) -> Cache:
        """Return the cache of a prompt up to the end of its audio."""
        ids = torch.tensor([inputs.ids[: inputs.prefix]], device=model.device)
        features = BatchFeature(inputs.features).to(model.device, model.dtype)
        encodings = self._encodings
        calls = encodings.calls if encodings is not None else 0
        cache = fill_cache(model, input_ids=ids, attention_mask=torch.ones_like(ids), **features)
        if encodings is None or encodings.calls > calls:
            usage["encoded_clips"] += clips
        return cache

    def _decode_answers(
        self,
        settings: Mapping[str, Any],
        model: PreTrainedModel,
        prefill: Prefill,
        seeds: Sequence[Sequence[int]],
        on_finished: OnFinished,
    ) -> list[list[str]]:
        rows = write(model, prefill, seeds, settings, self.prompts.pad_token_id, on_finished)
        texts = iter(self.prompts.decode(rows.tolist()))
        return [[next(texts) for _ in row] for row in seeds]

    def _decode_transcripts(
        self, model: PreTrainedModel, prefill: Prefill, limits: Sequence[int], on_finished: OnFinished
    ) -> list[Transcript]:
        if self.context is not None:
            free_tokens = (self.context - prefill.mask.sum(1)).tolist()
            limits = [max(1, min(pair)) for pair in zip(limits, free_tokens, strict=True)]
        settings = {"do_sample": False, "max_gen_toks": max(limits) + 1}
        pad = self.prompts.pad_token_id
        rows = write(model, prefill, [[0]] * len(limits), settings, pad, on_finished).tolist()
        texts = self.prompts.decode_transcripts([row[:limit] for row, limit in zip(rows, limits, strict=True)])
        return [
            Transcript(text.strip(), cut=row[limit : limit + 1] not in ([], [pad]))
            for text, row, limit in zip(texts, rows, limits, strict=True)
        ]

    def _describe_transcription(self) -> dict[str, Any]:
        return self.prompts.describe() | {"tokens_per_s": TOKENS_PER_S, "tokens_beside": TOKENS_BESIDE}

    def identity(self) -> dict[str, Any]:
        """Return what identifies the checkpoint, and how transcripts are made; see `Engine.identity`."""
        return {"stage": "audio", "transcription": self._describe_transcription(), **self.checkpoint.identity()}

    def describe(self) -> dict[str, Any]:
        """Return the checkpoint, how transcripts are made and the limits found so far; see `Engine.describe`."""
        return {
            "kind": "end to end",
            **self.checkpoint.describe(),
            "transcription": self._describe_transcription(),
            **self.inputs.limits.describe(),
        }


def _join(parts: Sequence[Transcript]) -> Response:
    """Return the transcript of a clip, joined from those of its chunks."""
    return Response(" ".join(part.text for part in parts).strip(), coverage=1.0)


class AutoAudioModel:
    """Load an audio model by the auto class that has its config in its mapping."""

    @staticmethod
    def fits(config: PreTrainedConfig) -> bool:
        """Return whether a checkpoint with this config takes audio and text."""
        return find_audio_language_model(config) is not None

    @staticmethod
    def from_pretrained(path: str, *, config: PreTrainedConfig, **options: Any) -> PreTrainedModel:
        """Load the model, as `from_pretrained` of the auto class does.

        Raises:
            ValueError: a model that does not take audio and text.
        """
        found = find_audio_language_model(config)
        if found is None:
            raise ValueError(f"a {config.model_type} model does not take audio and text")
        auto_class, part = found
        return auto_class.from_pretrained(path, config=part, **options)
