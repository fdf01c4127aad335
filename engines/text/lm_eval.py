"""Run language models by any model type of lm-eval, also by those of its later versions."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, partial
from typing import Annotated, Any

import torch
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from lm_eval.api.registry import get_model
from msgspec import Meta
from msgspec.structs import asdict
from tqdm import tqdm
from transformers import AutoTokenizer, GenerationConfig, PreTrainedTokenizerBase

from speechiq.core.batches import OnResult, drop, run_in_batches
from speechiq.core.checkpoints.context import count_by_bytes
from speechiq.core.checkpoints.identity import identity
from speechiq.core.checkpoints.names import is_speech_recognizer, read_config, resolve
from speechiq.core.checkpoints.opening import first_line
from speechiq.core.errors import SpeechIQError
from speechiq.core.progress import progress_bar
from speechiq.core.prompt import Scored, TextPrompt, audio_seconds
from speechiq.core.usage import measured, usage
from speechiq.engines._shared.checkpoint import read_generation_config
from speechiq.engines._shared.model_lifetime import ModelLifetime
from speechiq.engines._shared.sampling import PENALTY, PROCESSORS
from speechiq.engines.base import BatchSize, Setup, TextEngine
from speechiq.engines.options import Count, OpenOptions

SAMPLING = ("temperature", "top_k", "top_p")
NAMES_OF_MODEL = ("pretrained", "model", "model_id", "engine", "path", "load")
#: Settings on which a greedy answer does not depend.
SAMPLED_ONLY = PROCESSORS.keys() - PENALTY.keys()
SEEDED = ("vllm", "vllm-vlm")
SEEDS = 2**31
ANSWER = 256  # tokens, lm-eval's own default
AUTO_BATCH = 256


class LMEvalOptions(OpenOptions, frozen=True, kw_only=True):
    """Define the options of `LMEvalText`; all others go to the constructor of the model type."""

    temperature: Annotated[
        float | None, Meta(description="Temperature, instead of that of the task or the checkpoint.")
    ] = None
    top_k: Annotated[
        int | None, Meta(description="Number of tokens to sample from, instead of that of the task or the checkpoint.")
    ] = None
    top_p: Annotated[
        float | None,
        Meta(description="Probability mass to sample from, instead of that of the task or the checkpoint."),
    ] = None
    max_gen_toks: Annotated[
        Count | None, Meta(description="Most tokens of an answer, instead of the task's limit.")
    ] = None


class LMEvalText(TextEngine):
    """Run a model type that loads weights; they are in memory only while the stage works.

    Each answer is a request of its own, so that five answers are five independent samples, by the checkpoint's own
    sampling settings. vLLM gets a seed per answer; other types sample by their own seeds, except for
    `LMEvalTransformers`.

    Args:
        model: hub id, folder, `demo:NAME`, or any other name that the model type takes.
        options: see `LMEvalOptions`.
        setup: of this run; `setup.engine` is the name of the model type.

    Raises:
        SpeechIQError: a temperature of 0 or less, or a checkpoint that is not a language model.
    """

    record = LMEvalOptions
    #: Set only while the model is in memory.
    _lm: LM

    def __init__(self, model: str, options: LMEvalOptions, setup: Setup) -> None:
        self.name, self.engine, self.prefix = f"{setup.engine}:{model}", setup.engine, setup.prefix
        if options.temperature is not None and not options.temperature > 0:
            raise SpeechIQError(
                f"{self.name}: {self.prefix}temperature={options.temperature}: all answers would be the same; give a "
                f"number above 0, or --gen_kwargs do_sample=false"
            )
        own = {name: value for name, value in asdict(options).items() if value is not None}
        self.model_type, self.model = get_model(setup.engine), model
        self.options: dict[str, Any] = own.pop("others")
        self.own = own
        self._has_chat_template = False
        self._lifetime = ModelLifetime(self._in_memory)
        self._prepare(setup.device, setup.batch_size)

    def _prepare(self, device: str | torch.device, batch_size: BatchSize) -> None:
        path = resolve(self.model)
        self.is_checkpoint, own = self._check_checkpoint(path)
        self.defaults = {"temperature": 1.0, **self._read_sampling(own)}
        parameters = inspect.signature(self.model_type).parameters
        model_parameter = next((name for name in NAMES_OF_MODEL if name in parameters), NAMES_OF_MODEL[0])
        self.batch_size = batch_size if isinstance(batch_size, int) else AUTO_BATCH
        self.arguments = {model_parameter: path, "device": str(device), "batch_size": batch_size, **self.options}

    def _check_checkpoint(self, path: str) -> tuple[bool, GenerationConfig]:
        """Return whether the model is a checkpoint, and its own generation settings."""
        source = self._source()
        try:
            config = read_config(path, **source)
        except SpeechIQError:
            return False, GenerationConfig()
        if is_speech_recognizer(config):
            raise SpeechIQError(
                f"{self.name}: a {config.model_type} checkpoint is not a language model; "
                f"check the order of the stages in pretrained"
            )
        return True, read_generation_config(self.model, config, **source)

    def _read_sampling(self, own: GenerationConfig) -> dict[str, Any]:
        """Return the sampling settings that come with the checkpoint."""
        return {name: value for name in SAMPLING if (value := getattr(own, name)) is not None}

    def keep_loaded(self) -> AbstractContextManager[None]:
        """Return a block in which the model stays in memory from call to call, once a call has loaded it."""
        return self._lifetime.keep_loaded()

    def count(self, text: str) -> int:
        """Return how many tokens a text has; an upper bound if transformers does not know the tokenizer."""
        tokenizer = self._tokenizer
        return len(tokenizer(text, add_special_tokens=False).input_ids) if tokenizer else count_by_bytes(text)

    @cached_property
    def _tokenizer(self) -> PreTrainedTokenizerBase | None:
        if not self.is_checkpoint:
            return None
        try:
            return AutoTokenizer.from_pretrained(self.options.get("tokenizer", resolve(self.model)), **self._source())
        except (OSError, ValueError):  # vLLM and others read further formats
            return None

    def _source(self) -> dict[str, Any]:
        return {name: self.options[name] for name in ("revision", "trust_remote_code") if name in self.options}

    def generate(
        self,
        prompts: Sequence[TextPrompt],
        seeds: Sequence[Sequence[int]],
        settings: Mapping[str, Any],
        on_result: OnResult = drop,
    ) -> list[list[str]]:
        """Answer each prompt, in the model's chat template if it has one; a greedy answer is computed only once."""
        settled = self._settle(settings)
        rows = [(prompt.text, row) for prompt, row in zip(prompts, seeds, strict=True)]
        with (
            self._lifetime.loaded(),
            self._progress("answering", len(rows)) as progress,
            measured("answering", audio_seconds(prompts)),
        ):
            return self._answer(rows, settled, progress, on_result)

    def _settle(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the generation settings in the one form that all model types interpret the same way."""
        settled = self.defaults | {"do_sample": False, **settings} | self.own
        if not settled["do_sample"]:
            settled = {name: value for name, value in settled.items() if name not in SAMPLED_ONLY} | {
                "temperature": 0.0
            }
        if not settled.get("until"):
            settled.pop("until", None)
        return settled

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sampling settings in effect: of the stage's options, else of the task, else of the model."""
        settled = self._settle(settings)
        return {name: settled[name] for name in ("do_sample", *PROCESSORS) if name in settled}

    def _answer(
        self,
        rows: Sequence[tuple[str, Sequence[int]]],
        settings: Mapping[str, Any],
        progress: tqdm[Any],
        on_result: OnResult,
    ) -> list[list[str]]:
        return run_in_batches(
            rows,
            lambda batch: self._generate(batch, settings),
            length=lambda row: len(row[0]),
            batch_size=self._prompts_at_once(settings),
            progress=progress,
            on_result=on_result,
        )

    def _prompts_at_once(self, settings: Mapping[str, Any]) -> int:
        return self.batch_size

    def _generate(self, rows: Sequence[tuple[str, Sequence[int]]], settings: Mapping[str, Any]) -> list[list[str]]:
        torch.manual_seed(rows[0][1][0])
        takes_seed = settings["do_sample"] and self.engine in SEEDED
        requests = [
            (self._as_chat(prompt), {**settings, **({"seed": seed % SEEDS} if takes_seed else {})})
            for prompt, seeds in rows
            for seed in distinct(seeds, settings)
        ]
        self._check_length({text for text, _ in requests}, settings.get("max_gen_toks", ANSWER))
        usage["prefills"] += len(requests)
        texts = iter(self._run("generate_until", requests))
        return [repeat_to([next(texts) for _ in distinct(seeds, settings)], len(seeds)) for _, seeds in rows]

    def _as_chat(self, prompt: str) -> str:
        messages = [{"role": "user", "content": prompt}]
        return self._lm.apply_chat_template(messages) if self._has_chat_template else prompt

    def loglikelihood(
        self, prompts: Sequence[TextPrompt], continuations: Sequence[Sequence[str]], on_result: OnResult = drop
    ) -> list[list[Scored]]:
        """Return the log-probability of each continuation after its prompt, both as plain text.

        Raises:
            SpeechIQError: the model type has no log-likelihoods.
        """
        rows = [(prompt.text, group) for prompt, group in zip(prompts, continuations, strict=True)]
        with (
            self._lifetime.loaded(),
            self._progress("answering by likelihood", len(rows)) as progress,
            measured("answering by likelihood", audio_seconds(prompts)),
        ):
            return run_in_batches(
                rows,
                self._loglikelihoods,
                length=lambda row: len(row[0]),
                batch_size=self.batch_size,
                progress=progress,
                on_result=on_result,
            )

    def _loglikelihoods(self, rows: Sequence[tuple[str, Sequence[str]]]) -> list[list[Scored]]:
        try:
            pairs = [(prompt, text) for prompt, group in rows for text in group]
            self._check_length({prompt + text for prompt, text in pairs}, 0)
            usage["prefills"] += len(pairs)
            results = iter(self._run("loglikelihood", pairs))
        except NotImplementedError as error:
            raise SpeechIQError(
                f"{self.name}: has no log-likelihoods; use llm_answer=generate and tasks that generate"
            ) from error
        return [[Scored(*next(results)) for _ in group] for _, group in rows]

    def _check_length(self, texts: Collection[str], answer: int) -> None:
        """Refuse texts that lm-eval would shorten to fit the model's context."""
        context = getattr(self._lm, "max_length", None)
        if context is None or getattr(self._lm, "tokenizer", None) is None:
            return
        longest = max(len(self._lm.tok_encode(text)) for text in texts)
        if longest + answer > context:
            raise SpeechIQError(
                f"{self.name}: a prompt of {longest} tokens and {answer} for the answer exceed the {context} it takes; "
                f"give a larger {self.prefix}max_length, a smaller {self.prefix}max_gen_toks, or a model with a longer "
                f"context"
            )

    def _run(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the results of the model type's method, one per tuple of arguments."""
        call = getattr(self._lm, method)
        if "disable_tqdm" in inspect.signature(call).parameters:
            call = partial(call, disable_tqdm=True)
        results = list(call([Instance(method, {}, given, i) for i, given in enumerate(arguments)]))
        if len(results) != len(arguments) or None in results:
            raise SpeechIQError(
                f"{self.name}: gave {len(results)} of {len(arguments)} answers, or empty ones; see its log"
            )
        return results

    @contextmanager
    def _in_memory(self) -> Iterator[None]:
        """Load the model for the time of the block."""
        self._lm = self._create()
        try:
            yield
        finally:
            shutdown = getattr(getattr(self._lm, "model", None), "shutdown", None)
            del self._lm
            if shutdown:
                shutdown()
            gc.collect()
            if torch.accelerator.is_available():
                torch.accelerator.empty_cache()

    def _create(self) -> LM:
        try:
            lm = self.model_type(**self.arguments)
            self._has_chat_template = bool(getattr(getattr(lm, "tokenizer", None), "chat_template", None))
            return lm
        except Exception as error:
            raise SpeechIQError(
                f"{self.name}: cannot be loaded ({type(error).__name__}: {first_line(error)}); check name and options"
            ) from error

    def _progress(self, verb: str, total: int) -> tqdm[Any]:
        return progress_bar(total=total, verb=f"{self.name} {verb}", unit="prompt")

    def describe(self) -> dict[str, Any]:
        """Return the model type, the model and its options; see `Engine.describe`."""
        return {"engine": self.engine, "model": self.model, "options": self.options | self.own}

    def identity(self) -> dict[str, Any]:
        """Return the description and what identifies the weights; see `Engine.identity`."""
        weights = identity(self.model, self.options.get("revision")) if self.is_checkpoint else {}
        return {"stage": "text", **self.describe(), **weights}


def distinct(seeds: Sequence[int], settings: Mapping[str, Any]) -> Sequence[int]:
    """Return the seeds that give different answers; without sampling only the first."""
    return seeds if settings["do_sample"] else seeds[:1]


def repeat_to(texts: list[str], n: int) -> list[str]:
    """Return `n` texts: all of them, or the only one `n` times."""
    return (texts * n)[:n]
