"""Prompts that are read once and continued several times: sampled answers, weighed continuations.

A prompt is read into a cache, the cache is copied, and each copy goes its own way.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
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

from speechiq.core.prompt import Scored
from speechiq.core.usage import usage
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


class Reading(NamedTuple):
    """Prompts as a model has read them.

    Attributes:
        ids: token ids, shape (prompts, tokens); where the mask is 0 they mean nothing.
        mask: 1 for a token, 0 for padding, the same shape; the last column is 1.
        cache: of all columns but the last; None where there is one column only.
    """

    ids: torch.Tensor
    mask: torch.Tensor
    cache: Cache | None

    def copied(self, rows: Sequence[int]) -> Reading:
        """The prompts of these numbers, in this order, each as often as it is named."""
        copies = torch.tensor(rows, device=self.ids.device)
        if self.cache is not None:
            self.cache.reorder_cache(copies)
        return Reading(self.ids[copies], self.mask[copies], self.cache)


Wish = TypeVar("Wish")
Made = TypeVar("Made")
#: Takes the number of answers that have just ended.
Tell = Callable[[int], object]
#: Makes something of each prompt that a model has read and of what is wanted of it, such as seeds or continuations.
GoOn = Callable[[PreTrainedModel, Reading, Sequence[Wish], Tell], Sequence[Made]]


class Beginnings:
    """Caches of what prompts begin with, each read once for prompts that follow one another."""

    def __init__(self) -> None:
        self._caches: dict[tuple[str | int, ...], Cache] = {}

    def take(self, key: tuple[str | int, ...], begin: Callable[[], Cache]) -> Cache:
        """The cache of `key`, by `begin` where it is new; it stays as it is."""
        self._caches[key] = self._caches.pop(key) if key in self._caches else begin()
        return self._caches[key]

    def forget_all_but_last(self) -> None:
        """At the end of a batch, whose last prompt may begin as the first of the next."""
        self._caches = dict(list(self._caches.items())[-1:])


def greedy(model: PreTrainedModel, **settings: Any) -> GenerationConfig:
    """The model's own way of writing, without beams, its own limit of tokens, and what `write` sees to itself.

    Args:
        model: as loaded.
        **settings: of the config, before the model's own.
    """
    config = copy.deepcopy(model.generation_config)
    own = {"do_sample": False, "num_beams": 1, "max_length": None, "cache_implementation": None}
    config.update(**own, **dict.fromkeys(PROCESSORS), **settings)
    if config.pad_token_id is None:
        config.pad_token_id = int(torch.tensor(config.eos_token_id or 0).flatten()[0])
    return config


def count_nothing(rows: int) -> None:
    """Counts no rows."""


def write(
    model: PreTrainedModel,
    reading: Reading,
    seeds: Sequence[Sequence[int]],
    settings: Mapping[str, Any],
    pad_token_id: int,
    tell: Tell = count_nothing,
) -> torch.Tensor:
    """Tokens that follow each prompt, once a seed.

    Args:
        model: as loaded.
        reading: used up.
        seeds: for each prompt a seed an answer; all of one length.
        settings: `max_gen_toks`, and, before the model's own defaults, `repetition_penalty` and, where `do_sample`
            is set, the other names in `PROCESSORS`.
        pad_token_id: what follows the end of an answer.
        tell: called with the number of answers that have just ended.

    Returns:
        Token ids, shape (prompts * seeds, tokens), the answers to one prompt next to each other.
    """
    steps = int(settings.get("max_gen_toks", ANSWER))
    used = sampling_settings(settings, model.generation_config)
    sampled = used.pop("do_sample")
    chain = [RefuseNaN(model.name_or_path, model.dtype), *processors(used, model.device)]
    if sampled:
        chain.append(SeededSampling([seed for row in seeds for seed in row]))
    ids, mask, cache = reading.copied([i for i, row in enumerate(seeds) for _ in row])
    config = greedy(model, max_new_tokens=steps, pad_token_id=pad_token_id)
    ends = torch.tensor([] if config.eos_token_id is None else config.eos_token_id, dtype=torch.long).flatten()
    output = GenerationMixin.generate(
        model,
        ids,
        attention_mask=mask,
        past_key_values=cache,
        generation_config=config,
        logits_processor=LogitsProcessorList(chain),
        stopping_criteria=StoppingCriteriaList([Finished(ends.tolist(), tell)]),
    )[:, ids.shape[1] :]
    usage["generated_tokens"] += int((output != pad_token_id).sum())
    return output


def weigh(
    model: PreTrainedModel, reading: Reading, continuations: Sequence[Sequence[Sequence[int]]]
) -> list[list[Scored]]:
    """How likely each prompt's continuations, lists of token ids, are after it; `reading` is used up."""
    rows = [i for i, group in enumerate(continuations) for _ in group]
    ids, mask, cache = reading.copied(rows)
    tail_ids, tail_mask = pad([row for group in continuations for row in group], "right", ids.device)
    tail_ids, tail_mask = torch.cat([ids[:, -1:], tail_ids], 1), torch.cat([mask[:, -1:], tail_mask], 1)
    mask = torch.cat([mask[:, :-1], tail_mask], dim=1)
    logits = model(
        input_ids=tail_ids,
        attention_mask=mask,
        position_ids=(mask.cumsum(-1) - 1)[:, -tail_ids.shape[1] :],
        past_key_values=cache,
    ).logits[:, :-1]
    targets, wanted = tail_ids[:, 1:], tail_mask[:, 1:].bool()
    logprobs = logits.float().log_softmax(-1).gather(-1, targets[..., None]).squeeze(-1)
    refuse_nan(logprobs, model.name_or_path, model.dtype)
    totals = logprobs.masked_fill(~wanted, 0).cpu().double().sum(-1).tolist()
    likeliest = ((logits.argmax(-1) == targets) | ~wanted).all(-1).tolist()
    scored = map(Scored, totals, likeliest)
    return [[next(scored) for _ in group] for group in continuations]


