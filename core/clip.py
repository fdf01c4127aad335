"""Refer to audio by a clip: small and safe in JSON, decoded only when its samples are needed.

Sample logs, cache keys and gathers between processes carry the reference; nothing ever carries samples.
A clip also carries what is wanted of it (`purpose`), so that a speech system need not read prompts.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from speechiq.core.cache import cache_dir
from speechiq.core.errors import SpeechIQError
from speechiq.core.recordings.damage import Damage
from speechiq.core.recordings.inspection import inspect, measure, refuse_unfit
from speechiq.core.recordings.readers import open_reader

SAMPLING_RATE = 16_000
#: Seconds by which a clip that somebody listed may end after its file, as lengths are rounded in lists.
TOLERANCE_S = 0.1
PACKAGE = Path(__file__).parents[1] / "siq_tasks"


class Clip(dict):
    """A dict with the items `path`, `sha256`, `sampling_rate` (Hz, of the decoded array), `duration` (s).

    Optional items: `offset` (s, where the clip begins in the file), and what is asked: `purpose`
    (`transcribe` or `answer`), `question`, `options`. A relative `path` is one inside `siq_tasks/`, or,
    where it begins with `clips/`, below the cache folder, so that docs are the same on every machine.
    `clip["array"]` decodes: float32, shape (samples,), mono, 16 kHz. It is not kept.

    >>> clip = Clip(path="demo/clips/kennedy.ogg", sampling_rate=16_000, duration=11.0)
    >>> sorted(clip)
    ['duration', 'path', 'sampling_rate']
    """

    def __missing__(self, key: str):
        if key == "array":
            return decode(self.file, self.get("offset") or 0.0, self["duration"])
        raise KeyError(key)

    @property
    def file(self) -> Path:
        root = cache_dir() if self["path"].startswith("clips/") else PACKAGE
        return root / self["path"]

    @property
    def kept(self) -> bool:
        """Return whether the file is in the clip folder, under the name of its content."""
        return self["path"].startswith("clips/") and Path(self["path"]).stem == self["sha256"]

    @property
    def key(self) -> str:
        """What tells this audio from any other, whatever is asked of it."""
        return f"{self['sha256']}@{self.get('offset') or 0.0:g}+{self['duration']:g}"

    @property
    def name(self) -> str:
        """How messages call the clip."""
        return str(self.get("id") or self.get("path") or self["sha256"][:12])

    def part(self, start: float, seconds: float) -> Clip:
        """So many seconds of the clip, from `start` (s) on."""
        part = Clip(self, offset=(self.get("offset") or 0.0) + start, duration=seconds)
        if "array" in self:
            first = round(start * SAMPLING_RATE)
            part["array"] = self["array"][first : first + round(seconds * SAMPLING_RATE)]
        return part

    def check(self) -> None:
        """Refuse a clip that cannot be decoded in full.

        A file is decoded to its end, in blocks, once per process. Files in the clip folder were decoded when they were
        put there, under the sha256 of their bytes.

        Raises:
            SpeechIQError: The file is missing, empty, not audio, cut off, damaged, shorter than the clip, has samples
                that are not finite, or is not the file that the clip was made from.
        """
        length = math.inf if self.kept and self.file.is_file() else measure(self.file)
        start, end = self.get("offset") or 0.0, (self.get("offset") or 0.0) + self["duration"]
        if not 0 <= start < end <= length + TOLERANCE_S:
            raise SpeechIQError(
                f"{self.file}: the clip should end at {end:.2f} s but the file has "
                f"{length:.2f} s; restore the file or correct the clip's duration"
            )
        if digest(self.file) != self["sha256"]:
            raise SpeechIQError(
                f"{self.file}: its sha256 is not {self['sha256'][:12]}..., the file has "
                f"changed since the clip was listed; restore it or list it anew"
            )


@cache
def digest(file: Path) -> str:
    """The sha256 of a file's bytes, in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def decode(source: Path | bytes, offset: float, duration: float) -> np.ndarray:
    """Return the audio of a file from `offset` (s) on, for `duration` (s): float32, (samples,), mono, 16 kHz.

    Raises:
        SpeechIQError: The file is missing, is not audio, has samples that are not finite, or ends before the clip does.
    """
    name = "the audio" if isinstance(source, bytes) else str(source)
    try:
        with open_reader(source) as reader:
            reader.skip(round(offset * reader.rate))
            channels = reader.read(round(duration * reader.rate))
            if (missing := duration - len(channels) / reader.rate) > TOLERANCE_S:
                raise Damage(f"the last {missing:.2f} s of {duration:.2f} s from {offset:.2f} s on are not there")
            mono = channels.mean(axis=1, dtype=np.float32)
            refuse_unfit(mono)
            return _resample(mono, reader.rate)
    except Damage as damage:
        raise SpeechIQError(f"{name}: {damage}; replace the file") from damage
    except OSError as error:
        raise SpeechIQError(f"{name}: cannot be read ({error.strerror}); restore it or correct the path") from error


def _resample(mono: np.ndarray, rate: int) -> np.ndarray:
    import soxr

    return mono if rate == SAMPLING_RATE else soxr.resample(mono, rate, SAMPLING_RATE)


def as_clip(audio) -> Clip:
    """Return audio of any form as a clip: a clip, a decoded `{"array", "sampling_rate"}`, or encoded `{"bytes"}`.

    Args:
        audio: an array is shaped (samples,), or has its channels first or last.

    Raises:
        SpeechIQError: audio in none of these forms, or without samples.
    """
    try:
        if isinstance(audio, Mapping) and "sha256" in audio:
            return Clip(audio)
        if isinstance(audio, Mapping) and audio.get("bytes"):
            found = inspect(audio["bytes"], "doc_to_audio")
            samples, rate = decode(audio["bytes"], 0.0, found.duration), SAMPLING_RATE
        else:
            samples, rate = np.asarray(audio["array"], dtype=np.float32), int(audio["sampling_rate"])
    except (TypeError, ValueError, KeyError) as error:
        raise SpeechIQError(
            f"doc_to_audio: {type(audio).__name__} is no audio ({error!r}); give a dict with array and sampling_rate"
        ) from error
    if not samples.size:
        raise SpeechIQError("doc_to_audio: an array without samples; leave the row out")
    try:
        refuse_unfit(samples)
    except Damage as damage:
        raise SpeechIQError(f"doc_to_audio: {damage}; leave the row out") from damage
    mono = samples.mean(axis=int(np.argmin(samples.shape))) if samples.ndim > 1 else samples
    array = _resample(mono, rate)
    return Clip(
        array=array,
        sha256=hashlib.sha256(array.tobytes()).hexdigest(),
        sampling_rate=SAMPLING_RATE,
        duration=len(array) / SAMPLING_RATE,
    )
