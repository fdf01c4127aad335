"""A text stage behind an OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import asdict

from speechiq.core.batches import Keep, drop
from speechiq.core.prompt import Prompt
from speechiq.engines._shared.remote import Calling
from speechiq.engines.audio.openai import AudioEndpoint, ChatOptions
from speechiq.engines.base import Setup, TextEngine


class TextOptions(Calling, frozen=True, kw_only=True):
    """Options of `OpenAIText`.

    Attributes:
        own_seeds: see `ChatOptions`.
    """

    own_seeds: bool = False


class OpenAIText(AudioEndpoint, TextEngine):
    """As `AudioEndpoint`, with words alone.

    Args:
        model: as the endpoint calls it.
        options: see `TextOptions`.
        setup: device and batch size are not used.
    """

    stage = "text"
    record = TextOptions

    def __init__(self, model: str, options: TextOptions, setup: Setup) -> None:
        super().__init__(model, ChatOptions(**asdict(options)), setup)

    def generate(
        self,
        prompts: Sequence[str],
        seeds: Sequence[Sequence[int]],
        settings: Mapping[str, Any],
        keep: Keep = drop,
    ) -> list[list[str]]:
        return super().generate([Prompt(text) for text in prompts], seeds, settings, keep)

    def _content(self, words: Sequence[str], clips: Sequence) -> str:
        return "".join(words)

    def _spell(self) -> dict[str, Any]:
        told = self.remote.describe()
        return {"engine": "openai", "model": told["model"], "base_url": told["base_url"], "own_seeds": self.own_seeds}
