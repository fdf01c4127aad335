"""An engine whose work is read from the response store where it was done before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from speechiq.core.clip import Clip
from speechiq.core.prompt import Prompt, Scored, TextPrompt
from speechiq.core.response import Response
from speechiq.core.store import Shelf, through


class _Told(TypedDict):
    """What a row of a transcript has beside its text: `coverage`, `hypotheses` and `provenance` of `Response`."""

    heard: float
    hypotheses: list[str]
    correction: str


class Kept:
    """The verbs of an engine, each row computed once and on disk as soon as its batch is done.

    A row's key is all it depends on beside the engine's `identity`: the audio, the words, the continuations, the
    generation settings and the seeds, one an answer. An engine with `effective(settings)` says which settings really
    decide, the defaults of its library among them, so that answers sampled otherwise are not taken for its own.

    Args:
        engine: with `identity()` and verbs that take `keep`; all else is its own.
        folder: the store, or `None` to remember within this process only.
    """

    def __init__(self, engine, folder: Path | None) -> None:
        self.engine = engine
        self.shelf = Shelf(engine.identity(), folder)
        self.settings: dict[str, Any] = {}

    def __getattr__(self, name: str):
        return getattr(self.engine, name)

    def transcribe(self, asked: Sequence[Clip | Prompt]) -> list[Response]:
        def compute(new, keep) -> None:
            self.engine.transcribe(new, keep=lambda places, found: keep(places, list(map(_as_row, found))))

        rows = through(self.shelf, asked, self._key_of_transcript, compute, tuple[str, _Told])
        return [_as_response(*row) for row in rows]

    def _key_of_transcript(self, asked: Clip | Prompt) -> list[str]:
        if isinstance(asked, Clip):
            return ["transcript", asked.key, ""]
        return ["transcript", asked.clip.key, asked.text if self.engine.asks_in_words else ""]

    def generate(
        self, prompts: Sequence[Prompt | TextPrompt], seeds: Sequence[Sequence[int]], settings: Mapping[str, Any]
    ) -> list[list[str]]:
        self.settings = dict(settings)
        effective = getattr(self.engine, "effective", dict)(settings)
        items = list(zip(prompts, map(list, seeds), strict=True))
        return through(
            self.shelf,
            items,
            lambda item: ["answers", effective, item[0].key, item[1]],
            lambda new, keep: self.engine.generate(*zip(*new, strict=True), settings, keep=keep),
            list[str],
        )

    def loglikelihood(
        self, prompts: Sequence[Prompt | TextPrompt], continuations: Sequence[Sequence[str]]
    ) -> list[list[Scored]]:
        rows = through(
            self.shelf,
            list(zip(prompts, map(list, continuations), strict=True)),
            lambda item: ["logprobs", item[0].key, item[1]],
            lambda new, keep: self.engine.loglikelihood(*zip(*new, strict=True), keep=keep),
            list[Scored],
        )
        return [[Scored(*scored) for scored in row] for row in rows]

    def describe(self) -> dict[str, Any]:
        return self.engine.describe() | ({"sampling": self.engine.sampling(self.settings)} if self.settings else {})


def _as_row(response: Response) -> tuple[str, _Told]:
    more = _Told(heard=response.coverage, hypotheses=list(response.hypotheses), correction=response.provenance)
    return response.text, more


def _as_response(text: str, more: _Told) -> Response:
    return Response(text, coverage=more["heard"], hypotheses=tuple(more["hypotheses"]), provenance=more["correction"])
