"""Open authors: language models that write, check or guess, named `ENGINE:MODEL`.

`openai:MODEL` is a model of an OpenAI-compatible endpoint and may have options,
`openai:MODEL,base_url=URL,key_variable=NAME`. Every other engine is a model type of lm-eval that takes `pretrained`
(`hf`, `vllm`, ...); MODEL is then a hub id, a folder or `demo:NAME`.

Each answer is on disk before it is used, so none is paid for twice. The questions are a function of the answers: a run
that was killed starts again and finds them in the cache.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from speechiq.core.batches import OnResult
from speechiq.core.cache.stage_cache import StageCache, cached
from speechiq.core.checkpoints.names import resolve
from speechiq.core.endpoint.addresses import refuse_secrets
from speechiq.core.endpoint.client import Advice, Endpoint
from speechiq.core.errors import SpeechIQError

if TYPE_CHECKING:
    from lm_eval.api.model import LM

MAX_TOKENS = 4096
MAX_TOKENS_LOCAL = 1024
OPENAI = "openai"
#: The next run requests an empty answer again.
ANSWER = Annotated[str, msgspec.Meta(min_length=1)]
#: Options of an author behind an endpoint: type and minimum.
OPTIONS = {
    "base_url": (str, None), "key_variable": (str, None), "timeout": (float, 0.01), "max_retries": (int, 0),
    "max_gen_toks": (int, 1),
}  # fmt: skip


class AuthorSpec(NamedTuple):
    """Describe an author that is not opened yet; `options` are those of an endpoint, see `OPTIONS`."""

    engine: str
    model: str
    options: dict[str, Any]

    @property
    def name(self) -> str:
        """Return the name in question files and errors."""
        return f"{self.engine}:{self.model}"

    def open(self) -> Author:
        """Open the author; refuse a missing engine, model, key or package."""
        if self.engine != OPENAI:
            return HarnessAuthor(self.engine, self.model)
        return OpenAIAuthor(self.model, **self.options)


def parse_author(text: str) -> AuthorSpec:
    """Parse the name of an author, `ENGINE:MODEL` or `openai:MODEL,name=value`.

    >>> parse_author("openai:gemini-1.5-flash,key_variable=GEMINI_API_KEY,timeout=60").options
    {'key_variable': 'GEMINI_API_KEY', 'timeout': 60.0}
    """
    refuse_secrets(text, "the author's base_url", "name the variable that holds the key, key_variable=NAME")
    head, *given = text.split(",")
    engine, colon, model = head.partition(":")
    if not (engine and colon and model):
        raise SpeechIQError(f"{text!r}", "not of the form ENGINE:MODEL", "write, for example, openai:gpt-4o or hf:NAME")
    if given and engine != OPENAI:
        raise SpeechIQError(head, f"{given[0]!r}: only openai:MODEL has options", "remove them")
    return AuthorSpec(engine, model, dict(_parse_option(head, option) for option in given))


def parse_authors(texts: Iterable[str]) -> dict[str, AuthorSpec]:
    """Return text -> author; refuse one name with different options: the origin of an answer would be unknown."""
    specs = {text: parse_author(text) for text in texts}
    by_name: dict[str, AuthorSpec] = {}
    for spec in specs.values():
        if by_name.setdefault(spec.name, spec) != spec:
            raise SpeechIQError(spec.name, "named twice with different options", "give both the same options")
    return specs


def _parse_option(author: str, option: str) -> tuple[str, Any]:
    name, _, text = option.partition("=")
    if name not in OPTIONS:
        raise SpeechIQError(author, f"no option {name!r}", f"known are {', '.join(OPTIONS)}")
    kind, least = OPTIONS[name]
    try:
        value = kind(text)
        if not value if least is None else not least <= value < float("inf"):
            raise ValueError
    except ValueError:
        wanted = "text" if least is None else f"number of {least} or more"
        raise SpeechIQError(author, f"{name}={text[:40]}: not a {wanted}", "correct it") from None
    return name, value


class OpenAIAuthor:
    """Ask a model behind an OpenAI-compatible endpoint, by default that of `OPENAI_BASE_URL`, else OpenAI's."""

    def __init__(
        self, model: str, base_url: str | None = None, *, max_gen_toks: int = MAX_TOKENS, **options: Any
    ) -> None:
        length = f"--writer or --checker openai:{model},max_gen_toks"
        advice = Advice("base_url", "fewer --workers", "a shorter text", length)
        self.endpoint = Endpoint(model, base_url, advice=advice, **options)
        self.name, self.max_gen_toks = self.endpoint.name, max_gen_toks

    def ask(self, prompt: str, temperature: float, seed: int) -> str:
        """Return the answer, which may be a refusal by the model, or `FILTERED` if a content filter blocked it."""
        choice, *_ = self.endpoint.chat(
            prompt, may_be_empty=False, temperature=temperature, seed=seed, max_completion_tokens=self.max_gen_toks
        )
        return choice.text


