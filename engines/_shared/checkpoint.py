"""Load a `transformers` checkpoint only while its stage works, and check it before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from transformers import GenerationConfig, PreTrainedConfig, PreTrainedModel

from speechiq.core.batches import needing_memory
from speechiq.core.checkpoints.damage import check_filled, find_damaged_weights
from speechiq.core.checkpoints.identity import find_commit, identity
from speechiq.core.checkpoints.names import INSTEAD, read_config, resolve
from speechiq.core.checkpoints.opening import opening
from speechiq.core.errors import SpeechIQError
from speechiq.engines._shared.loading import ADAPTER, Loading
from speechiq.engines._shared.model_lifetime import ModelLifetime
from speechiq.engines.base import Engine, Setup

CPU_BATCH, ACCELERATOR_BATCH = 8, 32
ORDER = "check the order of the stages in pretrained=ASR+LLM"


class Checkpoint:
    """Load and describe the checkpoint of one stage.

    Args:
        model_class: the auto class that loads the model.
        fits: returns from a config whether the stage can run the checkpoint.
        wanted: what the stage needs, in words, for the error.
        fix: what to do if the checkpoint does not fit, for the error; or returns it from the config.
        instead: what to give if no checkpoint of that name is available, for the error.
        equip: returns a block that changes the model in memory, open for as long as the model is loaded.
    """

    def __init__(
        self,
        model: str,
        model_class: Any,
        fits: Callable[[PreTrainedConfig], bool],
        wanted: str,
        loading: Loading,
        setup: Setup,
        *,
        fix: str | Callable[[PreTrainedConfig], str] = ORDER,
        instead: str = INSTEAD,
        equip: Callable[[PreTrainedModel], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self.name, self.model_class, self.device, self.equip = model, model_class, torch.device(setup.device), equip
        self.loading, self.prefix = loading, setup.prefix
        self.loading.check(setup.prefix)
        self.config = read_config(model, instead=instead, **self.loading.source)
        if not fits(self.config):
            advice = fix if isinstance(fix, str) else fix(self.config)
            raise SpeechIQError(f"{model}: a {self.config.model_type} checkpoint is not {wanted}; {advice}")
        self._place = resolve(model)
        if damage := find_damaged_weights(self._place):
            raise SpeechIQError(f"{model}: {damage}; fetch or save the checkpoint again")
        automatic = CPU_BATCH if self.device.type == "cpu" else ACCELERATOR_BATCH
        self.batch_size = automatic if setup.batch_size == "auto" else setup.batch_size
        self._lifetime = ModelLifetime(self._in_memory)

    def keep_loaded(self) -> AbstractContextManager[None]:
        """Return a block in which a loaded model stays in memory until the outermost such block ends; load nothing."""
        return self._lifetime.keep_loaded()

    @contextmanager
    def loaded(self) -> Iterator[PreTrainedModel]:
        """Yield the model in inference mode; inside another such block it is loaded already.

        When the outermost block ends, the weights are freed, even if the model is still referenced.
        """
        with self._lifetime.loaded() as model:
            yield model

    @contextmanager
    def _in_memory(self) -> Iterator[PreTrainedModel]:
        model = self._load()
        try:
            with torch.inference_mode(), self.equip(model):
                yield model
        finally:
            _free(model)

    def _load(self) -> PreTrainedModel:
        arguments, prefix = self.loading.arguments(self.device), self.prefix
        smaller = (
            f"{prefix}dtype=bfloat16, {prefix}quantization=4bit, {prefix}device_map=auto in one process, or a smaller "
            f"model"
        )
        given = ", ".join(f"{prefix}{name}={value}" for name, value in self.loading.describe().items())
        what = f"{self.name}: cannot be loaded{given and f' with {given}'}"
        paths = [self._place, *filter(None, [self.loading.adapter])]
        with (
            opening(what, "fix the options or the checkpoint", *paths),
            needing_memory(f"{self.name}: does not fit into memory", smaller),
        ):
            model, loading_info = self.model_class.from_pretrained(
                paths[0], config=self.config, output_loading_info=True, **arguments, **self.loading.source
            )
            check_filled(self.name, model, loading_info["missing_keys"])
            self.loading.adapt(model)
        return (model if "device_map" in arguments else model.to(self.device)).eval()

    def load_processor(self, processor_class: type[Any]) -> Any:
        """Return the tokenizer or processor of the checkpoint, loaded by an auto class."""
        kind = processor_class.__name__.removeprefix("Auto").lower()
        what = f"{self.name}: its {kind} cannot be loaded"
        fix = f"save the {kind} of the model it was trained from into its folder, and install what that needs"
        with opening(what, fix, self._place):
            return processor_class.from_pretrained(self._place, **self.loading.source)

    @cached_property
    def generation_config(self) -> GenerationConfig:
        """Return the generation settings of the checkpoint; see `read_generation_config`."""
        return read_generation_config(self.name, self.config, **self.loading.source)

    def identity(self) -> dict[str, Any]:
        """Return what identifies the checkpoint in keys of the response cache: description, files, device type."""
        path = self.loading.adapter
        adapter = {} if path is None else {"adapter": identity(path, file=ADAPTER)}
        return self._description | identity(self.name, self.loading.revision) | adapter | {"device": self.device.type}

    def describe(self) -> dict[str, Any]:
        """Return the model, its type, dtype and commit, and the options that were given."""
        return dict(self._description)

    @cached_property
    def _description(self) -> dict[str, Any]:
        commit = find_commit(self.name, self.loading.revision)
        dtype = self.loading.dtype_on(self.device)
        if dtype == "auto":
            dtype = str(self.config.dtype or dtype).removeprefix("torch.")
        return {
            "model": self.name,
            "model_type": self.config.model_type,
            **self.loading.describe(),
            "dtype": dtype,
            **({"commit": commit} if commit else {}),
        }


class CheckpointEngine(Engine):
    """Share what all engines have in common that run one checkpoint."""

    checkpoint: Checkpoint

    def identity(self) -> dict[str, Any] | None:
        """Return the description and what identifies the weights; see `Engine.identity`."""
        return {"stage": self.kind, **self.checkpoint.identity(), **self.describe()}

    def describe(self) -> dict[str, Any]:
        """Return the checkpoint and how it is loaded; see `Engine.describe`."""
        return self.checkpoint.describe()


def _free(model: PreTrainedModel) -> None:
    """Free the weights, even if the model is still referenced."""
    for module in list(model.modules()):
        vars(module).clear()
    if torch.accelerator.is_available():
        torch.accelerator.empty_cache()


def read_generation_config(model: str, config: PreTrainedConfig, **source: Any) -> GenerationConfig:
    """Return the generation settings of a checkpoint without loading its weights.

    Raises:
        SpeechIQError: the file is damaged; transformers itself would then generate by other settings.
    """
    path = resolve(model)
    with opening(f"{model}: its generation config cannot be read", "fix or remove that file", path):
        try:
            return GenerationConfig.from_pretrained(path, **source)
        except OSError:
            if Path(path, "generation_config.json").is_file():
                raise
            return GenerationConfig.from_model_config(config)
