"""A chat model behind an OpenAI-compatible endpoint: how it is asked, whatever its prompts are made of."""

from __future__ import annotations

import logging
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from speechiq.core.batches import OnResult, drop
from speechiq.core.endpoint import Refusal
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Scored
from speechiq.core.replies import CONTENT_FILTER, LENGTH
from speechiq.engines._shared.independence import check_samples
from speechiq.engines._shared.remote import Remote
from speechiq.engines.base import Writer

log = logging.getLogger(__name__)

SEEDS = 2**31  # some endpoints take no larger one
BAD_REQUEST, UNPROCESSABLE = 400, 422
CUT_OFF = {LENGTH: "reached the token limit", CONTENT_FILTER: "were cut off by a content filter"}

Asked = TypeVar("Asked")
Item = TypeVar("Item")
Result = TypeVar("Result")


class ChatEndpoint(Writer, Generic[Asked]):
    """A chat model that answers prompts of the type `Asked`.

    Answers that are not sampled are asked for at temperature 0. Answers are sampled by the endpoint's own defaults,
    before which the task's generation settings count; what the endpoint's API has no name for is passed on as it is.
    `n`, `seed` and temperature 0 are left out once they are refused, and `describe` names those that are.

    The answers to a question come from one call (`n`); an endpoint that gives fewer, or refuses, is asked once more per
    answer. Those calls carry a seed each, one call for several answers carries none: some servers would then give the
    same answer several times. A refusal, and what a content filter left, is what the system said; if it left nothing,
    that is `FILTERED`.

    Args:
        remote: the model.
        own_seeds: one call per answer from the start, so that an endpoint that uses seeds repeats its answers.
    """

    def __init__(self, remote: Remote, own_seeds: bool) -> None:
        self.remote, self.name, self.own_seeds = remote, remote.endpoint.name, own_seeds
        self._left_out: set[str] = set()
        self._samples = False
        self._ends: list[str | None] = []

    @abstractmethod
    def _ask_about(self, text: str) -> Asked:
        """Return the prompt that has these words alone."""

    @abstractmethod
    def _message(self, prompt: Asked) -> Any:
        """Return a prompt as the content of a message of the API."""

    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """Return what was asked for when the engine was built."""

    def has_loglikelihood(self) -> bool:
        """Return False: no chat server gives log-probabilities of texts that it is sent."""
        return False

    def generate(
        self,
        prompts: Sequence[Asked],
        seeds: Sequence[Sequence[int]],
        settings: Mapping[str, Any],
        on_result: OnResult = drop,
    ) -> list[list[str]]:
        """Answer each prompt once per seed; a temperature that is not given is the endpoint's own.

        Raises:
            SpeechIQError: several answers are wanted of a model that does not sample.
        """
        if settings.get("do_sample") and any(len(row) > 1 for row in seeds) and not self._samples:
            self._check_samples(settings)
        return self._write(prompts, seeds, settings, on_result)

    def _check_samples(self, settings: Mapping[str, Any]) -> None:
        """Refuse a model that does not sample; one that takes no prompt without audio is not asked."""
        left_out = set(self._left_out)
        try:
            check_samples(
                self.name, settings, lambda text, row: self._write([self._ask_about(text)], [row], settings)[0]
            )
        except Refusal:
            self._left_out = left_out
        self._samples = True

    def _write(
        self,
        prompts: Sequence[Asked],
        seeds: Sequence[Sequence[int]],
        settings: Mapping[str, Any],
        on_result: OnResult = drop,
    ) -> list[list[str]]:
        rows = list(zip(prompts, seeds, strict=True))
        return self._run(rows, lambda row: self._answer(row[0], row[1], settings), "answering", "prompt", on_result)

    def loglikelihood(
        self, prompts: Sequence[Asked], continuations: Sequence[Sequence[str]], on_result: OnResult = drop
    ) -> list[list[Scored]]:
        raise SpeechIQError(f"{self.name}: an endpoint weighs no texts; run it on tasks that generate")

    def _run(
        self, items: Sequence[Item], ask: Callable[[Item], Result], verb: str, unit: str, on_result: OnResult
    ) -> list[Result]:
        self._ends.clear()
        results = self.remote.run(items, ask, verb, unit, on_result)
        for end, count in Counter(self._ends).items():
            if end in CUT_OFF:
                log.warning("%s %s: %s of %s replies %s", self.name, verb, count, len(self._ends), CUT_OFF[end])
        return results

    def _answer(self, prompt: Asked, seeds: Sequence[int], settings: Mapping[str, Any]) -> list[str]:
        content = self._message(prompt)
        asked = _as_parameters(settings)
        answers: list[str] = []
        while missing := len(seeds) - len(answers):
            several = {"n": missing} if missing > 1 and not self.own_seeds and "n" not in self._left_out else {}
            one = {"seed": seeds[len(answers)] % SEEDS} if "seed" not in self._left_out else {}
            answers += self._say(content, asked, (several or one) | self._temperature(settings))[:missing]
        return answers

    def _temperature(self, settings: Mapping[str, Any]) -> dict[str, int]:
        """Return 0 for what is not sampled, unless the endpoint refused it."""
        return {} if settings.get("do_sample") or "temperature" in self._left_out else {"temperature": 0}

    def _say(self, content: Any, asked: Mapping[str, Any], optional: Mapping[str, int]) -> list[str]:
        """Return the answers; none if one of `optional` may be what was refused, which is left out from now on."""
        try:
            choices = self.remote.endpoint.chat(content, **{**asked, **optional})
        except Refusal as refusal:
            if not optional or refusal.status not in (BAD_REQUEST, UNPROCESSABLE):
                raise
            self._left_out.add(_find_fault(refusal, optional))
            return []
        self._ends += [choice.end for choice in choices]
        if len(choices) < optional.get("n", 1):
            self._left_out.add("n")
        return [choice.text for choice in choices]

    def describe(self) -> dict[str, Any]:
        return self._settings() | ({"left_out": sorted(self._left_out)} if self._left_out else {})

    def identity(self) -> dict[str, Any]:
        return {"stage": self.kind, **self._settings()}

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the endpoint is asked for of sampling; the rest is its own affair."""
        given = _own(settings) | self._temperature(settings)
        return {"do_sample": bool(settings.get("do_sample")), **given}


def _as_parameters(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Generation settings of lm-eval as parameters of the chat API."""
    return {"max_completion_tokens": settings.get("max_gen_toks", 256), **_own(settings)}


def _own(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that are passed on under their own names."""
    own = {name: value for name, value in settings.items() if name not in ("until", "do_sample", "max_gen_toks")}
    if not settings.get("do_sample"):
        own.pop("temperature", None)
    return own


def _find_fault(refusal: Refusal, optional: Mapping[str, int]) -> str:
    """Of what an endpoint need not take, what it names in its refusal, else the first."""
    named = [name for name in optional if re.search(rf"\b{name}\b", str(refusal))]
    return [*named, *optional][0]
