"""Every audio file is accepted at its exact length, or refused by name, for every kind of damage."""

import io
import re
import struct
import subprocess
import sys

import numpy as np
import pytest
import soundfile

from speechiq.core.clip import SAMPLING_RATE, Clip, as_clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.recordings.audio_file import PACKAGE, AudioFile, decode, file_sha256, inspect
from speechiq.core.recordings.readers import UNKNOWN_END
from tests.core import recordings
from tests.core.recordings import OPEN_END, SECONDS, by_ffmpeg, by_sndfile, count_by_ffmpeg, speech_like

#: Samples at most that an encoder adds: a block of its own.
PADDING_S = 0.13
#: Seconds at most that may be missing without a word.
QUARTER_S = 0.25
TAKEN = ("cut to 10 %", "cut to 50 %", "cut to 90 %", "last byte missing", "header only", "damaged", "gap")


@pytest.fixture(scope="module")
def files():
    """Each kind of file, and what was done to it, by name."""
    return {
        (name, how): data
        for name, whole in recordings.whole_files().items()
        for how, data in {"whole": whole, **recordings.spoil(whole)}.items()
    }


def measure(data: bytes) -> tuple[float, list[str]] | None:
    """Return the length and warnings of a file that decodes to that length; None for a refused one."""
    try:
        found = inspect(data, "calls.wav")
    except SpeechIQError as error:
        assert re.fullmatch(r"calls\.wav: .*; replace the file or leave the clip out", str(error))
        return None
    assert len(decode(data, 0.0, found.duration)) == pytest.approx(found.duration * SAMPLING_RATE, abs=1)
    return found.duration, found.warnings


KINDS = [*recordings.SNDFILE, *recordings.FFMPEG, *OPEN_END]


@pytest.mark.parametrize("name", KINDS)
def test_a_whole_file_is_accepted_at_its_length(files, name):
    duration, warnings = measure(files[name, "whole"])
    assert duration == pytest.approx(SECONDS, abs=PADDING_S)
    assert count_by_ffmpeg(files[name, "whole"]) == pytest.approx(duration, abs=PADDING_S)
    assert warnings == ([UNKNOWN_END] if name in OPEN_END else [])


@pytest.mark.parametrize("how", TAKEN)
@pytest.mark.parametrize("name", KINDS)
def test_a_quarter_of_a_second_that_is_missing_is_refused_or_said(files, name, how):
    if (found := measure(files[name, how])) is not None:
        duration, warnings = found
        assert duration > SECONDS - QUARTER_S or (name in OPEN_END and UNKNOWN_END in warnings)


def patched(data: bytes, place: int, value: bytes) -> bytes:
    return data[:place] + value + data[place + len(value) :]


WAV = by_sndfile("WAV", "PCM_16")
FLAC = by_sndfile("FLAC", "PCM_16")
OPUS = by_sndfile("OGG", "OPUS")
M4A = by_ffmpeg("ipod", "aac")
MP3 = by_ffmpeg("mp3", "libmp3lame")
INTEGERS = by_sndfile("WAV", "FLOAT", samples=32_768 * speech_like(16_000))


