"""Make the audio of the set `audiobench_demo` again: sounds by formulas, and long recordings of joined demo clips.

    python -m speechiq.tools.make_sounds [--out DIR]

Users never need this, and it is not installed: the audio is in the package. The same versions of libsndfile and libopus
give the same bytes.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from speechiq.core.clip import Clip
from speechiq.core.errors import print_in_one_line
from speechiq.core.files.plain import write_whole
from speechiq.core.recordings.audio_file import AudioFile
from speechiq.tools.make_clips import DEMO, RATE, encode, level

SET = DEMO.parent / "audiobench" / "demo"
SECONDS = 2.5
PAUSE_S = 0.7
#: Long recording -> the demo clips that are joined.
RECORDINGS = {
    "long-1": ["earnings-1", "medical-1", "parliament-3", "earnings-2", "medical-2"],
    "long-2": ["kennedy", "austen", "parliament-1", "earnings-3", "medical-4", "parliament-2"],
}
TIME = np.arange(int(SECONDS * RATE)) / RATE


def tone(hertz: float) -> np.ndarray:
    """Return a steady sine."""
    return np.sin(2 * np.pi * hertz * TIME)


def sweep(first: float, last: float) -> np.ndarray:
    """Return a sine whose frequency changes evenly from `first` to `last` Hz."""
    return np.sin(2 * np.pi * (first * TIME + (last - first) * TIME**2 / (2 * SECONDS)))


def clicks(per_second: float) -> np.ndarray:
    """Return a train of short clicks."""
    return np.exp(-((TIME * per_second) % 1) / per_second * 400) * noise(1)


def noise(seed: int) -> np.ndarray:
    """Return white noise."""
    return np.random.default_rng(seed).normal(size=len(TIME))


SOUNDS: dict[str, Callable[[], np.ndarray]] = {
    "tone-1": lambda: tone(440),
    "tone-2": lambda: tone(1000),
    "noise-1": lambda: noise(7),
    "noise-2": lambda: noise(8) * np.minimum(1, TIME),
    "clicks-1": lambda: clicks(4),
    "clicks-2": lambda: clicks(12),
    "chirp-1": lambda: sweep(300, 3000),
    "chirp-2": lambda: sweep(3000, 300),
    # A sine that is on for half of each period, and a low tone with overtones, as of an electric device.
    "beeps-1": lambda: tone(880) * ((TIME * 2) % 1 < 0.5),
    "beeps-2": lambda: tone(1500) * ((TIME * 5) % 1 < 0.5),
    "hum-1": lambda: np.sum([tone(60 * k) / k for k in range(1, 6)], axis=0),
    "hum-2": lambda: np.sum([tone(100 * k) / k for k in range(1, 6)], axis=0),
}


def join(names: list[str]) -> np.ndarray:
    """Return demo clips one after the other, with pauses."""
    listed = {clip["id"].rpartition("/")[2]: clip for clip in json.loads((DEMO / "clips.json").read_text("utf-8"))}
    parts = []
    for name in names:
        clip = listed[name]
        source = AudioFile(f"demo/{clip['file']}", clip["sha256"])
        parts += [Clip(source, 0.0, clip["duration"]).samples, np.zeros(int(PAUSE_S * RATE), np.float32)]
    return np.concatenate(parts[:-1])


FILES: dict[str, Callable[[], np.ndarray]] = {
    **{f"sounds/{name}.ogg": sound for name, sound in SOUNDS.items()},
    **{f"recordings/{name}.ogg": partial(join, parts) for name, parts in RECORDINGS.items()},
}


def make(name: str) -> bytes:
    """Return the content of one of `FILES`."""
    return encode(level(FILES[name]()), zlib.crc32(name.encode()))


def main() -> None:
    """Run the command line."""
    print_in_one_line()
    parser = argparse.ArgumentParser(description="Make the audio of the set audiobench_demo again.")
    parser.add_argument("--out", type=Path, default=SET, help="where the audio goes (default: the set)")
    out = parser.parse_args().out
    for name in FILES:
        content = make(name)
        write_whole(out / name, content, "check the folder", make_folders=True)
        print(f"{out / name}: {len(content):,} bytes")


if __name__ == "__main__":
    main()
