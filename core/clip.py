"""Refer to audio by a clip: a small, frozen record, decoded only when its samples are needed.

Cache keys, prompts and messages between processes contain the record; samples are decoded on demand and not kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.core.recordings.audio_file import LOUD, TOO_LOUD, AudioFile, decode, inspect, measure_peak, warn_once
from speechiq.core.recordings.audio_file import SAMPLING_RATE as SAMPLING_RATE
from speechiq.core.recordings.readers import Damage
from speechiq.core.transforms import Transform, read_transforms

#: Share of the samples of a changed clip that may be beyond full scale before it is worth a warning.
BEYOND = 0.001
CUT_OFF = f"more than {100 * BEYOND:g} % of its samples are beyond full scale and cut off, for every system"


@dataclass(frozen=True, slots=True)
class Samples:
    """Hold audio in memory: float32, shape (samples,), mono, 16 kHz; two are equal if their `sha256` is."""

    sha256: str
    array: np.ndarray = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """Return the first digits of the sha256, the name in messages."""
        return self.sha256[:12]

    def blocks(self, offset: float, length: float) -> Iterator[np.ndarray]:
        """Return a span as one array; see `AudioFile.blocks`."""
        yield _cut(self.array, offset, length)


@dataclass(frozen=True, slots=True)
class NoAudio:
    """Stand for the sound of a clip of which only the text is known; who asks for the sound is refused."""

    name: str

    @property
    def sha256(self) -> str:
        """Return a name that no sound has."""
        return f"no audio of {self.name}"

    def blocks(self, offset: float, length: float) -> Iterator[np.ndarray]:
        """Refuse to return sound."""
        raise self.refuse()

    def refuse(self) -> SpeechIQError:
        """Return the error for whoever needs the sound."""
        return SpeechIQError(
            f"clip {self.name}",
            "has no audio, which this system needs",
            "give transcripts:FILE, or make the set with --audio",
        )


#: What a clip is cut from: a frozen, hashable record.
Source = AudioFile | Samples | NoAudio


class Cut(Transform, frozen=True):
    """Take a part of a transformed sound; `start` and `length` in seconds."""

    start: float
    length: float

    @property
    def key(self) -> str:
        """Return the transform as text; see `Transform.key`."""
        return f"cut({self.start!r}+{self.length!r})"

    def apply(self, samples: np.ndarray) -> np.ndarray:
        """Return the part; see `Transform.apply`."""
        return _cut(samples, self.start, self.length)

    def duration(self, seconds: float) -> float:
        """Return the length of the part; see `Transform.duration`."""
        return self.length


@dataclass(frozen=True, slots=True)
class Clip:
    """Hold a span of a recording, `offset` and `length` in s, with changes of the decoded span, and the id of its doc.

    >>> clip = Clip(AudioFile("demo/clips/kennedy.ogg", sha256="0a"), 0.5, 11.0)
    >>> clip.key, clip.name, clip.duration
    ('0a@0.5+11', 'demo/clips/kennedy.ogg', 11.0)
    """

    source: Source
    offset: float
    length: float
    transforms: tuple[Transform, ...] = ()
    id: str = ""

    @property
    def samples(self) -> np.ndarray:
        """Return the decoded sound: float32, shape (samples,), mono, `SAMPLING_RATE`. It is not kept.

        What transforms raise beyond full scale is cut off, so that models get the sound that files of integers have.
        """
        samples: np.ndarray = np.concatenate(list(self.source.blocks(self.offset, self.length)))
        if not self.transforms:
            return samples
        for transform in self.transforms:
            samples = transform.apply(samples)
        if np.count_nonzero(np.abs(samples) > 1) > BEYOND * samples.size:
            warn_once("condition", CUT_OFF)
        return np.clip(samples, -1, 1)

    def blocks(self) -> Iterator[np.ndarray]:
        """Return `samples` in consecutive arrays, for audio that is too long to be in memory at once.

        A clip with transforms is one array, because a transform may need all of it.
        """
        return iter([self.samples]) if self.transforms else self.source.blocks(self.offset, self.length)

    @property
    def duration(self) -> float:
        """Return the seconds of `samples`."""
        seconds = self.length
        for transform in self.transforms:
            seconds = transform.duration(seconds)
        return seconds

    @property
    def key(self) -> str:
        """Return what distinguishes this sound from any other, for every task and system."""
        span = f"{self.source.sha256}@{self.offset:g}+{self.length:g}"
        return "|".join([span, *(transform.key for transform in self.transforms)])

    @property
    def name(self) -> str:
        """Return the name of the clip in messages."""
        return self.id or self.source.name

    def part(self, start: float, seconds: float) -> Clip:
        """Return `seconds` of the clip, from `start` (s) on."""
        if self.transforms:
            return replace(self, transforms=(*self.transforms, Cut(start, seconds)))
        return replace(self, offset=self.offset + start, length=seconds)


def _cut(samples: np.ndarray, start: float, seconds: float) -> np.ndarray:
    first = round(start * SAMPLING_RATE)
    return samples[first : first + round(seconds * SAMPLING_RATE)]


def file_clip(items: Mapping[str, Any], id: str = "") -> Clip:
    """Return the clip of a doc with `path`, `sha256`, `duration` (s) and, optionally, `offset` (s) and `transforms`.

    `transforms` are text; see `core/transforms.py`.
    """
    source = AudioFile(items["path"], items["sha256"])
    transforms = read_transforms(items.get("transforms") or "[]")
    return Clip(source, items.get("offset") or 0.0, items["duration"], transforms, id=id)


def as_text_clip(id: str) -> Clip:
    """Return a clip of which only the text is known."""
    return Clip(NoAudio(id), 0.0, 0.0, id=id)


def as_clip(audio: Any, id: str = "") -> Clip:
    """Return a clip for audio in any form that a task may give.

    It may be the items of a doc's clip (see `file_clip`), a decoded `{"array", "sampling_rate"}`, shaped (samples,) or
    with its channels first or last, or encoded `{"bytes"}`.
    """
    import soxr

    try:
        if isinstance(audio, Mapping) and "sha256" in audio:
            return file_clip(audio, id)
        if isinstance(audio, Mapping) and audio.get("bytes"):
            found = inspect(audio["bytes"], "doc_to_audio")
            samples, rate = decode(audio["bytes"], 0.0, found.duration), SAMPLING_RATE
            for warning in found.warnings:
                warn_once("doc_to_audio", warning)
        else:
            samples, rate = np.asarray(audio["array"], dtype=np.float32), int(audio["sampling_rate"])
    except (TypeError, ValueError, KeyError) as error:
        raise SpeechIQError(
            "doc_to_audio",
            f"{type(audio).__name__} is not audio ({error!r})",
            "give a dict with array and sampling_rate",
        ) from error
    if not samples.size:
        raise SpeechIQError("doc_to_audio", "an array without samples", "leave the row out")
    try:
        if measure_peak(samples) > LOUD:
            warn_once("doc_to_audio", TOO_LOUD)
    except Damage as damage:
        raise SpeechIQError("doc_to_audio", damage, "leave the row out") from damage
    mono = samples.mean(axis=int(np.argmin(samples.shape))) if samples.ndim > 1 else samples
    array = mono if rate == SAMPLING_RATE else soxr.resample(mono, rate, SAMPLING_RATE)
    source = Samples(hashlib.sha256(array.tobytes()).hexdigest(), array)
    return Clip(source, 0.0, len(array) / SAMPLING_RATE, id=id)
