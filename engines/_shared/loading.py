"""How a checkpoint comes into memory: one set of options for every stage that `transformers` runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from importlib.util import find_spec
from typing import Any

import torch
from transformers import BitsAndBytesConfig

from speechiq.core.damage import find_damaged_weights
from speechiq.core.errors import SpeechIQError
from speechiq.core.extras import missing
from speechiq.core.files import expand
from speechiq.core.opening import opening

BITS = {"4bit": {"load_in_4bit": True}, "8bit": {"load_in_8bit": True}}
ADAPTER = "adapter_config.json"
#: By what transformers runs these attentions; where it is missing, by the package kernels.
ATTENTION = {
    "flash_attention_2": "flash_attn",
    "flash_attention_3": "flash_attn_interface",
    "flash_attention_4": "flash_attn",
}


@dataclass(frozen=True)
class Loading:
    """The options that an engine takes as `**loading`.

    Attributes:
        dtype: a torch dtype by name; by default float32 on a CPU and the checkpoint's own elsewhere.
        revision: branch, tag or commit of a hub id.
        attn_implementation: `sdpa`, `eager`, `flash_attention_2`, ..., as transformers names them.
        device_map: how layers are spread over devices; `auto` fills all accelerators of this machine.
        quantization: `4bit` or `8bit`, by bitsandbytes while loading.
        peft: a LoRA or other adapter of the package peft, a folder or hub id.
        trust_remote_code: whether Python code that comes with the checkpoint may run.
        prefix: what these options begin with, for the errors.
    """

    dtype: str | None = None
    revision: str | None = None
    attn_implementation: str | None = None
    device_map: str | dict[str, Any] | None = None
    quantization: str | None = None
    peft: str | None = None
    trust_remote_code: bool = False
    prefix: str = ""

    def check(self) -> None:
        """Refuse what cannot work, before anything is loaded.

        Raises:
            SpeechIQError: naming the option.
        """
        if self.dtype not in (None, "auto") and not isinstance(getattr(torch, str(self.dtype), None), torch.dtype):
            raise SpeechIQError(
                f"{self.prefix}dtype={self.dtype}: torch has none of that name; give auto, float32, bfloat16, ..."
            )
        if self.attn_implementation in ATTENTION:
            self._check_attention()
        if self.quantization is not None:
            self._check_quantization()
        if self.peft is not None:
            self._check_adapter()

    def _check_attention(self) -> None:
        package = ATTENTION[self.attn_implementation]
        if not any(map(find_spec, (package, "kernels"))):
            raise SpeechIQError(
                f"{self.prefix}attn_implementation={self.attn_implementation}: needs the package {package} or kernels, "
                f"and neither is installed; install one of them, or leave it out"
            )

    def _check_quantization(self) -> None:
        if self.quantization not in BITS:
            raise SpeechIQError(f"{self.prefix}quantization={self.quantization}: unknown; give {' or '.join(BITS)}")
        if find_spec("bitsandbytes") is None:
            raise SpeechIQError(f"{self.prefix}quantization={self.quantization}: {missing('bitsandbytes')}")

    def _check_adapter(self) -> None:
        if find_spec("peft") is None:
            raise SpeechIQError(f"{self.prefix}peft={self.peft}: {missing('peft')}")
        from peft import PeftConfig

        what, fix = (
            f"{self.prefix}peft={self.peft}: no adapter is there",
            f"give a folder with an {ADAPTER}, or a hub id",
        )
        with opening(what, fix, self.adapter):
            PeftConfig.from_pretrained(self.adapter)
        if damage := find_damaged_weights(self.adapter):
            raise SpeechIQError(f"{self.prefix}peft={self.peft}: {damage}; save the adapter again")

    @property
    def source(self) -> dict[str, Any]:
        """Which files of a checkpoint are meant, for every `from_pretrained`."""
        revision = {"revision": self.revision} if self.revision else {}
        return revision | {"trust_remote_code": self.trust_remote_code}

    def dtype_on(self, device: torch.device) -> str:
        return self.dtype or ("float32" if device.type == "cpu" else "auto")

    def arguments(self, device: torch.device) -> dict[str, Any]:
        """What a model's `from_pretrained` is given beside `source`.

        With a `device_map` it places the model itself: on accelerators always, so that no process needs the weights
        in the machine's own memory.
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
    def adapter(self) -> str:
        """Where it is."""
        return str(expand(self.peft)) if self.peft.startswith("~") else self.peft

    def adapt(self, model) -> None:
        """Lay the adapter, where one is named, over the model."""
        if self.peft is not None:
            model.load_adapter(self.adapter)

    def describe(self) -> dict[str, Any]:
        """The options that were given."""
        return {name: value for name, value in asdict(self).items() if value and name in OPTIONS}


OPTIONS = frozenset(field.name for field in fields(Loading)) - {"prefix"}
