"""Audio files of the kinds that soundfile and PyAV read."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import soundfile

from speechiq.core.clip import Clip, as_clip, file_clip
from speechiq.core.recordings.audio_file import AudioFile, read_length, save_audio
from tests.core.recordings import by_ffmpeg
from tests.fuzz.judge import judge
from tests.fuzz.targets.target import Target

SNDFILE = {
    "PCM_16": "WAV", "FLOAT": "WAV", "PCM_24": "WAV", "ULAW": "WAV", "PCM_S8": "FLAC", "VORBIS": "OGG", "OPUS": "OGG",
    "MPEG_LAYER_III": "MP3",
}  # fmt: skip
FFMPEG = {
    "ipod": ("aac", 16_000), "webm": ("libopus", 48_000), "matroska": ("aac", 16_000), "mp3": ("libmp3lame", 16_000),
}  # fmt: skip


def prepare(folder: Path) -> list[Path]:
    """Write a file of each kind."""
    tone = (0.3 * np.sin(2 * np.pi * 220 * np.arange(24_000) / 16_000)).astype(np.float32)
    for subtype, container in SNDFILE.items():
        soundfile.write(folder / f"{subtype}.{container.lower()}", tone, 16_000, format=container, subtype=subtype)
    for container, (codec, rate) in FFMPEG.items():
        folder.joinpath(f"{container}.bin").write_bytes(by_ffmpeg(container, codec, rate, seconds=1.5))
    return sorted(folder.iterdir())


def use(folder: Path, rng: random.Random) -> str | None:
    """Check that what is accepted decodes to the length that its clip says, in finite samples."""
    faults = (judge(lambda path=path: _decode(path)) for path in sorted(folder.iterdir()))
    return next(filter(None, faults), None)


def _decode(path: Path) -> None:
    assert 0 <= read_length(path, path.name) < 1e12, path.name
    kept = file_clip(save_audio(path, path.name))
    there = Clip(AudioFile(str(path), kept.source.sha256), 0.0, kept.length)
    for clip in (kept, there):
        clip.source.check()
    for clip in (kept, there, as_clip({"bytes": path.read_bytes()})):
        samples = clip.samples
        assert abs(len(samples) - 16_000 * clip.duration) <= 1, (path.name, len(samples), clip.duration)
        assert np.isfinite(samples).all(), path.name


AUDIO = Target(prepare, use, cases=20)
