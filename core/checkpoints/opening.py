"""Open checkpoints: refuse damaged files and code of strangers, and read how long a context is."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import is_folder

if TYPE_CHECKING:
    from torch.nn import Module
    from transformers import PreTrainedConfig, PreTrainedTokenizerBase

WEIGHTS = ("model*.safetensors", "adapter_model*.safetensors")
PICKLED = ("pytorch_model*.bin", "adapter_model*.bin")
INDEX = ("*.index.json",)
#: A folder with weights has a file of one of these names.
ANY_WEIGHTS = ("*.safetensors", *PICKLED, *INDEX)
SETTINGS = (
    "config.json", "adapter_config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
    "processor_config.json", "preprocessor_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
)  # fmt: skip


def find_damaged_weights(place: str | Path) -> str | None:
    """Find the fault of the weights in a folder: there are none, or a header is damaged; None for a hub id."""
    folder = Path(place)
    if is_folder(folder) and not any(chain.from_iterable(map(folder.glob, ANY_WEIGHTS))):
        return "has no weights, neither *.safetensors nor *.bin"
    return next(_damaged_weights(folder), None)


def find_damage(place: str | Path) -> str | None:
    """Return the damage of any file of a checkpoint; None if there is none, and for a hub id."""
    folder = Path(place)
    settings, pickled = _damage(folder, SETTINGS, _read_object), _damage(folder, PICKLED, _read_pickle)
    return next(chain(_damaged_weights(folder), settings, pickled), None)


def find_special(place: str | Path) -> str | None:
    """Return the pipes and devices in a folder, on which a library would block."""
    if not is_folder(place):
        return None
    for path in sorted(Path(place).rglob("*")):
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


def check_vocabulary(tokenizer: PreTrainedTokenizerBase) -> None:
    """Refuse a tokenizer without a token of text, as transformers makes if the files of some kinds are missing."""
    special = {*tokenizer.all_special_ids}
    if all(token in special for token in range(tokenizer.vocab_size)):
        raise ValueError("no vocabulary: a file of its tokenizer, such as tokenizer.json, is missing")


def _damaged_weights(folder: Path) -> Iterator[str]:
    return chain(_damage(folder, INDEX, _read_index), _damage(folder, WEIGHTS, _read_header))


def _damage(folder: Path, patterns: tuple[str, ...], read: Callable[[Path], object]) -> Iterator[str]:
    if not is_folder(folder):
        return
    for pattern in patterns:
        for file in sorted(folder.glob(pattern)):
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


#: Types of rotary scaling that multiply the positions of the config, as vLLM counts them. With others (llama3,
#: longrope) `max_position_embeddings` is the scaled number already.
STRETCHING = ("linear", "dynamic", "yarn")
#: Tokenizers without a limit have `model_max_length` of 1e30; every real context is shorter than this.
ENDLESS = 10**9
#: Usual tokenizers make at most one token per this number of bytes.
BYTES_PER_TOKEN = 2


def count_by_bytes(text: str) -> int:
    """Return the largest number of tokens of a text, for a model whose tokenizer is unknown."""
    return len(text.encode()) // BYTES_PER_TOKEN


def read_context(config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase | None = None) -> int | None:
    """Return the context in tokens, by the config, else by the tokenizer; None if neither has a limit.

    A sliding window is not a limit: the model takes more tokens and drops the oldest. Of several parts of a model, the
    config of its text decoder counts.

    >>> from transformers import LlamaConfig, MambaConfig
    >>> read_context(LlamaConfig(max_position_embeddings=8192)), read_context(MambaConfig())
    (8192, None)
    """
    text = config.get_text_config(decoder=True)
    positions = getattr(text, "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        return max(positions, _stretch(positions, getattr(text, "rope_parameters", None)))
    longest = getattr(tokenizer, "model_max_length", None)
    return longest if isinstance(longest, int) and longest < ENDLESS else None


def _stretch(positions: int, rope: Any) -> int:
    """Return the number of rotary positions, scaled if the config scales them for all layers."""
    if not isinstance(rope, dict) or rope.get("rope_type") not in STRETCHING:
        return positions
    return int((rope.get("original_max_position_embeddings") or positions) * (rope.get("factor") or 1.0))


def check_tokens(model: str, item: str, ids: Sized, more: int, context: int | None, fix: str) -> None:
    """Refuse a text whose tokens, and `more` that the model may write after them, do not fit into the context."""
    if context is not None and len(ids) + more > context:
        answer = f" and {more:,} for the answer" if more else ""
        raise SpeechIQError(model, f"{item} has {len(ids):,} tokens{answer}, but the model takes {context:,}", fix)


TRUSTING = "give trust_remote_code=True, with its stage's prefix, if you trust it"
#: Errors whose words make sense without the name of their type.
PLAIN = (OSError, ValueError, ImportError, RuntimeError)
LONGEST = 300
#: How the error ends by which tokenizers open a file whose name they did not find.
NO_FILE = "PathLike object, not NoneType"


@contextmanager
def opening(what: str, fix: str, *places: str, trusting: str = TRUSTING) -> Iterator[None]:
    """Turn any error inside the block into one line: what cannot be done, the damaged file if there is one, the fix.

    Libraries raise errors of any type for files that are cut off, nested or of another kind; tokenizers raise one that
    is not an `Exception`. Files in those `places` that are folders are checked. `trusting` is the fix if the checkpoint
    has Python code that is not trusted.
    """
    if special := next(filter(None, map(find_special, places)), None):
        raise SpeechIQError(f"{what} ({special})", fix=fix)
    try:
        yield
    except (SpeechIQError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        if "trust_remote_code" in str(error):
            raise SpeechIQError(what, "comes with Python code of its own", trusting) from error
        reason = next(filter(None, map(find_damage, places)), None) or describe_error(error)
        raise SpeechIQError(f"{what} ({reason[:LONGEST]})", fix=fix) from error


def describe_error(error: BaseException) -> str:
    """Return the first line of an error of another library, with its type unless the words make sense alone.

    A file that was not found, and opened all the same, is told in words.

    >>> describe_error(OSError("no such file.")), describe_error(KeyError("model"))
    ('no such file', "KeyError: 'model'")
    """
    line = first_line(error)
    if isinstance(error, TypeError) and line.endswith(NO_FILE):
        return "a file that it needs, such as vocab.json, is missing"
    return line if isinstance(error, PLAIN) or line == type(error).__name__ else f"{type(error).__name__}: {line}"


def first_line(error: BaseException) -> str:
    """Return the first line of an error of another library, without its period."""
    return next((line.strip().rstrip(".") for line in str(error).splitlines() if line.strip()), type(error).__name__)
