"""Run the model types of lm-eval as the language model of a cascade, and say which ones cannot be one."""

import gc
import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, partial
from importlib.util import find_spec
from itertools import starmap
from typing import Any, TypeVar

import torch
from accelerate import PartialState
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from lm_eval.api.registry import get_model
from lm_eval.models.api_models import TemplateAPI
from lm_eval.models.huggingface import HFLM
from transformers import AutoTokenizer, GenerationConfig, PreTrainedTokenizerBase

from speechiq.core.batches import OnResult, drop, group_by_size, run_in_batches
from speechiq.core.checkpoints.names import find_recognizer, identity, read_config, resolve
from speechiq.core.checkpoints.opening import check_tokens, count_by_bytes, first_line
from speechiq.core.console import printable
from speechiq.core.endpoint.addresses import refuse_secrets
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Scored, TextPrompt, audio_seconds
from speechiq.core.usage import measured, usage
from speechiq.engines._shared.checkpoint import ACCELERATOR_BATCH, CPU_BATCH, ModelLifetime, read_generation_config
from speechiq.engines._shared.checkpoint_writer import ANSWER
from speechiq.engines._shared.sampling import PENALTY, PROCESSORS, sampling_settings
from speechiq.engines.base import Engine, Seeds, Setup, TextEngine
from speechiq.engines.options import OpenOptions

PACKAGES = ("vllm", "sglang")
#: End of the address of an API model type of lm-eval; an OpenAI client adds it itself.
PATHS = re.compile(r"/(chat/completions|completions|messages|generate)/?$")
SECRET = ("key", "header", "credentials", "password", "auth_token")


def check_model_type(model: str, options: Mapping[str, Any], setup: Setup) -> None:
    """Refuse a model type without its package, a speech system, a secret in an option, and a call of an endpoint."""
    engine, name = setup.engine, f"{setup.engine}:{model}"
    if engine in PACKAGES and (processes := PartialState().num_processes) > 1:
        raise SpeechIQError(
            name,
            f"{processes} processes would each fill the same accelerators",
            f"run one and let {engine} distribute the model, or start its server and use openai:{model}",
        )
    if engine in PACKAGES and find_spec(engine) is None:
        raise SpeechIQError(name, f"the package {engine} is missing", "install it as its own documentation says")
    try:
        kind = get_model(engine)
    except (ImportError, ValueError) as error:
        raise SpeechIQError(
            name, first_line(error), f"install what lm-eval's model type {engine} needs, or use another"
        ) from error
    if kind.__module__.startswith(__name__.partition(".")[0]):
        raise SpeechIQError(name, f"{engine} is a speech system, not a text model", "choose another engine")
    if secret := next((option for option in options if option.endswith(SECRET) or option == "token"), None):
        raise SpeechIQError(
            name,
            f"the option {setup.prefix}{secret} would be written into the results",
            "put the key into the environment",
        )
    refuse_secrets(options, f"{name}:", "put the key into the environment")
    if issubclass(kind, TemplateAPI):
        raise _refuse_endpoint(name, model, setup.prefix, options.get("base_url", ""))


def _refuse_endpoint(name: str, model: str, prefix: str, base_url: Any) -> SpeechIQError:
    """Return the error for a model type that calls an endpoint; `openai:MODEL` does so without silent failures."""
    address = PATHS.sub("", printable(str(base_url))) or "http://HOST:8000/v1"
    return SpeechIQError(
        name,
        "lm-eval treats a reply without an answer as an empty answer",
        f"write openai:{model} with {prefix}base_url={address} ({prefix}key_variable=NAME if its key is not in "
        "OPENAI_API_KEY)",
    )


SAMPLING = ("temperature", "top_k", "top_p")
NAMES_OF_MODEL = ("pretrained", "model", "model_id", "engine", "path", "load")
#: Settings on which a greedy answer does not depend.
SAMPLED_ONLY = PROCESSORS.keys() - PENALTY.keys()
SEEDED = ("vllm", "vllm-vlm")
SEEDS = 2**31
AUTO_BATCH = 256

Request = TypeVar("Request")
Result = TypeVar("Result")


