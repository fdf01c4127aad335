"""List the engines, one line per backend; another package adds its own by the entry point group `speechiq.engines`.

The name of such an entry point is `KIND.ENGINE`, its object is the class of the engine; for example in `pyproject.toml`
the table `[project.entry-points."speechiq.engines"]` with the line `"asr.mine" = "my_package.mine:MyASR"`.
"""

import sys
from collections.abc import Collection, Mapping
from functools import cache, partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from shutil import which
from typing import Any

from msgspec import Struct

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import EXTRAS, PROGRAMS, suggest
from speechiq.engines.base import Engine, Setup
from speechiq.engines.options import OptionInfo, describe_options, read_options

GROUP = "speechiq.engines"
#: Kinds of engines that run a stage of `pretrained=`.
STAGES = ("asr", "text", "audio")
KINDS = (*STAGES, "speech", "reply")
#: Engine of an audio model that answers -> the one by which it transcribes before a language model.
AS_RECOGNIZER = {"openai:": "openai-chat:"}


class Backend(Struct, frozen=True):
    """Hold an engine that can be named in `pretrained=`.

    Only `load` and `list_options` import the class, and with it what it needs, such as torch.

    Attributes:
        class_path: `MODULE:CLASS`, imported only if it is used.
        model: an example of a model that it runs; empty if it takes none.
        package: the package that it imports in addition to those that speechiq itself requires, a key of `EXTRAS` of
            `core/suggestions.py`; empty if there is none.
        program: the program that it runs, a key of `PROGRAMS` there; empty if it runs none.
    """

    kind: str
    engine: str
    class_path: str
    model: str = "MODEL"
    package: str = ""
    program: str = ""

    @property
    def takes_model(self) -> bool:
        """Return whether a stage names a model, as `ENGINE:MODEL`."""
        return bool(self.model)

    @property
    def example(self) -> str:
        """Return a stage with this engine, as it is written in `pretrained=`."""
        return f"{self.engine}:{self.model}" if self.model else self.engine

    @property
    def extra(self) -> str:
        """Return the extra of `setup.cfg` that installs the package; empty without a package."""
        return EXTRAS.get(self.package, "")

    def missing(self) -> list[str]:
        """Return the package or the program that the engine needs and that is not found; nothing is imported."""
        if self.package and find_spec(self.package.replace("-", "_")) is None:
            return [self.package]
        if self.program and which(self.program) is None:
            return [self.program]
        return []

    @property
    def installation(self) -> str:
        """Return the command that installs what the engine needs."""
        return PROGRAMS[self.program] if self.program else f"pip install '.[{self.extra}]'"

    def list_options(self) -> list[OptionInfo]:
        """Return the options of all models that the engine runs, without the prefix of a stage; imports the class."""
        described = [option for record in self.load().option_records() for option in describe_options(record)]
        return list({option.name: option for option in reversed(described)}.values())[::-1]

    def load(self) -> type[Engine]:
        """Import the class."""
        module, _, name = self.class_path.partition(":")
        engine: type[Engine] = vars(import_module(module))[name]
        return engine


ASR, TEXT, AUDIO, SPEECH = (f"speechiq.engines.{kind}" for kind in (*STAGES, "speech"))
OPENAI = "openai"
BACKENDS = (
    Backend("asr", "hf", f"{ASR}.hf:TransformersASR", "openai/whisper-large-v3"),
    Backend("asr", "pocketsphinx", f"{ASR}.pocketsphinx:PocketSphinxASR", "en-us", "pocketsphinx"),
    Backend("asr", "gold", f"{ASR}.controls:Gold", ""),
    Backend("asr", "silence", f"{ASR}.controls:Silence", ""),
    Backend("asr", "transcripts", f"{ASR}.controls:TranscriptFile", "FILE"),
    Backend("asr", "openai", f"{ASR}.openai:OpenAIASR", "whisper-1", OPENAI),
    Backend("asr", "openai-chat", f"{AUDIO}.openai:AudioEndpoint", "gpt-4o-audio-preview", OPENAI),
    Backend("asr", "faster-whisper", f"{ASR}.faster_whisper:FasterWhisperASR", "large-v3", "faster-whisper"),
    Backend("text", "hf", f"{TEXT}.hf:TransformersLLM", "Qwen/Qwen2-7B-Instruct"),
    Backend("text", "openai", f"{TEXT}.openai:OpenAIText", "gpt-4o", OPENAI),
    Backend("audio", "hf", f"{AUDIO}.hf:AudioLLM", "Qwen/Qwen2-Audio-7B-Instruct"),
    Backend("audio", "openai", f"{AUDIO}.openai:AudioEndpoint", "gpt-4o-audio-preview", OPENAI),
    Backend("speech", "hf", f"{SPEECH}.hf:TransformersSpeech", "facebook/mms-tts-eng"),
    Backend("speech", "openai", f"{SPEECH}.openai:OpenAISpeech", "gpt-4o-mini-tts", OPENAI),
    Backend("speech", "piper", f"{SPEECH}.program:Piper", "VOICE.onnx", program="piper"),
    Backend("speech", "espeak-ng", f"{SPEECH}.program:Espeak", "en-us", program="espeak-ng"),
    Backend("speech", "flite", f"{SPEECH}.program:Flite", "slt", program="flite"),
    Backend("reply", "hf", f"{AUDIO}.omni:OmniReply", "Qwen/Qwen2.5-Omni-7B"),
    Backend("reply", "openai", f"{AUDIO}.openai:EndpointReply", "gpt-4o-audio-preview", OPENAI),
)
MODEL_TYPE = "speechiq.engines.text.lm_eval:LMEvalText"
#: Ends of the error about an option that a model does not have, instead of the nearest name.
ELSEWHERE = {"nbest": "; n-best lists come from Whisper and other encoder-decoders (hf), and from transcripts:FILE"}
OTHER_MODELS = "; it has that one for other kinds of models"


