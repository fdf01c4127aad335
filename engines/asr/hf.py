"""Run recognizers of `transformers`: the config of a checkpoint decides which class runs it."""

from collections.abc import Mapping
from typing import Any

from speechiq.core.checkpoints.names import find_audio_language_model, read_config
from speechiq.core.errors import SpeechIQError
from speechiq.engines._shared.checkpoint import ORDER
from speechiq.engines._shared.loading import Loading
from speechiq.engines.asr.checkpoint import CheckpointASR
from speechiq.engines.asr.frame_decoders import CTCASR, RNNTASR, TDTASR
from speechiq.engines.asr.seq2seq import Seq2SeqASR
from speechiq.engines.asr.whisper import WhisperASR
from speechiq.engines.base import Engine, Setup
from speechiq.engines.options import Options, read_options

CLASSES: tuple[type[CheckpointASR], ...] = (WhisperASR, Seq2SeqASR, CTCASR, TDTASR, RNNTASR)


class TransformersASR(CheckpointASR):
    """Choose the class that runs a checkpoint of a recognizer: a hub id, a folder, or `demo:NAME`."""

    @classmethod
    def choose(cls, model: str, given: Mapping[str, Any], setup: Setup) -> type[Engine]:
        """Return the class for the checkpoint's architecture; an audio language model transcribes as it does alone."""
        which = {name: given[name] for name in ("revision", "trust_remote_code") if name in given}
        source = read_options(Loading, which, engine=setup.engine, prefix=setup.prefix).source
        config = read_config(model, **source)
        for recognizer in CLASSES:
            if recognizer.fits(config):
                return recognizer
        if find_audio_language_model(config) is not None:
            from speechiq.engines.audio.hf import AudioLLM

            return AudioLLM
        raise SpeechIQError(model, f"a {config.model_type} checkpoint is not a speech recognizer", ORDER)

    @classmethod
    def option_records(cls) -> tuple[type[Options], ...]:
        """Return the records of all classes in `CLASSES`."""
        return tuple(recognizer.record for recognizer in CLASSES)
