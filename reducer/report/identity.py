"""Identify a system: what `hf-audio` recorded of it, in the words of the paper's leaderboard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from speechiq.reducer.runs.systems import System

LONGEST_LABEL = 34
ENCODERS_OF_CONTROLS = {"gold": "none (reads the reference)", "silence": "none (no audio)"}


class Identity(NamedTuple):
    """Hold a system as the leaderboard names it; "" for what its run does not record.

    Attributes:
        kind: `Cascade`, `Cascade + GER`, `End to end` or `Control`.
        encoder: The model that processes the audio.
        control: `gold`, `silence` or `letter:X`; "" for a system that processes audio.
    """

    kind: str
    encoder: str
    control: str


def identify(system: System) -> Identity:
    """Identify a system by the description in its newest run; any part of it may be missing or of another shape.

    >>> identify(System("unknown", {}))
    Identity(kind='', encoder='', control='')
    """
    described = max(system.tasks, key=lambda task: task.date).described if system.tasks else {}
    if system.control:
        return Identity("Control", ENCODERS_OF_CONTROLS.get(system.control, "none"), system.control)
    if asr := _part(described, "asr"):
        kind = "Cascade + GER" if asr.get("corrector") else "Cascade"
        return Identity(kind, _text(asr, "model") or _from_file(asr), "")
    if described.get("kind"):
        return Identity("End to end", _text(described, "audio_encoder") or _text(described, "model"), "")
    return Identity("", "", "")


def short_names(names: Sequence[str]) -> list[str]:
    """Return names for the charts: without hub owners, and without the last stage if all cascades share it.

    >>> short_names(["openai/whisper-base+Qwen/Qwen2-7B", "gold+Qwen/Qwen2-7B", "letter:B"])
    ['whisper-base', 'gold', 'letter:B']
    >>> short_names(["a/same", "b/same"])
    ['a/same', 'b/same']
    """
    stages = [[stage.rpartition("/")[2] or stage for stage in name.split("+")] for name in names]
    last = [parts[-1] for parts in stages if len(parts) > 1]
    end = -1 if len(last) > 1 and len(set(last)) == 1 else None
    short = [_elide("+".join(parts[:end] or parts)) for parts in stages]
    taken = Counter(short)
    return [name if taken[name] == 1 else full for name, full in zip(short, names, strict=True)]


def _elide(name: str) -> str:
    half = LONGEST_LABEL // 2
    return name if len(name) <= LONGEST_LABEL else f"{name[: half - 1]}…{name[-half:]}"


def _part(described: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = described.get(key)
    return part if isinstance(part, Mapping) else {}


def _text(part: Mapping[str, Any], key: str) -> str:
    return part[key] if isinstance(part.get(key), str) else ""


def _from_file(asr: Mapping[str, Any]) -> str:
    return f"transcripts of {_text(asr, 'transcripts')}" if _text(asr, "transcripts") else ""
