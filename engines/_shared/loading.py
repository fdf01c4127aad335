"""Define the options by which `transformers` loads a checkpoint, the same for every stage."""

from importlib.util import find_spec
from typing import Annotated, Any, Literal

import torch
from msgspec import Meta
from transformers import BitsAndBytesConfig

from speechiq.core.checkpoints.opening import find_damaged_weights, opening
from speechiq.core.errors import SpeechIQError
from speechiq.core.extras import missing
from speechiq.core.files.plain import expand
from speechiq.engines.options import Options

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
        revision = {"revision": self.revision} if self.revision else {}
        return revision | {"trust_remote_code": self.trust_remote_code}

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