def list_backends(kind: str) -> dict[str, Backend]:
    """Return the backends of a kind by name, of all packages; refuse two of one name, or one without a kind."""
    found = {backend.engine: backend for backend in BACKENDS if backend.kind == kind}
    for entry in _list_entries(tuple(sys.path)):
        backend = _read_entry(entry)
        if backend.kind == kind and (known := found.setdefault(backend.engine, backend)) != backend:
            raise SpeechIQError(
                _name(entry),
                f"the {kind} engine {backend.engine} is registered for {known.class_path} already",
                "give the entry point another name, or uninstall one of the packages",
            )
    return found


@cache
def _list_entries(_path: tuple[str, ...]) -> list[EntryPoint]:
    """Return the entry points of engines; the packages on the path of imports are read once for each path."""
    return sorted(entry_points(group=GROUP))


def _read_entry(entry: EntryPoint) -> Backend:
    kind, _, engine = entry.name.partition(".")
    if kind not in KINDS or not engine:
        names = ", ".join(f"{kind}.NAME" for kind in KINDS)
        raise SpeechIQError(_name(entry), "not the name of an engine", f"rename the entry point to one of {names}")
    return Backend(kind, engine, entry.value)


def _name(entry: EntryPoint) -> str:
    package = entry.dist.name if entry.dist else "unknown package"
    return f"{package}, entry point {entry.name} = {entry.value}"


def find_backend(kind: str, engine: str) -> Backend | None:
    """Return the backend with this name, None if there is none; other text engines are model types of lm-eval."""
    model_type = Backend(kind, engine, MODEL_TYPE) if kind == "text" else None
    return list_backends(kind).get(engine, model_type)


def choose_engine(kind: str, model: str, given: Mapping[str, Any], setup: Setup) -> type[Engine]:
    """Return the class of `setup.engine` that runs the model, before its options are read; refuse an unknown one."""
    backend = find_backend(kind, setup.engine)
    if backend is None:
        known = sorted(list_backends(kind))
        raise SpeechIQError(setup.engine, f"unknown {kind} engine", suggest(setup.engine, known))
    return backend.load().choose(model, given, setup)


def build_engine(
    kind: str, model: str, given: Mapping[str, Any], setup: Setup, *, also: Collection[str] = ()
) -> Engine:
    """Return an engine whose model is not yet loaded; `also` has options that are read elsewhere, for the errors."""
    engine = choose_engine(kind, model, given, setup)
    hint = partial(_hint, kind, setup.engine)
    options = read_options(engine.record, given, engine=setup.engine, prefix=setup.prefix, also=also, hint=hint)
    return engine(model, options, setup)


def _hint(kind: str, engine: str, option: str) -> str:
    """Return the end of the error about an option that a model does not have; empty if no model of its engine does."""
    backend = find_backend(kind, engine)
    has_option = backend is not None and any(each.name == option for each in backend.list_options())
    return ELSEWHERE.get(option, OTHER_MODELS if has_option else "")


def replace_engine(stage: str, others: Mapping[str, str]) -> str:
    """Return a stage with another engine (a prefix with its colon), if there is another one for its engine.

    >>> replace_engine("openai:gpt-4o-audio-preview", AS_RECOGNIZER), replace_engine("org/model", AS_RECOGNIZER)
    ('openai-chat:gpt-4o-audio-preview', 'org/model')
    """
    for engine, other in others.items():
        if stage.startswith(engine):
            return other + stage.removeprefix(engine)
    return stage
