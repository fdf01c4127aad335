"""Prefill prompts of a `transformers` checkpoint once, and continue copies of the cache: by answers, or by scores."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import torch
from transformers import (
    BatchFeature,
    Cache,
    DynamicCache,
    DynamicLayer,
    GenerationConfig,
    GenerationMixin,
    LogitsProcessorList,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    StoppingCriteriaList,
)

from speechiq.core.batches import Advance, OnResult, group_by_size, run_in_batches
from speechiq.core.prompt import Prompt, Scored, TextPrompt, audio_seconds
from speechiq.core.response import CutText
from speechiq.core.usage import is_recording, measured, timed, usage
from speechiq.engines._shared.checkpoint import CheckpointEngine
from speechiq.engines._shared.sampling import (
    PROCESSORS,
    Finished,
    RefuseNaN,
    SeededSampling,
    processors,
    refuse_nan,
    sampling_settings,
)
from speechiq.engines.base import Writer

Request = TypeVar("Request")
Result = TypeVar("Result")

ANSWER = 256  # tokens, lm-eval's own default
LONGER = "give a smaller max_gen_toks or a model with a longer context, or leave the item out"


class Prefill(NamedTuple):
    """Hold a batch of prompts that a model has prefilled.

    Attributes:
        ids: token ids, shape (prompts, tokens); ids at places where the mask is 0 mean nothing.
        mask: 1 for a token, 0 for padding, the same shape; the last column is 1.
        cache: keys and values of all columns but the last; None if there is one column only.
    """

    ids: torch.Tensor
    mask: torch.Tensor
    cache: Cache | None

    def expand(self, rows: Sequence[int]) -> Prefill:
        """Return the prompts with these indices, in this order, each as often as it is named; reorders the cache."""
        copies = torch.tensor(rows, device=self.ids.device)
        if self.cache is not None:
            self.cache.reorder_cache(copies)
        return Prefill(self.ids[copies], self.mask[copies], self.cache)


#: Called with the number of answers that have just ended.
OnFinished = Callable[[int], object]
#: Returns one result per prefilled prompt and its request, such as its seeds or its continuations.
Decode = Callable[[PreTrainedModel, Prefill, Sequence[Request], OnFinished], Sequence[Result]]


#: The clips and token ids of a prefix that prompts share -> its cache, filled once and never changed.
PrefixCaches = dict[tuple[str | int, ...], Cache]


def greedy_config(model: PreTrainedModel, **settings: Any) -> GenerationConfig:
    """Return the model's own generation config with `settings`, and without what `write_answers` does itself."""
    config = copy.deepcopy(model.generation_config)
    own = {"do_sample": False, "num_beams": 1, "max_length": None, "cache_implementation": None}
    config.update(**own, **dict.fromkeys(PROCESSORS), **settings)
    if config.pad_token_id is None:
        config.pad_token_id = int(torch.tensor(config.eos_token_id or 0).flatten()[0])
    return config


def ignore(finished: int) -> None:
    """Ignore the number of answers that have ended."""


def write_answers(
    model: PreTrainedModel,
    prefill: Prefill,
    seeds: Sequence[Sequence[int]],
    settings: Mapping[str, Any],
    pad_token_id: int,
    on_finished: OnFinished = ignore,
) -> torch.Tensor:
    """Return the tokens that follow each prompt, once per seed: (prompts * seeds, tokens), those of a prompt in a row.

    Args:
        prefill: the prompts; cannot be used again.
        settings: `max_gen_toks`, `repetition_penalty` and, if `do_sample` is set, the other names in `PROCESSORS`;
            they take precedence over the model's own defaults.
        pad_token_id: fills the row of an answer after its end.
    """
    steps = int(settings.get("max_gen_toks", ANSWER))
    used = sampling_settings(settings, model.generation_config)
    sampled = used.pop("do_sample")
    chain = [RefuseNaN(model.name_or_path, model.dtype), *processors(used, model.device)]
    if sampled:
        chain.append(SeededSampling([seed for row in seeds for seed in row]))
    ids, mask, cache = prefill.expand([i for i, row in enumerate(seeds) for _ in row])
    config = greedy_config(model, max_new_tokens=steps, pad_token_id=pad_token_id)
    output = GenerationMixin.generate(
        model,
        ids,
        attention_mask=mask,
        past_key_values=cache,
        generation_config=config,
        logits_processor=LogitsProcessorList(chain),
        stopping_criteria=StoppingCriteriaList([Finished(_list_ends(model), on_finished)]),
    )[:, ids.shape[1] :]
    usage["generated_tokens"] += int((output != pad_token_id).sum())
    return output


