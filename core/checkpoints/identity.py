"""Identify a checkpoint by more than its name: by a commit, or by its files."""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from speechiq.core.checkpoints.names import resolve
from speechiq.core.files.plain import is_file, is_folder

#: Bytes of the largest file that counts by its bytes.
READ_WHOLE = 2**26


@cache
def identity(name: str, revision: str | None = None, file: str = "config.json") -> dict[str, str]:
    """Return `{"model", "commit"}` of a hub id, or `{"files"}` of a folder, which does not depend on its path.

    Files up to 64 MiB count by their bytes, larger ones by size and time of change in seconds. Folders whose names
    begin with a dot, where git and downloaders keep notes, do not count. `file` is one that the checkpoint has.
    """
    place = name if is_file(Path(name, file)) else resolve(name)
    if is_folder(place):
        return {"files": _hash_files(Path(place))}
    return {"model": name, "commit": _read_commit(place, revision, file)}


@cache
def _read_commit(name: str, revision: str | None, file: str) -> str:
    """Return the commit of a hub id: the name of the folder in the hub's cache that contains its files."""
    from huggingface_hub import hf_hub_download

    return Path(hf_hub_download(name, file, revision=revision)).parent.name


def without_places(stage: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stage without the names of folders whose files it describes by their `identity`.

    >>> without_places({"model": "./tuned", "files": "5a7c", "dtype": "float32"})
    {'files': '5a7c', 'dtype': 'float32'}
    """
    described = {"model": stage, "peft": stage.get("adapter", {})}
    return {name: value for name, value in stage.items() if "files" not in described.get(name, {})}


def _hash_files(folder: Path) -> str:
    total = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        place = file.relative_to(folder)
        if any(part.startswith(".") for part in place.parent.parts):
            continue
        state = file.stat()
        small = state.st_size <= READ_WHOLE
        content = file.read_bytes() if small else f"{state.st_size} {int(state.st_mtime)}".encode()
        total.update(f"{place}\0".encode() + hashlib.sha256(content).digest())
    return total.hexdigest()
