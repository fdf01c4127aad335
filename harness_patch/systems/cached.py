"""Cache the results of engines: each is computed once and is on disk as soon as its batch is done.

The key of a row has everything that the row depends on in addition to the engine's `identity`: the audio, the text, the
continuations, the generation settings, and one seed per answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from msgspec import Struct

from speechiq.core.batches import OnResult
from speechiq.core.cache.clip_folder import save_samples
from speechiq.core.cache.stage_cache import StageCache, cached
from speechiq.core.clip import AudioFile, Clip, file_clip
from speechiq.core.prompt import Prompt, Scored, TextPrompt
from speechiq.core.response import Response

Input = TypeVar("Input", Clip, Prompt)


class _Details(TypedDict):
    """Define the fields of a transcript row next to its text: `coverage`, `hypotheses`, `provenance` of `Response`."""

    coverage: float
    hypotheses: list[str]
    correction: str


class _StoredClip(Struct):
    """Define a row that names a file of the clip folder; a row whose file is missing is computed again."""

    path: str
    sha256: str
    duration: float

    def __post_init__(self) -> None:
        if not AudioFile(self.path, self.sha256).file.is_file():
            raise ValueError(f"{self.path} is missing")


class _StoredReply(Struct):
    """Define a row of a reply: what was written, the share of the audio that was received, and what was spoken."""

    text: str
    coverage: float
    audio: _StoredClip


class CachedEngine:
    """Provide the common part of cached engines.

    Args:
        engine: Engine with `identity()` and methods that take `on_result`.
        folder: Folder of the stage caches; `None` to cache within this process only.
    """

    def __init__(self, engine: Any, folder: Path | None) -> None:
        self.engine = engine
        self.cache = StageCache(engine.identity(), folder)

    def describe(self) -> dict[str, Any]:
        """Describe the engine; see `Engine.describe`."""
        return self.engine.describe()

    def _transcribe(self, inputs: Sequence[Input], key: Callable[[Input], list[str]]) -> list[Response]:
        def compute(new: list[Input], on_result: OnResult) -> None:
            self.engine.transcribe(new, on_result=lambda places, found: on_result(places, list(map(_as_row, found))))

        return [_as_response(*row) for row in cached(self.cache, inputs, key, compute, tuple[str, _Details])]


class CachedASR(CachedEngine):
    """Cache the transcripts of a recognizer."""

    def transcribe(self, clips: Sequence[Clip]) -> list[Response]:
        """Transcribe each clip; see `ASREngine.transcribe`."""
        return self._transcribe(clips, lambda clip: ["transcript", clip.key, ""])


class CachedSpeech(CachedEngine):
    """Cache what a voice speaks: the audio is in the clip folder, by its content, and a row names the file."""

    def speak(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Clip]:
        """Speak each text; the clips are files in the clip folder; see `SpeechEngine.speak`."""

        def compute(new: list[tuple[str, int]], on_result: OnResult) -> None:
            words, numbers = map(list, zip(*new, strict=True))
            self.engine.speak(words, numbers, lambda places, clips: on_result(places, list(map(_store, clips))))

        items = list(zip(texts, seeds, strict=True))
        rows = cached(self.cache, items, lambda item: ["speech", *item], compute, _StoredClip)
        return [file_clip(row) for row in rows]


class CachedReply(CachedEngine):
    """Cache the replies of an audio model: the texts are in the rows, the audio is in the clip folder."""

    def reply(
        self, prompts: Sequence[Prompt], seeds: Sequence[Sequence[int]], settings: Mapping[str, Any]
    ) -> list[list[Response]]:
        """Answer each prompt aloud, once per seed; the clips are files in the clip folder; see `ReplyEngine.reply`."""

        def compute(new: list[tuple[Prompt, list[int]]], on_result: OnResult) -> None:
            def store(places: Sequence[int], found: Sequence[Sequence[Response]]) -> None:
                on_result(places, [list(map(_as_reply_row, replies)) for replies in found])

            self.engine.reply(*zip(*new, strict=True), settings, on_result=store)

        effective = self.engine.effective(settings)
        items = list(zip(prompts, map(list, seeds), strict=True))
        rows = cached(
            self.cache, items, lambda item: ["replies", effective, item[0].key, item[1]], compute, list[_StoredReply]
        )
        return [[_as_reply(reply) for reply in row] for row in rows]


class CachedWriter(CachedEngine):
    """Cache the answers and log-likelihoods of an engine that takes prompts."""

    def __init__(self, engine: Any, folder: Path | None) -> None:
        super().__init__(engine, folder)
        self.settings: dict[str, Any] = {}

    def at_work(self) -> AbstractContextManager[None]:
        """Keep the model loaded inside the block; see `TextEngine.at_work`."""
        return self.engine.at_work()

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Describe how `generate` samples; see `TextEngine.sampling`."""
        return self.engine.sampling(settings)

    def generate(
        self, prompts: Sequence[Prompt | TextPrompt], seeds: Sequence[Sequence[int]], settings: Mapping[str, Any]
    ) -> list[list[str]]:
        """Answer each prompt once per seed; see `TextEngine.generate`."""
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
        """Score continuations after each prompt; see `TextEngine.loglikelihood`."""
        rows = cached(
            self.cache,
            list(zip(prompts, map(list, continuations), strict=True)),
            lambda item: ["logprobs", item[0].key, item[1]],
            lambda new, on_result: self.engine.loglikelihood(*zip(*new, strict=True), on_result=on_result),
            list[Scored],
        )
        return [[Scored(*scored) for scored in row] for row in rows]

    def describe(self) -> dict[str, Any]:
        """Describe the engine and the sampling of the last `generate`; see `Engine.describe`."""
        return self.engine.describe() | ({"sampling": self.engine.sampling(self.settings)} if self.settings else {})


class CachedText(CachedWriter):
    """Cache the results of a language model."""

    def count(self, text: str) -> int:
        """Count the tokens of a text; see `TextEngine.count`."""
        return self.engine.count(text)


class CachedAudio(CachedWriter):
    """Cache the results of a language model that takes audio."""

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        """Transcribe the clip of each prompt; see `AudioEngine.transcribe`."""
        asks_in_words = self.engine.asks_in_words
        return self._transcribe(
            prompts, lambda prompt: ["transcript", prompt.clip.key, prompt.text if asks_in_words else ""]
        )

    def coverage(self, prompts: Sequence[Prompt]) -> list[float]:
        """Return the audio coverage of each prompt; see `AudioEngine.coverage`."""
        return self.engine.coverage(prompts)


#: Kind of an engine -> its cached form.
CACHED: dict[str, type[CachedEngine]] = {
    "asr": CachedASR, "text": CachedText, "audio": CachedAudio, "speech": CachedSpeech, "reply": CachedReply,
}  # fmt: skip


def _store(clip: Clip) -> dict[str, Any]:
    """Write a clip in memory into the clip folder, and return its row."""
    stored = save_samples(clip.samples, clip.name)
    return {name: stored[name] for name in _StoredClip.__struct_fields__}


def _as_reply_row(response: Response) -> dict[str, Any]:
    """Write the audio of a reply into the clip folder, and return its row."""
    assert response.audio is not None, "an engine of the kind reply returns audio"
    return {"text": response.text, "coverage": response.coverage, "audio": _store(response.audio)}


def _as_reply(row: Any) -> Response:
    return Response(row["text"], audio=file_clip(row["audio"]), coverage=row["coverage"])


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
