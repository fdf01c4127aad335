"""A text stage behind an OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from speechiq.core.batches import Keep, drop
from speechiq.core.prompt import Prompt, TextPrompt
from speechiq.engines.audio.openai import AudioEndpoint


class OpenAIText(AudioEndpoint):
    """As `AudioEndpoint`, with words alone.

    Args:
        model: as the endpoint calls it.
        device, batch_size: not used.
        own_seeds: see `AudioEndpoint`.
        **calling: see `Calling`.
    """

    stage = "text"

    def __init__(self, model: str, *, device, batch_size, own_seeds: bool = False, **calling: Any) -> None:
        super().__init__(model, device=device, batch_size=batch_size, own_seeds=own_seeds, **calling)

    def generate(
        self,
        prompts: Sequence[TextPrompt],
        seeds: Sequence[Sequence[int]],
        settings: Mapping[str, Any],
        keep: Keep = drop,
    ) -> list[list[str]]:
        return super().generate([Prompt.about(prompt.text) for prompt in prompts], seeds, settings, keep)

    def _content(self, parts: Sequence[str | Sequence[np.ndarray]]) -> str:
        return "".join(part for part in parts if isinstance(part, str))

    def _spell(self) -> dict[str, Any]:
        told = self.remote.describe()
        return {"engine": "openai", "model": told["model"], "base_url": told["base_url"], "own_seeds": self.own_seeds}