class HarnessAuthor:
    """Ask a text model that lm-eval runs (by `pretrained`), one prompt at a time; it is loaded at the first prompt."""

    def __init__(self, engine: str, model: str, *, max_tokens: int = MAX_TOKENS_LOCAL) -> None:
        from lm_eval.api.registry import get_model

        try:
            self._kind = get_model(engine)
        except (ValueError, ImportError) as error:
            raise SpeechIQError(
                f"{engine}:{model}",
                f"{engine!r} is neither openai nor a model type that lm-eval can load ({str(error)[:80]})",
                "use openai:MODEL or hf:MODEL",
            ) from error
        self.name, self.max_tokens = f"{engine}:{model}", max_tokens
        self._pretrained = resolve(model)
        self._lock = threading.Lock()
        self._model: LM | None = None

    def ask(self, prompt: str, temperature: float, seed: int) -> str:
        """Return the answer, which may be a refusal by the model."""
        import torch
        from lm_eval.api.instance import Instance

        with self._lock:
            model = self._model = self._model or self._load()
            if getattr(getattr(model, "tokenizer", None), "chat_template", None):
                prompt = model.apply_chat_template([{"role": "user", "content": prompt}])
            sampling = {"do_sample": temperature > 0, "temperature": temperature}
            asked = (prompt, {"until": [], "max_gen_toks": self.max_tokens, **sampling})
            torch.manual_seed(seed)
            answer: str = model.generate_until([Instance("generate_until", {}, asked, 0)], disable_tqdm=True)[0]
            return answer

    def _load(self) -> LM:
        import torch

        device = None if torch.cuda.is_available() else "cpu"
        try:
            return self._kind.create_from_arg_obj({"pretrained": self._pretrained}, {"batch_size": 1, "device": device})
        except (OSError, ValueError, TypeError, ImportError) as error:
            reason = str(error).strip().split("\n")[0][:200]
            raise SpeechIQError(self.name, f"cannot be loaded ({reason})", "check the name") from error


#: Answers prompts from several threads at once.
Author = OpenAIAuthor | HarnessAuthor


class StoredAnswers:
    """Cache answers by author, prompt, temperature and seed in a folder, which is made; threads may share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cache = StageCache({"stage": "questions"}, folder, "name another --output")
        self._failure: BaseException | None = None

    def __len__(self) -> int:
        return len(self._cache)

    @property
    def asked(self) -> int:
        """Return the number of answers that were requested in this run."""
        return self._cache.added

    def ask(self, author: Author, prompt: str, temperature: float, seed: int) -> str:
        """Return the author's answer, from the cache if it is there; raise the failure that `stop` was called with."""

        def compute(new: list[Any], on_result: OnResult) -> None:
            if self._failure is not None:
                raise self._failure
            on_result([0], [author.ask(prompt, temperature, seed)])

        answers: list[str] = cached(self._cache, [(author.name, prompt, temperature, seed)], list, compute, ANSWER)
        return answers[0]

    def stop(self, failure: BaseException) -> None:
        """Make every later `ask`, in any thread, raise the first given failure; requested answers are still cached."""
        self._failure = self._failure or failure
