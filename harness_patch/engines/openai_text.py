"""A text stage behind an OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from speechiq.harness_patch.batches import Keep, drop
from speechiq.harness_patch.engines.audio_endpoint import AudioEndpoint
from speechiq.harness_patch.engines.independence import check_samples
from speechiq.harness_patch.systems.system import Prompt


class OpenAIText(AudioEndpoint):
    """As `AudioEndpoint`, with words alone.

    Args:
        model: as the endpoint calls it.
        device, batch_size: not used.
        own_seeds: see `AudioEndpoint`.
        **calling: see `Calling`.
    """

    def __init__(self, model: str, *, device, batch_size, own_seeds: bool = False, **calling: Any) -> None:
        super().__init__(model, device=device, batch_size=batch_size, own_seeds=own_seeds, **calling)
        self._samples = False

    def generate(
        self,
        prompts: Sequence[str],
        seeds: Sequence[Sequence[int]],
        settings: Mapping[str, Any],
        keep: Keep = drop,
    ) -> list[list[str]]:
        """Answers to each prompt; a temperature that is not given is the endpoint's own.

        Raises:
            SpeechIQError: several answers are wanted of a model that does not sample.
        """
        if settings.get("do_sample") and any(len(row) > 1 for row in seeds) and not self._samples:
            check_samples(self.name, settings, lambda text, row: self._write([text], [row], settings)[0])
            self._samples = True
        return self._write(prompts, seeds, settings, keep)

    def _write(self, prompts, seeds, settings: Mapping[str, Any], keep: Keep = drop) -> list[list[str]]:
        return super().generate([Prompt(text) for text in prompts], seeds, settings, keep)

    def _content(self, text: str, clips: Sequence) -> str:
        return text

    def describe(self) -> dict[str, Any]:
        told = self.remote.describe()
        return {"engine": "openai", "model": told["model"], "base_url": told["base_url"], "own_seeds": self.own_seeds}

    def identity(self) -> dict[str, Any]:
        return {"stage": "text", **self.describe()}
