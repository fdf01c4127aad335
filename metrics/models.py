"""Load the models that metrics run, each once for equal settings, with the stage of the response cache for its rows.

`TextModel` loads a checkpoint that reads texts, and passes texts to it in batches.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from speechiq.core.batches import Advance, OnResult, needing_memory, run_in_batches
from speechiq.core.cache.stage_cache import StageCache, cached
from speechiq.core.checkpoints.names import identity, read_config, resolve
from speechiq.core.checkpoints.opening import (
    ENDLESS,
    check_filled,
    check_tokens,
    check_vocabulary,
    find_damaged_weights,
    opening,
    read_context,
)
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.folders import store_folder
from speechiq.core.usage import measured, usage
from speechiq.engines.base import Setup
from speechiq.engines.cached import CachedEngine
from speechiq.engines.registry import build_engine

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedConfig, PreTrainedModel

Model = TypeVar("Model")
NO_NAMES: Mapping[str, str] = {}
CPU_BATCH, ACCELERATOR_BATCH = 1, 32
Tokens = Sequence[int]


def load_model(make: Callable[..., Model], *arguments: Hashable) -> Model:
    """Return what `make` returns, the same object for equal arguments; the last models are kept."""
    model: Model = _load(make, *arguments)
    return model


@lru_cache(maxsize=8)
def _load(make: Callable[..., Any], *arguments: Hashable) -> Any:
    return make(*arguments)


def open_cache(stage: Mapping[str, Any]) -> StageCache:
    """Return the rows of a stage in the current response cache, the same object for equal stages."""
    return _open_cache(json.dumps(stage, sort_keys=True), store_folder())


@cache
def _open_cache(stage: str, folder: Path | None) -> StageCache:
    return StageCache(json.loads(stage), folder)


def open_engine(
    kind: str,
    engine: str,
    model: str,
    options: Mapping[str, Any],
    *,
    prefix: str,
    stage: str,
    also: Collection[str] = (),
) -> CachedEngine:
    """Return an engine on the device of this process, whose model is not yet loaded.

    `stage` names its rows in the response cache; `prefix` and `also`, options that are read elsewhere, are for errors.
    """
    named = json.dumps([kind, engine, model, options, prefix, stage, sorted(also)], sort_keys=True)
    return load_model(_open_engine, named, store_folder())


def _open_engine(named: str, folder: Path | None) -> CachedEngine:
    from accelerate import PartialState

    kind, engine, model, options, prefix, stage, also = json.loads(named)
    setup = Setup(engine=engine, prefix=prefix, device=PartialState().device)
    return CachedEngine(build_engine(kind, model, options, setup, also=also), folder, stage)


def forget_models() -> None:
    """Forget all models and rows in memory; rows on the disk stay."""
    _load.cache_clear()
    _open_cache.cache_clear()


class Role(NamedTuple):
    """Describe what a metric needs of a checkpoint.

    Attributes:
        option: Key of metadata that names the checkpoint, for errors and the response cache.
        loader: Auto class of transformers that loads it.
        wanted: The right kind and what to name instead, in words that follow "is not".
        instead: What to give if the checkpoint is not available.
        wider: What to change if numbers overflow; with a smaller checkpoint it may also fit into memory.
    """

    option: str
    loader: str
    fits: Callable[[PreTrainedConfig], bool]
    wanted: str
    instead: str
    wider: str


class Padded(NamedTuple):
    """Hold token ids and mask of a batch, (texts, tokens), padded on the right, and the places of the last tokens."""

    ids: torch.Tensor
    mask: torch.Tensor
    last: torch.Tensor


def check_checkpoint(role: Role, name: str) -> PreTrainedConfig:
    """Return the config of a checkpoint; refuse one that is damaged or of the wrong kind, before weights are loaded."""
    called = f"{role.option}={name}"
    config = read_config(name, called=called, instead=role.instead, trusting=f"choose another {role.option}")
    if damage := find_damaged_weights(resolve(name)):
        raise SpeechIQError(called, damage, "fetch or save the checkpoint again")
    if not role.fits(config):
        raise SpeechIQError(called, f"a {config.model_type} model is not {role.wanted}")
    return config


class TextModel:
    """Read texts by a checkpoint, whose weights are loaded with the first text.

    One such model is in memory at a time: loading another one frees it. A batch has by default 32 texts on an
    accelerator, halved when memory runs out, and 1 on a CPU.
    """

    #: Whether the tokenizer's limit counts beside that of the config.
    limited_by_tokenizer: ClassVar[bool] = False
    _resident: ClassVar[TextModel | None] = None

    def __init__(self, role: Role, name: str, dtype: str = "float32", batch_size: int | None = None) -> None:
        from accelerate import PartialState
        from transformers import AutoTokenizer

        self.role, self.config = role, check_checkpoint(role, name)
        self._place = resolve(name)
        self._model: PreTrainedModel | None = None
        self.name, self.dtype, self.device = name, dtype, PartialState().device
        self.batch_size = batch_size or (CPU_BATCH if self.device.type == "cpu" else ACCELERATOR_BATCH)
        with self._opening():
            self.tokenizer = AutoTokenizer.from_pretrained(self._place, trust_remote_code=False)
            check_vocabulary(self.tokenizer)
        limits = [read_context(self.config, self.tokenizer)]
        limits += [self.tokenizer.model_max_length] if self.limited_by_tokenizer else []
        self.context = min((limit for limit in limits if limit is not None and limit < ENDLESS), default=None)

    @property
    def called(self) -> str:
        """Return the checkpoint as errors name it."""
        return f"{self.role.option}={self.name}"

    def load(self) -> PreTrainedModel:
        """Return the model, loaded into memory once."""
        if self._model is not None:
            return self._model
        import torch
        import transformers

        if (other := TextModel._resident) is not None:
            other.free()
        TextModel._resident = self

        with (
            self._opening(),
            needing_memory(
                f"{self.called}: does not fit into memory in {self.dtype}",
                f"{self.role.wider}, or with a smaller {self.role.option}",
            ),
        ):
            model, found = getattr(transformers, self.role.loader).from_pretrained(
                self._place, dtype=getattr(torch, self.dtype), device_map={"": self.device}, trust_remote_code=False,
                output_loading_info=True,
            )  # fmt: skip
            check_filled(self.called, model, found["missing_keys"])
        self._model = model.eval()
        return self._model

    def free(self) -> None:
        """Drop the model from memory; the next text loads it again."""
        self._model = None

    def _opening(self) -> AbstractContextManager[None]:
        fix = f"fetch it again, or choose another {self.role.option}"
        return opening(f"{self.called}: cannot be loaded", fix, self._place, trusting=fix)

    def tokenize(self, texts: Sequence[str], reading: str) -> Sequence[Any]:
        """Return the tokens of each text, in a form that has a length and that `read_batch` takes."""
        return [row or self._start() for row in self.tokenizer(list(texts)).input_ids]

    def read_batch(self, batch: Sequence[Any], reading: str) -> list[Any]:
        """Return a row per text of a batch, in JSON types."""
        raise NotImplementedError

    def read(self, texts: Sequence[str], reading: str, on_result: OnResult, owners: Mapping[str, str]) -> None:
        """Pass the rows of texts to `on_result`, batch by batch.

        A batch has texts of similar length, padded on the right: in float32 a text's row does not depend on the other
        texts of its batch, to 1e-5. On a CPU, where batches save nothing, each text is a batch, and its row is the same
        to the last bit. A text that is longer than the model's context is refused before the model is loaded, by its
        name in `owners`. `reading` is what is read of each, for models that have several readings.
        """
        import torch

        tokens = self.tokenize(texts, reading)
        fix = f"leave the item out, or name an {self.role.option} with a longer context"
        for text, ids in zip(texts, tokens, strict=True):
            owner = owners.get(text, f"the text {text[:60]!r}")
            check_tokens(self.called, owner, ids, 0, self.context, fix)
        self.load()

        def read_batch(batch: Sequence[Any], _: Advance) -> list[Any]:
            usage["embeddings"] += len(batch)
            return self.read_batch(batch, reading)

        with torch.inference_mode(), measured("embedding"):
            run_in_batches(
                tokens,
                read_batch,
                length=len,
                batch_size=self.batch_size,
                label=("embedding", "text"),
                on_result=on_result,
            )

    def pad(self, batch: Sequence[Tokens]) -> Padded:
        """Return the texts of a batch as tensors on the model's device."""
        import torch

        rows = [torch.tensor(row, device=self.device) for row in batch]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        lengths = torch.tensor([len(row) for row in rows], device=self.device)
        mask = (torch.arange(ids.shape[1], device=self.device) < lengths[:, None]).long()
        return Padded(ids, mask, lengths - 1)

    def as_rows(self, states: torch.Tensor) -> list[str]:
        """Return the vectors of a batch in the form in which they are cached; refuse those that are not numbers."""
        vectors = states.float().cpu().numpy().astype("<f4")
        if not np.isfinite(vectors).all():
            raise SpeechIQError(self.called, f"its states overflow in {self.dtype}", f"give {self.role.wider}")
        return [base64.b64encode(vector.tobytes()).decode() for vector in vectors]

    def _start(self) -> list[int]:
        """Return the token that represents an empty text, for tokenizers that add none of their own."""
        known = [token for token in (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id) if token is not None]
        if not known:
            raise SpeechIQError(self.called, "has no token for an empty text", f"choose another {self.role.option}")
        return known[:1]


