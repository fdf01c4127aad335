"""A text stage run by any model type of lm-eval, by its registered name: what the harness learns next works here."""

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
from speechiq.core.checkpoints import is_speech_recognizer, read_config, resolve
from speechiq.core.context import count_by_bytes
from speechiq.core.errors import SpeechIQError
from speechiq.core.identity import identity
from speechiq.core.opening import first_line
from speechiq.core.progress import progress_bar
from speechiq.core.prompt import Scored, TextPrompt
from speechiq.core.usage import usage
from speechiq.engines._shared.checkpoint import read_generation_config
from speechiq.engines._shared.residence import Residence
from speechiq.engines._shared.sampling import PENALTY, PROCESSORS
from speechiq.engines.base import BatchSize, Setup, TextEngine
from speechiq.engines.options import Count, OpenOptions

SAMPLING = ("temperature", "top_k", "top_p")
NAMES_OF_MODEL = ("pretrained", "model", "model_id", "engine", "path", "load")
#: What a greedy answer does not depend on.
CHANCE = PROCESSORS.keys() - PENALTY.keys()
SEEDED = ("vllm", "vllm-vlm")
SEEDS = 2**31
ANSWER = 256  # tokens, lm-eval's own default
AT_ONCE = 256


class LMEvalOptions(OpenOptions, frozen=True, kw_only=True):
    """Define the options of `LMEvalText`; all others go to the constructor of the model type."""

    temperature: Annotated[float | None, Meta(description="Temperature of sampled answers, instead of the task's.")] = (
        None
    )
    top_k: Annotated[
        int | None, Meta(description="Number of most likely tokens that are sampled from, instead of the task's.")
    ] = None
    top_p: Annotated[
        float | None, Meta(description="Probability mass of the tokens that are sampled from, instead of the task's.")
    ] = None
    max_gen_toks: Annotated[Count | None, Meta(description="Most tokens of an answer, instead of the task's.")] = None


