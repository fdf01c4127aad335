"""Engines whose results are cached: each is computed once and on disk as soon as its batch is done.

A row's key has all that the row depends on beside the engine's `identity`: the audio, the words, the continuations, the
generation settings, and one seed per answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypedDict

from speechiq.core.clip import Clip
from speechiq.core.prompt import Prompt, Scored
from speechiq.core.response import Response
from speechiq.core.stage_cache import StageCache, cached


class _Details(TypedDict):
    """What a row of a transcript has beside its text: the attributes of `Response`."""

    heard: float
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


class CachedASR(CachedEngine):
    """A recognizer."""

    def transcribe(self, clips: Sequence[Clip]) -> list[Response]:
        asks_in_words = self.engine.asks_in_words

        def compute(new: list[Clip], keep) -> None:
            self.engine.transcribe(new, keep=lambda places, found: keep(places, list(map(_as_row, found))))

        rows = cached(self.cache, clips, lambda clip: _key_of_clip(clip, asks_in_words), compute, tuple[str, _Details])
        return [Response(text, **details) for text, details in rows]


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
        self, prompts: Sequence[Prompt | str], seeds: Sequence[Sequence[int]], settings: Mapping[str, Any]
    ) -> list[list[str]]:
        self.settings = dict(settings)
        effective = self.engine.effective(settings)
        return cached(
            self.cache,
            list(zip(prompts, map(list, seeds), strict=True)),
            lambda item: ["answers", effective, _key_of_prompt(item[0]), item[1]],
            lambda new, keep: self.engine.generate(*zip(*new, strict=True), settings, keep=keep),
            list[str],
        )

    def loglikelihood(
        self, prompts: Sequence[Prompt | str], continuations: Sequence[Sequence[str]]
    ) -> list[list[Scored]]:
        rows = cached(
            self.cache,
            list(zip(prompts, map(list, continuations), strict=True)),
            lambda item: ["logprobs", _key_of_prompt(item[0]), item[1]],
            lambda new, keep: self.engine.loglikelihood(*zip(*new, strict=True), keep=keep),
            list[Scored],
        )
        return [[Scored(*scored) for scored in row] for row in rows]

    def describe(self) -> dict[str, Any]:
        return self.engine.describe() | ({"sampling": self.engine.sampling(self.settings)} if self.settings else {})


class CachedText(CachedWriter):
    """A language model."""

    def count(self, text: str) -> int:
        return self.engine.count(text)


class CachedAudio(CachedWriter, CachedASR):
    """A language model that takes audio."""

    def heard(self, prompts: Sequence[Prompt]) -> list[float]:
        return self.engine.heard(prompts)


#: By the role of a stage.
CACHED: dict[str, type[CachedEngine]] = {"asr": CachedASR, "ger": CachedText, "llm": CachedText, "audio": CachedAudio}


def _as_row(response: Response) -> tuple[str, dict[str, Any]]:
    return str(response), vars(response)


def _key_of_clip(clip: Clip, asks_in_words: bool) -> list:
    return ["transcript", clip.key, clip.get("words", "") if asks_in_words else ""]


def _key_of_prompt(prompt: Prompt | str) -> list:
    return [prompt] if isinstance(prompt, str) else [prompt.text, *(clip.key for clip in prompt.clips)]