def find_cut(model: PreTrainedModel, rows: torch.Tensor, settings: Mapping[str, Any], pad_token_id: int) -> list[bool]:
    """Find the answers of `write_answers` that end at the limit of their tokens, not by themselves."""
    if rows.shape[1] < int(settings.get("max_gen_toks", ANSWER)):
        return [False] * len(rows)
    ended = torch.tensor([pad_token_id, *_list_ends(model)], device=rows.device)
    return (~torch.isin(rows[:, -1], ended)).tolist()


def _list_ends(model: PreTrainedModel) -> list[int]:
    """Return the tokens that end an answer."""
    ends = model.generation_config.eos_token_id
    if ends is None:
        return []
    return list(ends) if isinstance(ends, list | tuple) else [ends]


def loglikelihoods(
    model: PreTrainedModel,
    prefill: Prefill,
    continuations: Sequence[Sequence[Sequence[int]]],
    on_finished: OnFinished = ignore,
) -> list[list[Scored]]:
    """Return the log-probability (nats) of each continuation (token ids, several lists per prompt) after its prompt.

    `prefill` cannot be used again. `on_finished` is not called, since all continuations of a batch are done at once.
    """
    rows = [i for i, group in enumerate(continuations) for _ in group]
    ids, mask, cache = prefill.expand(rows)
    tail_ids, tail_mask = pad([row for group in continuations for row in group], "right", ids.device)
    tail_ids, tail_mask = torch.cat([ids[:, -1:], tail_ids], 1), torch.cat([mask[:, -1:], tail_mask], 1)
    mask = torch.cat([mask[:, :-1], tail_mask], dim=1)
    logits = model(
        input_ids=tail_ids,
        attention_mask=mask,
        position_ids=(mask.cumsum(-1) - 1)[:, -tail_ids.shape[1] :],
        past_key_values=cache,
    ).logits[:, :-1]
    targets, is_token = tail_ids[:, 1:], tail_mask[:, 1:].bool()
    logprobs = logits.float().log_softmax(-1).gather(-1, targets[..., None]).squeeze(-1)
    refuse_nan(logprobs, model.name_or_path, model.dtype)
    totals = logprobs.masked_fill(~is_token, 0).cpu().double().sum(-1).tolist()
    greedy = ((logits.argmax(-1) == targets) | ~is_token).all(-1).tolist()
    return group_by_size(map(Scored, totals, greedy), map(len, continuations))


def prefill_text(model: PreTrainedModel, prompts: Sequence[Sequence[int]], prefixes: Sequence[Cache] = ()) -> Prefill:
    """Prefill a batch of prompts (token ids), or what follows the caches in `prefixes`, which are not changed."""
    lengths = [cache.get_seq_length() for cache in prefixes] or [0] * len(prompts)
    heads = pad([row[:length] for row, length in zip(prompts, lengths, strict=True)], "left", model.device)
    tails = pad([row[length:] for row, length in zip(prompts, lengths, strict=True)], "left", model.device)
    ids, mask = (torch.cat(parts, dim=1) for parts in zip(heads, tails, strict=True))
    cache = join_caches(prefixes) if prefixes else None
    if tails[0].shape[1] > 1:
        cache = fill_cache(model, cache, input_ids=ids[:, :-1], attention_mask=mask[:, :-1])
    return Prefill(ids, mask, cache)


