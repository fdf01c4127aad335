"""A text stage run by `transformers`: sampled answers and log-likelihoods, each prompt read once."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from tqdm import tqdm
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LogitsProcessorList,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from speechiq.core.checkpoints import is_language_model
from speechiq.core.passes import passes
from speechiq.harness_patch.batches import run_in_batches
from speechiq.harness_patch.engines.checkpoint import Checkpoint
from speechiq.harness_patch.engines.sampling import SeededSampling
from speechiq.harness_patch.systems.system import Scored

WARPERS = {"temperature": TemperatureLogitsWarper, "top_k": TopKLogitsWarper, "top_p": TopPLogitsWarper}


class TransformersLLM:
    """A causal language model.

    Args:
        model: hub id, folder, or `demo:NAME`.
        device, batch_size, dtype, revision: see `Checkpoint`; a batch is counted in prompts.
    """

    def __init__(self, model, *, device, batch_size, dtype=None, revision=None) -> None:
        self.checkpoint = Checkpoint(
            model, AutoModelForCausalLM, is_language_model,
            "a language model", device=device, batch_size=batch_size, dtype=dtype, revision=revision,
        )  # fmt: skip

    def generate(
        self, prompts: Sequence[str], seeds: Sequence[Sequence[int]], settings: Mapping[str, Any]
    ) -> list[list[str]]:
        """Answers to each prompt, put through the chat template where the model has one.

        Args:
            prompts: what a user says.
            seeds: for each prompt a seed an answer; all of one length.
            settings: `max_gen_toks`, `do_sample`, and, before the model's own defaults, `temperature`,
                `top_k`, `top_p`.
        """
        tokenizer = self.checkpoint.load_processor(AutoTokenizer)
        tokenizer.padding_side = "left"
        tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
        rows = list(zip([_as_chat(tokenizer, prompt) for prompt in prompts], seeds, strict=True))
        with self.checkpoint.loaded() as model, self._progress("answering", len(rows)) as progress:
            return run_in_batches(
                rows,
                lambda batch: _sample(model, tokenizer, batch, settings),
                length=lambda row: len(row[0]),
                batch_size=self.checkpoint.batch_size,
                progress=progress,
            )

    def loglikelihood(self, contexts: Sequence[str], continuations: Sequence[Sequence[str]]) -> list[list[Scored]]:
        """How likely each continuation is after its context, both taken as plain text.

        Context and continuation are tokenised as one text and parted where the continuations part, so that
        a token never ends where only the context does. What is asked twice is weighed once.
        """
        tokenizer = self.checkpoint.load_processor(AutoTokenizer)
        asked = list(zip(contexts, map(tuple, continuations), strict=True))
        rows = {}
        for context, group in dict.fromkeys(asked):
            head, *whole = _tokenise(tokenizer, [context, *(context + text for text in group)])
            rows[context, group] = whole, _count_shared([head, *whole])
        with self.checkpoint.loaded() as model, self._progress("weighing", len(rows)) as progress:
            found = run_in_batches(
                list(rows.values()),
                lambda batch: _weigh(model, batch),
                length=lambda row: max(map(len, row[0])),
                batch_size=self.checkpoint.batch_size,
                progress=progress,
            )
        scored = dict(zip(rows, found, strict=True))
        return [scored[key] for key in asked]

    def _progress(self, verb: str, total: int) -> tqdm:
        return tqdm(total=total, desc=f"{self.checkpoint.name} {verb}", unit="prompt")

    def describe(self) -> dict[str, Any]:
        return self.checkpoint.describe()


def _tokenise(tokenizer, texts: Sequence[str]) -> list[list[int]]:
    tokens = tokenizer(list(texts)).input_ids
    start = [] if tokens[0] else [tokenizer.bos_token_id or tokenizer.eos_token_id]
    return [start + row for row in tokens]


def _count_shared(rows: Sequence[Sequence[int]]) -> int:
    columns = enumerate(zip(*rows, strict=False))
    return next((i for i, column in columns if len(set(column)) > 1), min(map(len, rows)))


def _as_chat(tokenizer, prompt: str) -> list[int]:
    if tokenizer.chat_template is None:
        return tokenizer(prompt).input_ids
    said = [{"role": "user", "content": prompt}]
    return tokenizer.apply_chat_template(said, add_generation_prompt=True, return_dict=True)["input_ids"]


def _sample(model, tokenizer, batch, settings: Mapping[str, Any]) -> list[list[str]]:
    prompts, seeds = zip(*batch, strict=True)
    inputs = tokenizer.pad({"input_ids": list(prompts)}, return_tensors="pt").to(model.device)
    copies = torch.arange(len(prompts), device=model.device).repeat_interleave(len(seeds[0]))
    ids, mask = inputs.input_ids[copies], inputs.attention_mask[copies]
    steps = int(settings.get("max_gen_toks", 256))
    defaults = copy.deepcopy(model.generation_config)
    warpers = [
        warper(value)
        for name, warper in WARPERS.items()
        if (value := settings.get(name, getattr(defaults, name, None)))
    ]
    sampling = [*warpers, SeededSampling([seed for row in seeds for seed in row], steps)]
    defaults.update(do_sample=False, temperature=None, top_k=None, top_p=None, max_length=None)
    output = model.generate(
        ids,
        attention_mask=mask,
        past_key_values=_read(model, inputs.input_ids[:, :-1], inputs.attention_mask[:, :-1], copies),
        generation_config=defaults,
        max_new_tokens=steps,
        pad_token_id=tokenizer.pad_token_id,
        logits_processor=LogitsProcessorList(sampling if settings.get("do_sample") else []),
    )
    passes["prefills"] += len(prompts)
    passes["generated_tokens"] += int((output[:, ids.shape[1] :] != tokenizer.pad_token_id).sum())
    texts = tokenizer.batch_decode(output[:, ids.shape[1] :], skip_special_tokens=True)
    n = len(seeds[0])
    return [texts[i : i + n] for i in range(0, len(texts), n)]


def _read(model, ids: torch.Tensor, mask: torch.Tensor, copies: torch.Tensor):
    """The cache of `ids` (rows, tokens; padded on the left), read once and then copied: (copies, ...)."""
    if not ids.shape[1]:
        return None
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    cache = model(
        input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=True, logits_to_keep=1
    ).past_key_values
    cache.batch_select_indices(copies)
    return cache


def _weigh(model, batch) -> list[list[Scored]]:
    groups, starts = zip(*batch, strict=True)
    passes["prefills"] += len(groups)
    device = model.device
    heads = [group[0][: start - 1] for group, start in zip(groups, starts, strict=True)]
    tails = [row[start - 1 :] for group, start in zip(groups, starts, strict=True) for row in group]
    copies = torch.tensor([i for i, group in enumerate(groups) for _ in group], device=device)
    head_ids, head_mask = _pad(heads, "left", device)
    tail_ids, tail_mask = _pad(tails, "right", device)
    mask = torch.cat([head_mask[copies], tail_mask], dim=1)
    logits = model(
        input_ids=tail_ids,
        attention_mask=mask,
        position_ids=(mask.cumsum(-1) - 1)[:, -tail_ids.shape[1] :],
        past_key_values=_read(model, head_ids, head_mask, copies),
    ).logits[:, :-1]
    targets, wanted = tail_ids[:, 1:], tail_mask[:, 1:].bool()
    logprobs = logits.float().log_softmax(-1).gather(-1, targets[..., None]).squeeze(-1)
    totals = logprobs.masked_fill(~wanted, 0).double().sum(-1).tolist()
    greedy = ((logits.argmax(-1) == targets) | ~wanted).all(-1).tolist()
    scored = map(Scored, totals, greedy)
    return [[next(scored) for _ in group] for group in groups]


def _pad(rows: Sequence[Sequence[int]], side: str, device) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and mask, each (rows, longest row); padded places hold id 0 and mask 0."""
    tensors = [torch.tensor(row, dtype=torch.long, device=device) for row in rows]
    ones = [torch.ones_like(row) for row in tensors]
    ids, mask = (torch.nn.utils.rnn.pad_sequence(part, batch_first=True, padding_side=side) for part in (tensors, ones))
    return ids, mask
