"""Change a clip as a channel does: a frequency band, a codec, a room, a level, a speed."""

import io
from typing import Literal, cast

import numpy as np

from speechiq.core.recordings.audio_file import RATE
from speechiq.core.transforms.base import Transform, as_ratio, measure_rms

TELEPHONE_RATE = 8_000
FILTER_ORDER = 8
#: Level of the reverberation at the end of the reverberation time, relative to its start, dB.
DECAY_DB = -60.0
#: Power of the direct sound / power of the reverberation, dB.
DIRECT_DB = 0.0


class Band(Transform, frozen=True, tag="band"):
    """Pass only the frequencies from `low` to `high` (Hz), by a Butterworth filter without delay."""

    low: float
    high: float

    def apply(self, samples: np.ndarray) -> np.ndarray:
        """Filter the sound; see `Transform.apply`."""
        from scipy.signal import butter, sosfiltfilt

        filters = butter(FILTER_ORDER, [self.low, self.high], "bandpass", fs=RATE, output="sos")
        filtered: np.ndarray = sosfiltfilt(filters, samples, padlen=min(len(samples) - 1, RATE // 10))
        return filtered.astype(np.float32)


class Reverb(Transform, frozen=True, tag="reverb"):
    """Add the reverberation of a room: noise that decays by 60 dB in `seconds` (RT60), as loud as the direct sound.

    The level of the clip does not change, and what sounds after its end is cut off. `seed` is that of the room.
    """

    seconds: float
    seed: int

    def apply(self, samples: np.ndarray) -> np.ndarray:
        """Add the reverberation; see `Transform.apply`."""
        from scipy.signal import fftconvolve

        time = np.arange(max(1, round(self.seconds * RATE))) / RATE
        decay = as_ratio(DECAY_DB) ** (time / self.seconds)
        tail = np.random.default_rng(self.seed).standard_normal(len(time)) * decay
        tail *= 1 / np.sqrt(np.sum(tail**2)) / as_ratio(DIRECT_DB)
        response = np.concatenate([[1.0], tail])
        wet = fftconvolve(samples, response)[: len(samples)]
        level = measure_rms(wet)
        return (wet * (measure_rms(samples) / level if level else 1.0)).astype(np.float32)


CodecName = Literal["opus", "mp3", "gsm", "mulaw"]
CODECS: dict[str, CodecName] = {"opus": "opus", "mp3": "mp3", "gsm": "gsm", "mulaw": "mulaw"}


class Codec(Transform, frozen=True, tag="codec"):
    """Encode and decode the clip: `opus` and `mp3` at a bit rate in kbit/s, `gsm` and `mulaw` as on the telephone."""

    name: CodecName
    kbps: float = 0.0

    def apply(self, samples: np.ndarray) -> np.ndarray:
        """Encode and decode the sound; see `Transform.apply`."""
        if not samples.size:
            return samples
        coded = _code_frames(samples, self.name, self.kbps) if self.kbps else _code_telephone(samples, self.name)
        coded = coded[: len(samples)]
        return np.pad(coded, (0, len(samples) - len(coded))).astype(np.float32)


def _code_telephone(samples: np.ndarray, name: str) -> np.ndarray:
    import soundfile
    import soxr

    subtype = {"gsm": "GSM610", "mulaw": "ULAW"}[name]
    file = io.BytesIO()
    narrow = np.clip(soxr.resample(samples, RATE, TELEPHONE_RATE), -1, 1)
    soundfile.write(file, narrow, TELEPHONE_RATE, subtype, format="WAV")
    file.seek(0)
    decoded, _ = soundfile.read(file, dtype="float32")
    return np.asarray(soxr.resample(decoded, TELEPHONE_RATE, RATE))


#: Codec with a bit rate -> (encoder, container, sampling rate of the encoder, sample format).
ENCODERS = {"opus": ("libopus", "ogg", 48_000, "flt"), "mp3": ("libmp3lame", "mp3", RATE, "fltp")}


def _code_frames(samples: np.ndarray, name: str, kbps: float) -> np.ndarray:
    """Return the samples after an encoder and decoder of FFmpeg, whose delay the container states."""
    import av
    import soxr

    encoder, container, rate, form = ENCODERS[name]
    sound = np.clip(soxr.resample(samples, RATE, rate), -1, 1).astype(np.float32)
    file = io.BytesIO()
    with av.open(file, "w", format=container) as output:
        stream = cast("av.AudioStream", output.add_stream(encoder, rate=rate))
        stream.codec_context.bit_rate, stream.codec_context.layout = round(kbps * 1000), av.AudioLayout("mono")
        stream.codec_context.format = av.AudioFormat(form)
        frame = av.AudioFrame.from_ndarray(sound[None], format=form, layout="mono")
        frame.sample_rate = rate
        output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    file.seek(0)
    with av.open(file, "r") as source:
        frames = [frame.to_ndarray().reshape(-1) for frame in source.decode(audio=0)]
        decoded_rate = source.streams.audio[0].rate
    return np.asarray(soxr.resample(np.concatenate(frames).astype(np.float32), decoded_rate, RATE))


class Gain(Transform, frozen=True, tag="gain"):
    """Change the level by `decibels`: level after the change / level before it."""

    decibels: float

    def apply(self, samples: np.ndarray) -> np.ndarray:
        """Scale the sound; see `Transform.apply`."""
        return (samples * as_ratio(self.decibels)).astype(np.float32)


class Clipping(Transform, frozen=True, tag="clipping"):
    """Cut off the peaks `decibels` below the highest one, as an input that is set too high does."""

    decibels: float

    def apply(self, samples: np.ndarray) -> np.ndarray:
        """Limit the sound; see `Transform.apply`."""
        limit = float(np.max(np.abs(samples), initial=0.0)) / as_ratio(self.decibels)
        return np.clip(samples, -limit, limit).astype(np.float32)


class Mute(Transform, frozen=True, tag="mute"):
    """Replace the sound by silence of the same length."""

    def apply(self, samples: np.ndarray) -> np.ndarray:
        """Return zeros; see `Transform.apply`."""
        return np.zeros_like(samples)


class Speed(Transform, frozen=True, tag="speed"):
    """Speak faster or slower at the same pitch (librosa's phase vocoder), by a `factor` of speed after / before."""

    factor: float

    def apply(self, samples: np.ndarray) -> np.ndarray:
        """Stretch the sound; see `Transform.apply`."""
        import librosa

        wanted = round(self.duration(len(samples) / RATE) * RATE)
        if not samples.size:
            return samples
        stretched = librosa.effects.time_stretch(samples, rate=self.factor)[:wanted]
        return np.pad(stretched, (0, wanted - len(stretched))).astype(np.float32)

    def duration(self, seconds: float) -> float:
        """Return the seconds of the stretched sound; see `Transform.duration`."""
        return seconds / self.factor
