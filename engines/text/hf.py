"""Run language models by `transformers`: sampled answers and log-likelihoods, with one prefill per prompt."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, NamedTuple

import torch
from tqdm import tqdm
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    Cache,
    DynamicCache,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from speechiq.core.batches import OnResult, drop, once, run_in_batches
from speechiq.core.checkpoints.context import check_tokens, read_context
from speechiq.core.checkpoints.names import is_language_model, resolve
from speechiq.core.checkpoints.opening import opening
from speechiq.core.errors import SpeechIQError
from speechiq.core.progress import progress_bar
from speechiq.core.prompt import Scored, TextPrompt, audio_seconds
from speechiq.core.usage import measured
from speechiq.engines._shared.checkpoint import Checkpoint
from speechiq.engines._shared.loading import Loading
from speechiq.engines._shared.prefill import (
    ANSWER,
    LONGER,
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
from speechiq.engines.base import Setup, TextEngine


class Row(NamedTuple):
    """The tokens of a prompt.

    Attributes:
        ids: token ids.
        shared: how many of the first tokens are the same in every prompt that shares the prefix.
    """

    ids: list[int]
    shared: int

    @classmethod
    def of(cls, prompt: TextPrompt, ids: list[int], tokenize: Callable[[str], list[int]]) -> Row:
        """Return the row of a prompt; `shared` may leave out the prefix's last token, which depends on what follows."""
        prefix = prompt.text[: prompt.shared]
        return cls(ids, _count_shared([ids[:-1], tokenize(prefix)]) if prefix else 0)


class TransformersLLM(TextEngine):
    """Run a causal language model.

    Args:
        model: hub id, folder, or `demo:NAME`.
        options: see `Loading`.
        setup: of this run; a batch is counted in prompts.

    Raises:
        SpeechIQError: a checkpoint that is not a language model, or one without a tokenizer.
    """

    record = Loading

    def __init__(self, model: str, options: Loading, setup: Setup) -> None:
        self.checkpoint = Checkpoint(model, AutoModelForCausalLM, is_language_model, "a language model", options, setup)
        self.tokenizer = self.checkpoint.load_processor(AutoTokenizer)
        self.tokenizer.pad_token = self.tokenizer.pad_token or self.tokenizer.eos_token
        self.own = self.checkpoint.generation_config
        self.context = read_context(self.checkpoint.config, self.tokenizer)
        with opening(f"{model}: its chat template does not work", "fix or remove the template", resolve(model)):
            _as_chat(self.tokenizer, "Hello")

    def keep_loaded(self) -> AbstractContextManager[None]:
        """Return a block in which the model stays in memory from call to call."""
        return self.checkpoint.keep_loaded()

    def count(self, text: str) -> int:
        """Return how many tokens a text has."""
        return len(self.tokenizer(text, add_special_tokens=False).input_ids)

    def generate(
        self,
        prompts: Sequence[TextPrompt],
        seeds: Sequence[Sequence[int]],
        settings: Mapping[str, Any],
        on_result: OnResult = drop,
    ) -> list[list[str]]:
        """Answer each prompt, in the model's chat template if it has one.

        Args:
            prompts: the user's messages; a shared prefix is prefilled once for all prompts that begin with it.
            seeds: per prompt one seed per answer; all of one length.
            settings: see `prefill.write`.
            on_result: see `engines.base`.

        Raises:
            SpeechIQError: a prompt that, together with its answer, exceeds the model's context.
        """
        tokenize = partial(_as_chat, self.tokenizer)
        rows = [Row.of(prompt, tokenize(prompt.text), tokenize) for prompt in prompts]
        self._check(prompts, [row.ids for row in rows], int(settings.get("max_gen_toks", ANSWER)))
        label = "answering", sum(map(len, seeds)), "answer"
        write_answers = partial(_sample, self.tokenizer, settings)
        seconds = audio_seconds(prompts)
        return self._run(label, seconds, rows, seeds, write_answers, on_result, steps=lambda item: len(item[1]))

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sampling settings in effect; see `sampling.sampling_settings`."""
        return sampling_settings(settings, self.own)

    def effective(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given settings and the defaults in effect, for the keys of the response cache."""
        return {**settings, **self.sampling(settings)}

    def loglikelihood(
        self, prompts: Sequence[TextPrompt], continuations: Sequence[Sequence[str]], on_result: OnResult = drop
    ) -> list[list[Scored]]:
        """Return the log-probability of each continuation after its prompt, both as plain text.

        Prompt and continuation are tokenized as one text and split at the first token in which the continuations
        differ, so that the end of the prompt forces no end of a token.

        Raises:
            SpeechIQError: a prompt with a continuation that exceeds the model's context.
        """
        rows, tails, longest = [], [], []
        for prompt, group in zip(prompts, continuations, strict=True):
            head, *full = _tokenize(self.tokenizer, [prompt.text, *(prompt.text + text for text in group)])
            start = _count_shared([head, *full])
            rows.append(Row.of(prompt, head[:start], lambda text: self.tokenizer(text).input_ids))
            tails.append([row[start:] for row in full])
            longest.append(max([head, *full], key=len))
        self._check(prompts, longest, 0)
        label = "answering by likelihood", len(rows), "prompt"
        return self._run(label, audio_seconds(prompts), rows, tails, loglikelihoods, on_result)

    def _check(self, prompts: Sequence[TextPrompt], rows: Sequence[Sequence[int]], more: int) -> None:
        """Refuse prompts that, with `more` tokens, exceed the context or the vocabulary, before the model is loaded."""
        name, text = self.checkpoint.name, self.checkpoint.config.get_text_config(decoder=True)
        known = getattr(text, "vocab_size", None) or math.inf
        for prompt, ids in zip(prompts, rows, strict=True):
            check_tokens(name, prompt.name, ids, more, self.context, LONGER)
            if max(ids, default=0) >= known:
                raise SpeechIQError(
                    f"{name}: its tokenizer makes token {max(ids)}, but the model knows {known}; give the tokenizer of "
                    f"the same checkpoint"
                )

    def _bar(self, verb: str, total: int, unit: str) -> tqdm[Any]:
        return progress_bar(total=total, verb=f"{self.checkpoint.name} {verb}", unit=unit)

    def _run(
        self,
        label: tuple[str, int, str],
        seconds: float,
        rows: Sequence[Row],
        requests: Sequence[Request],
        decode: Decode[Request, Result],
        on_result: OnResult,
        steps: Callable[[tuple[Row, Request]], int] = once,
    ) -> list[Result]:
        """Return the results of `decode` for the prompts and their requests, batch by batch.

        Args:
            label: of the progress bar: verb, total and unit.
            seconds: of audio that the prompts are about, for the speed.
            rows: the prompts.
            requests: one per prompt, such as its seeds or its continuations.
            decode: continues the prompts of a batch.
            on_result: see `engines.base`.
            steps: how much an item adds to the progress bar.
        """
        with self.checkpoint.loaded() as model, self._bar(*label) as progress, measured(label[0], seconds):
            if not can_join(DynamicCache(config=model.config)):
                rows = [Row(row.ids, shared=0) for row in rows]
            return run_in_batches(
                list(zip(rows, requests, strict=True)),
                partial(_run_batch, model, PrefixCaches(), decode, progress.update),
                length=lambda item: (item[0].shared, item[0].ids[: item[0].shared], len(item[0].ids)),
                batch_size=self.checkpoint.batch_size,
                progress=progress,
                on_result=on_result,
                kind=lambda item: item[0].shared > 0,
                steps=steps,
            )

    def identity(self) -> dict[str, Any]:
        """Return what identifies the checkpoint; see `Engine.identity`."""
        return {"stage": "text", **self.checkpoint.identity()}

    def describe(self) -> dict[str, Any]:
        """Return the checkpoint and how it is loaded; see `Engine.describe`."""
        return self.checkpoint.describe()