def float_wav(value: float) -> bytes:
    samples = speech_like(16_000).copy()
    samples[1000] = value
    return by_sndfile("WAV", "FLOAT", samples=samples)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not readable as audio: the file is empty"),
        (b"this is not an audio file" * 100, "not readable as audio: not WAV, .*; convert other kinds to WAV or FLAC"),
        (b"#EXTM3U\n#EXTINF:1,\n/etc/hostname\n", "not readable as audio: not WAV"),
        (patched(WAV, 40, struct.pack("<I", 160_000)), r"it promises 5\.00 s, and 4\.00 s can be decoded"),
        (patched(WAV, 40, bytes(4)), "it has no samples"),
        (WAV[: len(WAV) // 2], r"it promises 4\.00 s, and 2\.00 s can be decoded"),
        (by_sndfile("RF64", "PCM_16")[:64_000], r"it promises 4\.00 s, and 2\.00 s can be decoded"),
        (patched(WAV, 24, struct.pack("<I", 1)), "a sampling rate of 1 Hz"),
        (patched(FLAC, 22, struct.pack(">I", 72_000)), "cut off or damaged: it decodes no further"),
        (FLAC[: len(FLAC) // 2], "cut off or damaged: it decodes no further"),
        (MP3[: len(MP3) // 2], r"it promises 4\.00 s, and 1\.\d\d s can be decoded"),
        (M4A[: len(M4A) // 2], "cut off or damaged: no sound can be found in it"),
        (OPUS[:-1], "cut off: its last Ogg page is not complete"),
        (OPUS[: OPUS.rfind(b"OggS")], "cut off: its last Ogg page is not marked as the last"),
        (float_wav(np.nan), "a sample of nan"),
        (float_wav(np.inf), "a sample of inf"),
        (float_wav(1e38), r"a sample of 1e\+38, but full scale is 1"),
        (by_sndfile("WAV", "PCM_16", samples=np.zeros((0, 1))), "it has no samples"),
        (by_sndfile("AIFF", "PCM_16"), "not readable as audio: not WAV"),
        (by_ffmpeg("adts", "aac"), "not readable as audio: not WAV"),
        (
            INTEGERS,
            r"a sample of 10\d\d\d\.\d, but full scale is 1 .*; divide integers by their own full scale \(32768 for",
        ),
    ],
)
def test_what_cannot_be_a_clip_is_refused_by_name(data, message):
    with pytest.raises(SpeechIQError, match=rf"^calls\.wav: .*{message}"):
        inspect(data, "calls.wav")


TONE = speech_like(16_000)
LOUD = "its peak is above 1.5 times full scale, so endpoints get clipped samples"


def test_an_estimated_length_neither_hides_a_part_nor_refuses_the_file():
    bare = OPEN_END["mp3-vbr"]()
    assert soundfile.info(io.BytesIO(bare)).duration > 2 * SECONDS
    assert inspect(bare, "a").duration == pytest.approx(count_by_ffmpeg(bare))
    assert count_by_ffmpeg(bare) > SECONDS - PADDING_S


def test_flac_without_a_length_is_read_to_its_end_with_a_warning():
    streamed = patched(patched(FLAC, 21, bytes([FLAC[21] & 0xF0])), 22, bytes(4))
    assert inspect(streamed, "a") == ("flac", SECONDS, [UNKNOWN_END])
    np.testing.assert_array_equal(decode(streamed, 3.0, 0.5), decode(FLAC, 3.0, 0.5))


TAGS = {
    "ID3v1": b"TAG" + bytes(125),
    "ID3v2": b"ID3\4\0\0\0\0\0\5abcde",
    "APE": b"APETAGEX" + struct.pack("<IIII8x", 2000, 37, 1, 1 << 29) + b"items" + b"APETAGEX" + bytes(24),
}


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("data", [WAV, MP3, M4A], ids=["wav", "mp3", "m4a"])
def test_tags_and_zeros_after_the_samples_are_no_damage(data, tag):
    assert measure(data + TAGS[tag] + bytes(4096)) == measure(data)
    assert measure(FLAC + TAGS["ID3v1"]) == measure(FLAC)


@pytest.mark.parametrize(
    ("samples", "warnings"),
    [
        (np.hstack([TONE, TONE]), []),
        (np.hstack([TONE, 0 * TONE]), []),
        (np.hstack([TONE, -TONE]), ["its channels cancel each other in their mean, which is what systems receive"]),
        (0 * TONE, ["it is digital silence"]),
        (0 * TONE[:1], ["it is shorter than 0.1 s", "it is digital silence"]),
        (2e-3 * TONE, ["it is very quiet: its peak is below -60 dB of full scale"]),
        (0.1 * TONE + 0.2, ["more than half of its energy is a constant offset (DC)"]),
        (np.clip(4 * TONE, -0.5, 0.5), ["it is clipped: 2 % of its samples or more are at its peak"]),
        (np.clip(0.04 * TONE, -0.005, 0.005), []),
        (TONE[3:4], ["it is shorter than 0.1 s"]),
        (4 * TONE, []),
        (6 * TONE, [LOUD]),
    ],
)
def test_what_can_hardly_contain_speech_is_accepted_with_a_warning(samples, warnings):
    found = inspect(by_sndfile("WAV", "FLOAT", samples=samples), "calls.wav")
    assert found.duration == len(samples) / 16_000
    assert sorted(found.warnings) == sorted(warnings)


@pytest.mark.parametrize("name", ["wav", "wav-gsm", "wav-ima", "wav-ulaw", "flac", "vorbis", "opus", "m4a", "webm"])
def test_a_part_is_that_of_the_whole_in_files_that_seek_and_in_those_that_do_not(files, tmp_path, name):
    file = tmp_path / "a"
    file.write_bytes(files[name, "whole"])
    clip = Clip(AudioFile(str(file), file_sha256(file)), 0.0, inspect(file, "a").duration)
    array = clip.samples
    part = clip.part(1.5, 2.0).samples
    assert len(part) == 2 * SAMPLING_RATE
    middle = slice(800, -800)  # resampling filters differ at the ends of a part
    np.testing.assert_allclose(part[middle], array[24_000:56_000][middle], atol=1e-4)


LONG = [("ipod", "aac"), ("ipod", "alac"), ("webm", "libopus", 48_000), ("matroska", "aac"), ("ogg", "libopus", 48_000),
        ("mp3", "libmp3lame")]  # fmt: skip


@pytest.mark.parametrize("how", LONG)
def test_a_late_part_of_a_long_file_is_that_of_the_whole(how):
    data = by_ffmpeg(*how, seconds=40)
    array = decode(data, 0.0, inspect(data, "a").duration)
    for start in (3.9, 4.1, 17.3, 38.5):
        first, middle = round(start * SAMPLING_RATE), slice(800, -800)
        part = decode(data, start, 1.5)
        np.testing.assert_allclose(part[middle], array[first : first + 24_000][middle], atol=1e-4)


def test_every_part_of_a_bundled_opus_file_is_that_of_the_whole():
    file = PACKAGE / "assistant" / "demo" / "clips" / "adriatic.ogg"
    array = decode(file, 0.0, inspect(file, "a").duration)
    for first in range(1600, len(array) - 4800, 1600):
        np.testing.assert_array_equal(decode(file, first / SAMPLING_RATE, 0.3), array[first : first + 4800])


def test_a_clip_that_ends_after_its_file_is_not_decoded_shorter(tmp_path):
    file = tmp_path / "a.wav"
    file.write_bytes(WAV)
    with pytest.raises(SpeechIQError, match=r"a\.wav: the last 1\.00 s of 3\.00 s from 2\.00 s on are missing"):
        print(Clip(AudioFile(str(file), ""), 2.0, 3.0).samples)


def test_loud_audio_of_other_tasks_is_named_once(caplog):
    for array in (TONE[:, 0] * 6, TONE[:, 0] * 7):
        as_clip({"array": array, "sampling_rate": 16_000})
    assert [record.getMessage() for record in caplog.records] == [
        f"doc_to_audio: a sound of it is doubtful: {LOUD} (logged once)"
    ]
    with pytest.raises(SpeechIQError, match=r"doc_to_audio: it has a sample of 10966.*leave the row out"):
        as_clip({"array": TONE[:, 0] * 32_768, "sampling_rate": 16_000})


def test_audio_of_other_tasks_is_checked_as_well():
    array = np.zeros(100, np.float32)
    array[3] = np.nan
    with pytest.raises(SpeechIQError, match="doc_to_audio: it has a sample of nan"):
        as_clip({"array": array, "sampling_rate": 16_000})
    with pytest.raises(SpeechIQError, match="doc_to_audio: cut off"):
        as_clip({"bytes": WAV[:-10_000]})
    assert as_clip({"bytes": WAV}).duration == SECONDS


LIMITED = """
import resource
from pathlib import Path
from speechiq.core.recordings.audio_file import AudioFile, file_sha256
from speechiq.core.clip import Clip
from speechiq.core.recordings.audio_file import inspect
file = Path({file!r})
inspect(file, "warm up")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
large = Path({large!r})
found = inspect(large, "large")
clip = Clip(AudioFile(str(large), file_sha256(large)), 0.0, found.duration)
assert len(clip.part(found.duration - 1, 1.0).samples) == 16_000
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(found.duration, (after - before) // 1024)
"""


@pytest.mark.slow
def test_a_large_file_is_never_in_memory_at_once(tmp_path):
    small, large = tmp_path / "small.wav", tmp_path / "large.wav"
    small.write_bytes(WAV)
    header = io.BytesIO()
    soundfile.write(header, np.zeros((0, 2)), 48_000, format="WAV", subtype="PCM_16")
    size = 150 << 20
    data = patched(patched(header.getvalue(), 4, struct.pack("<I", size + 36)), 40, struct.pack("<I", size))
    with large.open("wb") as file:
        file.write(data)
        file.truncate(len(data) + size)
    program = LIMITED.format(file=str(small), large=str(large))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    duration, grown = map(float, done.stdout.split())
    assert duration == size / 4 / 48_000
    assert grown < 75
