"""How a system is spelled: stages joined by `+`, each `[engine:]model` (see docs/architecture.md)."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from speechiq.core.checkpoints import DEMO
from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch._lm_eval import list_model_types

REFERENCE = "openai/whisper-large-v2+Qwen/Qwen2-7B-Instruct"
DEMO_SYSTEM = "demo:whisper-tiny.en+demo:SmolLM2-135M-Instruct"
DEFAULT_ENGINE = "hf"
ROLES = {1: ("audio",), 2: ("asr", "llm"), 3: ("asr", "ger", "llm")}
TEXT = {"hf": "text.hf:TransformersLLM", "openai": "text.openai:OpenAIText"}
ENGINES = {
    "audio": {"hf": "audio.hf:AudioLLM", "openai": "audio.openai:AudioEndpoint"},
    "asr": {
        "hf": "asr.hf:transformers_asr",
        "pocketsphinx": "asr.pocketsphinx:PocketSphinxASR",
        "gold": "asr.controls:Gold",
        "silence": "asr.controls:Silence",
        "transcripts": "asr.transcript_file:TranscriptFile",
        "openai": "asr.openai:OpenAIASR",
        "faster-whisper": "asr.faster_whisper:FasterWhisperASR",
    },
    "ger": TEXT,
    "llm": TEXT,
}
LM_EVAL = "text.lm_eval_kinds:lm_eval_text"
PLACE = "speechiq.engines"
SHARED = {"model", "device", "batch_size", "prefix"}
GROUPS = {"loading": "_shared.loading", "calling": "_shared.remote"}
ELSEWHERE = {"nbest": "; n-best lists come from Whisper and other encoder-decoders (hf), and from transcripts:FILE"}
WITHOUT_MODEL = ("gold", "silence")
#: What is written where an engine needs a model; of others `ENGINE:MODEL`.
WRITTEN = {"pocketsphinx": "pocketsphinx:en-us", "transcripts": "transcripts:FILE"}
WHOLE = "letter"


class Stage(NamedTuple):
    """One stage of a system.

    Attributes:
        role: `asr`, `ger` (the corrector), `llm`, `audio` (end to end), or `whole` (a system without stages).
        engine: a key of `ENGINES[role]`; of a text stage also the name of a model type of lm-eval.
        model: its name there; empty for an engine without one.
    """

    role: str
    engine: str
    model: str

    @property
    def prefix(self) -> str:
        """What this stage's options begin with; a model that stands alone needs nothing."""
        return "" if self.role == "audio" else f"{self.role}_"


def parse(spelling: str) -> list[Stage]:
    """The stages of `spelling`.

    >>> parse("demo:whisper-base+Qwen/Qwen2-7B-Instruct")
    [Stage(role='asr', engine='hf', model='demo:whisper-base'), \
Stage(role='llm', engine='hf', model='Qwen/Qwen2-7B-Instruct')]
    >>> parse("silence+demo:SmolLM2-135M-Instruct")[0]
    Stage(role='asr', engine='silence', model='')
    >>> parse("openai/whisper-large-v2+openai:gpt-4o+Qwen/Qwen2-7B-Instruct")[1]
    Stage(role='ger', engine='openai', model='gpt-4o')

    Raises:
        SpeechIQError: a number of stages that no system has, or an engine that its stage does not know.
    """
    if spelling.partition(":")[0] == WHOLE:
        return [Stage("whole", WHOLE, spelling.removeprefix(WHOLE).removeprefix(":"))]
    parts = spelling.split("+")
    if len(parts) not in ROLES or not all(parts):
        raise SpeechIQError(
            f"pretrained={spelling}: {len(parts)} stages, some empty or too many; spell a model that hears alone, "
            f"ASR+LLM like pretrained={DEMO_SYSTEM}, or ASR+GER+LLM"
        )
    return [_parse_stage(role, part, spelling) for role, part in zip(ROLES[len(parts)], parts, strict=True)]