class LMEvalText(TextEngine):
    """Run a model type that loads weights; they are in memory only while the stage works.

    Each answer is a request of its own, so that five answers are five independent samples, by the checkpoint's own
    sampling settings. vLLM gets a seed per answer, lm-eval's types of `transformers` one per prompt (their answers are
    repeatable for the same batch size); other types sample by their own seeds.
    """

    record = OpenOptions
    #: Set only while the model is in memory.
    _lm: LM

    def __init__(self, model: str, options: OpenOptions, setup: Setup) -> None:
        self.name, self.engine, self.prefix = f"{setup.engine}:{model}", setup.engine, setup.prefix
        self.model_type, self.model, self.options = get_model(setup.engine), model, options.others
        self.is_transformers = issubclass(self.model_type, HFLM)
        self._has_chat_template = False
        self._lifetime = ModelLifetime(self._in_memory)
        path, batch_size = resolve(model), setup.batch_size
        if self.is_transformers and batch_size == "auto":
            batch_size = CPU_BATCH if torch.device(setup.device).type == "cpu" else ACCELERATOR_BATCH
        self.is_checkpoint, own = self._check_checkpoint(path)
        self.defaults = {"temperature": 1.0, **self._read_sampling(own)}
        parameters = inspect.signature(self.model_type).parameters
        model_parameter = next((name for name in NAMES_OF_MODEL if name in parameters), NAMES_OF_MODEL[0])
        self.batch_size = batch_size if isinstance(batch_size, int) else AUTO_BATCH
        self.arguments = {model_parameter: path, "device": str(setup.device), "batch_size": batch_size, **self.options}

    @classmethod
    def choose(cls, model: str, given: Mapping[str, Any], setup: Setup) -> type[Engine]:
        """Return this class, unless the model type cannot run; see `check_model_type`."""
        check_model_type(model, given, setup)
        return cls

    def _check_checkpoint(self, path: str) -> tuple[bool, GenerationConfig]:
        """Return whether the model is a checkpoint, and its own generation settings."""
        source = self._source()
        try:
            config = read_config(path, **source)
        except SpeechIQError:
            return False, GenerationConfig()
        if find_recognizer(config) is not None:
            raise SpeechIQError(
                self.name,
                f"a {config.model_type} checkpoint is not a language model",
                "check the order of the stages in pretrained",
            )
        return True, read_generation_config(self.model, path, config, **source)

    def _read_sampling(self, own: GenerationConfig) -> dict[str, Any]:
        """Return the checkpoint's own sampling settings; for `transformers` also its defaults for all others."""
        if self.is_transformers:
            effective = sampling_settings({"do_sample": True}, own)
            return {name: value for name, value in effective.items() if name != "do_sample"}
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
        self, prompts: Sequence[TextPrompt], seeds: Seeds, settings: Mapping[str, Any], on_result: OnResult = drop
    ) -> list[list[str]]:
        """Answer each prompt, in the model's chat template if it has one; a greedy answer is computed only once."""
        settled = self._settle(settings)
        alone = self.is_transformers and settled["do_sample"]
        batch_size = 1 if alone else self.batch_size
        return self._run("answering", prompts, seeds, lambda rows: self._generate(rows, settled), batch_size, on_result)

    def _run(
        self,
        verb: str,
        prompts: Sequence[TextPrompt],
        requests: Sequence[Request],
        compute: Callable[[list[tuple[str, Request]]], list[Result]],
        batch_size: int,
        on_result: OnResult,
    ) -> list[Result]:
        """Return the results of `compute`, which takes batches of prompts, each with its seeds or continuations."""
        with self._lifetime.loaded(), measured(verb, audio_seconds(prompts)):
            return run_in_batches(
                list(zip([prompt.text for prompt in prompts], requests, strict=True)),
                lambda batch, _: compute(batch),
                length=lambda row: len(row[0]),
                batch_size=batch_size,
                label=(f"{self.name} {verb}", "prompt"),
                on_result=on_result,
            )

    def _settle(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the generation settings in the one form that all model types interpret the same way."""
        settled = self.defaults | {"do_sample": False, **settings}
        if not settled["do_sample"]:
            settled = {name: value for name, value in settled.items() if name not in SAMPLED_ONLY}
            settled["temperature"] = 0.0
        if not settled.get("until"):
            settled.pop("until", None)
        return settled

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sampling settings in effect: those of the task, else those of the model."""
        settled = self._settle(settings)
        return {name: settled[name] for name in ("do_sample", *PROCESSORS) if name in settled}

    def effective(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given settings and the defaults in effect, for the keys of the response cache."""
        return {**settings, **self.sampling(settings)}

    def _generate(self, rows: Sequence[tuple[str, Sequence[int]]], settings: Mapping[str, Any]) -> list[list[str]]:
        torch.manual_seed(rows[0][1][0])
        sampled = settings["do_sample"]

        def ask(prompt: str, seed: int) -> tuple[str, dict[str, Any]]:
            own_seed = {"seed": seed % SEEDS} if sampled and self.engine in SEEDED else {}
            return self._as_chat(prompt), {**settings, **own_seed}

        requests = [ask(prompt, seed) for prompt, seeds in rows for seed in (seeds if sampled else seeds[:1])]
        self._check_length({text for text, _ in requests}, settings.get("max_gen_toks", ANSWER))
        usage["prefills"] += len(requests)
        texts = self._call("generate_until", requests)
        sizes = [len(seeds) for _, seeds in rows]
        if sampled:
            return group_by_size(texts, sizes)
        return [[text] * size for text, size in zip(texts, sizes, strict=True)]

    def _as_chat(self, prompt: str) -> str:
        messages = [{"role": "user", "content": prompt}]
        return self._lm.apply_chat_template(messages) if self._has_chat_template else prompt

    def loglikelihood(
        self, prompts: Sequence[TextPrompt], continuations: Sequence[Sequence[str]], on_result: OnResult = drop
    ) -> list[list[Scored]]:
        """Return the log-probability of each continuation after its prompt, both as plain text."""
        compute = self._loglikelihoods
        return self._run("answering by likelihood", prompts, continuations, compute, self.batch_size, on_result)

    def _loglikelihoods(self, rows: Sequence[tuple[str, Sequence[str]]]) -> list[list[Scored]]:
        try:
            pairs = [(prompt, text) for prompt, group in rows for text in group]
            self._check_length({prompt + text for prompt, text in pairs}, 0)
            usage["prefills"] += len(pairs)
            results = self._call("loglikelihood", pairs)
        except NotImplementedError as error:
            raise SpeechIQError(
                self.name, "has no log-likelihoods", "use llm_answer=generate and tasks that generate"
            ) from error
        return group_by_size(starmap(Scored, results), [len(group) for _, group in rows])

    def _check_length(self, texts: Collection[str], answer: int) -> None:
        """Refuse texts that lm-eval would shorten to fit the model's context."""
        if getattr(self._lm, "tokenizer", None) is not None:
            longest = max((self._lm.tok_encode(text) for text in texts), key=len)
            fix = f"give a larger {self.prefix}max_length, a smaller max_gen_toks, or a model with a longer context"
            check_tokens(self.name, "a prompt", longest, answer, getattr(self._lm, "max_length", None), fix)

    def _call(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the results of the model type's method, one per tuple of arguments."""
        call = getattr(self._lm, method)
        if "disable_tqdm" in inspect.signature(call).parameters:
            call = partial(call, disable_tqdm=True)
        results = list(call([Instance(method, {}, given, i) for i, given in enumerate(arguments)]))
        if len(results) != len(arguments) or None in results:
            raise SpeechIQError(
                self.name, f"gave {len(results)} of {len(arguments)} answers, or empty ones", "see its log"
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
                self.name, f"cannot be loaded ({type(error).__name__}: {first_line(error)})", "check name and options"
            ) from error

    def describe(self) -> dict[str, Any]:
        """Return the model type, the model and its options; see `Engine.describe`."""
        return {"engine": self.engine, "model": self.model, "options": self.options}

    def identity(self) -> dict[str, Any]:
        """Return the description and what identifies the weights; see `Engine.identity`."""
        weights = identity(self.model, self.options.get("revision")) if self.is_checkpoint else {}
        return {"stage": "text", **self.describe(), **weights}
