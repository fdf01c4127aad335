"""Which of lm-eval's model types runs a text stage, and whether it can here."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from accelerate import PartialState
from lm_eval.api.registry import get_model
from lm_eval.models.api_models import TemplateAPI
from lm_eval.models.huggingface import HFLM

from speechiq.core.addresses import refuse_secrets
from speechiq.core.errors import SpeechIQError
from speechiq.core.extras import missing
from speechiq.core.opening import first_line
from speechiq.engines.text.lm_eval import LMEvalText
from speechiq.engines.text.lm_eval_transformers import LMEvalTransformers

PACKAGES = ("vllm", "sglang")
#: Packages that lm-eval's API model types need, and it leaves out unless its extra `api` is asked for.
CALLERS = ("aiohttp", "requests", "tenacity")
SECRET = ("key", "header", "credentials", "password", "auth_token")


def lm_eval_text(engine: str, model: str, *, device, batch_size, **options: Any) -> LMEvalText:
    """The model `model` of lm-eval's model type `engine`, as a text stage.

    Args:
        engine: such as `vllm`, `sglang`, `local-chat-completions`, `huggingface`.
        model: as that type names it.
        device, batch_size: as lm-eval passes them.
        **options: see `LMEvalText`.

    Raises:
        SpeechIQError: what can be known before any weight is loaded: the type's package is missing, it is a
            speech system itself, an option holds a secret, an endpoint is down or has no key.
    """
    name = f"{engine}:{model}"
    if engine in PACKAGES and (processes := PartialState().num_processes) > 1:
        raise SpeechIQError(
            f"{name}: {processes} processes would each fill the same accelerators; run one and let {engine} spread "
            f"the model, or start its server and take openai:{model}"
        )
    if engine in PACKAGES and find_spec(engine) is None:
        raise SpeechIQError(f"{name}: the package {engine} is missing; install it as its own documentation says")
    try:
        kind = get_model(engine)
    except (ImportError, ValueError) as error:
        raise SpeechIQError(
            f"{name}: {first_line(error)}; install what lm-eval's model type {engine} needs, or take another"
        ) from error
    if kind.__module__.startswith(__name__.partition(".")[0]):
        raise SpeechIQError(f"{name}: {engine} is a speech system, not a text model; choose another engine")
    if secret := next((option for option in options if option.endswith(SECRET) or option == "token"), None):
        raise SpeechIQError(
            f"{name}: the option {options.get('prefix', '')}{secret} would be written into the results; keys go into "
            f"the environment"
        )
    refuse_secrets(options, f"{name}:", "put the key into the environment")
    if not issubclass(kind, TemplateAPI):
        text = LMEvalTransformers if issubclass(kind, HFLM) else LMEvalText
        return text(name, kind, model, device=device, batch_size=batch_size, **options)
    if absent := next((package for package in CALLERS if find_spec(package) is None), None):
        raise SpeechIQError(f"{name}: {missing(absent)}")
    from speechiq.engines.text.lm_eval_endpoint import LMEvalEndpoint

    return LMEvalEndpoint(name, kind, model, device=device, batch_size=batch_size, **options)
