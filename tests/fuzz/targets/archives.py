"""Archives of response caches, damaged as files, or made of damaged stages and rows whose checksums fit."""

from __future__ import annotations

import json
import random
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np

from speechiq.core.cache.row_files import TEXT
from speechiq.core.cache.stage_cache import STAGE, StageCache
from speechiq.core.cache.stages import ROW_FILE
from speechiq.core.files.folders import use_store
from speechiq.core.recordings.audio_file import save_samples
from tests.fuzz.judge import run_siq
from tests.fuzz.targets.target import Target

WHOLE = "whole.zip"


def prepare(folder: Path) -> list[Path]:
    """Export a response cache with spoken audio, and unpack it, its rows without their checksums."""
    clip = save_samples(np.linspace(-0.5, 0.5, 1600, dtype=np.float32), "ramp")
    row = {name: clip[name] for name in ("path", "sha256", "duration")}
    StageCache({"stage": "speech", "model": "a"}, folder / "store").add({"a": row})
    StageCache({"stage": "asr", "model": "b"}, folder / "store").add({"a": ["one", {"coverage": 1.0}], "b": ["", {}]})
    with use_store(folder / "store"):
        assert run_siq(["store", "export", folder / WHOLE]) is None
    with zipfile.ZipFile(folder / WHOLE) as archive:
        archive.extractall(folder / "parts")
    for rows in folder.glob(f"parts/*/{ROW_FILE}"):
        rows.write_bytes(b"".join(line[TEXT:] for line in rows.read_bytes().splitlines(keepends=True)))
    return [folder / WHOLE, *sorted(path for path in folder.glob("parts/**/*") if path.is_file())]


def use(folder: Path, rng: random.Random) -> str | None:
    """Merge one of the two archives into an empty or a full response cache, and export that again."""
    archive = rng.choice((WHOLE, "packed.zip"))
    if archive != WHOLE:
        _pack(folder / "parts", folder / archive)
    with use_store(folder / rng.choice(("store", "new"))):
        merged = run_siq(["store", "merge", folder / archive])
        return merged or run_siq(["store", "export", folder / "again.zip"])


def _pack(parts: Path, output: Path) -> None:
    """Write an archive of the parts that are files; what can be sealed has checksums and names that fit."""
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in parts.rglob("*") if path.is_file()):
            name, content = path.relative_to(parts).as_posix(), path.read_bytes()
            if path.name == ROW_FILE:
                content = b"".join(b"%08x %s\n" % (zlib.crc32(line), line) for line in content.splitlines())
            if path.parent.parent == parts and (path.parent / STAGE).is_file():
                with suppress(OSError, ValueError, TypeError, AttributeError, RecursionError):
                    name = f"{StageCache.name_folder(json.loads((path.parent / STAGE).read_bytes()))}/{path.name}"
            archive.writestr(name, content)


ARCHIVES = Target(prepare, use, cases=60)
