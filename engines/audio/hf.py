"""Run an audio model end to end by `transformers`."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta
from transformers import AutoProcessor, Cache, PreTrainedConfig, PreTrainedModel

from speechiq.core.batches import OnResult, collect_parts, drop, group_by_size
from speechiq.core.checkpoints.names import find_audio_language_model, is_language_model
from speechiq.core.checkpoints.opening import read_context
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt, Scored
from speechiq.core.response import Response
from speechiq.core.suggestions import missing
from speechiq.core.usage import usage
from speechiq.engines._shared.checkpoint import Checkpoint, Loading
from speechiq.engines._shared.checkpoint_writer import (
    ANSWER,
    CheckpointWriter,
    ModelInputs,
    OnFinished,
    Prefill,
    Request,
    Work,
    loglikelihoods,
    write_answers,
)
from speechiq.engines._shared.chunking import TOKENS_PER_S
from speechiq.engines._shared.encodings import EncodingCache, cache_encodings
from speechiq.engines.audio.prompts import AudioPrompts, InputBuilder
from speechiq.engines.base import AudioEngine, Seeds, Setup
from speechiq.engines.languages import ENGLISH, FOLLOWS
from speechiq.engines.options import SystemTurn, only_given

log = logging.getLogger(__name__)

#: Tokens of a transcript in addition to those for its seconds, for words that some models put before it.
TOKENS_BESIDE = 64


def _advise(model: str, config: PreTrainedConfig) -> str:
    """Return what to do with a checkpoint that is not an audio model."""
    if is_language_model(config):
        return f"it only reads text: put a recognizer before it, pretrained=ASR+{model}"
    return "choose a model that takes audio and text"


class Transcript(NamedTuple):
    """Hold the transcript of a chunk, and whether it was cut off before its end."""

    text: str
    cut: bool


class AudioOptions(Loading, frozen=True, kw_only=True):
    """Define the options of `AudioLLM`."""

    language: Annotated[
        str | None,
        Meta(description=f"Spoken language, for processors whose transcription request has one; {FOLLOWS}."),
    ] = None
    asked_by: Annotated[
        Literal["processor", "task"] | None,
        Meta(description="Source of the prompt for transcripts; without it the processor, if it has one."),
    ] = None
    system: SystemTurn = None


class AudioLLM(CheckpointWriter, AudioEngine):
    """Run an audio model by the chat template of its own processor; see `CheckpointWriter`.

    Audio is encoded once for transcript and questions, as long as the model stays in memory.

    A clip that is longer than the model takes is transcribed in chunks. In a question it is several chunks of audio; if
    the model takes only one, the clip is cut there, and the coverage states the share that is left. The transcript of a
    chunk has at most `TOKENS_BESIDE` tokens and `TOKENS_PER_S` per second; a warning counts transcripts that were cut.
    """

    record = AudioOptions

    def __init__(self, model: str, options: AudioOptions, setup: Setup) -> None:
        self.checkpoint = Checkpoint(
            model, AutoAudioModel, AutoAudioModel.fits, "an audio model", options, setup, fix=partial(_advise, model),
            equip=self._cache_encodings,
        )  # fmt: skip
        if getattr(self.checkpoint.config, "has_lora_adapter", False) and find_spec("peft") is None:
            raise SpeechIQError(model, f"takes audio by an adapter that comes with it, and {missing('peft')}")
        processor = self.checkpoint.load_processor(AutoProcessor)
        self.own_settings = self.checkpoint.generation_config
        self.prompts = AudioPrompts(
            model, processor, setup.choose_language(options.language) or ENGLISH, options.asked_by, options.system or ""
        )
        self.prompts.check_system(f"{setup.prefix}system")
        self.asks_in_words = not self.prompts.has_request
        self.context = read_context(self.checkpoint.config, self.prompts.tokenizer)
        self.tokenizer = self.prompts.tokenizer
        self.inputs = InputBuilder(self.prompts, self.context)
        self._encodings: EncodingCache | None = None

    @contextmanager
    def _cache_encodings(self, model: PreTrainedModel) -> Iterator[None]:
        try:
            with cache_encodings(model) as self._encodings:
                yield
        finally:
            self._encodings = None

    def transcribe(self, prompts: Sequence[Prompt], on_result: OnResult = drop) -> list[Response]:
        """Transcribe the clip of each prompt, by its text or by the processor's own request."""
        chunks = [self.inputs.limits.transcript_chunks(prompt.clip) for prompt in prompts]
        sizes = list(map(len, chunks))
        texts = [prompt.text for prompt, size in zip(prompts, sizes, strict=True) for _ in range(size)]
        requests = [Prompt.about(text, [chunk]) for text, chunk in zip(texts, chain.from_iterable(chunks), strict=True)]
        limits = [int(TOKENS_BESIDE + TOKENS_PER_S * prompt.clip.duration) for prompt in requests]
        on_chunk = collect_parts(sizes, _join, on_result)
        work = self._list_work(requests, limits, self.inputs.for_transcript)
        parts = self._run(("transcribing", "chunk"), requests, work, self._decode_transcripts, on_chunk)
        transcripts = list(map(_join, group_by_size(parts, sizes)))
        if cut := sum(transcript.at_limit for transcript in transcripts):
            log.warning(
                "%s transcribing: %d of %d transcripts were cut off after %d tokens and %d per second",
                self.checkpoint.name, cut, len(prompts), TOKENS_BESIDE, TOKENS_PER_S,
            )  # fmt: skip
        return transcripts

    def check_text_alone(self) -> None:
        """Refuse a processor or chat template that takes no text without audio; see `AudioEngine.check_text_alone`."""
        self.prompts.check_text_alone()

    def coverage(self, prompts: Sequence[Prompt]) -> list[float]:
        """Return per prompt the share of its audio that the model receives; see `AudioEngine.coverage`."""
        return list(map(self.inputs.coverage, prompts))

    def generate(
        self, prompts: Sequence[Prompt], seeds: Seeds, settings: Mapping[str, Any], on_result: OnResult = drop
    ) -> list[list[str]]:
        """Answer each prompt once per seed, sampled by `settings`, else by the model's own defaults."""
        decode, more = partial(self._decode_answers, settings), int(settings.get("max_gen_toks", ANSWER))
        work = self._list_work(prompts, seeds, lambda prompt, _: self.inputs.build(prompt, more))
        return self._run(("answering", "answer"), prompts, work, decode, on_result, are_answers=True)

    def loglikelihood(
        self, prompts: Sequence[Prompt], continuations: Sequence[Sequence[str]], on_result: OnResult = drop
    ) -> list[list[Scored]]:
        """Return the log-probability of each continuation as the beginning of the model's answer.

        Every prompt, also one without clips, is in the chat template: the model was trained on audio only there.
        """
        texts = list(chain.from_iterable(continuations))
        rows = [self.tokenizer(text, add_special_tokens=False).input_ids for text in texts]
        tokens = group_by_size(rows, map(len, continuations))

        def build(prompt: Prompt, tails: Sequence[Sequence[int]]) -> ModelInputs:
            return self.inputs.build(prompt, max(map(len, tails), default=0))

        work = self._list_work(prompts, tokens, build)
        return self._run(("answering by likelihood", "prompt"), prompts, work, loglikelihoods, on_result)

    def _list_work(
        self, prompts: Sequence[Prompt], requests: Sequence[Request], make: Callable[[Prompt, Request], ModelInputs]
    ) -> list[Work[Request]]:
        """Return the work of a run; `make` returns the inputs of a prompt, whose audio is their prefix."""
        self.inputs.check_clips(prompts)
        return [_as_work(prompt, request, make) for prompt, request in zip(prompts, requests, strict=True)]

    def _forget_audio(self) -> None:
        self.prompts.features.clear()
        if self._encodings is not None:
            self._encodings.clear()

    def _prefill_prefix(self, model: PreTrainedModel, inputs: ModelInputs) -> Cache:
        encodings = self._encodings
        calls = encodings.calls if encodings is not None else 0
        cache = super()._prefill_prefix(model, inputs)
        if encodings is None or encodings.calls > calls:
            usage["encoded_clips"] += len(inputs.clips)
        return cache

    def _decode_transcripts(
        self, model: PreTrainedModel, prefill: Prefill, limits: Sequence[int], on_finished: OnFinished
    ) -> list[Transcript]:
        if self.context is not None:
            free_tokens = (self.context - prefill.mask.sum(1)).tolist()
            limits = [max(1, min(pair)) for pair in zip(limits, free_tokens, strict=True)]
        settings = {"do_sample": False, "max_gen_toks": max(limits) + 1}
        pad = self.pad_token_id
        rows = write_answers(model, prefill, [[0]] * len(limits), settings, pad, on_finished).tolist()
        texts = self.prompts.decode_transcripts([row[:limit] for row, limit in zip(rows, limits, strict=True)])
        return [
            Transcript(text.strip(), cut=row[limit : limit + 1] not in ([], [pad]))
            for text, row, limit in zip(texts, rows, limits, strict=True)
        ]

    def _describe_transcription(self) -> dict[str, Any]:
        return self.prompts.describe() | {"tokens_per_s": TOKENS_PER_S, "tokens_beside": TOKENS_BESIDE}

    def identity(self) -> dict[str, Any] | None:
        """Return what identifies the checkpoint, and how transcripts are made; see `Engine.identity`."""
        asked = {"transcription": self._describe_transcription()} | only_given(system=self.prompts.system)
        return {"stage": "audio", **asked, **self.checkpoint.identity()}

    def describe(self) -> dict[str, Any]:
        """Return the checkpoint, how transcripts are made and the limits found so far; see `Engine.describe`."""
        return {
            "kind": "end to end",
            **self.checkpoint.describe(),
            "transcription": self._describe_transcription(),
            **only_given(system=self.prompts.system),
            **self.inputs.limits.describe(),
        }


