"""Decode audio files with libsndfile, or with FFmpeg (by PyAV) if libsndfile cannot read them.

Decoders do not report missing samples: libsndfile reads a WAV file that was cut in half as a shorter one. So each
reader gives the seconds that the file's header promises, which `audio_file` compares with those that were decoded.
"""

import io
import re
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

UNKNOWN_END = "the file does not give its length, so a cut at its end would not be noticed"
OTHER_KIND = "not readable as audio: not WAV, FLAC, OGG, MP3, MP4, M4A or WebM; convert other kinds to WAV or FLAC"
#: Beginnings of files of the kinds that are read, from byte 0 and from byte 4 on.
STARTS, STARTS_AT_4 = (b"RIFF", b"RF64", b"fLaC", b"OggS", b"\x1aE\xdf\xa3", b"ID3"), b"ftyp"
#: libsndfile's names of the formats that are read -> the ending of such a file.
KINDS = {"WAV": "wav", "WAVEX": "wav", "RF64": "wav", "FLAC": "flac", "OGG": "ogg", "MP3": "mp3"}
#: FFmpeg's names of the formats that it may open. A playlist, for example, would make it open other files.
DEMUXERS = {"format_whitelist": "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,ogg,wav,mp3"}
#: libsndfile's notes on a WAV file: bytes of samples by the header and in the file; frames by the header of RF64.
SAMPLE_BYTES = re.compile(r"^data : (\d+) \(should be (\d+)\)$", re.MULTILINE)
RF64_FRAMES = re.compile(r"does not match value from 'ds64' chunk of (\d+)")
#: Bytes of samples from which on they are what a program writes that streams (ffmpeg, SoX, arecord).
STREAMED = 0x7FFFF000
#: Most bytes before the name of MP4 in fragments, that name, and the name of the index of the fragments.
START, MP4_FRAGMENTS, MP4_INDEX = 4096, b"mvex", b"mfro"
#: Names of the first frame of an MP3 file that gives the number of the others, and the most bytes of a frame.
MP3_HEADERS, MP3_FRAME = (b"Xing", b"Info", b"VBRI"), 2880
#: Most bytes of an Ogg page, bytes of its header, and the mark of the last page.
OGG_PAGE, OGG_HEADER, OGG_LAST = 65_307, 27, 4
#: Frames that libsndfile gives for a FLAC file whose header does not give them.
NO_FRAMES = 2**63 - 1
#: Seconds that are decoded before the target of a seek.
RUN_UP_S = 2
STEP = 65_536


class Damage(ValueError):
    """Report the error of a file that is cut off, damaged, or of another length than its header gives."""


class SndfileReader:
    """Read the formats of libsndfile: WAV, FLAC, OGG and MP3; see `Reader`."""

    def __init__(self, source: Path | bytes) -> None:
        import soundfile

        self.sound = soundfile.SoundFile(io.BytesIO(source) if isinstance(source, bytes) else source)
        if self.sound.format not in KINDS:
            self.close()
            raise Damage(OTHER_KIND)
        if self.sound.format == "OGG" or self.sound.frames == NO_FRAMES:
            # soundfile seeks after each read. libsndfile's seeks in Opus and Vorbis lead elsewhere near the end, and
            # those in a FLAC file of unknown length fail.
            self.sound.seekable = lambda: False
        self.kind, self.rate = KINDS[self.sound.format], int(self.sound.samplerate)
        self.promised, self.spanned = self._find_promised(), 0.0
        self.warning = UNKNOWN_END if self.promised is None else None

    def _find_promised(self) -> float | None:
        seconds: float = self.sound.frames / self.rate
        if self.sound.frames == NO_FRAMES:
            return None
        if cut := SAMPLE_BYTES.search(self.sound.extra_info):
            promised, present = map(int, cut.groups())
            return None if promised >= STREAMED else float(seconds * promised / max(present, 1))
        if cut := RF64_FRAMES.search(self.sound.extra_info):
            return int(cut[1]) / float(self.rate)
        return seconds

    def read(self, frames: int) -> np.ndarray:
        """Return the next samples: float32, shape (`frames`, channels), fewer only at the end."""
        samples: np.ndarray = self.sound.read(min(frames, self.sound.frames), dtype="float32", always_2d=True)
        return samples

    def skip(self, frames: int) -> None:
        """Skip the next samples."""
        if self.sound.seekable():
            self.sound.seek(min(frames, self.sound.frames))
        else:
            _skip(self, frames)

    def close(self) -> None:
        """Close the file."""
        self.sound.close()


