"""Cache the results of engines: each is computed once and is on disk as soon as its batch is done.

The key of a row has everything that the row depends on in addition to the engine's `identity`: the audio, the text, the
continuations, the generation settings, and one seed per answer.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NotRequired, TypedDict, TypeVar, cast

from msgspec import Struct

from speechiq.core.batches import OnResult, drop
from speechiq.core.cache.stage_cache import StageCache, cached
from speechiq.core.clip import Clip, file_clip
from speechiq.core.prompt import Scored
from speechiq.core.recordings.audio_file import AudioFile, save_samples
from speechiq.core.response import CutText, Response
from speechiq.engines.base import Engine
from speechiq.engines.options import only_given

AnyEngine = TypeVar("AnyEngine", bound=Engine)


class _Details(TypedDict):
    """Define the fields of a transcript row next to its text: those of `Response`; `correction` is `provenance`."""

    coverage: float
    hypotheses: list[str]
    correction: str
    at_limit: NotRequired[bool]


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


class _StoredAnswers(Struct):
    """Define a row of answers: their texts, and the places of those that ended at the limit of their tokens."""

    texts: list[str]
    cut: list[int]


class Method(NamedTuple):
    """State how the results of a method of engines are stored.

    Attributes:
        key: Takes the engine, one of each of the method's aligned arguments, and its effective settings if it has any;
            returns what distinguishes the result from others, in JSON types.
        form: Type of a row.
        write: Returns the row of a result.
        read: Returns the result in a row.
    """

    key: Callable[..., list[Any]]
    form: Any
    write: Callable[[Any], Any] = lambda result: result
    read: Callable[[Any], Any] = lambda row: row


def _store_clip(clip: Clip) -> dict[str, Any]:
    """Write a clip in memory into the clip folder, and return its row."""
    stored = save_samples(clip.samples, clip.name)
    return {name: stored[name] for name in _StoredClip.__struct_fields__}


def _store_reply(response: Response) -> dict[str, Any]:
    assert response.audio is not None, "an engine of the kind reply returns audio"
    return {"text": response.text, "coverage": response.coverage, "audio": _store_clip(response.audio)}


def _read_reply(row: Any) -> Response:
    return Response(row["text"], audio=file_clip(row["audio"]), coverage=row["coverage"])


def _store_transcript(response: Response) -> tuple[str, _Details]:
    details = _Details(coverage=response.coverage, hypotheses=list(response.hypotheses), correction=response.provenance)
    if response.at_limit:
        details["at_limit"] = True
    return response.text, details


def _read_transcript(row: Any) -> Response:
    text, details = row
    hypotheses, at_limit = tuple(details["hypotheses"]), details.get("at_limit", False)
    return Response(text, None, details["coverage"], hypotheses, details["correction"], at_limit=at_limit)


def _store_answers(texts: Sequence[str]) -> dict[str, Any]:
    return {"texts": list(texts), "cut": [i for i, text in enumerate(texts) if isinstance(text, CutText)]}


def _read_answers(row: Any) -> list[str]:
    return [CutText(text) if i in row["cut"] else text for i, text in enumerate(row["texts"])]


TRANSCRIPT = Method(
    lambda engine, clip: ["transcript", clip.key, ""], tuple[str, _Details], _store_transcript, _read_transcript
)
ANSWERS = Method(
    lambda engine, prompt, seeds, settings: ["answers", settings, prompt.key, list(seeds)],
    _StoredAnswers,
    _store_answers,
    _read_answers,
)
LOGPROBS = Method(
    lambda engine, prompt, continuations: ["logprobs", prompt.key, list(continuations)],
    list[Scored],
    read=lambda row: [Scored(*scored) for scored in row],
)
#: Kind of an engine and name of its method -> how its results are stored. All other methods compute nothing.
METHODS = {
    ("asr", "transcribe"): TRANSCRIPT,
    ("audio", "transcribe"): TRANSCRIPT._replace(
        key=lambda engine, prompt: ["transcript", prompt.clip.key, prompt.text if engine.asks_in_words else ""]
    ),
    ("audio", "generate"): ANSWERS,
    ("text", "generate"): ANSWERS,
    ("audio", "loglikelihood"): LOGPROBS,
    ("text", "loglikelihood"): LOGPROBS,
    ("speech", "speak"): Method(lambda engine, text, seed: ["speech", text, seed], _StoredClip, _store_clip, file_clip),
    ("reply", "reply"): Method(
        lambda engine, prompt, seeds, settings: ["replies", settings, prompt.key, list(seeds)],
        list[_StoredReply],
        lambda replies: list(map(_store_reply, replies)),
        lambda row: list(map(_read_reply, row)),
    ),
}


class CachedEngine:
    """Run an engine only for results that are not cached; it has all methods of the engine.

    Args:
        folder: The response cache; `None` to cache within this process only, as for an engine without an identity.
        stage: Name under which the rows are stored, if it is not the kind of the engine.
        identity: That of the engine, if it is known already.
    """

    def __init__(self, engine: Any, folder: Path | None, stage: str = "", identity: Any = None) -> None:
        identity = identity or engine.identity()
        self.engine = engine
        kept_in = folder if identity else None
        self.cache = StageCache((identity or {}) | only_given(stage=stage), kept_in)
        self._settings: Any = None

    def __getattr__(self, name: str) -> Any:
        method = METHODS.get((self.engine.kind, name))
        return partial(self._fetch, name, method) if method else getattr(self.engine, name)

    def describe(self) -> dict[str, Any]:
        """Describe the engine and the sampling of the last `generate`; see `Engine.describe`."""
        described: dict[str, Any] = self.engine.describe()
        if self._settings:
            described = described | {"sampling": self.engine.sampling(self._settings)}
        return described

    def keep(self, name: str, *item: Any, result: Any) -> None:
        """Add a result that another process computed for an item of the method `name`, unless it is cached."""
        method = METHODS[self.engine.kind, name]

        def compute(_: Any, on_result: OnResult) -> None:
            on_result([0], [method.write(result)])

        cached(self.cache, [item], lambda _: method.key(self.engine, *item), compute, method.form)

    def _fetch(self, name: str, method: Method, *arguments: Any, on_result: OnResult = drop) -> list[Any]:
        """Return the results of a method for aligned arguments; a mapping after them has generation settings."""
        columns, settings = arguments[:2], arguments[2:]
        if name == "generate":
            (self._settings,) = settings
        effective = [self.engine.effective(given) for given in settings]

        def compute(new: list[tuple[Any, ...]], keep: OnResult) -> None:
            def store(places: Sequence[int], results: Sequence[Any]) -> None:
                keep(places, list(map(method.write, results)))

            getattr(self.engine, name)(*map(list, zip(*new, strict=True)), *settings, on_result=store)

        items = list(zip(*columns, strict=True))
        rows = cached(self.cache, items, lambda item: method.key(self.engine, *item, *effective), compute, method.form)
        results = list(map(method.read, rows))
        on_result(range(len(results)), results)
        return results


def with_cache(engine: AnyEngine, folder: Path | None) -> AnyEngine:
    """Return an engine whose results are cached, unless it has no identity; see `CachedEngine`."""
    identity = engine.identity()
    return engine if identity is None else cast(AnyEngine, CachedEngine(engine, folder, identity=identity))