class LMEvalText(TextEngine):
    """A model type that holds weights; they are in memory only while the stage works.

    Each answer is a request of its own, so that five are five independent samples, by the checkpoint's own
    sampling settings. vLLM is given a seed per answer. Others sample by seeds of their own, apart from
    `LMEvalTransformers`.

    Args:
        model: hub id, folder, `demo:NAME`, or what the type takes.
        options: see `LMEvalOptions`.
        setup: its engine is the name of the model type.
    """

    record = LMEvalOptions
    #: There only while the model is in memory.
    _lm: LM

    def __init__(self, model: str, options: LMEvalOptions, setup: Setup) -> None:
        self.name, self.engine, self.prefix = f"{setup.engine}:{model}", setup.engine, setup.prefix
        if options.temperature is not None and not options.temperature > 0:
            raise SpeechIQError(
                f"{self.name}: {self.prefix}temperature={options.temperature}: answers would all be one; give a "
                f"number above 0, or --gen_kwargs do_sample=false"
            )
        own = {name: value for name, value in asdict(options).items() if value is not None}
        self.model_type, self.model = get_model(setup.engine), model
        self.options: dict[str, Any] = own.pop("others")
        self.own = own
        self._chats = False
        self._residence = Residence(self._in_memory)
        self._prepare(setup.device, setup.batch_size)

    def _prepare(self, device: str | torch.device, batch_size: BatchSize) -> None:
        place = resolve(self.model)
        self.is_checkpoint, own = self._check_checkpoint(place)
        self.defaults = {"temperature": 1.0, **self._read_sampling(own)}
        parameters = inspect.signature(self.model_type).parameters
        named = next((name for name in NAMES_OF_MODEL if name in parameters), NAMES_OF_MODEL[0])
        self.batch_size = batch_size if isinstance(batch_size, int) else AT_ONCE
        self.arguments = {named: place, "device": str(device), "batch_size": batch_size, **self.options}

    def _check_checkpoint(self, place: str) -> tuple[bool, GenerationConfig]:
        """Return whether the model is a checkpoint, and how it generates by its own account."""
        source = self._source()
        try:
            config = read_config(place, **source)
        except SpeechIQError:
            return False, GenerationConfig()
        if is_speech_recognizer(config):
            raise SpeechIQError(
                f"{self.name}: a {config.model_type} checkpoint cannot stand where a language model must; "
                f"check the order of the stages in pretrained"
            )
        return True, read_generation_config(self.model, config, **source)

    def _read_sampling(self, own: GenerationConfig) -> dict[str, Any]:
        """Return the sampling settings that come with the checkpoint."""
        return {name: value for name in SAMPLING if (value := getattr(own, name)) is not None}

    def at_work(self) -> AbstractContextManager[None]:
        """Return a block inside which the model stays loaded from call to call, once a call has loaded it."""
        return self._residence.staying()

    def count(self, text: str) -> int:
        """Return how many tokens a text has, at most if transformers does not know the tokenizer."""
        tokenizer = self._tokenizer
        return len(tokenizer(text, add_special_tokens=False).input_ids) if tokenizer else count_by_bytes(text)

    @cached_property
    def _tokenizer(self) -> PreTrainedTokenizerBase | None:
        if not self.is_checkpoint:
            return None
        try:
            return AutoTokenizer.from_pretrained(self.options.get("tokenizer", resolve(self.model)), **self._source())
        except (OSError, ValueError):  # vLLM and others read more kinds
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
        """Answers to each prompt, put through the chat template where the model has one; greedy ones are copies."""
        settled = self._settle(settings)
        rows = [(prompt.text, row) for prompt, row in zip(prompts, seeds, strict=True)]
        with self._residence.loaded(), self._progress("answering", len(rows)) as progress:
            return self._answer(rows, settled, progress, on_result)

    def _settle(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Generation settings in the one form that all model types understand alike."""
        settled = self.defaults | {"do_sample": False, **settings} | self.own
        if not settled["do_sample"]:
            settled = {name: value for name, value in settled.items() if name not in CHANCE} | {"temperature": 0.0}
        if not settled.get("until"):
            settled.pop("until", None)
        return settled

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """How answers are sampled: by the stage's options, the task's settings, the model's own."""
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
        asked = [
            (self._as_chat(prompt), {**settings, **({"seed": seed % SEEDS} if takes_seed else {})})
            for prompt, seeds in rows
            for seed in distinct(seeds, settings)
        ]
        self._check_room({text for text, _ in asked}, settings.get("max_gen_toks", ANSWER))
        usage["prefills"] += len(asked)
        texts = iter(self._ask("generate_until", asked))
        return [copied([next(texts) for _ in distinct(seeds, settings)], len(seeds)) for _, seeds in rows]

    def _as_chat(self, prompt: str) -> str:
        said = [{"role": "user", "content": prompt}]
        return self._lm.apply_chat_template(said) if self._chats else prompt

    def loglikelihood(
        self, contexts: Sequence[TextPrompt], continuations: Sequence[Sequence[str]], on_result: OnResult = drop
    ) -> list[list[Scored]]:
        """How likely each continuation is after its context, both taken as plain text.

        Raises:
            SpeechIQError: the model type weighs no texts.
        """
        rows = [(context.text, group) for context, group in zip(contexts, continuations, strict=True)]
        with self._residence.loaded(), self._progress("weighing", len(rows)) as progress:
            return run_in_batches(
                rows,
                self._weigh,
                length=lambda row: len(row[0]),
                batch_size=self.batch_size,
                progress=progress,
                on_result=on_result,
            )

    def _weigh(self, rows: Sequence[tuple[str, Sequence[str]]]) -> list[list[Scored]]:
        try:
            pairs = [(context, text) for context, group in rows for text in group]
            self._check_room({context + text for context, text in pairs}, 0)
            usage["prefills"] += len(pairs)
            found = iter(self._ask("loglikelihood", pairs))
        except NotImplementedError as error:
            raise self.cannot_weigh() from error
        return [[Scored(*next(found)) for _ in group] for _, group in rows]

    def _check_room(self, texts: Collection[str], answer: int) -> None:
        """Refuse what lm-eval would shorten to fit the model's context."""
        room = getattr(self._lm, "max_length", None)
        if room is None or getattr(self._lm, "tokenizer", None) is None:
            return
        longest = max(len(self._lm.tok_encode(text)) for text in texts)
        if longest + answer > room:
            raise SpeechIQError(
                f"{self.name}: a prompt of {longest} tokens and {answer} for the answer exceed the {room} it takes; "
                f"give a larger {self.prefix}max_length, a smaller {self.prefix}max_gen_toks, or a model of a longer "
                f"context"
            )

    def cannot_weigh(self) -> SpeechIQError:
        return SpeechIQError(f"{self.name}: weighs no texts; use llm_answer=generate and tasks that generate")

    def _ask(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """What the model type gives to requests of these arguments, one each."""
        call = getattr(self._lm, method)
        if "disable_tqdm" in inspect.signature(call).parameters:
            call = partial(call, disable_tqdm=True)
        found = list(call([Instance(method, {}, given, i) for i, given in enumerate(arguments)]))
        if len(found) != len(arguments) or None in found:
            raise SpeechIQError(
                f"{self.name}: gave {len(found)} of {len(arguments)} answers, or empty ones; see its log"
            )
        return found

    @contextmanager
    def _in_memory(self) -> Iterator[None]:
        """Hold the model in memory while the block runs."""
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
            self._chats = bool(getattr(getattr(lm, "tokenizer", None), "chat_template", None))
            return lm
        except Exception as error:
            raise SpeechIQError(
                f"{self.name}: cannot be loaded ({type(error).__name__}: {first_line(error)}); check name and options"
            ) from error

    def _progress(self, verb: str, total: int) -> tqdm[Any]:
        return progress_bar(total=total, verb=f"{self.name} {verb}", unit="prompt")

    def describe(self) -> dict[str, Any]:
        return {"engine": self.engine, "model": self.model, "options": self.options | self.own}

    def identity(self) -> dict[str, Any]:
        weights = identity(self.model, self.options.get("revision")) if self.is_checkpoint else {}
        return {"stage": "text", **self.describe(), **weights}


def distinct(seeds: Sequence[int], settings: Mapping[str, Any]) -> Sequence[int]:
    """The seeds that make a difference; without sampling one does for all."""
    return seeds if settings["do_sample"] else seeds[:1]


def copied(texts: list[str], n: int) -> list[str]:
    """The texts, or the one text, `n` times in all."""
    return (texts * n)[:n]
