"""Load a `transformers` checkpoint only while its stage works, by options that are the same for every stage."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar

import torch
from msgspec import Meta
from transformers import (
    BitsAndBytesConfig,
    GenerationConfig,
    PreTrainedConfig,
    PreTrainedTokenizerBase,
    ProcessorMixin,
)
from transformers import logging as transformers_logging

from speechiq.core.batches import needing_memory
from speechiq.core.checkpoints.names import INSTEAD, identity, read_config, resolve
from speechiq.core.checkpoints.opening import (
    check_filled,
    check_vocabulary,
    describe_error,
    find_damaged_weights,
    opening,
)
from speechiq.core.console import has_terminal
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import expand
from speechiq.core.suggestions import missing
from speechiq.engines.base import Engine, Setup
from speechiq.engines.options import Options, only_given

if TYPE_CHECKING:
    from transformers import PreTrainedModel

log = logging.getLogger(__name__)
SPREADS = ("auto", "balanced", "balanced_low_0", "sequential")
BITS = {"4bit": {"load_in_4bit": True}, "8bit": {"load_in_8bit": True}}
ADAPTER = "adapter_config.json"
#: The package by which transformers runs an attention; without it, transformers uses the package kernels.
ATTENTION = {
    "flash_attention_2": "flash_attn",
    "flash_attention_3": "flash_attn_interface",
    "flash_attention_4": "flash_attn",
}


class Loading(Options, frozen=True, kw_only=True):
    """Define the options of every engine that runs a checkpoint by `transformers`."""

    dtype: Annotated[
        str | None,
        Meta(description="torch dtype by name; without it float32 on a CPU, elsewhere the dtype of the checkpoint."),
    ] = None
    revision: Annotated[str | None, Meta(description="Branch, tag or commit of a hub id.")] = None
    attn_implementation: Annotated[
        str | None, Meta(description="Attention as transformers names it: sdpa, eager, flash_attention_2, ...")
    ] = None
    device_map: Annotated[
        str | dict[str, Any] | None,
        Meta(description="How layers are spread over devices; auto fills all accelerators of this machine."),
    ] = None
    quantization: Annotated[
        Literal["4bit", "8bit"] | None, Meta(description="Quantization by bitsandbytes while the model is loaded.")
    ] = None
    peft: Annotated[str | None, Meta(description="LoRA or other adapter of the package peft: a folder or hub id.")] = (
        None
    )
    trust_remote_code: Annotated[
        bool, Meta(description="Whether Python code that comes with the checkpoint may run.")
    ] = False

    def check(self, prefix: str) -> None:
        """Refuse options that cannot work, before anything is loaded; `prefix` is that of the stage, for errors."""
        if self.dtype not in (None, "auto") and not isinstance(getattr(torch, str(self.dtype), None), torch.dtype):
            raise SpeechIQError(
                f"{prefix}dtype={self.dtype}", "torch has no such dtype", "give auto, float32, bfloat16, ..."
            )
        if isinstance(self.device_map, str) and self.device_map not in SPREADS:
            try:
                torch.device(self.device_map)
            except RuntimeError as error:
                fix = f"give {', '.join(SPREADS)} or a device such as cuda:0"
                raise SpeechIQError(f"{prefix}device_map={self.device_map}", "no such device map", fix) from error
        package = ATTENTION.get(self.attn_implementation or "")
        if package and not any(map(find_spec, (package, "kernels"))):
            raise SpeechIQError(
                f"{prefix}attn_implementation={self.attn_implementation}",
                f"needs the package {package} or kernels, and neither is installed",
                "install one of them, or leave it out",
            )
        if self.quantization is not None and find_spec("bitsandbytes") is None:
            raise SpeechIQError(f"{prefix}quantization={self.quantization}", missing("bitsandbytes"))
        if self.peft is not None:
            _check_adapter(f"{prefix}peft={self.peft}", str(expand(self.peft)))

    @property
    def source(self) -> dict[str, Any]:
        """Return the arguments of every `from_pretrained` that select the files of a checkpoint."""
        return only_given(revision=self.revision) | {"trust_remote_code": self.trust_remote_code}

    def dtype_on(self, device: torch.device) -> str:
        """Return the name of the dtype on a device; `auto` is the dtype of the checkpoint."""
        return self.dtype or ("float32" if device.type == "cpu" else "auto")

    def arguments(self, device: torch.device) -> dict[str, Any]:
        """Return the arguments of a model's `from_pretrained` in addition to `source`.

        On accelerators they always have a `device_map`, with which `from_pretrained` places the model itself, so that
        no process needs the weights in main memory.
        """
        given: dict[str, Any] = {"dtype": self.dtype_on(device)}
        if self.attn_implementation is not None:
            given["attn_implementation"] = self.attn_implementation
        if self.quantization is not None:
            given["quantization_config"] = BitsAndBytesConfig(**BITS[self.quantization])
        if self.device_map or self.quantization or device.type != "cpu":
            given["device_map"] = self.device_map or {"": device}
        return given

    @property
    def adapter(self) -> str | None:
        """Return the folder or hub id of the adapter, None if no adapter is given."""
        return None if self.peft is None else str(expand(self.peft))

    def describe(self) -> dict[str, Any]:
        """Return the options that were given, by name; only those of this record."""
        return {name: value for name in Loading.__struct_fields__ if (value := getattr(self, name))}


def _check_adapter(option: str, adapter: str) -> None:
    if find_spec("peft") is None:
        raise SpeechIQError(option, missing("peft"))
    from peft import PeftConfig

    with opening(f"{option}: no adapter is there", f"give a folder with an {ADAPTER}, or a hub id", adapter):
        PeftConfig.from_pretrained(adapter)
    if damage := find_damaged_weights(adapter):
        raise SpeechIQError(option, damage, "save the adapter again")


CPU_BATCH, ACCELERATOR_BATCH = 8, 32
ORDER = "check the order of the stages in pretrained=ASR+LLM"

Loaded = TypeVar("Loaded")


class ModelLifetime(Generic[Loaded]):
    """Load and free a model by a block from `in_memory`, which loads it, yields it, and frees it at the end."""

    def __init__(self, in_memory: Callable[[], AbstractContextManager[Loaded]]) -> None:
        self._in_memory = in_memory
        self._opened: Callable[[], Loaded] | None = None

    @contextmanager
    def keep_loaded(self) -> Iterator[None]:
        """Keep a model that is loaded inside in memory until the outermost such block ends; load nothing."""
        with self._open():
            yield

    @contextmanager
    def loaded(self) -> Iterator[Loaded]:
        """Load the model, unless it is in memory, yield it, and free it when the outermost block ends."""
        with self._open() as load:
            yield load()

    @contextmanager
    def _open(self) -> Iterator[Callable[[], Loaded]]:
        """Yield a function that returns the model and loads it if necessary; the outermost block frees it."""
        if self._opened is not None:
            yield self._opened
            return
        with ExitStack() as stack:
            load = self._opened = cache(lambda: stack.enter_context(self._in_memory()))
            try:
                yield load
            finally:
                self._opened = None


class Checkpoint(ModelLifetime["PreTrainedModel"]):
    """Load and describe the checkpoint of one stage; the model is loaded in inference mode.

    Args:
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
        self.loading, self.prefix, self.source = loading, setup.prefix, loading.source
        loading.check(setup.prefix)
        self.config = read_config(model, instead=instead, **self.source)
        if not fits(self.config):
            advice = fix if isinstance(fix, str) else fix(self.config)
            raise SpeechIQError(model, f"a {self.config.model_type} checkpoint is not {wanted}", advice)
        self.place = resolve(model)
        if damage := find_damaged_weights(self.place):
            raise SpeechIQError(model, damage, "fetch or save the checkpoint again")
        automatic = CPU_BATCH if self.device.type == "cpu" else ACCELERATOR_BATCH
        self.batch_size = automatic if setup.batch_size == "auto" else setup.batch_size
        super().__init__(self._hold)

    @contextmanager
    def _hold(self) -> Iterator[PreTrainedModel]:
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
        if not has_terminal():
            transformers_logging.disable_progress_bar()
        adapter = self.loading.adapter
        paths = [self.place, *filter(None, [adapter])]
        with (
            opening(what, "fix the options or the checkpoint", *paths),
            needing_memory(f"{self.name}: does not fit into memory", smaller),
        ):
            model, loading_info = self.model_class.from_pretrained(
                self.place, config=self.config, output_loading_info=True, **arguments, **self.source
            )
            check_filled(self.name, model, loading_info["missing_keys"])
            if adapter is not None:
                model.load_adapter(adapter)
        return (model if "device_map" in arguments else model.to(self.device)).eval()

    def load_processor(self, processor_class: type[Any]) -> Any:
        """Return the tokenizer or processor of the checkpoint, loaded by an auto class."""
        kind = processor_class.__name__.removeprefix("Auto").lower()
        what = f"{self.name}: its {kind} cannot be loaded"
        fix = f"save the {kind} of the model it was trained from into its folder, and install what that needs"
        with opening(what, fix, self.place):
            processor = processor_class.from_pretrained(self.place, **self.source)
            tokenizer = processor.tokenizer if isinstance(processor, ProcessorMixin) else processor
            if isinstance(tokenizer, PreTrainedTokenizerBase):
                check_vocabulary(tokenizer)
            return processor

    @cached_property
    def generation_config(self) -> GenerationConfig:
        """Return the generation settings of the checkpoint; see `read_generation_config`."""
        return read_generation_config(self.name, self.place, self.config, **self.source)

    def identity(self) -> dict[str, Any]:
        """Return what identifies the checkpoint in keys of the response cache: description, files, device type."""
        path = self.loading.adapter
        adapter = {} if path is None else {"adapter": identity(path, file=ADAPTER)}
        return self._description | identity(self.name, self.loading.revision) | adapter | {"device": self.device.type}

    def describe(self) -> dict[str, Any]:
        """Return the model, its type, dtype and commit, and the options that were given."""
        return dict(self._description)

    def count_parameters(self) -> int | None:
        """Return the number of parameters that the config describes, tied ones once; an adapter does not count.

        The model is built without memory for its weights, so that none is read. None if its code cannot do that.
        """
        code = only_given(trust_remote_code=self.loading.trust_remote_code)
        build = getattr(self.model_class, "from_config", self.model_class)
        try:
            with torch.device("meta"):
                model = build(self.config, **code)
        except Exception as error:
            log.info("%s: its parameters cannot be counted (%s)", self.name, describe_error(error))
            return None
        return sum(weights.numel() for weights in model.parameters())

    @cached_property
    def _description(self) -> dict[str, Any]:
        commit = identity(self.name, self.loading.revision).get("commit")
        dtype = self.loading.dtype_on(self.device)
        if dtype == "auto":
            dtype = str(self.config.dtype or dtype).removeprefix("torch.")
        return {
            "model": self.name,
            "model_type": self.config.model_type,
            **self.loading.describe(),
            "dtype": dtype,
            **only_given(commit=commit),
        }