def _tokenize(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[list[int]]:
    tokens = tokenizer(list(texts)).input_ids
    start = [] if _count_shared(tokens) else [tokenizer.bos_token_id or tokenizer.eos_token_id]
    return [start + row for row in tokens]


def _count_shared(rows: Sequence[Sequence[int]]) -> int:
    columns = enumerate(zip(*rows, strict=False))
    return next((i for i, column in columns if len(set(column)) > 1), min(map(len, rows)))


def _as_chat(tokenizer: PreTrainedTokenizerBase, prompt: str) -> list[int]:
    if tokenizer.chat_template is None:
        return tokenizer(prompt).input_ids
    messages = [{"role": "user", "content": prompt}]
    return tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)["input_ids"]


def _run_batch(
    model: PreTrainedModel,
    prefix_caches: PrefixCaches,
    decode: Decode[Request, Result],
    on_finished: OnFinished,
    batch: Sequence[tuple[Row, Request]],
) -> Sequence[Result]:
    rows, requests = [row for row, _ in batch], [request for _, request in batch]
    prefixes = [row.ids[: row.shared] for row in rows if row.shared]
    caches = [prefix_caches.get(tuple(ids), partial(_prefill_prefix, model, ids)) for ids in prefixes]
    prefix_caches.drop_all_but_last()
    return decode(model, prefill_text(model, [row.ids for row in rows], caches), requests, on_finished)


def _prefill_prefix(model: PreTrainedModel, ids: Sequence[int]) -> Cache:
    row = torch.tensor([ids], device=model.device)
    return fill_cache(model, input_ids=row, attention_mask=torch.ones_like(row))


def _sample(
    tokenizer: PreTrainedTokenizerBase,
    settings: Mapping[str, Any],
    model: PreTrainedModel,
    prefill: Prefill,
    seeds: Sequence[Sequence[int]],
    on_finished: OnFinished,
) -> list[list[str]]:
    rows = write(model, prefill, seeds, settings, tokenizer.pad_token_id, on_finished)
    texts = iter(tokenizer.batch_decode(rows, skip_special_tokens=True))
    return [[next(texts) for _ in row] for row in seeds]
