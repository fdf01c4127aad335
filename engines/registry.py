"""Registry of engines: one line per backend; another package adds its own by the entry point group `speechiq.engines`.

The name of such an entry point is `KIND.ENGINE`, its object the class of the engine, for example in `pyproject.toml`:
`[project.entry-points."speechiq.engines"]` and below it `"asr.mine" = "my_package.mine:MyASR"`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from msgspec import Struct

from speechiq.core.errors import SpeechIQError
from speechiq.engines.base import Engine, Setup
from speechiq.engines.options import read_options

GROUP = "speechiq.engines"
KINDS = ("asr", "text", "audio")


class Backend(Struct, frozen=True):
    """An engine that can be named in `pretrained=`.

    Attributes:
        kind: one of `KINDS`.
        engine: its name.
        place: `MODULE:CLASS`, imported only if it is used.
        written: how messages write a stage of it; just the name if it takes no model, by default `ENGINE:MODEL`.
    """

    kind: str
    engine: str
    place: str
    written: str = ""

    @property
    def takes_model(self) -> bool:
        return self.written != self.engine

    @property
    def example(self) -> str:
        return self.written or f"{self.engine}:MODEL"

    def load(self) -> type[Engine]:
        """Import the class."""
        module, _, name = self.place.partition(":")
        engine: type[Engine] = vars(import_module(module))[name]
        return engine


BACKENDS = (
    Backend("asr", "hf", "speechiq.engines.asr.hf:TransformersASR"),
    Backend("asr", "pocketsphinx", "speechiq.engines.asr.pocketsphinx:PocketSphinxASR", "pocketsphinx:en-us"),
    Backend("asr", "gold", "speechiq.engines.asr.controls:Gold", "gold"),
    Backend("asr", "silence", "speechiq.engines.asr.controls:Silence", "silence"),
    Backend("asr", "transcripts", "speechiq.engines.asr.transcript_file:TranscriptFile", "transcripts:FILE"),
    Backend("asr", "openai", "speechiq.engines.asr.openai:OpenAIASR"),
    Backend("asr", "faster-whisper", "speechiq.engines.asr.faster_whisper:FasterWhisperASR"),
    Backend("text", "hf", "speechiq.engines.text.hf:TransformersLLM"),
    Backend("text", "openai", "speechiq.engines.text.openai:OpenAIText"),
    Backend("audio", "hf", "speechiq.engines.audio.hf:AudioLLM"),
    Backend("audio", "openai", "speechiq.engines.audio.openai:AudioEndpoint"),
)
MODEL_TYPE = "speechiq.engines.text.lm_eval_model_types:ModelType"
#: What to say of an option that an engine does not have, instead of the nearest name.
ELSEWHERE = {"nbest": "; n-best lists come from Whisper and other encoder-decoders (hf), and from transcripts:FILE"}


def list_backends(kind: str) -> dict[str, Backend]:
    """Return the backends of a kind by name, those of this package and those of others.

    Raises:
        SpeechIQError: another package registers a name that is taken, or one without a kind.
    """
    found = {backend.engine: backend for backend in BACKENDS if backend.kind == kind}
    for entry in sorted(entry_points(group=GROUP)):
        backend = _read_entry(entry)
        if backend.kind == kind and (other := found.setdefault(backend.engine, backend)) != backend:
            raise SpeechIQError(
                f"{_name(entry)}: the {kind} engine {backend.engine} is registered for {other.place} already; "
                f"give the entry point another name, or uninstall one of the packages"
            )
    return found


def _read_entry(entry: EntryPoint) -> Backend:
    kind, _, engine = entry.name.partition(".")
    if kind not in KINDS or not engine:
        names = ", ".join(f"{kind}.NAME" for kind in KINDS)
        raise SpeechIQError(f"{_name(entry)}: not the name of an engine; rename the entry point to one of {names}")
    return Backend(kind, engine, entry.value)


def _name(entry: EntryPoint) -> str:
    package = entry.dist.name if entry.dist else "unknown package"
    return f"{package}, entry point {entry.name} = {entry.value}"


def find(kind: str, engine: str) -> Backend | None:
    """Return the backend of that name, None if there is none; any other text engine is a model type of lm-eval."""
    model_type = Backend(kind, engine, MODEL_TYPE) if kind == "text" else None
    return list_backends(kind).get(engine, model_type)


def choose(kind: str, model: str, given: Mapping[str, Any], setup: Setup) -> type[Engine]:
    """Return the class that runs the model, before its options are read.

    Args:
        kind: one of `KINDS`.
        model: its name for the engine.
        given: options of the stage, not yet checked.
        setup: of this run; `setup.engine` says which backend.

    Raises:
        SpeechIQError: no such engine, or a model that it cannot run.
    """
    backend = find(kind, setup.engine)
    if backend is None:
        raise SpeechIQError(
            f"{setup.engine}: unknown {kind} engine; known are {', '.join(sorted(list_backends(kind)))}"
        )
    return backend.load().choose(model, given, setup)


def build(kind: str, model: str, given: Mapping[str, Any], setup: Setup, *, also: Collection[str] = ()) -> Engine:
    """Return an engine, its model not yet loaded.

    Args:
        kind, model, given, setup: see `choose`.
        also: options of the stage that are read elsewhere, for the errors.

    Raises:
        SpeechIQError: see `choose` and `read_options`, and what the engine itself refuses.
    """
    engine = choose(kind, model, given, setup)
    options = read_options(engine.record, given, engine=setup.engine, prefix=setup.prefix, also=also, hints=ELSEWHERE)
    return engine(model, options, setup)
