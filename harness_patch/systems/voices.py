"""Build the voice of a system from its model arguments, with every check that needs no weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from speechiq.core.cache.store import store_folder
from speechiq.core.errors import SpeechIQError
from speechiq.engines.base import BatchSize, Setup
from speechiq.engines.registry import build, list_backends
from speechiq.harness_patch.systems.cached import CachedReply, CachedSpeech
from speechiq.harness_patch.systems.speaking import Speaking, WithOwnVoice, WithVoice
from speechiq.harness_patch.systems.spec import Stage
from speechiq.harness_patch.systems.system import SpeechSystem

#: Model argument that names the voice, and the prefix of its options.
SPEAKS, SPEAKS_PREFIX = "speaks", "speaks_"
#: Value of `speaks` for a model that speaks by itself.
OWN = "own"


class VoiceChoice(Protocol):
    """Define a voice that a user chose."""

    def give(self, system: SpeechSystem, shared: Mapping[str, Any], seed: int) -> Speaking:
        """Return the system with this voice.

        Args:
            system: The system that writes.
            shared: Options of its last stage.
            seed: Seed of the speech.

        Raises:
            SpeechIQError: The voice or one of its options cannot be used.
        """


@dataclass(frozen=True)
class ByEngine:
    """Give a voice of a `SpeechEngine`, which shares nothing with the system."""

    voice: CachedSpeech

    def give(self, system: SpeechSystem, shared: Mapping[str, Any], seed: int) -> Speaking:
        """Return the system with this voice; see `VoiceChoice.give`."""
        return WithVoice(system, self.voice, seed)


@dataclass(frozen=True)
class ByItself:
    """Give the voice of an audio model, loaded by the options of the model, unless the voice has others."""

    model: str
    options: Mapping[str, Any]
    setup: Setup

    def give(self, system: SpeechSystem, shared: Mapping[str, Any], seed: int) -> Speaking:
        """Return the system with its own voice; see `VoiceChoice.give`."""
        engine = build("reply", self.model, {**shared, **self.options}, self.setup)
        return WithOwnVoice(system, CachedReply(engine, store_folder()), seed)


def take_voice(
    arguments: dict[str, Any], stages: Sequence[Stage], device: Any, batch_size: BatchSize
) -> VoiceChoice | None:
    """Return the voice that model arguments name, and remove it from them; None without one.

    Args:
        arguments: Model arguments.
        stages: The stages of the system.
        device: Device of the voice.
        batch_size: Items per batch, or `auto`.

    Raises:
        SpeechIQError: The voice cannot be used, or options of a voice are given without it.
    """
    options = {
        name.removeprefix(SPEAKS_PREFIX): arguments.pop(name)
        for name in sorted(arguments)
        if name.startswith(SPEAKS_PREFIX)
    }
    if (spec := arguments.pop(SPEAKS, None)) is None:
        if options:
            name = f"{SPEAKS_PREFIX}{next(iter(options))}"
            raise SpeechIQError(f"{name}: the system does not speak; give speaks=ENGINE:MODEL or speaks={OWN} too")
        return None
    engine, model = _find_own(stages) if spec == OWN else _split(str(spec))
    setup = Setup(engine=engine, prefix=SPEAKS_PREFIX, device=device, batch_size=batch_size)
    if spec == OWN:
        return ByItself(model, options, setup)
    return ByEngine(CachedSpeech(build("speech", model, options, setup), store_folder()))


def _split(spec: str) -> tuple[str, str]:
    """Return the engine and the model of a voice."""
    engine, _, model = spec.partition(":")
    if not (engine and model):
        raise SpeechIQError(
            f"speaks={spec}: not a voice; write ENGINE:MODEL, such as speaks=hf:facebook/mms-tts-eng, or speaks={OWN} "
            f"for a model that speaks by itself"
        )
    return engine, model


def _find_own(stages: Sequence[Stage]) -> tuple[str, str]:
    """Return the engine and the model of a system that is one audio model."""
    (*earlier, last) = stages
    if earlier:
        raise SpeechIQError(
            f"speaks={OWN}: a recognizer with a language model has no voice of its own; give speaks=ENGINE:MODEL, or "
            f"one audio model that speaks"
        )
    if last.engine not in (known := list_backends("reply")):
        raise SpeechIQError(
            f"speaks={OWN}: the engine {last.engine} does not speak by itself, {' and '.join(sorted(known))} can; give "
            f"speaks=ENGINE:MODEL"
        )
    return last.engine, last.model
