"""A `transformers` checkpoint that is in memory only while its stage works."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from speechiq.core.checkpoints import read_config, resolve
from speechiq.core.errors import SpeechIQError

CPU_BATCH, ACCELERATOR_BATCH = 8, 32


class Checkpoint:
    """The model, processor and settings of one stage.

    Args:
        model: hub id, folder, or `demo:NAME`.
        model_class: the auto class that loads it.
        fits: tells from a config whether this stage can run the checkpoint.
        wanted: what the stage needs, in words, for the error.
        device: where it runs.
        batch_size: items a batch, or `auto`.
        dtype: a torch dtype by name; by default float32 on a CPU and the checkpoint's own elsewhere.
        revision: branch, tag or commit of a hub id.

    Raises:
        SpeechIQError: no config under that name, or a checkpoint of another kind.
    """

    def __init__(self, model, model_class, fits, wanted, *, device, batch_size, dtype=None, revision=None):
        self.name, self.model_class, self.device = model, model_class, device
        self.source = {"revision": revision} if revision else {}
        self.config = read_config(model, **self.source)
        if not fits(self.config):
            raise SpeechIQError(
                f"{model}: a {self.config.model_type} checkpoint cannot stand where {wanted} must; "
                f"check the order of the stages in pretrained=ASR+LLM"
            )
        on_cpu = torch.device(device).type == "cpu"
        automatic = CPU_BATCH if on_cpu else ACCELERATOR_BATCH
        self.batch_size = automatic if batch_size == "auto" else batch_size
        self.dtype = dtype or ("float32" if on_cpu else "auto")

    @contextmanager
    def loaded(self) -> Iterator[torch.nn.Module]:
        """The model on its device, in inference mode; its weights are gone when the block ends, whoever holds it."""
        model = self.model_class.from_pretrained(resolve(self.name), dtype=self.dtype, **self.source)
        model = model.to(self.device).eval()
        try:
            with torch.inference_mode():
                yield model
        finally:
            model.to("meta")
            if torch.accelerator.is_available():
                torch.accelerator.empty_cache()

    def load_processor(self, processor_class):
        """The tokenizer or processor that belongs to the checkpoint."""
        return processor_class.from_pretrained(resolve(self.name), **self.source)

    def describe(self) -> dict[str, Any]:
        return {
            "model": self.name,
            "model_type": self.config.model_type,
            "dtype": str(self.dtype),
            **self.source,
        }
