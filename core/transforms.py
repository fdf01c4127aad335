"""Change the sound of a clip: noise, room, codec, band, speed, level.

Each transform is a frozen record with numbers alone, so that a doc can contain it, and the cache key of a clip does.
"""

import io
import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal, cast

import msgspec
import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.core.recordings.audio_file import SAMPLING_RATE, AudioFile, decode


class Transform(msgspec.Struct, frozen=True, tag_field="kind", tag=str.lower):
    """Hold a change of the decoded sound, such as added noise: a frozen, hashable record."""

    @property
    def key(self) -> str:
        """Return everything on which the changed sound depends, in addition to the sound before: the record as JSON."""
        return msgspec.json.encode(self, order="sorted").decode()

    def apply(self, samples: np.ndarray) -> np.ndarray:
        """Return `samples` changed; both are float32, shape (samples,), mono, 16 kHz."""
        raise NotImplementedError

    def duration(self, seconds: float) -> float:
        """Return the seconds of a sound of `seconds` after the change; most changes keep the length."""
        return seconds


def measure_rms(samples: np.ndarray) -> float:
    """Return the root mean square of samples; 0 for none.

    >>> measure_rms(np.array([3.0, -4.0, 0.0, 0.0], np.float32))
    2.5
    """
    return float(np.sqrt(np.mean(np.square(samples, dtype=np.float64)))) if samples.size else 0.0


def as_ratio(decibels: float) -> float:
    """Return the ratio of amplitudes of a level in dB.

    >>> as_ratio(20), round(as_ratio(-6), 3)
    (10.0, 0.501)
    """
    return float(10.0 ** (decibels / 20))


def fit_length(sound: np.ndarray, length: int) -> np.ndarray:
    """Return a sound cut off, or followed by silence, to a number of samples."""
    return np.pad(sound[:length], (0, max(0, length - len(sound)))).astype(np.float32)


