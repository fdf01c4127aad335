"""What tells one checkpoint from another of the same name: a commit, or the files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from speechiq.core.checkpoints import resolve
from speechiq.core.files import is_file, is_folder

READ_WHOLE = 2**26


@cache
def identity(name: str, revision: str | None = None, holds: str = "config.json") -> dict[str, str]:
    """`{"model", "commit"}` of a hub id, or `{"files"}` of a folder, wherever the folder is.

    Files up to 64 MiB count by their bytes, larger ones by size and time of change in seconds. What git or a downloader
    notes, in folders whose names begin with a dot, does not count.

    Args:
        name: hub id, folder, or `demo:NAME`.
        revision: branch, tag or commit of a hub id.
        holds: a file that is there.
    """
    place = name if is_file(Path(name, holds)) else resolve(name)
    if is_folder(place):
        return {"files": _digest(Path(place))}
    return {"model": name, "commit": _read_commit(place, revision, holds)}


def find_commit(name: str, revision: str | None = None) -> str | None:
    """Return the commit of a checkpoint from the hub, or None for one in a folder.

    Args:
        name: hub id, folder, or `demo:NAME`.
        revision: branch, tag or commit of a hub id.
    """
    place = resolve(name)
    return None if is_folder(place) else _read_commit(place, revision, "config.json")


@cache
def _read_commit(name: str, revision: str | None, holds: str) -> str:
    """Return the commit of a hub id, which names the folder in the hub's cache where its files are."""
    from huggingface_hub import hf_hub_download

    return Path(hf_hub_download(name, holds, revision=revision)).parent.name


def without_places(stage: Mapping[str, Any]) -> dict[str, Any]:
    """A stage without the names of folders whose files it tells by their `identity`.

    >>> without_places({"model": "./tuned", "files": "5a7c", "dtype": "float32"})
    {'files': '5a7c', 'dtype': 'float32'}
    """
    told = {"model": stage, "peft": stage.get("adapter", {})}
    return {name: value for name, value in stage.items() if "files" not in told.get(name, {})}


def _digest(folder: Path) -> str:
    found = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        place = file.relative_to(folder)
        if any(part.startswith(".") for part in place.parent.parts):
            continue
        about = file.stat()
        small = about.st_size <= READ_WHOLE
        told = file.read_bytes() if small else f"{about.st_size} {int(about.st_mtime)}".encode()
        found.update(f"{place}\0".encode() + hashlib.sha256(told).digest())
    return found.hexdigest()