class CheckpointEngine(Engine):
    """Share what all engines have in common that run one checkpoint."""

    checkpoint: Checkpoint

    def identity(self) -> dict[str, Any] | None:
        """Return the description and what identifies the weights; see `Engine.identity`."""
        return {"stage": self.kind, **self.checkpoint.identity(), **self.describe()}

    def count_parameters(self) -> int | None:
        """Return the number of parameters of the checkpoint; see `Engine.count_parameters`."""
        return self.checkpoint.count_parameters()

    def describe(self) -> dict[str, Any]:
        """Return the checkpoint and how it is loaded; see `Engine.describe`."""
        return self.checkpoint.describe()


def _free(model: PreTrainedModel) -> None:
    """Free the weights, even if the model is still referenced."""
    for module in list(model.modules()):
        vars(module).clear()
    if torch.accelerator.is_available():
        torch.accelerator.empty_cache()


def read_generation_config(model: str, path: str, config: PreTrainedConfig, **source: Any) -> GenerationConfig:
    """Return a checkpoint's generation settings without its weights; refuse a damaged file."""
    with opening(f"{model}: its generation config cannot be read", "fix or remove that file", path):
        try:
            return GenerationConfig.from_pretrained(path, **source)
        except OSError:
            if Path(path, "generation_config.json").is_file():
                raise
            return GenerationConfig.from_model_config(config)