def read_texts(
    model: type[TextModel],
    role: Role,
    name: str,
    texts: Sequence[str],
    owners: Mapping[str, str],
    *,
    dtype: str = "float32",
    reading: str = "",
    stage: Mapping[str, str] = NO_NAMES,
    form: Any = str,
) -> list[Any]:
    """Return the row of each text; cached ones are not computed again, and the model is loaded only for new texts.

    `stage` is what rows depend on in addition to role, checkpoint and dtype, `form` the type of a row.
    """

    def compute(new: list[str], on_result: OnResult) -> None:
        load_model(model, role, name, dtype).read(new, reading, on_result, owners)

    return cached(open_cache(describe_stage(role, name, dtype, stage)), texts, str, compute, form)


def describe_stage(role: Role, name: str, dtype: str, stage: Mapping[str, str]) -> dict[str, str]:
    """Return the stage of the response cache that has the rows of a model."""
    return {"stage": role.option, "model": name, "dtype": dtype, **stage, **identity(name)}


def as_vectors(rows: Sequence[str]) -> np.ndarray:
    """Return cached vectors as an array, (texts, size), float32."""
    return np.stack([np.frombuffer(base64.b64decode(row), "<f4") for row in rows])


def mean_of_tokens(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the mean state of the tokens of each text: (texts, tokens, size) and (texts, tokens) to (texts, size)."""
    weights = mask[:, :, None].float()
    return (states.float() * weights).sum(1) / weights.sum(1)
