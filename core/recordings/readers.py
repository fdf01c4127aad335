"""Decode audio files with libsndfile, or with FFmpeg (by PyAV) if libsndfile cannot read them."""

import hashlib
import io
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np

from speechiq.core.recordings import mpeg
from speechiq.core.recordings.damage import OTHER_KIND, UNKNOWN_END, Damage
from speechiq.core.recordings.structure import mapped

#: libsndfile's names of the formats that are read -> the ending of such a file.
KINDS = {"WAV": "wav", "WAVEX": "wav", "RF64": "wav", "FLAC": "flac", "OGG": "ogg", "MP3": "mp3"}
#: FFmpeg's names of the formats that it may open. A playlist, for example, would make it open other files.
DEMUXERS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,ogg,wav,mp3"
#: Those of these formats that have no length here; FFmpeg guesses it.
UNTIMED = ("wav", "mp3")
#: Seconds by which a container's length may differ from that of its decoded frames: a few frames of padding.
PADDING_S = 0.25
#: Samples by which the length of MP3 in a WAV file, an estimate, may be too long.
MP3_SPARE = 3 * 1152
#: Seconds that are decoded before the target of a seek.
RUN_UP_S = 2
STEP = 65_536


class Reader(Protocol):
    """Define an opened audio file of a kind such as `wav`, read from its beginning to its end; `rate` is in Hz.

    `warning` is why a cut at its end would not be noticed; `promised` are the seconds by its header.
    """

    kind: str
    rate: int
    warning: str | None
    promised: float | None

    def read(self, frames: int) -> np.ndarray:
        """Return the next samples: float32, shape (`frames`, channels), fewer only at the end."""

    def skip(self, frames: int) -> None:
        """Skip the next samples."""

    def finish(self, frames: int) -> None:
        """Raise `Damage` unless `frames`, the number of all samples that were read, is the one that the file gives."""

    def close(self) -> None:
        """Close the file."""


class SndfileReader:
    """Read the formats of libsndfile: WAV, FLAC, OGG and MP3."""

    def __init__(self, source: Path | bytes, warning: str | None) -> None:
        import soundfile

        self.sound = soundfile.SoundFile(io.BytesIO(source) if isinstance(source, bytes) else source)
        if self.sound.format not in KINDS:
            self.close()
            raise Damage(OTHER_KIND)
        if self.sound.format == "OGG":
            # soundfile seeks after each read, and libsndfile's seeks in Opus and Vorbis lead elsewhere near the end.
            self.sound.seekable = lambda: False
        self.kind, self.rate, self.warning = KINDS[self.sound.format], self.sound.samplerate, warning
        self.promised: float | None = self.sound.frames / self.rate
        self.content = FlacDigest(source) if self.kind == "flac" else None

    def read(self, frames: int) -> np.ndarray:
        """Return the next samples; see `Reader.read`."""
        samples: np.ndarray = self.sound.read(min(frames, self.sound.frames), dtype="float32", always_2d=True)
        if self.content:
            self.content.update(samples)
        return samples

    def skip(self, frames: int) -> None:
        """Skip the next samples; see `Reader.skip`."""
        if self.sound.seekable():
            self.sound.seek(min(frames, self.sound.frames))
        else:
            _skip(self, frames)

    def finish(self, frames: int) -> None:
        """Compare the number of samples and, for FLAC, their MD5 sum; see `Reader.finish`."""
        promised, spare = self.sound.frames, MP3_SPARE if self.kind == "wav" and "MPEG" in self.sound.subtype else 0
        if self.warning is None and not promised - spare <= frames <= promised:
            raise Damage(
                f"cut off or damaged: it promises {promised / self.rate:.2f} s, "
                f"and {frames / self.rate:.2f} s can be decoded"
            )
        if self.content and self.content.differs():
            raise Damage("damaged, or longer than its header says: its samples do not have the MD5 sum of the header")

    def close(self) -> None:
        """Close the file."""
        self.sound.close()


