"""Make the audio of the set `demo_languages` again, from Debian's packages of recorded telephone prompts.

    apt-get download asterisk-core-sounds-{en,es,fr,it,ru}-g722=1.6.1-1
    python -m speechiq.tools.make_language_clips --packages FOLDER [--out DIR]

Users never need this, and it is not installed: the clips are in the package. The same versions of FFmpeg, libsndfile
and libopus give the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import tempfile
import zlib
from pathlib import Path

import av
import numpy as np

from speechiq.core.errors import SpeechIQError, print_in_one_line
from speechiq.core.files.plain import write_whole
from speechiq.tools.make_clips import DEMO, encode, level

SET = DEMO.parent / "languages" / "demo_languages"
VERSION = "1.6.1-1"
SOUNDS = "usr/share/asterisk/sounds"
#: Ogg-Opus near 16 kbit/s, so that all clips take 1.2 MB.
COMPRESSION = 0.965
#: Language -> sha256 of its package.
PACKAGES = {
    "en": "38c5261820b406dcb0ecb37675720da2b0864850690690352ca52707eb623806",
    "es": "e4e3b4281057d3b81b779298fd6be705f57411513955c518eed1bcaabbd615b8",
    "fr": "7add61d5e42279ecff1bbdf842a5a946ac3644fac9a0fe44384731aa7270c8e0",
    "it": "46b4cf7afc508a5fcfc051b7ea233251c0d195dd4ef83cc4b7facb4c6429b016",
    "ru": "673b4238a6b8269960f055d868c6a11083f7a0d00979167cb01554046b48ed9b",
}


def unpack(language: str, packages: Path, folder: Path) -> Path:
    """Unpack the package of a language into a folder, and return the folder of its sounds.

    Raises:
        SpeechIQError: The package is missing or another one.
    """
    name = f"asterisk-core-sounds-{language}-g722"
    file = packages / f"{name}_{VERSION}_all.deb"
    if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != PACKAGES[language]:
        fault = "has another sha256" if file.is_file() else "is missing"
        raise SpeechIQError(file, fault, f"get it by apt-get download {name}={VERSION} and name its folder")
    subprocess.run(["dpkg-deb", "-x", str(file), str(folder)], check=True)
    (sounds,) = folder.joinpath(SOUNDS).glob(f"{language}_*")
    return sounds


def decode(file: Path) -> np.ndarray:
    """Return the samples of a G.722 file, which has no header: one channel at 16 kHz."""
    with av.open(str(file), format="g722") as container:
        frames = [frame.to_ndarray().reshape(-1) for frame in container.decode(audio=0)]
    return np.concatenate(frames).astype(np.float64) / 2**15


def main() -> None:
    """Run the command line."""
    print_in_one_line()
    parser = argparse.ArgumentParser(description="Make the audio of the set demo_languages again.")
    parser.add_argument("--packages", type=Path, required=True, help="folder with Debian's five packages")
    parser.add_argument("--out", type=Path, default=SET, help="where the audio goes (default: the set)")
    args = parser.parse_args()
    for language in PACKAGES:
        clips = json.loads(SET.joinpath(language, "clips.json").read_bytes())
        with tempfile.TemporaryDirectory() as folder:
            sounds = unpack(language, args.packages, Path(folder))
            for clip in clips:
                samples = level(decode(sounds / f"{clip['prompt']}.g722"))
                content = encode(samples, zlib.crc32(clip["id"].encode()), COMPRESSION)
                write_whole(args.out / language / clip["file"], content, "check the folder", make_folders=True)
                same = hashlib.sha256(content).hexdigest() == clip["sha256"]
                print(f"{clip['id']}: {len(content):,} bytes, {'as recorded' if same else 'other bytes than recorded'}")


if __name__ == "__main__":
    main()
