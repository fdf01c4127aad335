"""Limit which stages of a run may compute, and end a run between two batches."""

import os
import signal
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from speechiq.core.errors import SpeechIQError

#: Set for a process that may compute some stages alone: their names in `STAGES` with commas; empty for none.
VARIABLE = "SIQ_STAGES"
#: Names for users, in the order in which a run gets to them -> the stages of the response cache; `EMBED` has the rest.
STAGES = {
    "asr": ("asr",),
    "llm": ("text", "audio", "reply", "speech"),
    "judge": ("reply transcript", "speech quality", "judge"),
    "embed": (),
}
EMBED = "embed"


class MissingRows(SpeechIQError):
    """Say that rows of a stage are missing that this process may not compute; `stage` is its name in `STAGES`."""

    def __init__(self, stage: str, missing: int, rows: int) -> None:
        self.stage = stage
        super().__init__(
            f"stage {stage}",
            f"{missing} of {rows} rows are not in the response cache",
            f"compute them first, as by `siq eval --stages {stage}` on any machine",
        )


class Stopped(BaseException):
    """End a run after a batch, because the process was asked to stop; the rows of the batch are cached."""


_chosen: ContextVar[frozenset[str] | None] = ContextVar("stages", default=None)
_requests: list[int] = []


@contextmanager
def limited_to(stages: Collection[str] | None) -> Iterator[None]:
    """Let only these stages compute inside the block; None reads them from the environment (`VARIABLE`)."""
    named = os.environ.get(VARIABLE)
    if stages is None and named is not None:
        stages = [name for name in named.split(",") if name]
    token = _chosen.set(_chosen.get() if stages is None else frozenset(stages))
    try:
        yield
    finally:
        _chosen.reset(token)


def name_stage(stage: Mapping[str, Any]) -> str:
    """Return the name of a stage of the response cache in `STAGES`.

    >>> name_stage({"stage": "text"}), name_stage({"stage": "embedder"})
    ('llm', 'embed')
    """
    return next((name for name, kinds in STAGES.items() if stage.get("stage") in kinds), EMBED)


def check_limits(stage: Mapping[str, Any], missing: int, rows: int) -> None:
    """Refuse to compute a stage that this process may not compute, and stop if it was asked to."""
    name, chosen = name_stage(stage), _chosen.get()
    if chosen is not None and name not in chosen:
        raise MissingRows(name, missing, rows)
    stop_if_asked()


def stop_after_batch() -> None:
    """Make SIGTERM end this process between two batches (`Stopped`), not at once."""
    signal.signal(signal.SIGTERM, lambda number, frame: _requests.append(number))


def stop_if_asked() -> None:
    """End the run if SIGTERM has arrived."""
    if _requests:
        raise Stopped
