"""Find damaged files of a checkpoint and describe the damage; nothing in the files is executed."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import is_folder

if TYPE_CHECKING:
    from torch.nn import Module

WEIGHTS = ("model*.safetensors", "adapter_model*.safetensors")
PICKLED = ("pytorch_model*.bin", "adapter_model*.bin")
INDEX = "*.index.json"
SETTINGS = (
    "config.json", "adapter_config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
    "processor_config.json", "preprocessor_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
)  # fmt: skip


def find_damaged_weights(place: str | Path) -> str | None:
    """Return the damage of the weights in a folder, by the headers of its safetensors files; None for a hub id."""
    folder = Path(place)
    return next(_damage(folder, INDEX, _read_index), None) or next(_damage(folder, WEIGHTS, _read_header), None)


def find_damage(place: str | Path) -> str | None:
    """Return the damage of any file of a checkpoint; None if there is none, and for a hub id."""
    folder = Path(place)
    found = (_damage(folder, SETTINGS, _read_object), _damage(folder, PICKLED, _read_pickle))
    return find_damaged_weights(place) or next((damage for damages in found for damage in damages), None)


def find_special(place: str | Path) -> str | None:
    """Return what in a folder is neither a file nor a folder, such as a pipe, on which a library would block."""
    for path in sorted(Path(place).rglob("*") if is_folder(place) else ()):
        with suppress(OSError):
            mode = path.stat().st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                return f"{path.name} is a pipe or a device"
    return None


def check_filled(name: str, model: Module, missing: Iterable[str]) -> None:
    """Refuse a model that transformers filled with random numbers because its checkpoint misses weights.

    Vectors may be `missing`: some checkpoints leave out those that only training needs.
    """
    weights = dict(model.named_parameters())
    matrices = sorted(key for key in missing if key in weights and weights[key].ndim > 1)
    if matrices:
        raise SpeechIQError(
            name,
            f"{len(matrices)} of the {len(weights)} weights that its config.json describes are missing, first "
            f"{matrices[0]}",
            "give the weights that belong to that config",
        )


def _damage(folder: Path, patterns: str | tuple[str, ...], read: Callable[[Path], object]) -> Iterator[str]:
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        for file in sorted(folder.glob(pattern) if is_folder(folder) else ()):
            try:
                read(file)
            except _Damage as damage:
                yield f"{file.name} {damage}".splitlines()[0]
            except (OSError, RecursionError) as error:
                yield f"{file.name} cannot be read ({type(error).__name__})"


class _Damage(ValueError):
    """Report damage of a file, in words that follow its name."""


def _read_object(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_bytes())
    except ValueError as error:
        raise _Damage(f"is not valid JSON: {error}") from error
    if not isinstance(found, dict):
        raise _Damage(f"contains a {type(found).__name__}, not a JSON object")
    return found


def _read_index(file: Path) -> None:
    shards = _read_object(file).get("weight_map")
    if not isinstance(shards, dict):
        raise _Damage("has no weight_map")
    missing = sorted({str(name) for name in shards.values() if not file.with_name(str(name)).is_file()})
    if missing:
        raise _Damage(f"misses {count_of(len(missing), 'file')} that it lists, first {missing[0]}")


def _read_header(file: Path) -> None:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="np"):
            pass
    except SafetensorError as error:
        raise _Damage(f"is cut off or damaged: {error}") from error


def _read_pickle(file: Path) -> None:
    import torch

    try:
        torch.load(file, map_location="meta", weights_only=True)
    except Exception as error:
        raise _Damage("is damaged, or contains more than weights; it was not executed") from error
