"""Open engines in tests: options by name, on a CPU."""

from __future__ import annotations

from typing import Any

from speechiq.engines.base import Setup
from speechiq.engines.options import read_options


def open_engine(
    engine: type, model: str, *, device: str = "cpu", batch_size: int | str = "auto", prefix: str = "", **options: Any
) -> Any:
    """Return an engine of the class `engine` with these options."""
    setup = Setup(engine="", prefix=prefix, device=device, batch_size=batch_size)
    return engine(model, read_options(engine.record, options, engine=engine.__name__, prefix=prefix), setup)
