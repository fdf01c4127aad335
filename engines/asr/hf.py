"""Speech recognition by `transformers`: the kind of a checkpoint decides which engine runs it."""

from __future__ import annotations

from typing import Any

from speechiq.core.checkpoints import find_audio_language_model, read_config
from speechiq.core.errors import SpeechIQError
from speechiq.engines._shared.checkpoint import ORDER
from speechiq.engines._shared.loading import Loading
from speechiq.engines.asr.ctc import CTCASR
from speechiq.engines.asr.recognizer import Recogniser
from speechiq.engines.asr.seq2seq import Seq2SeqASR
from speechiq.engines.asr.transducer import RNNTASR, TDTASR
from speechiq.engines.asr.whisper import WhisperASR

KINDS: tuple[type[Recogniser], ...] = (WhisperASR, Seq2SeqASR, CTCASR, TDTASR, RNNTASR)


def transformers_asr(model: str, **options: Any) -> type:
    """The engine for a hub id, folder, or `demo:NAME`; a language model that hears transcribes as it does alone.

    Args:
        model: its name.
        **options: of the stage; those that say which files of the checkpoint are meant count.

    Raises:
        SpeechIQError: no config under that name, or nothing that hears.
    """
    source = Loading(**{name: options[name] for name in ("revision", "trust_remote_code") if name in options}).source
    config = read_config(model, **source)
    for kind in KINDS:
        if kind.fits(config):
            return kind
    if find_audio_language_model(config) is not None:
        from speechiq.engines.audio.hf import AudioLLM

        return AudioLLM
    raise SpeechIQError(
        f"{model}: a {config.model_type} checkpoint cannot stand where a speech recogniser must; {ORDER}"
    )
