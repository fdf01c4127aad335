"""Refuse model types of lm-eval that cannot run."""

import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from accelerate import PartialState
from lm_eval.api.registry import get_model
from lm_eval.models.api_models import TemplateAPI

from speechiq.core.checkpoints.opening import first_line
from speechiq.core.console import printable
from speechiq.core.endpoint.addresses import refuse_secrets
from speechiq.core.errors import SpeechIQError
from speechiq.engines.base import Setup

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