class FlacDigest:
    """Compute the MD5 sum of a FLAC file's samples, which its header gives."""

    def __init__(self, source: Path | bytes) -> None:
        with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
            header = file.read(42)
        self.given = header[26:42] if header.startswith(b"fLaC") else bytes(16)
        self.bits = (int.from_bytes(header[18:26]) >> 36 & 31) + 1
        self.found = hashlib.md5(usedforsecurity=False)

    def update(self, samples: np.ndarray) -> None:
        """Add float32 samples, shape (frames, channels); integers of up to 24 bits are exact in them."""
        integers = np.rint(samples.astype(np.float64) * 2 ** (self.bits - 1)).astype("<i4")
        self.found.update(integers.view(np.uint8).reshape(*integers.shape, 4)[..., : self.bits // 8].tobytes())

    def differs(self) -> bool:
        """Return whether all samples were read and their MD5 sum differs from that of the header."""
        return any(self.given) and self.bits in (8, 16, 24) and self.found.digest() != self.given


class FFmpegReader:
    """Read the formats of FFmpeg: MP4, WebM, and codings that libsndfile cannot read; of a video, the first sound."""

    def __init__(self, source: Path | bytes, warning: str | None) -> None:
        import av

        self.opened = ExitStack()
        file: BinaryIO = io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
        self.opened.enter_context(file)
        try:
            self.container = self.opened.enter_context(
                av.open(file, "r", options={"format_whitelist": DEMUXERS}, metadata_errors="replace")
            )
            if not self.container.streams.audio:
                raise Damage("it has no sound track")
            self.stream = self.container.streams.audio[0]
            if self.stream.codec_context is None:
                raise Damage("not readable as audio: its codec is unknown")
            self.kind = self.container.format.name.split(",")[0]
            timed = 0 if self.kind in UNTIMED else self.container.duration
            self.promised = timed / 1e6 if timed else None
            self.warning = warning or (None if timed or self.kind == "wav" else UNKNOWN_END)
            self.rate, self.end = self.stream.rate, 0.0
            self.begin: float | None = None
            self.place: int | None = None
            self.blocks = self._decode()
            self.left = next(self.blocks, np.empty((0, 1), np.float32))
            self.first = self.place
        except BaseException:
            self.close()
            raise

    def _decode(self) -> Iterator[np.ndarray]:
        """Yield all samples, frame by frame; the first frame sets the rate, which a container may state wrongly."""
        import av

        same = None
        for packet in self.container.demux(self.stream):
            if packet.is_corrupt:
                raise Damage(f"cut off or damaged at {self.end:.2f} s")
            for frame in packet.decode():
                if frame.is_corrupt:
                    raise Damage(f"cut off or damaged at {self.end:.2f} s")
                if same is None:
                    self.rate, layout = frame.sample_rate, frame.layout.name
                    same = av.AudioResampler(format="fltp", layout=frame.layout, rate=frame.sample_rate)
                if (frame.sample_rate, frame.layout.name) != (self.rate, layout):
                    raise Damage(f"damaged: its rate or its channels change at {self.end:.2f} s")
                self.place = frame.pts if self.place is None else self.place
                if frame.time is not None:
                    self.begin = frame.time if self.begin is None else self.begin
                    self.end = max(self.end, frame.time + frame.samples / self.rate)
                yield from (part.to_ndarray().T for part in same.resample(frame))

    def read(self, frames: int) -> np.ndarray:
        """Return the next samples; see `Reader.read`."""
        blocks, count = [self.left], len(self.left)
        while count < frames and (block := next(self.blocks, None)) is not None:
            blocks.append(block)
            count += len(block)
        samples: np.ndarray = np.concatenate(blocks)
        self.left = samples[frames:]
        return samples[:frames]

    def skip(self, frames: int) -> None:
        """Skip the next samples, by a seek if it is exact; see `Reader.skip`."""
        if frames > RUN_UP_S * self.rate * 2 and self.first is not None and self.stream.time_base * self.rate == 1:
            # Time stamps count samples, which makes seeks exact; decoders need some frames before the target.
            self.container.seek(self.first + frames - RUN_UP_S * self.rate, stream=self.stream)
            self.place, self.blocks = None, self._decode()
            self.left = next(self.blocks, self.left[:0])
            if self.place is None or not self.first <= self.place <= self.first + frames:
                raise Damage(f"damaged: {frames / self.rate:.2f} s cannot be found in it")
            frames -= self.place - self.first
        _skip(self, frames)

    def finish(self, frames: int) -> None:
        """Compare the seconds of the samples with those of the container; see `Reader.finish`."""
        decoded = frames / self.rate
        if self.promised is not None and decoded + PADDING_S < self.promised:
            raise Damage(f"cut off or damaged: it promises {self.promised:.2f} s, and {decoded:.2f} s can be decoded")
        if self.begin is not None and decoded + PADDING_S < (span := self.end - self.begin):
            raise Damage(f"damaged: its packets span {span:.2f} s, and {decoded:.2f} s of them can be decoded")

    def close(self) -> None:
        """Close the file."""
        self.opened.close()


def _skip(reader: Reader, frames: int) -> None:
    while frames > 0 and (read := len(reader.read(min(frames, STEP)))):
        frames -= read


@contextmanager
def open_reader(source: Path | bytes, warning: str | None = None) -> Iterator[Reader]:
    """Open an audio file with the first reader that can read it; `warning` is the result of `check_structure`.

    Raise `Damage` if there is none, or if the file breaks off while it is read, and `OSError` if it cannot be opened.
    """
    import av
    import soundfile

    try:
        reader = _open(source, warning)
        try:
            yield reader
        finally:
            reader.close()
    except (soundfile.SoundFileError, av.FFmpegError) as error:
        raise Damage(f"cut off or damaged: it decodes no further ({_explain(error)})") from error


def _open(source: Path | bytes, warning: str | None) -> Reader:
    import av
    import soundfile

    with mapped(source) as data:
        # libsndfile estimates the length of such a file and stops there.
        if mpeg.has_no_count(data):
            return FFmpegReader(source, warning)
    try:
        return SndfileReader(source, warning)
    except (soundfile.SoundFileError, TypeError) as error:
        try:
            return FFmpegReader(source, warning)
        except av.FFmpegError:
            raise Damage(f"{OTHER_KIND} ({_explain(error)})") from error


def _explain(error: Exception) -> str:
    """Return the message of a library about a file, without the name of the file."""
    import av
    import soundfile

    if isinstance(error, soundfile.LibsndfileError):
        return str(error.error_string)
    return (isinstance(error, av.FFmpegError) and error.strerror) or str(error)
