"""End to end: a language model that hears, run by `transformers`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import torch
from msgspec import Meta
from transformers import AutoProcessor, BatchFeature, Cache, PreTrainedConfig, PreTrainedModel

from speechiq.core.batches import OnResult, drop, once, run_in_batches, together
from speechiq.core.checkpoints import find_audio_language_model
from speechiq.core.clip import Clip
from speechiq.core.context import check_tokens, read_context
from speechiq.core.errors import SpeechIQError
from speechiq.core.extras import missing
from speechiq.core.progress import progress_bar
from speechiq.core.prompt import Prompt, Scored
from speechiq.core.response import Response
from speechiq.core.usage import usage
from speechiq.engines._shared.checkpoint import Checkpoint
from speechiq.engines._shared.encodings import Encodings, keep_encodings
from speechiq.engines._shared.loading import Loading
from speechiq.engines._shared.prefill import (
    ANSWER,
    LONGER,
    Beginnings,
    GoOn,
    Made,
    Reading,
    Tell,
    Wish,
    begin,
    can_join,
    read,
    weigh_all,
    write,
)
from speechiq.engines._shared.sampling import sampling_settings
from speechiq.engines.asr.chunked import TOKENS_PER_S
from speechiq.engines.audio.coverage import Reach
from speechiq.engines.audio.prompts import AudioPrompts, Fed
from speechiq.engines.base import AudioEngine, Setup

log = logging.getLogger(__name__)

#: Of a transcript beside those for its seconds: for the words that some models put before it.
TOKENS_BESIDE = 64
FIX = (
    "give a text model a recognizer before it (pretrained=ASR+LLM), a recognizer a language model behind it, "
    "or choose a model that takes audio and text"
)


class Written(NamedTuple):
    """What a model wrote about a piece, and whether it would have gone on."""

    text: str
    cut: bool


class AutoModelThatHears:
    """The auto class that the auto mappings of transformers name for a config."""

    @staticmethod
    def from_pretrained(place: str, *, config: PreTrainedConfig, **options: Any) -> PreTrainedModel:
        found = find_audio_language_model(config)
        if found is None:
            raise ValueError(f"a {config.model_type} model does not take audio and text")
        auto_class, part = found
        return auto_class.from_pretrained(place, config=part, **options)


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
    """Clips go into the chat template of the model's own processor, and each is read once.

    What a prompt begins with, up to the end of its audio, is read alone, unpadded, so that nothing depends on the
    batch, and once for all questions about the clip. The caches are joined and copied, and the rest is done in
    batches. Audio is encoded once for transcript and questions, as long as the model stays loaded.

    A clip longer than the model takes is transcribed in pieces; in a question it is fed as several pieces of audio,
    or, where the model takes but one, as far as it goes, and the coverage says how far. The transcript of a piece ends
    at the latest after `TOKENS_PER_S` times its seconds and `TOKENS_BESIDE`; where that cuts transcripts, a warning
    counts them.

    Args:
        model: hub id, folder, or `demo:NAME`.
        options: see `AudioOptions`.
        setup: a batch is counted in prompts.

    Raises:
        SpeechIQError: a checkpoint that does not hear, that only transcribes, or that lacks what makes a chat.
    """

    record = AudioOptions

    def __init__(self, model: str, options: AudioOptions, setup: Setup) -> None:
        self.checkpoint = Checkpoint(
            model, AutoModelThatHears, lambda config: find_audio_language_model(config) is not None,
            "a language model that hears", options, setup, fix=FIX, equip=self._equip,
        )  # fmt: skip
        if getattr(self.checkpoint.config, "has_lora_adapter", False) and find_spec("peft") is None:
            raise SpeechIQError(f"{model}: hears by an adapter that comes with it, and {missing('peft')}")
        processor = self.checkpoint.load_processor(AutoProcessor)
        self.prompts = AudioPrompts(model, processor, options.language, options.asked_by)
        self.asks_in_words = not self.prompts.has_request
        self.context = read_context(self.checkpoint.config, self.prompts.tokenizer)
        self.own = self.checkpoint.generation_config
        self.reach = Reach(self.prompts, self.context)
        self._encodings: Encodings | None = None

    @contextmanager
    def _equip(self, model: PreTrainedModel) -> Iterator[None]:
        try:
            with keep_encodings(model) as self._encodings:
                yield
        finally:
            self._encodings = None

    def at_work(self) -> AbstractContextManager[None]:
        return self.checkpoint.staying()

    def transcribe(self, prompts: Sequence[Prompt], on_result: OnResult = drop) -> list[Response]:
        """Return what was said in the clip of each prompt.

        The words of the prompt ask for it, unless the processor has a request of its own.
        """
        chunks = [self.reach.pieces(prompt.clip) for prompt in prompts]
        sizes = list(map(len, chunks))
        label = "transcribing", sum(sizes), "piece"
        texts = [prompt.text for prompt, size in zip(prompts, sizes, strict=True) for _ in range(size)]
        asked = [Prompt.about(text, [chunk]) for text, chunk in zip(texts, chain.from_iterable(chunks), strict=True)]
        limits = [int(TOKENS_BESIDE + TOKENS_PER_S * prompt.clip.duration) for prompt in asked]
        keep_whole = together(sizes, _join, on_result)
        parts = iter(self._run(label, asked, limits, self._feed_to_transcribe, self._write_down, keep_whole))
        written = [[next(parts) for _ in range(size)] for size in sizes]
        if cut := sum(any(part.cut for part in group) for group in written):
            log.warning(
                "%s transcribing: %d of %d transcripts were cut off after %d tokens and %d a second",
                self.checkpoint.name, cut, len(prompts), TOKENS_BESIDE, TOKENS_PER_S,
            )  # fmt: skip
        return list(map(_join, written))

    def coverage(self, prompts: Sequence[Prompt]) -> list[float]:
        return [
            prompt.coverage(
                [
                    seconds / clip.duration
                    for seconds, clip in zip(self.reach.of_a_prompt(prompt.clips), prompt.clips, strict=True)
                ]
            )
            for prompt in prompts
        ]

    def generate(
        self,
        prompts: Sequence[Prompt],
        seeds: Sequence[Sequence[int]],
        settings: Mapping[str, Any],
        on_result: OnResult = drop,
    ) -> list[list[str]]:
        """Answers to each prompt, one a seed, sampled by `settings`, else as the model's own defaults say.

        Raises:
            SpeechIQError: a prompt that leaves no room for its answer in the model's context, before it is read.
        """
        label, more = ("answering", sum(map(len, seeds)), "answer"), int(settings.get("max_gen_toks", ANSWER))
        answer = partial(self._answer, settings)
        return self._run(
            label,
            prompts,
            seeds,
            lambda prompt, _: self._feed(prompt, more),
            answer,
            on_result,
            steps=lambda item: len(item[1]),
        )

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """How answers are sampled: by the task's settings, else by the model's own."""
        return sampling_settings(settings, self.own)

    def effective(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return all settings that decide an answer, for the keys of the response store."""
        return {**settings, **self.sampling(settings)}

    def loglikelihood(
        self, prompts: Sequence[Prompt], continuations: Sequence[Sequence[str]], on_result: OnResult = drop
    ) -> list[list[Scored]]:
        """How likely each continuation is as the beginning of the model's answer to the prompt.

        Every prompt, also one without clips, stands in the model's chat template: nowhere else has the model met
        audio.
        """
        tokens = [[self.prompts.tokenize(text) for text in group] for group in continuations]
        label = "weighing", len(prompts), "prompt"
        return self._run(label, prompts, tokens, self._feed_to_continue, weigh_all, on_result)

    def _run(
        self,
        label: tuple[str, int, str],
        prompts: Sequence[Prompt],
        wishes: Sequence[Wish],
        feed: Callable[[Prompt, Wish], Fed],
        go_on: GoOn[Wish, Made],
        on_result: OnResult,
        steps: Callable[[tuple[Prompt, Wish]], int] = once,
    ) -> list[Made]:
        """Return what `go_on(model, reading, wishes, tell)` makes of the prompts and their wishes, batch by batch."""
        if not prompts:
            return []
        self._check(prompts)
        verb, total, unit = label
        doing = f"{self.checkpoint.name} {verb}"
        with self.checkpoint.loaded() as model, progress_bar(total=total, verb=doing, unit=unit) as progress:
            return run_in_batches(
                list(zip(prompts, wishes, strict=True)),
                partial(self._run_batch, model, Beginnings(), feed, go_on, progress.update),
                length=lambda item: sum(clip.duration for clip in item[0].clips) or len(item[0].text),
                batch_size=self.checkpoint.batch_size,
                progress=progress,
                on_result=on_result,
                kind=lambda item: bool(item[0].clips),
                steps=steps,
            )

    def _check(self, prompts: Sequence[Prompt]) -> None:
        crowded = [prompt for prompt in prompts if len(prompt.clips) > 1]
        if crowded and not self.prompts.takes_several:
            raise SpeechIQError(
                f"{self.checkpoint.name}: takes one clip a prompt, and {crowded[0].clips[0].name} comes with others; "
                f"choose another model for this task"
            )

    def _run_batch(
        self,
        model: PreTrainedModel,
        beginnings: Beginnings,
        feed: Callable[[Prompt, Wish], Fed],
        go_on: GoOn[Wish, Made],
        tell: Tell,
        batch: Sequence[tuple[Prompt, Wish]],
    ) -> Sequence[Made]:
        rows, caches = [], []
        for prompt, wish in batch:
            fed = feed(prompt, wish)
            rows.append(fed.ids)
            if prompt.clips:
                key: tuple[str | int, ...] = (*(clip.key for clip in prompt.clips), *fed.ids[: fed.begins])
                caches.append(beginnings.take(key, partial(self._begin, model, fed, len(prompt.clips))))
        beginnings.forget_all_but_last()
        wishes = [wish for _, wish in batch]
        if caches and not can_join(caches[0]):
            one_by_one = zip(rows, caches, wishes, strict=True)
            return [go_on(model, read(model, [row], [cache]), [wish], tell)[0] for row, cache, wish in one_by_one]
        return go_on(model, read(model, rows, caches), wishes, tell)

    def _begin(self, model: PreTrainedModel, fed: Fed, clips: int) -> Cache:
        """The cache of a prompt up to the end of its audio."""
        ids = torch.tensor([fed.ids[: fed.begins]], device=model.device)
        features = BatchFeature(fed.features).to(model.device, model.dtype)
        encodings = self._encodings
        calls = encodings.calls if encodings is not None else 0
        cache = begin(model, input_ids=ids, attention_mask=torch.ones_like(ids), **features)
        if encodings is None or encodings.calls > calls:
            usage["encoded_clips"] += clips
        return cache

    def _feed(self, prompt: Prompt, more: int) -> Fed:
        """Return what the model is fed; refused if `more` tokens after it exceed the context."""
        fed = self.prompts.ask(self._parts(prompt))
        check_tokens(self.checkpoint.name, prompt.name, fed.ids, more, self.context, LONGER)
        return fed

    def _feed_to_transcribe(self, prompt: Prompt, limit: int) -> Fed:
        if self.prompts.has_request:
            return self.prompts.transcribe(prompt.clip.samples)
        return self._feed(prompt, 1)

    def _feed_to_continue(self, prompt: Prompt, continuations: Sequence[Sequence[int]]) -> Fed:
        return self._feed(prompt, max(map(len, continuations), default=0))

    def _parts(self, prompt: Prompt) -> list[str | np.ndarray]:
        shares = iter(self.reach.of_a_prompt(prompt.clips))
        parts: list[str | np.ndarray] = []
        for part in prompt.content:
            if isinstance(part, Clip):
                parts += [piece.samples for piece in self.reach.pieces(part, next(shares))]
            else:
                parts.append(part)
        return [part for part in parts if len(part)]

    def _answer(
        self,
        settings: Mapping[str, Any],
        model: PreTrainedModel,
        reading: Reading,
        seeds: Sequence[Sequence[int]],
        tell: Tell,
    ) -> list[list[str]]:
        rows = write(model, reading, seeds, settings, self.prompts.pad_token_id, tell)
        texts = iter(self.prompts.write_out(rows.tolist()))
        return [[next(texts) for _ in row] for row in seeds]

    def _write_down(self, model: PreTrainedModel, reading: Reading, limits: Sequence[int], tell: Tell) -> list[Written]:
        if self.context is not None:
            room = self.context - reading.mask.sum(1)
            limits = [max(1, min(pair)) for pair in zip(limits, room.tolist(), strict=True)]
        settings = {"do_sample": False, "max_gen_toks": max(limits) + 1}
        pad = self.prompts.pad_token_id
        rows = write(model, reading, [[0]] * len(limits), settings, pad, tell).tolist()
        texts = self.prompts.write_out_transcripts([row[:limit] for row, limit in zip(rows, limits, strict=True)])
        return [
            Written(text.strip(), cut=row[limit : limit + 1] not in ([], [pad]))
            for text, row, limit in zip(texts, rows, limits, strict=True)
        ]

    def _describe_transcription(self) -> dict[str, Any]:
        return self.prompts.describe() | {"tokens_per_s": TOKENS_PER_S, "tokens_beside": TOKENS_BESIDE}

    def identity(self) -> dict[str, Any]:
        return {"stage": "audio", "transcription": self._describe_transcription(), **self.checkpoint.identity()}

    def describe(self) -> dict[str, Any]:
        return {
            "kind": "end to end",
            **self.checkpoint.describe(),
            "transcription": self._describe_transcription(),
            **self.reach.describe(),
        }


def _join(parts: Sequence[Written]) -> Response:
    """The transcript of a clip from those of its pieces."""
    return Response(" ".join(part.text for part in parts).strip(), coverage=1.0)
