"""Write audio to the clip folder under the name of its content, complete or not at all."""

import hashlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from speechiq.core.clip import SAMPLING_RATE
from speechiq.core.files.folders import cache_dir
from speechiq.core.files.plain import hash_file, write_whole
from speechiq.core.recordings.inspection import inspect

CLIPS = "clips"
ADVICE = "set SIQ_CACHE to a folder on another disk"
BLOCK = 1 << 20


def save_audio(audio: Path | bytes, name: str) -> dict[str, Any]:
    """Copy encoded audio, a file or its bytes, into the clip folder, once and unchanged.

    The audio is first decoded to its end, which finds files that are cut off; `name` is for errors.

    Returns:
        The items of a clip: `path` (below the cache folder), `sha256`, `sampling_rate`, `duration` (s), and `warnings`,
        reasons to check it.
    """
    found = inspect(audio, name)
    sha256 = hash_file(audio) if isinstance(audio, Path) else hashlib.sha256(audio).hexdigest()
    path = f"{CLIPS}/{sha256[:2]}/{sha256}.{found.kind}"
    if not cache_dir(path).is_file():
        content = _read_blocks(audio) if isinstance(audio, Path) else audio
        write_whole(cache_dir(path), content, ADVICE, make_folders=True)
    clip = {"path": path, "sha256": sha256, "sampling_rate": SAMPLING_RATE, "duration": found.duration}
    return clip | {"warnings": found.warnings}


def save_samples(samples: np.ndarray, name: str) -> dict[str, Any]:
    """Write samples (float32, mono, `SAMPLING_RATE`) into the clip folder, as 16-bit FLAC; see `save_audio`."""
    return save_audio(encode_samples(samples), name)


def encode_samples(samples: np.ndarray) -> bytes:
    """Return samples (float32, mono, `SAMPLING_RATE`) as 16-bit FLAC, which is exact for samples of 16-bit files."""
    import soundfile

    file = io.BytesIO()
    soundfile.write(file, samples, SAMPLING_RATE, format="FLAC", subtype="PCM_16")
    return file.getvalue()


def _read_blocks(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        yield from iter(lambda: stream.read(BLOCK), b"")