def _parse_stage(role: str, part: str, spelling: str) -> Stage:
    if part in WITHOUT_MODEL:
        engine, model = part, ""
    elif ":" in part and not part.startswith(DEMO):
        engine, model = part.split(":", 1)
    else:
        engine, model = DEFAULT_ENGINE, part
    if part.startswith(f"{DEFAULT_ENGINE}:{DEMO}"):
        raise SpeechIQError(
            f"pretrained={spelling}: {part} has a shorter name, and a system is compared by its name; write {model}"
        )
    if role == "audio" and _needs_answerer(part, engine):
        raise SpeechIQError(
            f"pretrained={spelling}: {part} only transcribes; put a language model behind it, pretrained={part}+LLM"
        )
    if part in ENGINES[role] and part not in WITHOUT_MODEL:
        written = WRITTEN.get(part, f"{part}:MODEL")
        raise SpeechIQError(f"pretrained={spelling}: {part} is an engine without a model; write {written}")
    if engine not in ENGINES[role] and not (ENGINES[role] is TEXT and engine in list_model_types()):
        more = ", and any model type of lm-eval" if ENGINES[role] is TEXT else ""
        raise SpeechIQError(
            f"pretrained={spelling}: no engine {engine!r} for the {role} stage; known are "
            f"{', '.join(sorted(ENGINES[role]))}{more} (a hub id or folder alone means hf)"
        )
    return Stage(role, engine, model)


def _needs_answerer(part: str, engine: str) -> bool:
    """Return whether what stands alone is a recogniser by its engine."""
    alone = part if part in ENGINES["asr"] else engine
    return alone in ENGINES["asr"] and alone not in ENGINES["audio"]


def _engine(stage: Stage, options: Mapping[str, Any]):
    where = ENGINES[stage.role].get(stage.engine, LM_EVAL)
    module, _, name = where.partition(":")
    engine = getattr(import_module(f"{PLACE}.{module}"), name)
    if where is LM_EVAL:
        return partial(engine, stage.engine)
    return engine if isinstance(engine, type) else engine(stage.model, **_of(stage, options))


def _of(stage: Stage, options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of this stage, without its prefix."""
    prefix = stage.prefix
    return {name.removeprefix(prefix): value for name, value in options.items() if name.startswith(prefix)}


def find_options(stage: Stage, options: Mapping[str, Any]) -> tuple[set[str], bool]:
    """What may be told to the stage's engine, and whether it leaves other options to what it runs.

    An engine that takes `**loading` or `**calling` has the options of the group of that name.

    Args:
        stage: as parsed.
        options: `model_args` of this run.
    """
    return _options_of(_engine(stage, options))


def _options_of(engine) -> tuple[set[str], bool]:
    known, open_end = set(), False
    for parameter in inspect.signature(engine).parameters.values():
        if parameter.name in GROUPS:
            known |= import_module(f"{PLACE}.{GROUPS[parameter.name]}").OPTIONS
        elif parameter.kind is parameter.VAR_KEYWORD:
            open_end = True
        else:
            known.add(parameter.name)
    return known - SHARED, open_end


def build_stage(stage: Stage, options: Mapping[str, Any], *, also: Collection[str] = (), **shared: Any):
    """The engine of one stage, its model not yet loaded.

    Args:
        stage: as parsed.
        options: `model_args` of this run; those that begin with its prefix are this stage's.
        also: options of this stage that the system takes itself, for the errors.
        **shared: what every engine is given (`device`, `batch_size`). One that has options of a group, or leaves
            options to what it runs, is given the `prefix` too, so that its errors name them in full.

    Raises:
        SpeechIQError: an option that the engine does not have.
    """
    prefix, mine, engine = stage.prefix, _of(stage, options), _engine(stage, options)
    known, open_end = _options_of(engine)
    if (unknown := sorted(mine.keys() - known)) and not open_end:
        names = sorted(prefix + option for option in {*known, *also})
        near = "".join(f"; did you mean {name}?" for name in get_close_matches(prefix + unknown[0], names, 1))
        raise SpeechIQError(
            f"{prefix}{unknown[0]}: no such option of the {stage.engine} engine; it has {', '.join(names) or 'none'}"
            f"{ELSEWHERE.get(unknown[0], near)}"
        )
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in inspect.signature(engine).parameters.values()):
        shared["prefix"] = prefix
    return engine(model=stage.model, **{**shared, **mine})
