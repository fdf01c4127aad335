"""Engines whose results are cached: each is computed once and on disk as soon as its batch is done.

A row's key has all that the row depends on beside the engine's `identity`: the audio, the words, the continuations, the
generation settings, and one seed per answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from speechiq.core.batches import OnResult
from speechiq.core.clip import Clip
from speechiq.core.prompt import Prompt, Scored, TextPrompt
from speechiq.core.response import Response
from speechiq.core.stage_cache import StageCache, cached

Asked = TypeVar("Asked", Clip, Prompt)


class _Details(TypedDict):
    """What a row of a transcript has beside its text: `coverage`, `hypotheses` and `provenance` of `Response`."""

    coverage: float
    hypotheses: list[str]
    correction: str


class CachedEngine:
    """What cached engines of all kinds have.

    Args:
        engine: Has `identity()`, and verbs that take `keep`.
        folder: Where stages are cached; `None` to remember within this process only.
    """

    def __init__(self, engine: Any, folder: Path | None) -> None:
        self.engine = engine
        self.cache = StageCache(engine.identity(), folder)

    def describe(self) -> dict[str, Any]:
        return self.engine.describe()

    def _transcribe(self, asked: Sequence[Asked], key: Callable[[Asked], list[str]]) -> list[Response]:
        def compute(new: list[Asked], on_result: OnResult) -> None:
            self.engine.transcribe(new, on_result=lambda places, found: on_result(places, list(map(_as_row, found))))

        return [_as_response(*row) for row in cached(self.cache, asked, key, compute, tuple[str, _Details])]


class CachedASR(CachedEngine):
    """A recognizer."""

    def transcribe(self, clips: Sequence[Clip]) -> list[Response]:
        return self._transcribe(clips, lambda clip: ["transcript", clip.key, ""])


class CachedWriter(CachedEngine):
    """An engine that answers prompts."""

    def __init__(self, engine: Any, folder: Path | None) -> None:
        super().__init__(engine, folder)
        self.settings: dict[str, Any] = {}

    def at_work(self) -> AbstractContextManager[None]:
        return self.engine.at_work()

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        return self.engine.sampling(settings)

    def generate(
        self, prompts: Sequence[Prompt | TextPrompt], seeds: Sequence[Sequence[int]], settings: Mapping[str, Any]
    ) -> list[list[str]]:
        self.settings = dict(settings)
        effective = self.engine.effective(settings)
        return cached(
            self.cache,
            list(zip(prompts, map(list, seeds), strict=True)),
            lambda item: ["answers", effective, item[0].key, item[1]],
            lambda new, on_result: self.engine.generate(*zip(*new, strict=True), settings, on_result=on_result),
            list[str],
        )

    def loglikelihood(
        self, prompts: Sequence[Prompt | TextPrompt], continuations: Sequence[Sequence[str]]
    ) -> list[list[Scored]]:
        rows = cached(
            self.cache,
            list(zip(prompts, map(list, continuations), strict=True)),
            lambda item: ["logprobs", item[0].key, item[1]],
            lambda new, on_result: self.engine.loglikelihood(*zip(*new, strict=True), on_result=on_result),
            list[Scored],
        )
        return [[Scored(*scored) for scored in row] for row in rows]

    def describe(self) -> dict[str, Any]:
        return self.engine.describe() | ({"sampling": self.engine.sampling(self.settings)} if self.settings else {})


class CachedText(CachedWriter):
    """A language model."""

    def count(self, text: str) -> int:
        return self.engine.count(text)


class CachedAudio(CachedWriter):
    """A language model that takes audio."""

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        asks_in_words = self.engine.asks_in_words
        return self._transcribe(
            prompts, lambda prompt: ["transcript", prompt.clip.key, prompt.text if asks_in_words else ""]
        )

    def coverage(self, prompts: Sequence[Prompt]) -> list[float]:
        return self.engine.coverage(prompts)


#: By the kind of an engine.
CACHED: dict[str, type[CachedEngine]] = {"asr": CachedASR, "text": CachedText, "audio": CachedAudio}


def _as_row(response: Response) -> tuple[str, _Details]:
    details = _Details(coverage=response.coverage, hypotheses=list(response.hypotheses), correction=response.provenance)
    return response.text, details


def _as_response(text: str, details: _Details) -> Response:
    return Response(
        text,
        coverage=details["coverage"],
        hypotheses=tuple(details["hypotheses"]),
        provenance=details["correction"],
    )
