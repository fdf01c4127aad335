"""Speech recognition by `transformers`: the kind of a checkpoint decides which engine runs it."""

from __future__ import annotations

from typing import Any

from speechiq.core.checkpoints import find_audio_language_model, read_config
from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.engines.checkpoint import ORDER
from speechiq.harness_patch.engines.ctc_asr import CTCASR
from speechiq.harness_patch.engines.loading import Loading
from speechiq.harness_patch.engines.recogniser import Recogniser
from speechiq.harness_patch.engines.seq2seq_asr import Seq2SeqASR
from speechiq.harness_patch.engines.transducer_asr import RNNTASR, TDTASR
from speechiq.harness_patch.engines.whisper_asr import WhisperASR

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
        from speechiq.harness_patch.engines.audio_llm import AudioLLM

        return AudioLLM
    raise SpeechIQError(
        f"{model}: a {config.model_type} checkpoint cannot stand where a speech recogniser must; {ORDER}"
    )
