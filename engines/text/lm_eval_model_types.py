"""Choose the class that runs a model type of lm-eval, and refuse model types that cannot run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import torch
from accelerate import PartialState
from lm_eval.api.registry import get_model
from lm_eval.models.api_models import TemplateAPI
from lm_eval.models.huggingface import HFLM
from transformers import GenerationConfig

from speechiq.core.checkpoints.opening import first_line
from speechiq.core.console import printable
from speechiq.core.endpoint.addresses import refuse_secrets
from speechiq.core.errors import SpeechIQError
from speechiq.engines._shared.checkpoint import ACCELERATOR_BATCH, CPU_BATCH
from speechiq.engines._shared.sampling import sampling_settings
from speechiq.engines.base import BatchSize, Engine, Setup, TextEngine
from speechiq.engines.text.lm_eval import LMEvalOptions, LMEvalText

PACKAGES = ("vllm", "sglang")
#: End of the address of an API model type of lm-eval; an OpenAI client adds it itself.
PATHS = re.compile(r"/(chat/completions|completions|messages|generate)/?$")
SECRET = ("key", "header", "credentials", "password", "auth_token")


class ModelType(TextEngine):
    """Choose the class for a model type of lm-eval, whose name is that of the engine, such as `vllm`."""

    record = LMEvalOptions

    @classmethod
    def choose(cls, model: str, given: Mapping[str, Any], setup: Setup) -> type[Engine]:
        """Return the class that runs this model type.

        Raises:
            SpeechIQError: before any weights are loaded: the package of the type is missing, the type is a speech
                system itself, an option contains a secret, or the type calls an endpoint.
        """
        engine, name = setup.engine, f"{setup.engine}:{model}"
        if engine in PACKAGES and (processes := PartialState().num_processes) > 1:
            raise SpeechIQError(
                f"{name}: {processes} processes would each fill the same accelerators; run one and let {engine} "
                f"distribute the model, or start its server and use openai:{model}"
            )
        if engine in PACKAGES and find_spec(engine) is None:
            raise SpeechIQError(f"{name}: the package {engine} is missing; install it as its own documentation says")
        try:
            kind = get_model(engine)
        except (ImportError, ValueError) as error:
            raise SpeechIQError(
                f"{name}: {first_line(error)}; install what lm-eval's model type {engine} needs, or use another"
            ) from error
        if kind.__module__.startswith(__name__.partition(".")[0]):
            raise SpeechIQError(f"{name}: {engine} is a speech system, not a text model; choose another engine")
        if secret := next((option for option in given if option.endswith(SECRET) or option == "token"), None):
            raise SpeechIQError(
                f"{name}: the option {setup.prefix}{secret} would be written into the results; put the key into "
                f"the environment"
            )
        refuse_secrets(given, f"{name}:", "put the key into the environment")
        if issubclass(kind, TemplateAPI):
            raise _refuse_endpoint(name, model, setup.prefix, given.get("base_url", ""))
        return LMEvalTransformers if issubclass(kind, HFLM) else LMEvalText


def _refuse_endpoint(name: str, model: str, prefix: str, base_url: Any) -> SpeechIQError:
    """Return the error for a model type that calls an endpoint; `openai:MODEL` does so without silent failures."""
    address = PATHS.sub("", printable(str(base_url))) or "http://HOST:8000/v1"
    return SpeechIQError(
        f"{name}: lm-eval treats a reply without an answer as an empty answer; write openai:{model} with "
        f"{prefix}base_url={address} ({prefix}key_variable=NAME if its key is not in OPENAI_API_KEY)"
    )


class LMEvalTransformers(LMEvalText):
    """Extend `LMEvalText` by the sampling settings in effect in `generate`, and by a seed per prompt.

    Answers are repeatable for the same batch size.
    """

    def _prepare(self, device: str | torch.device, batch_size: BatchSize) -> None:
        if batch_size == "auto":
            batch_size = CPU_BATCH if torch.device(device).type == "cpu" else ACCELERATOR_BATCH
        super()._prepare(device, batch_size)

    def _read_sampling(self, own: GenerationConfig) -> dict[str, Any]:
        """Return the checkpoint's own sampling settings, and the defaults of transformers for all others."""
        effective = sampling_settings({"do_sample": True}, own)
        return {name: value for name, value in effective.items() if name != "do_sample"}

    def effective(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given settings and the defaults in effect, for the keys of the response cache."""
        return {**settings, **self.sampling(settings)}

    def _prompts_at_once(self, settings: Mapping[str, Any]) -> int:
        return 1 if settings["do_sample"] else self.batch_size
