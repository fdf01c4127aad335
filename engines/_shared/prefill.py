"""Prefill prompts into a cache once and continue copies of it: by sampled answers, or by continuations to score."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

import torch
from transformers import (
    Cache,
    DynamicCache,
    DynamicLayer,
    GenerationConfig,
    GenerationMixin,
    LogitsProcessorList,
    PreTrainedModel,
    StoppingCriteriaList,
)

from speechiq.core.batches import group_by_size
from speechiq.core.prompt import Scored
from speechiq.core.usage import Clock, current_clock, usage
from speechiq.engines._shared.sampling import (
    PROCESSORS,
    Finished,
    RefuseNaN,
    SeededSampling,
    processors,
    refuse_nan,
    sampling_settings,
)

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


Request = TypeVar("Request")
Result = TypeVar("Result")
#: Called with the number of answers that have just ended.
OnFinished = Callable[[int], object]
#: Returns one result per prefilled prompt and its request, such as its seeds or its continuations.
Decode = Callable[[PreTrainedModel, Prefill, Sequence[Request], OnFinished], Sequence[Result]]


class PrefixCaches:
    """Keep caches of the prefixes that prompts share, each filled once for prompts that follow one another."""

    def __init__(self) -> None:
        self._caches: dict[tuple[str | int, ...], Cache] = {}

    def get(self, key: tuple[str | int, ...], fill: Callable[[], Cache]) -> Cache:
        """Return the cache of `key`, filled by `fill` if it is new; callers must not change it."""
        self._caches[key] = self._caches.pop(key) if key in self._caches else fill()
        return self._caches[key]

    def drop_all_but_last(self) -> None:
        """Free the caches at the end of a batch, except the last: the next batch may begin with the same prefix."""
        self._caches = dict(list(self._caches.items())[-1:])


def greedy_config(model: PreTrainedModel, **settings: Any) -> GenerationConfig:
    """Return the model's own generation config with `settings`, and without what `write_answers` does itself."""
    config = copy.deepcopy(model.generation_config)
    own = {"do_sample": False, "num_beams": 1, "max_length": None, "cache_implementation": None}
    config.update(**own, **dict.fromkeys(PROCESSORS), **settings)
    if config.pad_token_id is None:
        config.pad_token_id = int(torch.tensor(config.eos_token_id or 0).flatten()[0])
    return config


class FirstToken:
    """Mark the first token of the answers to a prompt that is not one of the tokens `ends`.

    It has the methods of a `BaseStreamer` of transformers. The first tokens that `generate` passes are those of the
    prompt.
    """

    def __init__(self, clock: Clock, ends: Collection[int]) -> None:
        self._clock, self._ends, self._has_prompt = clock, set(ends), False

    def put(self, value: torch.Tensor) -> None:
        """Take the next token of each answer."""
        if self._has_prompt and not self._ends.issuperset(value.flatten().tolist()):
            self._clock.mark("first_token")
        self._has_prompt = True

    def end(self) -> None:
        """Do nothing: the caller times the end."""


def stream_to_clock(ends: Collection[int]) -> Any:
    """Return what `generate` takes as `streamer`; None while nothing is timed."""
    clock = current_clock.get()
    return None if clock is None else FirstToken(clock, ends)


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
    ends = _list_ends(model)
    output = GenerationMixin.generate(
        model,
        ids,
        attention_mask=mask,
        past_key_values=cache,
        generation_config=config,
        logits_processor=LogitsProcessorList(chain),
        stopping_criteria=StoppingCriteriaList([Finished(ends, on_finished)]),
        streamer=stream_to_clock(ends),
    )[:, ids.shape[1] :]
    usage["generated_tokens"] += int((output != pad_token_id).sum())
    return output


def count_cut(model: PreTrainedModel, rows: torch.Tensor, settings: Mapping[str, Any], pad_token_id: int) -> int:
    """Return how many answers that `write` returned end at the limit of their tokens, not by themselves."""
    if rows.shape[1] < int(settings.get("max_gen_toks", ANSWER)):
        return 0
    ended = torch.tensor([pad_token_id, *_list_ends(model)], device=rows.device)
    return int((~torch.isin(rows[:, -1], ended)).sum())


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
    ids, mask = [], []
    for row in rows:
        filler = [row[0] if row else 0] * (longest - len(row))
        hidden, shown = [0] * len(filler), [1] * len(row)
        ids.append([*filler, *row] if side == "left" else [*row, *filler])
        mask.append([*hidden, *shown] if side == "left" else [*shown, *hidden])
    as_tensor = partial(torch.tensor, dtype=torch.long, device=device)
    return as_tensor(ids), as_tensor(mask)
