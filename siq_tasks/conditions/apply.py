"""Put the transforms of a condition into the docs of a task, seeded by the id of each clip."""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from heapq import nsmallest
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset

from speechiq.core.clip import file_clip
from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import is_of_desktop
from speechiq.core.recordings.audio_file import save_audio
from speechiq.core.transforms import (
    CODECS,
    ENCODERS,
    AnyTransform,
    Band,
    Clipping,
    Codec,
    Gain,
    Noise,
    Recordings,
    Reverb,
    Span,
    Speed,
    measure_rms,
    write_transforms,
)
from speechiq.siq_tasks.conditions.spec import Step, is_neutral, parse_condition

#: Files that count as recordings in a folder of noises.
SUFFIXES = frozenset({".wav", ".flac", ".ogg", ".opus", ".mp3", ".m4a"})

Maker = Callable[[Mapping[str, Any], Step, int], AnyTransform]


def with_condition(docs: Dataset, condition: object) -> Dataset:
    """Return the docs with the transforms of a condition in `audio.transforms` of each; refuse one that cannot be made.

    All docs about one clip get the same transforms. Steps that change nothing are left out, so a condition of strength
    0 leaves the docs as they are.
    """
    steps = [step for step in parse_condition(condition) if not is_neutral(step)]
    if not steps:
        return docs
    rows: list[dict[str, Any]] = docs.to_list()
    special = {"babble": lambda step: _babble(rows, step), "noise": _recorded}
    makers = [(step, special.get(step.kind, lambda step: MAKERS[step.kind])(step)) for step in steps]
    changed = []
    for row in rows:
        transforms = [make(row, step, _seed(row["id"], step, place)) for place, (step, make) in enumerate(makers)]
        changed.append(row | {"audio": row["audio"] | {"transforms": write_transforms(transforms)}})
    return Dataset.from_list(changed)


def _seed(clip: str, step: Step, place: int) -> int:
    """Return the seed of a step for a clip; noise of another strength is the same noise, louder or softer."""
    name = Path(step.name).name if step.kind == "noise" else step.name
    digest = hashlib.sha256(repr((clip, step.kind, name, place)).encode()).digest()
    return int.from_bytes(digest[:6])


def _babble(rows: Sequence[Mapping[str, Any]], step: Step) -> Maker:
    """Return a function that mixes other clips of the set: those of other docs, and never the same audio.

    Each clip has an order of all other clips, by a digest of the ids, and the first of them are its voices. So a clip
    that is added or removed changes the babble of the clips only that get or had its voice.
    """
    clips = {row["id"]: row["audio"] for row in rows}
    voices = int(step.name)
    if len({audio["sha256"] for audio in clips.values()}) <= voices:
        raise SpeechIQError(
            f"condition={step.text}",
            f"a set of {count_of(len(clips), 'clip')} has no {voices} other clips to mix",
            "take fewer voices or a larger subset",
        )
    snr_db = step.strength if step.unit == "dB" else -20 * math.log10(step.strength)

    def make(row: Mapping[str, Any], step: Step, seed: int) -> AnyTransform:
        others = (name for name, audio in clips.items() if audio["sha256"] != row["audio"]["sha256"])
        chosen = nsmallest(voices, others, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())
        return Recordings(tuple(_span(clips[name]) for name in chosen), snr_db, seed)

    return make


def _span(audio: Mapping[str, Any]) -> Span:
    return Span(audio["path"], audio["sha256"], audio.get("offset") or 0.0, audio["duration"])


def _recorded(step: Step) -> Maker:
    """Return a function that adds a recording of the folder, which is copied into the clip folder by content."""
    folder = Path(step.name).expanduser()
    try:
        named = (file for file in sorted(folder.rglob("*")) if not is_of_desktop(file.name))
        files = [file for file in named if file.suffix.lower() in SUFFIXES and file.is_file()]
    except OSError as error:
        raise SpeechIQError(f"condition={step.text}", f"{folder} cannot be read ({error.strerror})") from error
    if not files:
        state = "has no audio files" if folder.is_dir() else "is not a folder"
        raise SpeechIQError(
            f"condition={step.text}", f"{folder} {state}", f"name a folder with {', '.join(sorted(SUFFIXES))} files"
        )

    @cache
    def save(file: Path) -> Span:
        saved = save_audio(file, str(file))
        if not measure_rms(file_clip(saved).samples):
            raise SpeechIQError(
                f"condition={step.text}", f"{file} is silent and adds no noise", "take it out of the folder"
            )
        return _span(saved)

    def make(row: Mapping[str, Any], step: Step, seed: int) -> AnyTransform:
        file = files[int(np.random.default_rng(seed).integers(len(files)))]
        return Recordings((save(file),), step.strength, seed)

    return make


#: Kind of step -> function that makes its transform, for kinds that need no other audio.
MAKERS: dict[str, Maker] = {
    "white": lambda row, step, seed: Noise("white", step.strength, seed),
    "pink": lambda row, step, seed: Noise("pink", step.strength, seed),
    "hum": lambda row, step, seed: Noise("hum", step.strength, seed),
    "reverb": lambda row, step, seed: Reverb(step.strength, seed),
    "codec": lambda row, step, seed: Codec(CODECS[step.name], step.strength if step.name in ENCODERS else 0.0),
    "band": lambda row, step, seed: Band(step.strength, step.high),
    "speed": lambda row, step, seed: Speed(step.strength),
    "gain": lambda row, step, seed: Gain(step.strength),
    "clip": lambda row, step, seed: Clipping(step.strength),
}