def at_level(changed: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Return a changed sound as loud as the samples before; a silent one stays silent."""
    level = measure_rms(changed)
    return (changed * (measure_rms(samples) / level if level else 1.0)).astype(np.float32)


MAINS_HZ, HARMONICS = 50.0, 20
#: Pink noise has no energy below this frequency, so that its loudness does not depend on the length of the clip.
LOWEST_HZ = 20.0


def add_at(samples: np.ndarray, noise: np.ndarray, snr_db: float) -> np.ndarray:
    """Return a sound with noise of its length, at a ratio of their powers; if one is silent, nothing changes."""
    signal, level = measure_rms(samples), measure_rms(noise)
    if not signal or not level:
        return samples
    return (samples + noise * (signal / level / as_ratio(snr_db))).astype(np.float32)


class Noise(Transform, frozen=True, tag="noise"):
    """Add noise that is made from a seed; `snr_db` is power of the clip / power of the noise, dB.

    It is `white` (equal power per Hz), `pink` (equal power per octave) or `hum` (mains of 50 Hz with harmonics).
    """

    color: Literal["white", "pink", "hum"]
    snr_db: float
    seed: int

    def apply(self, samples: np.ndarray) -> np.ndarray:
        """Add the noise; see `Transform.apply`."""
        make = {"white": _make_white, "pink": _make_pink, "hum": _make_hum}[self.color]
        return add_at(samples, make(len(samples), np.random.default_rng(self.seed)), self.snr_db)


def _make_white(length: int, generator: np.random.Generator) -> np.ndarray:
    return generator.standard_normal(length)


def _make_pink(length: int, generator: np.random.Generator) -> np.ndarray:
    from scipy.fft import irfft, next_fast_len, rfft, rfftfreq

    padded = next_fast_len(length, real=True)
    spectrum = rfft(generator.standard_normal(padded))
    frequencies = rfftfreq(padded, 1 / SAMPLING_RATE)
    gains = np.where(frequencies >= LOWEST_HZ, 1 / np.sqrt(np.maximum(frequencies, LOWEST_HZ)), 0.0)
    pink: np.ndarray = irfft(spectrum * gains, padded)[:length]
    return pink


def _make_hum(length: int, generator: np.random.Generator) -> np.ndarray:
    time = np.arange(length) / SAMPLING_RATE
    phases = generator.uniform(0, 2 * np.pi, HARMONICS)
    numbers = np.arange(1, HARMONICS + 1)
    parts = (np.sin(2 * np.pi * MAINS_HZ * n * time + phase) / n for n, phase in zip(numbers, phases, strict=True))
    return np.asarray(sum(parts))


class Span(msgspec.Struct, frozen=True):
    """Hold a span of a stored recording, `offset` and `duration` in s; see `recordings.audio_file.AudioFile`."""

    path: str
    sha256: str
    offset: float
    duration: float


class Recordings(Transform, frozen=True, tag="recordings"):
    """Add recordings: one as background noise, several as babble.

    Each is repeated to the length of the clip, from a place that the seed chooses; several are mixed at equal power.
    `snr_db` is power of the clip / power of the mixture, dB.
    """

    spans: tuple[Span, ...]
    snr_db: float
    seed: int

    @property
    def key(self) -> str:
        """Return the record without the places of files; see `Transform.key`."""
        contents = [[span.sha256, span.offset, span.duration] for span in self.spans]
        return f"recordings{msgspec.json.encode([contents, self.snr_db, self.seed]).decode()}"

    def apply(self, samples: np.ndarray) -> np.ndarray:
        """Add the recordings; see `Transform.apply`."""
        generator = np.random.default_rng(self.seed)
        mixture = np.zeros(len(samples))
        for span in self.spans:
            recording = decode(AudioFile(span.path, span.sha256).file, span.offset, span.duration)
            start = int(generator.integers(max(len(recording), 1)))
            if level := measure_rms(recording):
                mixture += np.resize(np.roll(recording, -start), len(samples)) / level
        return add_at(samples, mixture, self.snr_db)


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

        filters = butter(FILTER_ORDER, [self.low, self.high], "bandpass", fs=SAMPLING_RATE, output="sos")
        filtered: np.ndarray = sosfiltfilt(filters, samples, padlen=min(len(samples) - 1, SAMPLING_RATE // 10))
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

        time = np.arange(max(1, round(self.seconds * SAMPLING_RATE))) / SAMPLING_RATE
        decay = as_ratio(DECAY_DB) ** (time / self.seconds)
        tail = np.random.default_rng(self.seed).standard_normal(len(time)) * decay
        tail *= 1 / np.sqrt(np.sum(tail**2)) / as_ratio(DIRECT_DB)
        response = np.concatenate([[1.0], tail])
        return at_level(fftconvolve(samples, response)[: len(samples)], samples)


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
        return fit_length(coded, len(samples))


def _code_telephone(samples: np.ndarray, name: str) -> np.ndarray:
    import soundfile

    subtype = {"gsm": "GSM610", "mulaw": "ULAW"}[name]
    file = io.BytesIO()
    narrow = np.clip(_resample(samples, SAMPLING_RATE, TELEPHONE_RATE), -1, 1)
    soundfile.write(file, narrow, TELEPHONE_RATE, subtype, format="WAV")
    file.seek(0)
    decoded, _ = soundfile.read(file, dtype="float32")
    return _resample(decoded, TELEPHONE_RATE, SAMPLING_RATE)


def _resample(samples: np.ndarray, rate: int, wanted: int) -> np.ndarray:
    import librosa

    return np.asarray(librosa.resample(samples, orig_sr=rate, target_sr=wanted, fix=False))


#: Codec with a bit rate -> (encoder, container, sampling rate of the encoder, sample format).
ENCODERS = {"opus": ("libopus", "ogg", 48_000, "flt"), "mp3": ("libmp3lame", "mp3", SAMPLING_RATE, "fltp")}


def _code_frames(samples: np.ndarray, name: str, kbps: float) -> np.ndarray:
    """Return the samples after an encoder and decoder of FFmpeg, whose delay the container states."""
    import av

    encoder, container, rate, form = ENCODERS[name]
    sound = np.clip(_resample(samples, SAMPLING_RATE, rate), -1, 1).astype(np.float32)
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
    return _resample(np.concatenate(frames).astype(np.float32), decoded_rate, SAMPLING_RATE)


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
    """Speak faster or slower at the same pitch and level, by a `factor` of speed after / before.

    Short parts of the sound are overlapped where they fit best (FFmpeg's `atempo`, WSOLA), so that speech stays clear.
    """

    factor: float

    @property
    def key(self) -> str:
        """Return the factor with the filter that stretches the sound; see `Transform.key`."""
        return f"atempo({self.factor!r})"

    def apply(self, samples: np.ndarray) -> np.ndarray:
        """Stretch the sound; see `Transform.apply`."""
        if not samples.size:
            return samples
        wanted = round(self.duration(len(samples) / SAMPLING_RATE) * SAMPLING_RATE)
        return at_level(fit_length(_stretch(samples, self.factor), wanted), samples)

    def duration(self, seconds: float) -> float:
        """Return the seconds of the stretched sound; see `Transform.duration`."""
        return seconds / self.factor


def _stretch(samples: np.ndarray, factor: float) -> np.ndarray:
    """Return the samples at another tempo, up to a few hundredths of a second shorter or longer than asked for.

    One filter goes down to half the tempo and, without leaving samples out, up to twice, so several may be needed.
    """
    import av

    filters = max(1, math.ceil(abs(math.log2(factor))))
    graph = av.filter.Graph()
    source = graph.add_abuffer(sample_rate=SAMPLING_RATE, format="flt", layout="mono")
    tempos = [graph.add("atempo", repr(factor ** (1 / filters))) for _ in range(filters)]
    graph.link_nodes(source, *tempos, graph.add("abuffersink")).configure()
    frame = av.AudioFrame.from_ndarray(samples[None], format="flt", layout="mono")
    frame.sample_rate = SAMPLING_RATE
    graph.push(frame)
    graph.push(None)
    parts = [np.empty(0, np.float32)]
    with suppress(EOFError):
        while True:
            parts.append(cast("av.AudioFrame", graph.pull()).to_ndarray()[0])
    return np.concatenate(parts)


AnyTransform = Noise | Recordings | Band | Reverb | Codec | Gain | Clipping | Speed | Mute
_DECODER = msgspec.json.Decoder(tuple[AnyTransform, ...])


def write_transforms(transforms: Sequence[AnyTransform]) -> str:
    """Return transforms as the JSON text that the docs of a task contain.

    >>> write_transforms([Gain(-20.0)])
    '[{"kind":"gain","decibels":-20.0}]'
    """
    return msgspec.json.encode(transforms).decode()


def read_transforms(text: str) -> tuple[AnyTransform, ...]:
    """Return the transforms in a doc.

    >>> read_transforms('[{"kind":"gain","decibels":-20.0}]')
    (Gain(decibels=-20.0),)
    """
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, TypeError) as error:
        raise SpeechIQError(
            "transforms of a clip", f"{text!r:.80} cannot be read ({error})", "prepare the task again"
        ) from error
