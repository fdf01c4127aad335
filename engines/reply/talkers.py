"""Know the model types of transformers that answer aloud, and what their checkpoints do not state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from transformers import MODEL_FOR_MULTIMODAL_LM_MAPPING, PreTrainedConfig

from speechiq.engines._transformers import load_with_speakers


@dataclass(frozen=True)
class Talker:
    """Hold what is known about a model type that speaks.

    Attributes:
        rate: sampling rate of its speech (Hz).
        system: the text of the system turn with which it was trained to speak; empty if it needs none.
        list_speakers: takes a loaded model, returns the names of its speakers.
        speakers: the file of a checkpoint with its speakers; empty if they are among its weights.
    """

    rate: int
    system: str
    list_speakers: Callable[[Any], Sequence[str]]
    speakers: str = ""


#: By `model_type`; rate and system turn are those of the model cards.
TALKERS = {
    "qwen2_5_omni": Talker(
        24_000,
        "You are Qwen, a virtual human developed by the Qwen Team, Alibaba Group, capable of perceiving auditory and "
        "visual inputs, as well as generating text and speech.",
        lambda model: list(model.speaker_map),
        "spk_dict.pt",
    ),
    "qwen3_omni_moe": Talker(24_000, "", lambda model: list(model.config.talker_config.speaker_id)),
}


class AutoTalker:
    """Load an omni model with the part that speaks."""

    @staticmethod
    def fits(config: PreTrainedConfig) -> bool:
        """Return whether a checkpoint with this config answers aloud."""
        return config.model_type in TALKERS and config.enable_audio_output

    @staticmethod
    def from_pretrained(path: str, *, config: PreTrainedConfig, **options: Any) -> Any:
        """Load the model by the class that transformers has for its config; see its `from_pretrained`."""
        model_class, speakers = MODEL_FOR_MULTIMODAL_LM_MAPPING[type(config)], TALKERS[config.model_type].speakers
        if speakers:
            return load_with_speakers(model_class, path, speakers, config=config, **options)
        return model_class.from_pretrained(path, config=config, **options)
