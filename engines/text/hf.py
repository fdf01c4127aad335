"""A text stage run by `transformers`: sampled answers and log-likelihoods, each prompt read once."""

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
from speechiq.core.checkpoints import is_language_model, resolve
from speechiq.core.context import check_tokens, read_context
from speechiq.core.errors import SpeechIQError
from speechiq.core.opening import opening
from speechiq.core.progress import progress_bar
from speechiq.core.prompt import Scored, TextPrompt
from speechiq.engines._shared.checkpoint import Checkpoint
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
from speechiq.engines.base import Setup, TextEngine


class Row(NamedTuple):
    """A prompt.

    Attributes:
        ids: of its tokens.
        shared: how many of them, from the first, are those of every prompt that shares the same text.
    """

    ids: list[int]
    shared: int

    @classmethod
    def of(cls, prompt: TextPrompt, ids: list[int], tokenise: Callable[[str], list[int]]) -> Row:
        """Return the row of a prompt; the last token of a shared text may be another if the text goes on."""
        shared = prompt.text[: prompt.shared]
        return cls(ids, _count_shared([ids[:-1], tokenise(shared)]) if shared else 0)


class TransformersLLM(TextEngine):
    """A causal language model.

    Args:
        model: hub id, folder, or `demo:NAME`.
        options: see `Loading`.
        setup: a batch is counted in prompts.

    Raises:
        SpeechIQError: a checkpoint of another kind, or one without a tokenizer.
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

    def at_work(self) -> AbstractContextManager[None]:
        return self.checkpoint.staying()

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
        """Answers to each prompt, put through the chat template where the model has one.

        Args:
            prompts: what a user says; the shared text is read once for all prompts that begin with it.
            seeds: for each prompt a seed an answer; all of one length.
            settings: see `prefix.write`.

        Raises:
            SpeechIQError: a prompt that leaves no room for its answer in the model's context.
        """
        tokenise = partial(_as_chat, self.tokenizer)
        rows = [Row.of(prompt, tokenise(prompt.text), tokenise) for prompt in prompts]
        self._check(prompts, [row.ids for row in rows], int(settings.get("max_gen_toks", ANSWER)))
        label = "answering", sum(map(len, seeds)), "answer"
        write_answers = partial(_sample, self.tokenizer, settings)
        return self._run(label, rows, seeds, write_answers, on_result, steps=lambda item: len(item[1]))

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """See `prefix.sampling_settings`."""
        return sampling_settings(settings, self.own)

    def effective(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return all settings that decide an answer, for the keys of the response store."""
        return {**settings, **self.sampling(settings)}

    def loglikelihood(
        self, contexts: Sequence[TextPrompt], continuations: Sequence[Sequence[str]], on_result: OnResult = drop
    ) -> list[list[Scored]]:
        """How likely each continuation is after its context, both taken as plain text.

        Context and continuation are tokenised as one text and parted where the continuations part, so that
        a token never ends where only the context does.

        Raises:
            SpeechIQError: a context and continuation that are longer than the model's context.
        """
        rows, tails, longest = [], [], []
        for context, group in zip(contexts, continuations, strict=True):
            head, *whole = _tokenise(self.tokenizer, [context.text, *(context.text + text for text in group)])
            start = _count_shared([head, *whole])
            rows.append(Row.of(context, head[:start], lambda text: self.tokenizer(text).input_ids))
            tails.append([row[start:] for row in whole])
            longest.append(max([head, *whole], key=len))
        self._check(contexts, longest, 0)
        return self._run(("weighing", len(rows), "prompt"), rows, tails, weigh_all, on_result)

    def _check(self, prompts: Sequence[TextPrompt], rows: Sequence[Sequence[int]], more: int) -> None:
        """Refuse prompts that the model cannot read whole, before it is loaded."""
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
        rows: Sequence[Row],
        wishes: Sequence[Wish],
        go_on: GoOn[Wish, Made],
        on_result: OnResult,
        steps: Callable[[tuple[Row, Wish]], int] = once,
    ) -> list[Made]:
        """Return what `go_on(model, reading, wishes, tell)` makes of the prompts and their wishes, batch by batch."""
        with self.checkpoint.loaded() as model, self._bar(*label) as progress:
            if not can_join(DynamicCache(config=model.config)):
                rows = [Row(row.ids, shared=0) for row in rows]
            return run_in_batches(
                list(zip(rows, wishes, strict=True)),
                partial(_run_batch, model, Beginnings(), go_on, progress.update),
                length=lambda item: (item[0].shared, item[0].ids[: item[0].shared], len(item[0].ids)),
                batch_size=self.checkpoint.batch_size,
                progress=progress,
                on_result=on_result,
                kind=lambda item: item[0].shared > 0,
                steps=steps,
            )

    def identity(self) -> dict[str, Any]:
        return {"stage": "text", **self.checkpoint.identity()}

    def describe(self) -> dict[str, Any]:
        return self.checkpoint.describe()


def _tokenise(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[list[int]]:
    tokens = tokenizer(list(texts)).input_ids
    start = [] if _count_shared(tokens) else [tokenizer.bos_token_id or tokenizer.eos_token_id]
    return [start + row for row in tokens]


def _count_shared(rows: Sequence[Sequence[int]]) -> int:
    columns = enumerate(zip(*rows, strict=False))
    return next((i for i, column in columns if len(set(column)) > 1), min(map(len, rows)))


def _as_chat(tokenizer: PreTrainedTokenizerBase, prompt: str) -> list[int]:
    if tokenizer.chat_template is None:
        return tokenizer(prompt).input_ids
    said = [{"role": "user", "content": prompt}]
    return tokenizer.apply_chat_template(said, add_generation_prompt=True, return_dict=True)["input_ids"]


def _run_batch(
    model: PreTrainedModel,
    beginnings: Beginnings,
    go_on: GoOn[Wish, Made],
    tell: Tell,
    batch: Sequence[tuple[Row, Wish]],
) -> Sequence[Made]:
    rows, wishes = [row for row, _ in batch], [wish for _, wish in batch]
    shared = [row.ids[: row.shared] for row in rows if row.shared]
    caches = [beginnings.take(tuple(ids), partial(_begin, model, ids)) for ids in shared]
    beginnings.forget_all_but_last()
    return go_on(model, read(model, [row.ids for row in rows], caches), wishes, tell)


def _begin(model: PreTrainedModel, ids: Sequence[int]) -> Cache:
    row = torch.tensor([ids], device=model.device)
    return begin(model, input_ids=row, attention_mask=torch.ones_like(row))


def _sample(
    tokenizer: PreTrainedTokenizerBase,
    settings: Mapping[str, Any],
    model: PreTrainedModel,
    reading: Reading,
    seeds: Sequence[Sequence[int]],
    tell: Tell,
) -> list[list[str]]:
    rows = write(model, reading, seeds, settings, tokenizer.pad_token_id, tell)
    texts = iter(tokenizer.batch_decode(rows, skip_special_tokens=True))
    return [[next(texts) for _ in row] for row in seeds]
