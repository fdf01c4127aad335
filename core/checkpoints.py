"""How a model is named: a hub id, a folder, or `demo:NAME` for a model that `siq demo fetch` put here."""

from __future__ import annotations

import os
from pathlib import Path

from speechiq.core.cache import cache_dir
from speechiq.core.errors import SpeechIQError

DEMO = "demo:"


def demo_folder(name: str) -> Path:
    """The folder of the demo model `name`, there or not."""
    return cache_dir("models", name)


def resolve(name: str) -> str:
    """What `from_pretrained` takes for `name`: a folder that exists, or a hub id as it is.

    Raises:
        SpeechIQError: a demo model that was not fetched, or a folder that does not exist.
    """
    if name.startswith(DEMO):
        folder = demo_folder(name.removeprefix(DEMO))
        if not folder.joinpath("config.json").is_file():
            raise SpeechIQError(f"{name}: no such model in {folder.parent}; run `siq demo fetch` first")
        return str(folder)
    if name.startswith((".", "~", os.sep)):
        folder = Path(name).expanduser()
        if not folder.joinpath("config.json").is_file():
            raise SpeechIQError(
                f"{name}: no folder with a config.json is there; give a folder that "
                f"`save_pretrained` wrote, a hub id, or `demo:NAME`"
            )
        return str(folder)
    return name


def read_config(name: str, **options):
    """The `transformers` config of `name`, read before any weight is loaded.

    Args:
        name: as for `resolve`.
        **options: `revision` and the like, passed to `AutoConfig.from_pretrained`.

    Raises:
        SpeechIQError: no config can be had under that name.
    """
    from transformers import AutoConfig

    place = resolve(name)
    try:
        return AutoConfig.from_pretrained(place, **options)
    except (OSError, ValueError) as error:
        raise SpeechIQError(
            f"{name}: its config cannot be read ({_first_line(error)}); check the name and the connection to "
            f"the hub, give a folder instead, or try `pretrained=demo` (`siq demo fetch`), which needs no hub"
        ) from error


def is_language_model(config) -> bool:
    """Whether transformers loads this kind of config as a causal language model that reads text alone."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    return config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and not config.is_encoder_decoder


def is_speech_recogniser(config) -> bool:
    """Whether transformers loads this kind of config as an encoder-decoder from speech to text."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES

    return config.model_type in MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0].rstrip(".")
