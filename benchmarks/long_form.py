"""Measure how transcription grows with the length of a clip: time and peak memory for five and for twenty minutes.

    python benchmarks/long_form.py [--minutes 5 20] [--rounds 1] [--engine hf] [--model demo:whisper-tiny.en]

The recordings are the clips of the demo, one after the other, again and again, written as FLAC. Each is one clip, in a
process of its own without a cache, after a clip of five seconds, so that loading packages is not included
in the seconds. The last columns are relative to the first length: both should stay near 1.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from functools import partial
from itertools import cycle
from pathlib import Path

import measure
import soundfile

from speechiq.core.clip import SAMPLING_RATE, Clip
from speechiq.core.recordings.audio_file import AudioFile
from speechiq.siq_tasks.loaders.bundled import list_clips


def write(file: Path, minutes: float) -> list[str]:
    """Write so many minutes of the demo's clips; return the words."""
    left, words = int(minutes * 60 * SAMPLING_RATE), []
    with soundfile.SoundFile(file, "w", SAMPLING_RATE, channels=1) as sound:
        for listed in cycle(list_clips()):
            samples = Clip(AudioFile(listed["path"], listed["sha256"]), 0.0, listed["duration"]).samples[:left]
            spoken = listed["text"].split()
            words += spoken[: round(len(spoken) * len(samples) / SAMPLING_RATE / listed["duration"])]
            sound.write(samples)
            left -= len(samples)
            if not left:
                return words


def transcribe(file: str, minutes: str, words: str, engine: str, model: str) -> None:
    """Transcribe a file; print the seconds, the coverage and the word error rate as JSON."""
    from speechiq.core.recordings.audio_file import file_sha256
    from speechiq.engines.base import Setup
    from speechiq.engines.registry import build_engine
    from speechiq.metrics.words.wer import wer

    asr = build_engine("asr", model, {}, Setup(engine=engine))
    clip = Clip(AudioFile(file, file_sha256(Path(file))), 0.0, float(minutes) * 60)
    asr.transcribe([clip.part(0.0, 5.0)])
    start = time.perf_counter()
    (found,) = asr.transcribe([clip])
    seconds = time.perf_counter() - start
    print(json.dumps([seconds, found.coverage, wer(Path(words).read_text(), found.text)]))


def run(folder: Path, minutes: float, engine: str, model: str) -> dict[str, float]:
    """Return the measurements of one length."""
    file, words = folder / f"{minutes:g}.flac", folder / f"{minutes:g}.txt"
    words.write_text(" ".join(write(file, minutes)))
    command = measure.calling("long_form.transcribe", str(file), str(minutes), str(words), engine, model)
    child = measure.run_child(command, SIQ_STORE="off")
    seconds, coverage, rate = json.loads(child.output.splitlines()[-1])
    return {
        "minutes": minutes,
        "seconds": seconds,
        "a_minute": seconds / minutes,
        "peak_mb": child.peak_mb,
        "coverage": coverage,
        "wer": rate,
    }


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, nargs="+", default=[5, 20])
    parser.add_argument("--engine", default="hf", help="engine of the recognizer")
    parser.add_argument("--model", default=measure.ASR, help="its model")
    measure.rounds_option(parser, 1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ways = {minutes: partial(run, Path(folder), minutes, args.engine, args.model) for minutes in args.minutes}
        rows = measure.by_size(measure.alternate(ways, args.rounds), ("a_minute", "peak_mb"))
    print(" minutes        s   s/minute   peak MB   coverage   WER %   time per minute, relative       peak, relative")
    for row in rows.values():
        print(
            f"{row['minutes']:8g} {row['seconds']:8.1f} {row['a_minute']:10.2f} {row['peak_mb']:9.0f} "
            f"{row['coverage']:10.2f} {100 * row['wer']:7.1f} {row['a_minute_relative']!s:>27} "
            f"{row['peak_mb_relative']!s:>20}"
        )
    measure.write("long_form", {"engine": args.engine, "model": args.model, "lengths": rows})


if __name__ == "__main__":
    main()