def weigh_all(
    model: PreTrainedModel,
    reading: Reading,
    continuations: Sequence[Sequence[Sequence[int]]],
    tell: Tell,
) -> list[list[Scored]]:
    """Do as `weigh`; nothing is reported within a batch, since all of it is done at once."""
    return weigh(model, reading, continuations)


def read(model: PreTrainedModel, prompts: Sequence[Sequence[int]], beginnings: Sequence[Cache] = ()) -> Reading:
    """Prompts of text, or what is text of them after their beginnings.

    Args:
        model: as loaded.
        prompts: token ids, those of the beginning too.
        beginnings: for each prompt the cache of its first tokens, which stays as it is; none at all where the
            prompts have none.
    """
    lengths = [cache.get_seq_length() for cache in beginnings] or [0] * len(prompts)
    heads = pad([row[:length] for row, length in zip(prompts, lengths, strict=True)], "left", model.device)
    tails = pad([row[length:] for row, length in zip(prompts, lengths, strict=True)], "left", model.device)
    ids, mask = (torch.cat(parts, dim=1) for parts in zip(heads, tails, strict=True))
    cache = join(beginnings) if beginnings else None
    if tails[0].shape[1] > 1:
        cache = begin(model, cache, input_ids=ids[:, :-1], attention_mask=mask[:, :-1])
    return Reading(ids, mask, cache)


def begin(model: PreTrainedModel, cache: Cache | None = None, **inputs: torch.Tensor) -> Cache:
    """The cache of all `inputs`, filled by the model's own generation, which knows what its architecture needs.

    With a `cache` the inputs are those of the cache and more, all text; some models take prompts without audio for
    ones that were never heard, and would switch off what they hear with.
    """
    generate = model.generate if cache is None else partial(GenerationMixin.generate, model)
    if cache is None:
        usage["prefills"] += len(inputs["input_ids"])
    return generate(
        **inputs,
        past_key_values=cache,
        generation_config=greedy(model, max_new_tokens=1, return_dict_in_generate=True),
    ).past_key_values


def can_join(cache: Cache) -> bool:
    """Whether rows of other lengths may stand beside this one: no layer forgets or sums up what it has read."""
    return isinstance(cache, DynamicCache) and all(type(layer) is DynamicLayer for layer in cache.layers)


def join(caches: Sequence[Cache]) -> Cache:
    """One cache of many rows, padded on the left; a copy. Of caches that cannot be joined there must be one only."""
    if not can_join(caches[0]):
        (cache,) = caches
        return copy.deepcopy(cache)
    longest, joined = max(cache.get_seq_length() for cache in caches), DynamicCache()
    for number, layers in enumerate(zip(*(cache.layers for cache in caches), strict=True)):
        keys, values = (
            torch.cat([torch.nn.functional.pad(state, (0, 0, longest - state.shape[-2], 0)) for state in states])
            for states in ([layer.keys for layer in layers], [layer.values for layer in layers])
        )
        joined.update(keys, values, number)
    return joined


def pad(
    rows: Sequence[Sequence[int]], side: Literal["left", "right"], device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and mask, each (rows, longest row), padded on the left or right; the mask of padded places is 0.

    A row is padded with its own first token: a penalty for repetition looks at all ids, whatever the mask says.
    """
    longest = max(map(len, rows))
    ids, mask = [], []
    for row in rows:
        gap = longest - len(row)
        left, right = (gap, 0) if side == "left" else (0, gap)
        filler = row[0] if row else 0
        ids.append([filler] * left + list(row) + [filler] * right)
        mask.append([0] * left + [1] * len(row) + [0] * right)
    as_tensor = partial(torch.tensor, dtype=torch.long, device=device)
    return as_tensor(ids), as_tensor(mask)
