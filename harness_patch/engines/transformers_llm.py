"""A text stage run by `transformers`: sampled answers and log-likelihoods, each prompt read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tqdm import tqdm
from transformers import AutoModelForCausalLM, AutoTokenizer

from speechiq.core.checkpoints import is_language_model
from speechiq.core.progress import progress_bar
from speechiq.harness_patch.batches import Keep, drop, run_in_batches
from speechiq.harness_patch.engines.checkpoint import Checkpoint
from speechiq.harness_patch.engines.prefix import read, sampling_settings, weigh, write
from speechiq.harness_patch.systems.system import Scored


class TransformersLLM:
    """A causal language model.

    Args:
        model: hub id, folder, or `demo:NAME`.
        device: see `Checkpoint`.
        batch_size: see `Checkpoint`; counted in prompts.
        **loading: see `Loading`.
    """

    def __init__(self, model, *, device, batch_size, **loading: Any) -> None:
        self.checkpoint = Checkpoint(
            model, AutoModelForCausalLM, is_language_model,
            "a language model", device=device, batch_size=batch_size, **loading,
        )  # fmt: skip

    def generate(
        self,
        prompts: Sequence[str],
        seeds: Sequence[Sequence[int]],
        settings: Mapping[str, Any],
        keep: Keep = drop,
    ) -> list[list[str]]:
        """Answers to each prompt, put through the chat template where the model has one.

        Args:
            prompts: what a user says.
            seeds: for each prompt a seed an answer; all of one length.
            settings: `max_gen_toks`, `do_sample`, and, before the model's own defaults, `temperature`,
                `top_k`, `top_p`.
        """
        tokenizer = self.checkpoint.load_processor(AutoTokenizer)
        tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
        rows = list(zip([_as_chat(tokenizer, prompt) for prompt in prompts], seeds, strict=True))
        with self.checkpoint.loaded() as model, self._progress("answering", len(rows)) as progress:
            return run_in_batches(
                rows,
                lambda batch: _sample(model, tokenizer, batch, settings),
                length=lambda row: len(row[0]),
                batch_size=self.checkpoint.batch_size,
                progress=progress,
                keep=keep,
            )

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """How answers are sampled: by the task's settings, else by the model's own."""
        return sampling_settings(settings, self.checkpoint.generation_config)

    def loglikelihood(
        self, contexts: Sequence[str], continuations: Sequence[Sequence[str]], keep: Keep = drop
    ) -> list[list[Scored]]:
        """How likely each continuation is after its context, both taken as plain text.

        Context and continuation are tokenised as one text and parted where the continuations part, so that
        a token never ends where only the context does.
        """
        tokenizer = self.checkpoint.load_processor(AutoTokenizer)
        rows = []
        for context, group in zip(contexts, continuations, strict=True):
            head, *whole = _tokenise(tokenizer, [context, *(context + text for text in group)])
            rows.append((whole, _count_shared([head, *whole])))
        with self.checkpoint.loaded() as model, self._progress("weighing", len(rows)) as progress:
            return run_in_batches(
                rows,
                lambda batch: _weigh(model, batch),
                length=lambda row: max(map(len, row[0])),
                batch_size=self.checkpoint.batch_size,
                progress=progress,
                keep=keep,
            )

    def _progress(self, verb: str, total: int) -> tqdm:
        return progress_bar(total=total, verb=f"{self.checkpoint.name} {verb}", unit="prompt")

    def identity(self) -> dict[str, Any]:
        return {"stage": "text", **self.checkpoint.identity()}

    def describe(self) -> dict[str, Any]:
        return self.checkpoint.describe()


def _tokenise(tokenizer, texts: Sequence[str]) -> list[list[int]]:
    tokens = tokenizer(list(texts)).input_ids
    start = [] if _count_shared(tokens) else [tokenizer.bos_token_id or tokenizer.eos_token_id]
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
    rows = write(model, read(model, prompts), seeds, settings, tokenizer.pad_token_id)
    texts = iter(tokenizer.batch_decode(rows, skip_special_tokens=True))
    return [[next(texts) for _ in row] for row in seeds]


def _weigh(model, batch) -> list[list[Scored]]:
    groups, starts = zip(*batch, strict=True)
    reading = read(model, [group[0][:start] for group, start in zip(groups, starts, strict=True)])
    return weigh(model, reading, [[row[start:] for row in group] for group, start in zip(groups, starts, strict=True)])
