"""How a system is spelled: stages joined by `+`, each `[engine:]model` (see docs/architecture.md)."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

from speechiq.core.checkpoints import DEMO
from speechiq.core.errors import SpeechIQError

REFERENCE = "openai/whisper-large-v2+Qwen/Qwen2-7B-Instruct"
DEMO_SYSTEM = "demo:whisper-tiny.en+demo:SmolLM2-135M-Instruct"
DEFAULT_ENGINE = "hf"
ROLES = {1: ("audio",), 2: ("asr", "llm")}
ENGINES = {
    "audio": {},
    "asr": {
        "hf": "transformers_asr:TransformersASR",
        "pocketsphinx": "pocketsphinx_asr:PocketSphinxASR",
        "gold": "controls:Gold",
        "silence": "controls:Silence",
        "transcripts": "transcript_file:TranscriptFile",
    },
    "llm": {"hf": "transformers_llm:TransformersLLM"},
}
WITHOUT_MODEL = ("gold", "silence")
WHOLE = "letter"


class Stage(NamedTuple):
    """One stage of a system.

    Attributes:
        role: `asr`, `llm`, `audio` (end to end), or `whole` (a system without stages).
        engine: a key of `ENGINES[role]`.
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

    Raises:
        SpeechIQError: a number of stages that no system has, or an engine that its stage does not know.
    """
    if spelling.startswith(f"{WHOLE}:"):
        return [Stage("whole", *spelling.split(":", 1))]
    parts = spelling.split("+")
    if len(parts) not in ROLES or not all(parts):
        raise SpeechIQError(
            f"pretrained={spelling}: {len(parts)} stages, some empty or too many; spell a model that hears alone, or "
            f"ASR+LLM like pretrained={DEMO_SYSTEM}"
        )
    return [_parse_stage(role, part, spelling) for role, part in zip(ROLES[len(parts)], parts, strict=True)]


def _parse_stage(role: str, part: str, spelling: str) -> Stage:
    if part in WITHOUT_MODEL:
        engine, model = part, ""
    elif ":" in part and not part.startswith(DEMO):
        engine, model = part.split(":", 1)
    else:
        engine, model = DEFAULT_ENGINE, part
    if engine not in ENGINES[role]:
        raise SpeechIQError(
            f"pretrained={spelling}: no engine {engine!r} for the {role} stage; known are "
            f"{', '.join(sorted(ENGINES[role]))} (a hub id or folder alone means hf)"
        )
    return Stage(role, engine, model)


def build_stage(stage: Stage, options: Mapping[str, Any], **shared: Any):
    """The engine of one stage, its model not yet loaded.

    Args:
        stage: as parsed.
        options: `model_args` of this run; those that begin with its prefix are this stage's.
        **shared: what every engine is given (`device`, `batch_size`).

    Raises:
        SpeechIQError: an option that the engine does not have.
    """
    module, _, name = ENGINES[stage.role][stage.engine].partition(":")
    engine = getattr(import_module(f"speechiq.harness_patch.engines.{module}"), name)
    prefix = stage.prefix
    mine = {key.removeprefix(prefix): value for key, value in options.items() if key.startswith(prefix)}
    known = set(inspect.signature(engine).parameters) - {"model", *shared}
    if unknown := sorted(mine.keys() - known):
        raise SpeechIQError(
            f"{prefix}{unknown[0]}: no such option of the {stage.engine} engine; it has "
            f"{', '.join(prefix + option for option in sorted(known)) or 'none'}"
        )
    return engine(model=stage.model, **shared, **mine)
