"""How a model is named: a hub id, a folder, or `demo:NAME` for a model that `siq demo fetch` put here."""

from __future__ import annotations

import os
from pathlib import Path

from speechiq.core.cache import cache_dir
from speechiq.core.errors import SpeechIQError
from speechiq.core.hub import notice_offline

DEMO = "demo:"
RECOGNISERS = {
    "AutoModelForSpeechSeq2Seq": "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING",
    "AutoModelForCTC": "MODEL_FOR_CTC_MAPPING",
    "AutoModelForTDT": "MODEL_FOR_TDT_MAPPING",
    "AutoModelForRNNT": "MODEL_FOR_RNNT_MAPPING",
}
AUDIO_LANGUAGE_MODELS = {
    "AutoModelForMultimodalLM": "MODEL_FOR_MULTIMODAL_LM_MAPPING",
    "AutoModelForSeq2SeqLM": "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING",
    "AutoModelForCausalLM": "MODEL_FOR_CAUSAL_LM_MAPPING",
}


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
    notice_offline()
    return name


def read_config(name: str, **options):
    """The `transformers` config of `name`, read before any weight is loaded.

    Args:
        name: as for `resolve`.
        **options: `revision` and `trust_remote_code`, passed to `AutoConfig.from_pretrained`. A checkpoint that is
            not trusted has no `auto_map` here, the classes that its own code brings.

    Raises:
        SpeechIQError: no config can be had under that name.
    """
    from transformers import AutoConfig

    place, trusted = resolve(name), options.pop("trust_remote_code", False)
    try:
        config = AutoConfig.from_pretrained(place, trust_remote_code=trusted, **options)
    except (OSError, ValueError) as error:
        if "trust_remote_code" in str(error):
            raise SpeechIQError(
                f"{name}: comes with Python code of its own; give trust_remote_code=True, with its stage's prefix, "
                f"if you trust it"
            ) from error
        raise SpeechIQError(
            f"{name}: its config cannot be read ({first_line(error)}); check the name and the connection to "
            f"the hub, give a folder instead, or try `pretrained=demo` (`siq demo fetch`), which needs no hub"
        ) from error
    if not trusted:
        vars(config).pop("auto_map", None)
    return config


def is_language_model(config) -> bool:
    """Whether transformers, or its own code, loads this config as a causal language model that reads text alone."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    known = config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES or _brings("AutoModelForCausalLM", config)
    return known and not config.is_encoder_decoder


def _brings(auto: str, config) -> bool:
    """Whether the checkpoint's own code has a class for this auto class."""
    return auto in (getattr(config, "auto_map", None) or {})


def find_recogniser(config):
    """What loads this kind of config as a recogniser, by the auto mappings of transformers or by its own code.

    Returns:
        The auto class, or None for any other kind, such as a language model that hears.
    """
    import transformers
    from transformers.models.auto import modeling_auto

    for auto, mapping in RECOGNISERS.items():
        known = type(config) in getattr(modeling_auto, mapping) or _brings(auto, config)
        if known and find_audio_language_model(config) is None:
            return getattr(transformers, auto)
    return None


def is_speech_recogniser(config) -> bool:
    """Whether transformers loads this kind of config as something that writes down speech and does nothing else."""
    return find_recogniser(config) is not None


def find_audio_language_model(config):
    """What loads this kind of config as a language model that hears, by the auto mappings of transformers.

    Of a model that also speaks, only the part that writes text is meant.

    Returns:
        The auto class and the config to load, or None for any other kind: text alone, images alone, a recogniser.
    """
    import transformers
    from transformers.models.auto import modeling_auto

    for auto, mapping in AUDIO_LANGUAGE_MODELS.items():
        kinds = getattr(modeling_auto, mapping)
        for part in (*_parts(config), config):
            if type(part) in kinds and not part.is_encoder_decoder and "audio" in _modalities(kinds[type(part)]):
                return getattr(transformers, auto), part
        if _brings(auto, config):
            return getattr(transformers, auto), config
    return None


def _parts(config):
    return [part for name in config.sub_configs if (part := getattr(config, name, None)) is not None]


def _modalities(model_class) -> tuple[str, ...]:
    return tuple(getattr(model_class, "input_modalities", ()))


def first_line(error: Exception) -> str:
    """What an error of another library says first, without its full stop."""
    return next((line.strip().rstrip(".") for line in str(error).splitlines() if line.strip()), type(error).__name__)
