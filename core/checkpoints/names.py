"""Resolve names of models (a hub id, a folder, or `demo:NAME`), name faults of the hub, and identify the files."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, Any

from speechiq.core.checkpoints.opening import TRUSTING, opening
from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.folders import cache_dir
from speechiq.core.files.plain import expand, is_file, is_folder
from speechiq.core.suggestions import suggest

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

log = logging.getLogger(__name__)
#: Seconds before each attempt: one failed connection is not believed.
WAITS = (0.0, 1.0)
#: Seconds without an answer of the hub after which a line is printed, and after which the hub is not asked again.
NOTICE_S, LIMIT_S = 5.0, 15.0


@cache
def notice_offline() -> bool:
    """Return whether the hub is offline, by `HF_HUB_OFFLINE` or because it does not answer; then set the offline mode.

    In offline mode of huggingface_hub and datasets, what is in the hub's cache loads at once, and all else fails at
    once, without five retries.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return True
    if (fault := find_hub_fault(LIMIT_S)) is None:
        return False
    log.warning("%s: only models and data sets in the hub's cache on this machine are available", fault)
    constants.HF_HUB_OFFLINE = True
    if "datasets" in sys.modules:
        sys.modules["datasets"].config.HF_HUB_OFFLINE = True
    return True


def find_hub_fault(patience: float) -> str | None:
    """Return why the hub gives no answer at all within `patience` (s); None if it answers, even with an error.

    After `NOTICE_S` a line is printed that says what the program waits for.
    """
    import httpx2
    from huggingface_hub import constants, get_session

    def ask() -> str | None:
        fault = None
        for wait in WAITS:
            time.sleep(wait)
            try:
                get_session().head(constants.ENDPOINT, timeout=patience)
            except httpx2.TimeoutException:
                return late
            except httpx2.NetworkError as error:
                fault = f"the hub ({constants.ENDPOINT}) gives no connection ({error})"
            except (httpx2.UnsupportedProtocol, httpx2.InvalidURL):
                return f"HF_ENDPOINT={constants.ENDPOINT} is not an address that begins with https://"
            except httpx2.HTTPError:
                return None  # something answered, such as a proxy that wants a password
            else:
                return None
        return fault

    late = f"the hub ({constants.ENDPOINT}) does not answer within {patience:g} s"
    answers: Queue[str | None] = Queue()
    # A daemon thread does not delay the end of the program, as a pool of threads would.
    Thread(target=lambda: answers.put(ask()), daemon=True).start()
    with suppress(Empty):
        return answers.get(timeout=min(patience, NOTICE_S))
    if (rest := patience - NOTICE_S) > 0:
        say(
            f"waiting for the hub ({constants.ENDPOINT}), {rest:g} s more; check the network, or set "
            "HF_HUB_OFFLINE=1 to use what is on this machine"
        )
        with suppress(Empty):
            return answers.get(timeout=rest)
    return late


