"""Authors: language models that write, check or guess, named `ENGINE:MODEL`.

`openai:MODEL` is any OpenAI-compatible endpoint; every other engine is one of lm-eval's model types that takes
`pretrained` (`hf`, `vllm`, ...), with MODEL a hub id, a folder or `demo:NAME`.
"""

from __future__ import annotations

import threading
from typing import Protocol

from speechiq.core.checkpoints import resolve
from speechiq.core.endpoints import RETRIES, TIMEOUT, Endpoint, Mends, Refusal
from speechiq.core.errors import SpeechIQError

MAX_TOKENS = 4096
MAX_TOKENS_LOCAL = 1024
MENDS = Mends("--base-url", "fewer --workers", "a shorter text", "speechiq[questions]")


class Author(Protocol):
    """Anything that answers a prompt; asked from several threads at once."""

    name: str

    def ask(self, prompt: str, temperature: float, seed: int) -> str:
        """The answer; empty for a refusal. A `SpeechIQError` where none can be had."""


def open_author(spelling: str, base_url: str | None = None) -> Author:
    """The author that `ENGINE:MODEL` names.

    Args:
        spelling: such as `openai:gpt-4o`, `hf:Qwen/Qwen2-7B-Instruct`, `hf:demo:SmolLM2-135M-Instruct`.
        base_url: of an OpenAI-compatible endpoint; without it `OPENAI_BASE_URL`, else OpenAI's own.

    Raises:
        SpeechIQError: no such engine or model, no key, or a package is missing.
    """
    engine, colon, model = spelling.partition(":")
    if not (engine and colon and model):
        raise SpeechIQError(f"{spelling!r}: an author is spelled ENGINE:MODEL, such as openai:gpt-4o or hf:NAME")
    return OpenAIAuthor(model, base_url) if engine == "openai" else HarnessAuthor(engine, model)


class OpenAIAuthor:
    """A model behind an OpenAI-compatible endpoint; the key is read from the environment and never shown.

    Args:
        model: as the endpoint calls it.
        base_url: see `open_author`. An endpoint of one's own may do without a key.
        timeout, retries: see `Endpoint`.
        max_tokens: of an answer.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        self.endpoint = Endpoint(model, base_url, timeout=timeout, max_retries=retries, mends=MENDS)
        self.name, self.model, self.max_tokens = self.endpoint.name, model, max_tokens

    def ask(self, prompt: str, temperature: float, seed: int) -> str:
        def complete(client) -> str:
            reply = client.chat.completions.create(
                model=self.model,
                messages=[{"role": "user", "content": prompt}],
                temperature=temperature,
                seed=seed,
                max_completion_tokens=self.max_tokens,
            )
            message = reply.choices[0].message
            return message.content or message.refusal or ""

        try:
            return self.endpoint.call(complete, "chat completion")
        except Refusal as refusal:
            if refusal.code == "content_filter":
                return ""
            raise


class HarnessAuthor:
    """A text model that lm-eval runs itself, one prompt at a time; loaded when first asked.

    Args:
        engine: one of lm-eval's model types that takes `pretrained`.
        model: a hub id, a folder, or `demo:NAME`.
        max_tokens: of an answer.
    """

    def __init__(self, engine: str, model: str, *, max_tokens: int = MAX_TOKENS_LOCAL) -> None:
        from lm_eval.api.registry import get_model

        try:
            self._kind = get_model(engine)
        except (ValueError, ImportError) as error:
            raise SpeechIQError(
                f"{engine}:{model}: {engine!r} is neither openai nor a model type lm-eval can load "
                f"({str(error)[:80]}); use openai:MODEL or hf:MODEL"
            ) from error
        self.name, self.max_tokens = f"{engine}:{model}", max_tokens
        self._pretrained = resolve(model)
        self._lock = threading.Lock()
        self._model = None

    def ask(self, prompt: str, temperature: float, seed: int) -> str:
        import torch
        from lm_eval.api.instance import Instance

        with self._lock:
            model = self._model = self._model or self._load()
            if getattr(getattr(model, "tokenizer", None), "chat_template", None):
                prompt = model.apply_chat_template([{"role": "user", "content": prompt}])
            sampling = {"do_sample": temperature > 0, "temperature": temperature}
            asked = (prompt, {"until": [], "max_gen_toks": self.max_tokens, **sampling})
            torch.manual_seed(seed)
            return model.generate_until([Instance("generate_until", {}, asked, 0)], disable_tqdm=True)[0]

    def _load(self):
        import torch

        device = None if torch.cuda.is_available() else "cpu"
        try:
            return self._kind.create_from_arg_obj({"pretrained": self._pretrained}, {"batch_size": 1, "device": device})
        except (OSError, ValueError, TypeError, ImportError) as error:
            reason = str(error).strip().split("\n")[0][:200]
            raise SpeechIQError(f"{self.name}: cannot be loaded ({reason}); check the name") from error
