"""What all recognizers of `transformers` share: clips in, transcripts out, one model in memory."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from transformers import AutoProcessor, BatchFeature, PreTrainedConfig, PreTrainedModel, ProcessorMixin

from speechiq.core.batches import OnResult, drop, run_in_batches
from speechiq.core.checkpoints import find_recognizer
from speechiq.core.clip import SAMPLING_RATE, Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.progress import progress_bar
from speechiq.core.response import Response
from speechiq.core.usage import usage
from speechiq.engines._shared.checkpoint import Checkpoint
from speechiq.engines._shared.loading import Loading
from speechiq.engines.base import ASREngine, Setup


class CheckpointASR(ASREngine):
    """An engine of the ASR stage; which kind of model it is for, its class says.

    Args:
        model: hub id, folder, or `demo:NAME`.
        options: those of `Loading`, and of the kind of model its own.
        setup: a batch is counted in clips.

    Raises:
        SpeechIQError: a checkpoint of another kind, or one without a processor.
    """

    model_class: Any
    record = Loading
    nbest: int | None = None

    def __init__(self, model: str, options: Loading, setup: Setup) -> None:
        self.checkpoint = Checkpoint(model, self.model_class, self.fits, "a speech recognizer", options, setup)
        self.processor = _load_processor(self.checkpoint)

    @classmethod
    def fits(cls, config: PreTrainedConfig) -> bool:
        """Whether a checkpoint with this config is of this kind."""
        return find_recognizer(config) is cls.model_class

    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        """A transcript a clip, heard to the end; its `hypotheses` are the n-best list where one was asked for."""
        doing = f"{self.checkpoint.name} transcribing"
        with self.checkpoint.loaded() as model, progress_bar(total=len(clips), verb=doing, unit="clip") as progress:
            return run_in_batches(
                clips,
                lambda batch: self._hear(model, batch),
                length=lambda clip: clip.duration,
                batch_size=self.checkpoint.batch_size,
                progress=progress,
                on_result=on_result,
            )

    def _hear(self, model: PreTrainedModel, clips: Sequence[Clip]) -> list[Response]:
        found = self.decode(model, [clip.samples for clip in clips])
        usage["asr_clips"] += len(clips)
        kept = self.nbest or 0
        return [Response(texts[0], coverage=1.0, hypotheses=texts[:kept]) for texts in found]

    @abstractmethod
    def decode(self, model: PreTrainedModel, sounds: Sequence[np.ndarray]) -> list[tuple[str, ...]]:
        """What each sound says, best first.

        Args:
            model: in memory, in inference mode.
            sounds: float32, shape (samples,), 16 kHz.
        """

    def features(self, model: PreTrainedModel, sounds: Sequence[np.ndarray], **settings: Any) -> BatchFeature:
        """What the model is fed, where it is and in its dtype."""
        return self.request(sounds, **settings).to(model.device, model.dtype)

    def request(self, sounds: Sequence[np.ndarray], **settings: Any) -> BatchFeature:
        """What the processor makes of the sounds."""
        asked = {"sampling_rate": SAMPLING_RATE, "padding": True, "return_tensors": "pt"} | settings
        return self.processor(audio=list(sounds), **asked)

    def identity(self) -> dict[str, Any]:
        return {"stage": "asr", **self.describe(), **self.checkpoint.identity()}

    def describe(self) -> dict[str, Any]:
        return self.checkpoint.describe()


def _load_processor(checkpoint: Checkpoint) -> ProcessorMixin:
    processor = checkpoint.load_processor(AutoProcessor)
    if missing := [part for part in ("feature_extractor", "tokenizer") if getattr(processor, part, None) is None]:
        raise SpeechIQError(
            f"{checkpoint.name}: comes without a {missing[0].replace('_', ' ')}; "
            f"save the processor of the model it was trained from into its folder"
        )
    return processor
