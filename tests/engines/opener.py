"""Open engines and systems in tests: options by name, on a CPU."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from speechiq.core.clip import Clip
from speechiq.engines.base import Setup
from speechiq.engines.options import read_options
from speechiq.harness_patch.systems.build import build_system
from speechiq.harness_patch.systems.system import SpeechSystem


def open_engine(
    engine: type, model: str, *, device: str = "cpu", batch_size: int | str = "auto", prefix: str = "", **options: Any
) -> Any:
    """Return an engine of the class `engine` with these options."""
    setup = Setup(engine="", prefix=prefix, device=device, batch_size=batch_size)
    return engine(model, read_options(engine.record, options, engine=engine.__name__, prefix=prefix), setup)


def build(spec: object, *, references: Mapping[Clip, str] = MappingProxyType({}), **options: Any) -> SpeechSystem:
    """Return the system of a spec with these options."""
    return build_system(str(spec), options, device="cpu", batch_size="auto", seed=0, references=references)
