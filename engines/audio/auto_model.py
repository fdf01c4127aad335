"""Load audio models by the auto mappings of transformers, which have no auto class of their own for them."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedConfig, PreTrainedModel

from speechiq.core.checkpoints.names import find_audio_language_model


class AutoAudioModel:
    """Load an audio model by the auto class that has its config in its mapping."""

    @staticmethod
    def fits(config: PreTrainedConfig) -> bool:
        """Return whether a checkpoint with this config takes audio and text."""
        return find_audio_language_model(config) is not None

    @staticmethod
    def from_pretrained(path: str, *, config: PreTrainedConfig, **options: Any) -> PreTrainedModel:
        """Load the model, as `from_pretrained` of the auto class does.

        Raises:
            ValueError: a model that does not take audio and text.
        """
        found = find_audio_language_model(config)
        if found is None:
            raise ValueError(f"a {config.model_type} model does not take audio and text")
        auto_class, part = found
        return auto_class.from_pretrained(path, config=part, **options)