DEMO = "demo:"
#: How names of models begin that are on this machine.
ON_DISK = (DEMO, ".", "~", os.sep)
#: What the name of a demo model from its second source, the Hub, ends with.
SECOND = "-hub"
#: Models that `siq demo fetch` knows; some also exist with `SECOND`.
DEMO_MODELS = ("SmolLM2-135M-Instruct", "all-MiniLM-L6-v2", "distillmos", "whisper-base", "whisper-tiny.en")
RECOGNIZERS = {
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
    """Return the folder of the demo model `name`, whether it exists or not."""
    return cache_dir("models", name)


def choose_source(name: str) -> str:
    """Return the name of a demo model with its prefix, or that of its second source if only that is on this machine."""
    first, second = (is_file(demo_folder(each) / "config.json") for each in (name, f"{name}{SECOND}"))
    return f"{DEMO}{name}{SECOND}" if second and not first else f"{DEMO}{name}"


def resolve(name: str) -> str:
    """Return what `from_pretrained` takes for `name`: a folder that exists, or the hub id."""
    if name.startswith(DEMO):
        folder = demo_folder(name.removeprefix(DEMO))
        if not is_file(folder / "config.json"):
            raise _missing_model(name, folder)
        return str(folder)
    if name.startswith(ON_DISK):
        folder = expand(name)
        if not is_file(folder / "config.json"):
            raise _missing_folder(name)
        return str(folder)
    notice_offline()
    return name


def _missing_folder(name: str) -> SpeechIQError:
    fix = "give a folder that `save_pretrained` wrote, a hub id, or `demo:NAME`"
    return SpeechIQError(name, "no folder with a config.json is there", fix)


def _is_hub_id(name: str) -> bool:
    from huggingface_hub import errors, hf_hub_url

    try:
        hf_hub_url(name, "config.json")
    except errors.HFValidationError:
        return False
    return True


def _missing_model(name: str, folder: Path) -> SpeechIQError:
    """Return the error for a demo model that is not there: to be fetched, or mistyped."""
    second = folder.with_name(f"{folder.name}{SECOND}")
    if folder.name in DEMO_MODELS or folder.name.removesuffix(SECOND) in DEMO_MODELS or is_folder(second):
        fix = f"run `siq demo fetch {folder.name}` first"
        if is_file(second / "config.json"):
            fix = f"name {DEMO}{second.name}, which is here, or {fix}"
        return SpeechIQError(name, f"no such model in {folder.parent}", fix)
    known = sorted({*DEMO_MODELS, *(file.parent.name for file in folder.parent.glob("*/config.json"))})
    names = [DEMO + each for each in known]
    return SpeechIQError(name, "no such demo model", suggest(name, names))


#: What to give instead of a model that is not available.
INSTEAD = "try `pretrained=demo` (`siq demo fetch`), which needs no hub"


def read_config(
    name: str, *, called: str | None = None, instead: str = INSTEAD, trusting: str = TRUSTING, **options: Any
) -> PreTrainedConfig:
    """Read the `transformers` config of `name` (see `resolve`); no weight is loaded.

    Errors say `called` for the name, `instead` for what else the user can do, and `trusting` (see `opening`). Without
    `trust_remote_code`, the config has no `auto_map`, which lists classes of the checkpoint's own code.
    """
    from transformers import AutoConfig

    place, trusted = resolve(name), options.pop("trust_remote_code", False)
    if not is_file(Path(place, "config.json")) and not _is_hub_id(place):
        raise _missing_folder(called or name)
    fix = f"check the name and the connection to the hub, give a folder instead, or {instead}"
    with opening(f"{called or name}: its config cannot be read", fix, place, trusting=trusting):
        config = AutoConfig.from_pretrained(place, trust_remote_code=trusted, **options)
    if not trusted:
        vars(config).pop("auto_map", None)
    return config


def is_language_model(config: PreTrainedConfig) -> bool:
    """Return whether transformers, or the checkpoint's own code, loads this config as a text-only causal model."""
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING

    known = type(config) in MODEL_FOR_CAUSAL_LM_MAPPING or _brings("AutoModelForCausalLM", config)
    return known and not config.is_encoder_decoder


def is_encoder(config: PreTrainedConfig) -> bool:
    """Return whether transformers knows this config as a bidirectional encoder: a model that fills in masked words.

    >>> from transformers import BertConfig, LlamaConfig, RobertaConfig
    >>> is_encoder(RobertaConfig()), is_encoder(LlamaConfig()), is_encoder(BertConfig(is_decoder=True))
    (True, False, False)
    """
    from transformers import MODEL_FOR_MASKED_LM_MAPPING

    causal = config.is_encoder_decoder or config.to_dict().get("is_decoder")
    return type(config) in MODEL_FOR_MASKED_LM_MAPPING and not causal


def _brings(auto: str, config: PreTrainedConfig) -> bool:
    """Return whether the checkpoint's own code has a class for this auto class."""
    return auto in (getattr(config, "auto_map", None) or {})


def find_recognizer(config: PreTrainedConfig) -> type[Any] | None:
    """Return the auto class that loads this config as a recognizer; None for any other kind, such as an audio model."""
    import transformers

    for auto, mapping in RECOGNIZERS.items():
        known = type(config) in getattr(transformers, mapping) or _brings(auto, config)
        if known and find_audio_language_model(config) is None:
            found: type[Any] = getattr(transformers, auto)
            return found
    return None


def find_audio_language_model(config: PreTrainedConfig) -> tuple[type[Any], PreTrainedConfig] | None:
    """Return the auto class and the config of an audio model, without its part that speaks; None for other kinds."""
    import transformers

    parts = [*filter(None, (getattr(config, name, None) for name in config.sub_configs)), config]
    for auto, mapping in AUDIO_LANGUAGE_MODELS.items():
        kinds = getattr(transformers, mapping)
        for part in parts:
            modalities = getattr(kinds[type(part)], "input_modalities", ()) if type(part) in kinds else ()
            if "audio" in modalities and not part.is_encoder_decoder:
                return getattr(transformers, auto), part
        if _brings(auto, config):
            return getattr(transformers, auto), config
    return None


#: Bytes of the largest file that counts by its bytes.
READ_WHOLE = 2**26


@cache
def identity(name: str, revision: str | None = None, file: str = "config.json") -> dict[str, str]:
    """Return `{"model", "commit"}` of a hub id, or `{"files"}` of a folder, which does not depend on its path.

    Files up to 64 MiB count by their bytes, larger ones by size and time of change in seconds. Folders whose names
    begin with a dot, where git and downloaders keep notes, do not count. `file` is one that the checkpoint has.
    """
    place = name if is_file(Path(name, file)) else resolve(name)
    if is_folder(place):
        return {"files": _hash_files(Path(place))}
    return {"model": name, "commit": _read_commit(place, revision, file)}


@cache
def _read_commit(name: str, revision: str | None, file: str) -> str:
    """Return the commit of a hub id: the name of the folder in the hub's cache that contains its files."""
    from huggingface_hub import hf_hub_download

    return Path(hf_hub_download(name, file, revision=revision)).parent.name


def without_places(stage: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stage without the names of folders whose files it describes by their `identity`.

    >>> without_places({"model": "./tuned", "files": "5a7c", "dtype": "float32"})
    {'files': '5a7c', 'dtype': 'float32'}
    """
    described = {"model": stage, "peft": stage.get("adapter", {})}
    return {name: value for name, value in stage.items() if "files" not in described.get(name, {})}


def _hash_files(folder: Path) -> str:
    total = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        place = file.relative_to(folder)
        if any(part.startswith(".") for part in place.parent.parts):
            continue
        state = file.stat()
        small = state.st_size <= READ_WHOLE
        content = file.read_bytes() if small else f"{state.st_size} {int(state.st_mtime)}".encode()
        total.update(f"{place}\0".encode() + hashlib.sha256(content).digest())
    return total.hexdigest()
