"""What tells one checkpoint from another of the same name: a commit, or the files."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from speechiq.core.checkpoints import resolve

READ_WHOLE = 2**26


@cache
def identity(name: str, revision: str | None = None) -> dict[str, str]:
    """`{"model", "commit"}` of a hub id, or `{"files"}` of a folder, wherever the folder is.

    Files up to 64 MiB count by their bytes, larger ones by size and time of change.
    """
    place = resolve(name)
    if Path(place).is_dir():
        return {"files": _digest(Path(place))}
    from transformers.utils import cached_file

    return {"model": name, "commit": Path(cached_file(place, "config.json", revision=revision)).parent.name}


def _digest(folder: Path) -> str:
    found = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        about = file.stat()
        small = about.st_size <= READ_WHOLE
        told = file.read_bytes() if small else f"{about.st_size} {about.st_mtime_ns}".encode()
        found.update(f"{file.relative_to(folder)}\0".encode() + hashlib.sha256(told).digest())
    return found.hexdigest()
