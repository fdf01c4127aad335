"""Open the language model of a judge, and check what it can do; no weights are loaded here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from speechiq.core.batches import OnResult
from speechiq.core.cache.stage_cache import cached
from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean, find_nearest
from speechiq.core.usage import counted_as
from speechiq.engines.cached import CachedEngine
from speechiq.engines.registry import KINDS, list_backends
from speechiq.metrics.models import open_engine

PREFIX = "judge_"
#: The judge that is a rule.
EXACT_MATCH = "exact_match"
#: Engine -> options that its judges have unless they are given: each draw is a call of its own with a seed.
IMPLIED = {"openai": {"seed_per_call": True}}


def open_judge(judge: str, options: Mapping[str, Any], also: Collection[str] = ()) -> CachedEngine:
    """Return the model of a judge, the same object for the same settings.

    Args:
        judge: `ENGINE:MODEL`.
        options: Options of the engine, without the prefix `judge_`.
        also: Further options of judges, for errors.

    Raises:
        SpeechIQError: The engine does not exist, is of another kind, or cannot run the model.
    """
    name, colon, model = judge.partition(":")
    if not (name and colon and model):
        raise SpeechIQError(
            f"judge={judge}: not of the form ENGINE:MODEL; {did_you_mean(judge, [EXACT_MATCH])}write openai:MODEL, "
            f"hf:MODEL or exact_match"
        )
    text = list_backends("text")
    if name not in text:
        _refuse_other_kinds(judge, name, text)
    options = IMPLIED.get(name, {}) | dict(options)
    return open_engine("text", name, model, options, prefix=PREFIX, stage="judge", also=also)


def require_loglikelihood(engine: CachedEngine, judge: str) -> None:
    """Refuse a model without log-probabilities of given texts; an endpoint is asked once.

    Raises:
        SpeechIQError: It has none.
    """

    def check() -> None:
        if not engine.has_loglikelihood():
            raise SpeechIQError(f"judge_by=likelihood: {judge} has no log-likelihoods; use judge_by=generate")

    _require(engine, "loglikelihood", {}, check)


def require_sampling(engine: CachedEngine, settings: Mapping[str, Any]) -> None:
    """Refuse a model whose draws would be the same; an endpoint is asked once.

    Raises:
        SpeechIQError: The model does not sample.
    """
    _require(engine, "sampling", engine.effective(settings), lambda: engine.check_sampling(settings))


def _require(engine: CachedEngine, ability: str, settings: Mapping[str, Any], check: Callable[[], None]) -> None:
    """Call `check` unless it passed before."""

    def compute(_: Any, on_result: OnResult) -> None:
        with counted_as("judging"):
            check()
        on_result([0], [True])

    cached(engine.cache, [[ability, settings]], list, compute, bool)


def _refuse_other_kinds(judge: str, name: str, text: Collection[str]) -> None:
    """Refuse an engine for speech, and a mistyped text engine; other names are model types of lm-eval."""
    for kind in KINDS:
        if name in list_backends(kind):
            raise SpeechIQError(
                f"judge={judge}: {name} is an engine for speech ({kind}), a judge reads text; use "
                f"{' or '.join(sorted(text))}, or a text model type of lm-eval"
            )
    if near := find_nearest(name, text):
        raise SpeechIQError(f"judge={judge}: unknown engine; did you mean {near}?")