def _as_work(prompt: Prompt, request: Request, make: Callable[[Prompt, Request], ModelInputs]) -> Work[Request]:
    def build() -> ModelInputs:
        inputs, clips = make(prompt, request), tuple(clip.key for clip in prompt.clips)
        return inputs._replace(clips=clips) if clips else ModelInputs(inputs.ids)

    return Work(build, request, prompt.seconds or len(prompt.text), bool(prompt.clips))


def _join(parts: Sequence[Transcript]) -> Response:
    """Return the transcript of a clip, joined from those of its chunks."""
    text = " ".join(part.text for part in parts).strip()
    return Response(text, coverage=1.0, at_limit=any(part.cut for part in parts))


class AutoAudioModel:
    """Load an audio model by the auto class that has its config in its mapping."""

    @staticmethod
    def fits(config: PreTrainedConfig) -> bool:
        """Return whether a checkpoint with this config takes audio and text."""
        return find_audio_language_model(config) is not None

    @staticmethod
    def from_pretrained(path: str, *, config: PreTrainedConfig, **options: Any) -> PreTrainedModel:
        """Load the model, as `from_pretrained` of the auto class does."""
        auto_class, part = _find_class(config)
        return auto_class.from_pretrained(path, config=part, **options)

    @staticmethod
    def from_config(config: PreTrainedConfig, **options: Any) -> PreTrainedModel:
        """Build the model without its weights, as `from_config` of the auto class does."""
        auto_class, part = _find_class(config)
        return auto_class.from_config(part, **options)


def _find_class(config: PreTrainedConfig) -> tuple[Any, PreTrainedConfig]:
    """Return the auto class and the config of an audio model, for which `AutoAudioModel.fits` is true."""
    found = find_audio_language_model(config)
    assert found is not None, "`fits` was called before"
    return found