def fill_cache(model: PreTrainedModel, cache: Cache | None = None, **inputs: torch.Tensor) -> Cache:
    """Return the cache of all `inputs`, filled by the model's own `generate`, which knows what its architecture needs.

    With a `cache` the inputs are those of the cache and further text. They go to the generic `generate`, because audio
    models may have one that takes inputs without audio for a prompt without audio and switches off the audio adapter.
    """
    generate = model.generate if cache is None else partial(GenerationMixin.generate, model)
    if cache is None:
        usage["prefills"] += len(inputs["input_ids"])
    return generate(
        **inputs,
        past_key_values=cache,
        generation_config=greedy_config(model, max_new_tokens=1, return_dict_in_generate=True),
    ).past_key_values


def can_join(cache: Cache) -> bool:
    """Return whether caches of other lengths can join this one: each layer keeps the keys and values of all tokens."""
    return isinstance(cache, DynamicCache) and all(type(layer) is DynamicLayer for layer in cache.layers)


def join_caches(caches: Sequence[Cache]) -> Cache:
    """Return one cache with a row per given cache, padded on the left; a copy. Some cannot be joined with others."""
    if not can_join(caches[0]):
        (cache,) = caches
        return copy.deepcopy(cache)
    longest, joined = max(cache.get_seq_length() for cache in caches), DynamicCache()
    for number, layers in enumerate(zip(*(cache.layers for cache in caches), strict=True)):
        keys = torch.cat([_lengthen(layer.keys, longest) for layer in layers])
        values = torch.cat([_lengthen(layer.values, longest) for layer in layers])
        joined.update(keys, values, number)
    return joined


def _lengthen(state: torch.Tensor, length: int) -> torch.Tensor:
    return torch.nn.functional.pad(state, (0, 0, length - state.shape[-2], 0))


