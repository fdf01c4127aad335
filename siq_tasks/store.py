"""The clip folder: audio files under the name of their content, written whole or not at all."""

from __future__ import annotations

import hashlib
import io
from contextlib import contextmanager

from speechiq.core.cache import cache_dir
from speechiq.core.errors import SpeechIQError
from speechiq.core.files import write_whole
from speechiq.siq_tasks.audio import SAMPLING_RATE

CLIPS = "clips"
MEND = "make room or set SIQ_CACHE to a folder that has it"


def keep(audio: bytes, name: str) -> dict:
    """Put encoded audio into the clip folder, once, as it is.

    The audio is decoded to its end first, so that what is kept can be heard in full.

    Args:
        audio: a WAV, FLAC, OGG or MP3 file.
        name: of the row, for errors.

    Returns:
        The items of a clip: `path` (below the cache folder), `sha256`, `sampling_rate`, `duration` (s).

    Raises:
        SpeechIQError: no audio, cut off, without samples, or the disk takes no more.
    """
    kind, duration = inspect(audio, name)
    sha256 = hashlib.sha256(audio).hexdigest()
    path = f"{CLIPS}/{sha256[:2]}/{sha256}.{kind}"
    if not cache_dir(path).is_file():
        write_whole(cache_dir(path), audio, MEND, make_folders=True)
    return {"path": path, "sha256": sha256, "sampling_rate": SAMPLING_RATE, "duration": duration}


def inspect(audio: bytes, name: str) -> tuple[str, float]:
    """Kind of file (`wav`, `flac`, `ogg`, `mp3`) and seconds of audio, decoded to the end.

    Whether an MP3 was cut off cannot be told: its header may only estimate its length.
    """
    with _opened(audio, name) as sound:
        kind, rate, promised = sound.format.lower(), sound.samplerate, sound.frames
        heard = sum(len(block) for block in sound.blocks(rate * 10))
    if not heard:
        raise SpeechIQError(f"{name}: its audio holds no samples; mend or leave out the row")
    if kind != "mpeg" and heard < promised - rate // 10:
        raise SpeechIQError(
            f"{name}: its audio is cut off, {heard / rate:.2f} s of {promised / rate:.2f} s; mend or leave out the row"
        )
    return {"mpeg": "mp3"}.get(kind, kind), heard / rate


def read_length(audio: bytes, name: str) -> float:
    """Seconds of audio as the header tells them."""
    with _opened(audio, name) as sound:
        return sound.frames / sound.samplerate


@contextmanager
def _opened(audio: bytes, name: str):
    import soundfile

    try:
        with soundfile.SoundFile(io.BytesIO(audio)) as sound:
            yield sound
    except soundfile.SoundFileError as error:
        raise SpeechIQError(
            f"{name}: {len(audio)} bytes that do not decode as audio ({error}); mend or leave out the row"
        ) from error
