"""An engine whose work is read from the response store where it was done before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from speechiq.core.clip import Clip
from speechiq.core.prompt import Prompt, Scored
from speechiq.core.response import Response
from speechiq.core.store import Shelf, through


class _Told(TypedDict):
    """What a row of a transcript has beside its text: the attributes of `Response`."""

    heard: float
    hypotheses: list[str]
    correction: str


class Kept:
    """The verbs of an engine, each row computed once and on disk as soon as its batch is done.

    A row's key is all it depends on beside the engine's `identity`: the audio, the words, the continuations, the
    generation settings that decide (`effective`) and the seeds, one per answer.

    Args:
        engine: with an `identity()`; all but the verbs is its own.
        folder: the store, or `None` to remember within this process only.
    """

    def __init__(self, engine, folder: Path | None) -> None:
        self.engine = engine
        self.shelf = Shelf(engine.identity(), folder)
        self.settings: dict[str, Any] = {}

    def __getattr__(self, name: str):
        return getattr(self.engine, name)

    def transcribe(self, clips: Sequence[Clip]) -> list[Response]:
        def compute(new, keep) -> None:
            self.engine.transcribe(new, keep=lambda places, found: keep(places, list(map(_as_row, found))))

        rows = through(self.shelf, clips, self._key_of_clip, compute, tuple[str, _Told])
        return [Response(text, **told) for text, told in rows]

    def _key_of_clip(self, clip: Clip) -> list:
        words = clip.get("words", "") if self.engine.asks_in_words else ""
        return ["transcript", clip.key, words]

    def generate(
        self, prompts: Sequence[Prompt | str], seeds: Sequence[Sequence[int]], settings: Mapping[str, Any]
    ) -> list[list[str]]:
        self.settings = dict(settings)
        effective = self.engine.effective(settings)
        items = list(zip(prompts, map(list, seeds), strict=True))
        return through(
            self.shelf,
            items,
            lambda item: ["answers", effective, _key_of_prompt(item[0]), item[1]],
            lambda new, keep: self.engine.generate(*zip(*new, strict=True), settings, keep=keep),
            list[str],
        )

    def loglikelihood(
        self, prompts: Sequence[Prompt | str], continuations: Sequence[Sequence[str]]
    ) -> list[list[Scored]]:
        rows = through(
            self.shelf,
            list(zip(prompts, map(list, continuations), strict=True)),
            lambda item: ["logprobs", _key_of_prompt(item[0]), item[1]],
            lambda new, keep: self.engine.loglikelihood(*zip(*new, strict=True), keep=keep),
            list[Scored],
        )
        return [[Scored(*scored) for scored in row] for row in rows]

    def describe(self) -> dict[str, Any]:
        return self.engine.describe() | ({"sampling": self.engine.sampling(self.settings)} if self.settings else {})


def _as_row(response: Response) -> tuple[str, dict[str, Any]]:
    return str(response), vars(response)


def _key_of_prompt(prompt: Prompt | str) -> list:
    return [prompt] if isinstance(prompt, str) else [prompt.text, *(clip.key for clip in prompt.clips)]