class FFmpegReader:
    """Read the formats of FFmpeg: MP4, WebM, and codings that libsndfile cannot read; of a video, the first sound."""

    def __init__(self, source: Path | bytes, *, in_fragments: bool) -> None:
        import av

        self.opened = ExitStack()
        try:
            file = self.opened.enter_context(_open_file(source))
            self.container = self.opened.enter_context(av.open(file, "r", options=DEMUXERS, metadata_errors="replace"))
            if not self.container.streams.audio:
                raise Damage("it has no sound track")
            self.stream = self.container.streams.audio[0]
            if self.stream.codec_context is None:
                raise Damage("not readable as audio: its codec is unknown")
            self.kind = self.container.format.name.split(",")[0]
            # FFmpeg guesses the length of MP3; a header that gives it is left to libsndfile.
            known = self.container.duration if self.kind != "mp3" else None
            self.promised = known / 1e6 if known else None
            self.warning = UNKNOWN_END if in_fragments or not known else None
            self.rate, self.spanned = self.stream.rate, 0.0
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
                raise Damage(f"cut off or damaged at {self.spanned:.2f} s")
            for frame in packet.decode():
                if frame.is_corrupt:
                    raise Damage(f"cut off or damaged at {self.spanned:.2f} s")
                if same is None:
                    self.rate, layout = frame.sample_rate, frame.layout.name
                    same = av.AudioResampler(format="fltp", layout=frame.layout, rate=frame.sample_rate)
                if (frame.sample_rate, frame.layout.name) != (self.rate, layout):
                    raise Damage(f"damaged: its rate or its channels change at {self.spanned:.2f} s")
                self.place = frame.pts if self.place is None else self.place
                if frame.time is not None:
                    self.begin = frame.time if self.begin is None else self.begin
                    self.spanned = max(self.spanned, frame.time + frame.samples / self.rate - self.begin)
                yield from (part.to_ndarray().T for part in same.resample(frame))

    def read(self, frames: int) -> np.ndarray:
        """Return the next samples; see `SndfileReader.read`."""
        blocks, count = [self.left], len(self.left)
        while count < frames and (block := next(self.blocks, None)) is not None:
            blocks.append(block)
            count += len(block)
        samples: np.ndarray = np.concatenate(blocks)
        self.left = samples[frames:]
        return samples[:frames]

    def skip(self, frames: int) -> None:
        """Skip the next samples, by a seek if it is exact."""
        if frames > RUN_UP_S * self.rate * 2 and self.first is not None and self.stream.time_base * self.rate == 1:
            # Time stamps count samples, which makes seeks exact; decoders need some frames before the target.
            self.container.seek(self.first + frames - RUN_UP_S * self.rate, stream=self.stream)
            self.place, self.blocks = None, self._decode()
            self.left = next(self.blocks, self.left[:0])
            if self.place is None or not self.first <= self.place <= self.first + frames:
                raise Damage(f"damaged: {frames / self.rate:.2f} s cannot be found in it")
            frames -= self.place - self.first
        _skip(self, frames)

    def close(self) -> None:
        """Close the file."""
        self.opened.close()


#: An opened audio file of a kind such as `wav`, read from its beginning to its end; `rate` is in Hz. `promised` are the
#: seconds by its header, None without one, and `spanned` those of the packets that were read, by their times; `warning`
#: is why a cut at its end would not be noticed.
Reader = SndfileReader | FFmpegReader