def pad(
    rows: Sequence[Sequence[int]], side: Literal["left", "right"], device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return token ids and mask, each (rows, longest row), padded on the left or right; the mask of padding is 0.

    A row is padded with its own first token, since a repetition penalty counts all ids, also those that the mask hides.
    """
    longest = max(map(len, rows))
    ids, mask = torch.zeros(2, len(rows), longest, dtype=torch.long)
    for number, row in enumerate(rows):
        start = longest - len(row) if side == "left" else 0
        place = slice(start, start + len(row))
        ids[number] = row[0] if row else 0
        ids[number, place] = torch.tensor(row, dtype=torch.long)
        mask[number, place] = 1
    return ids.to(device), mask.to(device)


class ModelInputs(NamedTuple):
    """Hold the inputs of a model for one prompt.

    Attributes:
        ids: token ids; audio is a number of audio tokens.
        prefix: number of first tokens that are prefilled alone; with audio, all up to the end of the last audio.
        features: outputs of the processor for the audio, under the model's own names.
    """

    ids: list[int]
    prefix: int = 0
    features: Mapping[str, torch.Tensor] = {}
    clips: tuple[str, ...] = ()


class Work(NamedTuple, Generic[Request]):
    """Hold a prompt and what is to be done after it.

    Attributes:
        build: Returns the inputs of the model; called when the batch of the prompt begins.
        request: The seeds of the answers, or the continuations to score, for example.
        length: The length of the prompt, as anything that sorts; a batch has prompts of similar length.
        has_prefix: Whether the inputs have a prefix; prompts with one share no batch with others.
    """

    build: Callable[[], ModelInputs]
    request: Request
    length: Any
    has_prefix: bool


class CheckpointWriter(CheckpointEngine, Writer):
    """Share what text and audio models of `transformers` have in common.

    The prefix of a prompt is prefilled alone and without padding, so that nothing depends on the batch, and once for
    all prompts in a row that begin with it. The caches are joined and copied, and the rest is done in batches. Answers
    that are timed are made for one prompt after the other, and none uses the prefix of an earlier one.
    """

    streams = True

    tokenizer: PreTrainedTokenizerBase
    #: Generation settings of the checkpoint, read when the engine is opened: a damaged file ends the run at its start.
    own_settings: GenerationConfig

    def keep_loaded(self) -> AbstractContextManager[None]:
        """Return a block in which the model stays in memory from call to call."""
        return self.checkpoint.keep_loaded()

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sampling settings in effect; see `sampling.sampling_settings`."""
        return sampling_settings(settings, self.own_settings)

    def effective(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given settings and the defaults in effect, for the keys of the response cache."""
        return {**settings, **self.sampling(settings)}

    @property
    def pad_token_id(self) -> int:
        """Return the id of the padding token; if the tokenizer has none, that of the end of a text."""
        known = self.tokenizer.pad_token_id
        return self.tokenizer.eos_token_id if known is None else known

    def _run(
        self,
        label: tuple[str, str],
        prompts: Sequence[Prompt] | Sequence[TextPrompt],
        items: Sequence[Work[Any]],
        decode: Decode[Any, Result],
        on_result: OnResult,
        are_answers: bool = False,
    ) -> list[Result]:
        """Return the results of `decode`, which continues prompts, for all items; see `run_in_batches`.

        The request of an item is its seeds if the results `are_answers`. `label` has verb and unit of the progress bar.
        """
        if not items:
            return []
        verb, unit = label
        is_timed, caches = are_answers and is_recording(), PrefixCaches()

        def steps(item: Work[Any]) -> int:
            return len(item.request) if are_answers else 1

        def run(batch: list[Work[Any]], advance: Advance) -> Sequence[Result]:
            if not is_timed:
                return self._run_batch(model, caches, decode, advance, batch)
            self._forget_audio()
            with timed(batch[0].request[0]):
                return self._run_batch(model, PrefixCaches(), decode, advance, batch)

        with self.checkpoint.loaded() as model, measured(verb, audio_seconds(prompts)):
            return run_in_batches(
                items,
                run,
                length=lambda item: item.length,
                batch_size=1 if is_timed else self.checkpoint.batch_size,
                label=(f"{self.checkpoint.name} {verb}", unit),
                on_result=on_result,
                kind=lambda item: item.has_prefix,
                steps=steps,
            )

    def _forget_audio(self) -> None:
        """Drop what an engine keeps of the audio of a prompt for the next one."""

    def _run_batch(
        self,
        model: PreTrainedModel,
        prefix_caches: PrefixCaches,
        decode: Decode[Request, Result],
        on_finished: OnFinished,
        batch: Sequence[Work[Request]],
    ) -> Sequence[Result]:
        rows, caches, requests = [], [], [item.request for item in batch]
        for inputs in (item.build() for item in batch):
            rows.append(inputs.ids)
            if inputs.prefix:
                key: tuple[str | int, ...] = (*inputs.clips, *inputs.ids[: inputs.prefix])
                cache = prefix_caches.pop(key) if key in prefix_caches else self._prefill_prefix(model, inputs)
                prefix_caches[key] = cache
                caches.append(cache)
        for key in list(prefix_caches)[:-1]:  # the next batch may begin with the last prefix
            del prefix_caches[key]
        if caches and not can_join(caches[0]):
            return [
                decode(model, prefill_text(model, [row], [cache]), [request], on_finished)[0]
                for row, cache, request in zip(rows, caches, requests, strict=True)
            ]
        return decode(model, prefill_text(model, rows, caches), requests, on_finished)

    def _prefill_prefix(self, model: PreTrainedModel, inputs: ModelInputs) -> Cache:
        ids = torch.tensor([inputs.ids[: inputs.prefix]], device=model.device)
        features = BatchFeature(dict(inputs.features)).to(model.device, model.dtype)
        return fill_cache(model, input_ids=ids, attention_mask=torch.ones_like(ids), **features)

    def _decode_answers(
        self,
        settings: Mapping[str, Any],
        model: PreTrainedModel,
        prefill: Prefill,
        seeds: Sequence[Sequence[int]],
        on_finished: OnFinished,
    ) -> list[list[str]]:
        rows = write_answers(model, prefill, seeds, settings, self.pad_token_id, on_finished)
        are_cut = find_cut(model, rows, settings, self.pad_token_id)
        texts = self.tokenizer.batch_decode(rows.tolist(), skip_special_tokens=True)
        marked = [CutText(text) if is_cut else text for text, is_cut in zip(texts, are_cut, strict=True)]
        return group_by_size(marked, map(len, seeds))
