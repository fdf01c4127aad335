"""Run language models by those model types of lm-eval that use `transformers`, such as `huggingface`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from transformers import GenerationConfig

from speechiq.engines._shared.checkpoint import ACCELERATOR_BATCH, CPU_BATCH
from speechiq.engines._shared.sampling import sampling_settings
from speechiq.engines.base import BatchSize
from speechiq.engines.text.lm_eval import LMEvalText


class LMEvalTransformers(LMEvalText):
    """Extend `LMEvalText` by the sampling settings in effect in `generate`, and by a seed per prompt.

    Answers are repeatable for the same batch size.
    """

    def _prepare(self, device: str | torch.device, batch_size: BatchSize) -> None:
        if batch_size == "auto":
            batch_size = CPU_BATCH if torch.device(device).type == "cpu" else ACCELERATOR_BATCH
        super()._prepare(device, batch_size)

    def _read_sampling(self, own: GenerationConfig) -> dict[str, Any]:
        """Return the checkpoint's own sampling settings, and the defaults of transformers for all others."""
        effective = sampling_settings({"do_sample": True}, own)
        return {name: value for name, value in effective.items() if name != "do_sample"}

    def effective(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given settings and the defaults in effect, for the keys of the response cache."""
        return {**settings, **self.sampling(settings)}

    def _prompts_at_once(self, settings: Mapping[str, Any]) -> int:
        return 1 if settings["do_sample"] else self.batch_size