def _skip(reader: Reader, frames: int) -> None:
    while frames > 0 and (read := len(reader.read(min(frames, STEP)))):
        frames -= read


@contextmanager
def open_reader(source: Path | bytes) -> Iterator[Reader]:
    """Open an audio file with the first reader that can read it.

    Raise `Damage` if there is none, or if the file breaks off while it is read, and `OSError` if it cannot be opened.
    """
    import av
    import soundfile

    try:
        reader = _open(source)
        try:
            yield reader
        finally:
            reader.close()
    except (soundfile.SoundFileError, av.FFmpegError) as error:
        raise Damage(f"cut off or damaged: it decodes no further ({_explain(error)})") from error


def _open(source: Path | bytes) -> Reader:
    import av
    import soundfile

    start, end = _read_ends(source)
    # FFmpeg takes the fragments of an MP4 file without an index at its end for all there are.
    in_fragments = MP4_FRAGMENTS in start and MP4_INDEX not in end
    if start.startswith(b"OggS"):
        _check_last_page(end)
    try:
        reader = SndfileReader(source)
    except (soundfile.SoundFileError, TypeError) as error:
        try:
            return FFmpegReader(source, in_fragments=in_fragments)
        except (av.FFmpegError, IndexError) as refused:
            known = start.startswith(STARTS) or start[4:].startswith(STARTS_AT_4)
            fault = "cut off or damaged: no sound can be found in it" if known else OTHER_KIND
            raise Damage(f"{fault} ({_explain(error)})") from refused
    if reader.kind == "mp3" and not _gives_frames(source):
        # libsndfile estimates the length of such a file and stops there.
        reader.close()
        return FFmpegReader(source, in_fragments=False)
    return reader


def _open_file(source: Path | bytes) -> BinaryIO:
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


def _read_ends(source: Path | bytes) -> tuple[bytes, bytes]:
    """Return the first and the last bytes of a file; raise `Damage` if it is empty or no file."""
    if isinstance(source, Path) and not stat.S_ISREG(source.stat().st_mode):
        raise Damage("not readable as audio: it is a folder or a device")
    with _open_file(source) as file:
        start = file.read(START)
        file.seek(-min(file.seek(0, io.SEEK_END), 2 * OGG_PAGE), io.SEEK_END)
        end = file.read()
    if not start:
        raise Damage("not readable as audio: the file is empty")
    return start, end


def _gives_frames(source: Path | bytes) -> bool:
    """Return whether an MP3 file has a header with its number of frames, which FFmpeg does not count as a frame."""
    import av

    with _open_file(source) as file, av.open(file, "r", options=DEMUXERS, metadata_errors="replace") as container:
        first = next(container.demux(container.streams.audio[0])).pos or 0
        file.seek(max(0, first - MP3_FRAME))
        before = file.read(min(first, MP3_FRAME))
    return any(name in before for name in MP3_HEADERS)


def _check_last_page(end: bytes) -> None:
    """Refuse an Ogg file without its last page, which decoders take for a shorter file: no header gives a length."""
    page = end[max(0, end.rfind(b"OggS")) :]
    header = page[:OGG_HEADER].ljust(OGG_HEADER, b"\0")
    lengths = page[OGG_HEADER : OGG_HEADER + header[-1]]
    if len(page) < OGG_HEADER + header[-1] + sum(lengths):
        raise Damage("cut off: its last Ogg page is not complete")
    if not header[5] & OGG_LAST:
        raise Damage("cut off: its last Ogg page is not marked as the last")


def _explain(error: Exception) -> str:
    """Return the message of a library about a file, without the name of the file."""
    import av
    import soundfile

    if isinstance(error, soundfile.LibsndfileError):
        return str(error.error_string)
    if isinstance(error, av.FFmpegError):
        return error.strerror or str(error)
    return str(error)
