"""Run language models by `transformers`: sampled answers and log-likelihoods, with one prefill per prompt."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache, PreTrainedTokenizerBase

from speechiq.core.batches import OnResult, drop
from speechiq.core.checkpoints.names import is_language_model
from speechiq.core.checkpoints.opening import check_tokens, opening, read_context
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Scored, TextPrompt, as_messages
from speechiq.engines._shared.checkpoint import Checkpoint, Loading
from speechiq.engines._shared.checkpoint_writer import (
    ANSWER,
    LONGER,
    CheckpointWriter,
    ModelInputs,
    Work,
    can_join,
    loglikelihoods,
)
from speechiq.engines.base import Seeds, Setup, TextEngine
from speechiq.engines.options import SystemTurn, only_given


class LanguageModelOptions(Loading, frozen=True, kw_only=True):
    """Define the options of `TransformersLLM`."""

    system: SystemTurn = None


class TransformersLLM(CheckpointWriter, TextEngine):
    """Run a causal language model; see `CheckpointWriter`."""

    record = LanguageModelOptions

    def __init__(self, model: str, options: LanguageModelOptions, setup: Setup) -> None:
        self.checkpoint = Checkpoint(model, AutoModelForCausalLM, is_language_model, "a language model", options, setup)
        self.tokenizer = self.checkpoint.load_processor(AutoTokenizer)
        self.context = read_context(self.checkpoint.config, self.tokenizer)
        self.own_settings = self.checkpoint.generation_config
        self.system = options.system or ""
        with opening(f"{model}: its chat template does not work", "fix or remove the template", self.checkpoint.place):
            plain = _as_chat(self.tokenizer, "Hello")
        if self.system:
            self._check_system(plain)
        self._shares_prefixes = can_join(DynamicCache(config=self.checkpoint.config))

    def _check_system(self, plain: Sequence[int]) -> None:
        """Refuse a system turn for which the chat template has no place; `plain` is a prompt without it."""
        option, fix = f"{self.checkpoint.prefix}system", "leave it out, or choose a model with system turns"
        with opening(f"{self.checkpoint.name}: its chat template takes no {option}", fix, self.checkpoint.place):
            tokens = _as_chat(self.tokenizer, "Hello", self.system)
        if tokens == plain:
            raise SpeechIQError(self.checkpoint.name, f"its chat template has no place for {option}", fix)

    def describe(self) -> dict[str, Any]:
        """Describe the checkpoint and the system turn; see `Engine.describe`."""
        return super().describe() | only_given(system=self.system)

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return len(self.tokenizer(text, add_special_tokens=False).input_ids)

    def generate(
        self, prompts: Sequence[TextPrompt], seeds: Seeds, settings: Mapping[str, Any], on_result: OnResult = drop
    ) -> list[list[str]]:
        """Answer each prompt, in the model's chat template if it has one; see `TextEngine.generate`."""
        tokenize = partial(_as_chat, self.tokenizer, system=self.system)
        inputs = [self._inputs(prompt, tokenize(prompt.text), tokenize) for prompt in prompts]
        self._check(prompts, [row.ids for row in inputs], int(settings.get("max_gen_toks", ANSWER)))
        decode, label = partial(self._decode_answers, settings), ("answering", "answer")
        work = [_as_work(row, request) for row, request in zip(inputs, seeds, strict=True)]
        return self._run(label, prompts, work, decode, on_result, are_answers=True)

    def loglikelihood(
        self, prompts: Sequence[TextPrompt], continuations: Sequence[Sequence[str]], on_result: OnResult = drop
    ) -> list[list[Scored]]:
        """Return the log-probability of each continuation after its prompt, both as plain text.

        Prompt and continuation are tokenized as one text and split at the first token in which the continuations
        differ, so that the end of the prompt forces no end of a token.
        """
        inputs, tails, longest = [], [], []
        for prompt, group in zip(prompts, continuations, strict=True):
            head, *full = _tokenize(self.tokenizer, [prompt.text, *(prompt.text + text for text in group)])
            start = _count_shared([head, *full])
            inputs.append(self._inputs(prompt, head[:start], lambda text: self.tokenizer(text).input_ids))
            tails.append([row[start:] for row in full])
            longest.append(max([head, *full], key=len))
        self._check(prompts, longest, 0)
        label = "answering by likelihood", "prompt"
        work = [_as_work(row, request) for row, request in zip(inputs, tails, strict=True)]
        return self._run(label, prompts, work, loglikelihoods, on_result)

    def _inputs(self, prompt: TextPrompt, ids: list[int], tokenize: Callable[[str], list[int]]) -> ModelInputs:
        """Return the tokens of a prompt and how many of them are those of its shared text.

        The last token of that text may be left out, since it depends on what follows.
        """
        if not (self._shares_prefixes and prompt.shared):
            return ModelInputs(ids)
        return ModelInputs(ids, _count_shared([ids[:-1], tokenize(prompt.text[: prompt.shared])]))

    def _check(self, prompts: Sequence[TextPrompt], rows: Sequence[Sequence[int]], more: int) -> None:
        """Refuse prompts that, with `more` tokens, exceed the context or the vocabulary, before the model is loaded."""
        name, text = self.checkpoint.name, self.checkpoint.config.get_text_config(decoder=True)
        known = getattr(text, "vocab_size", None) or math.inf
        for prompt, ids in zip(prompts, rows, strict=True):
            check_tokens(name, prompt.name, ids, more, self.context, LONGER)
            if max(ids, default=0) >= known:
                raise SpeechIQError(
                    name,
                    f"its tokenizer makes token {max(ids)}, but the model knows {known}",
                    "give the tokenizer of the same checkpoint",
                )


def _as_work(inputs: ModelInputs, request: Any) -> Work[Any]:
    """Return the work on a prompt; prompts with an equal prefix follow one another."""
    length = inputs.prefix, inputs.ids[: inputs.prefix], len(inputs.ids)
    return Work(lambda: inputs, request, length, inputs.prefix > 0)


def _tokenize(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[list[int]]:
    tokens = tokenizer(list(texts)).input_ids
    start = [] if _count_shared(tokens) else [tokenizer.bos_token_id or tokenizer.eos_token_id]
    return [start + row for row in tokens]


def _count_shared(rows: Sequence[Sequence[int]]) -> int:
    columns = enumerate(zip(*rows, strict=False))
    return next((i for i, column in columns if len(set(column)) > 1), min(map(len, rows)))


def _as_chat(tokenizer: PreTrainedTokenizerBase, prompt: str, system: str = "") -> list[int]:
    if tokenizer.chat_template is None:
        return tokenizer(prompt).input_ids
    messages = as_messages(prompt, system)
    return tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)["input_ids"]
