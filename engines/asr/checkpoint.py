"""Share what all recognizers of `transformers` have in common: batches of clips, one model in memory, its processor."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np
from tqdm import tqdm
from transformers import AutoProcessor, BatchFeature, PreTrainedConfig, PreTrainedModel, ProcessorMixin

from speechiq.core.batches import OnResult, drop, run_in_batches
from speechiq.core.checkpoints.names import find_recognizer
from speechiq.core.clip import SAMPLING_RATE, Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.progress import progress_bar
from speechiq.core.response import Response
from speechiq.core.usage import measured, usage
from speechiq.engines._shared.checkpoint import Checkpoint, CheckpointEngine
from speechiq.engines._shared.chunking import SPAN_S, count_chunks, read_chunks
from speechiq.engines._shared.loading import Loading
from speechiq.engines.asr.nbest import join_nbest
from speechiq.engines.base import ASREngine, Setup


class CheckpointASR(CheckpointEngine, ASREngine):
    """Run a recognizer that `transformers` loads; there is a subclass per architecture, such as CTC.

    Clips longer than `SPAN_S` are split into spans at pauses of the speech, and the transcripts are joined, so that
    memory does not grow with the length of a clip.

    Attributes:
        model_class: the auto class that loads the model.
        nbest: the most transcripts in an n-best list; None for no list.
    """

    model_class: Any
    record = Loading
    nbest: int | None = None

    def __init__(self, model: str, options: Loading, setup: Setup) -> None:
        self.checkpoint = Checkpoint(model, self.model_class, self.fits, "a speech recognizer", options, setup)
        self.processor = _load_processor(self.checkpoint)

    @classmethod
    def fits(cls, config: PreTrainedConfig) -> bool:
        """Return whether this class runs checkpoints with this config."""
        return find_recognizer(config) is cls.model_class

    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        """Transcribe each clip to its end, with an n-best list in `hypotheses` if `nbest` is set."""
        verb = f"{self.checkpoint.name} transcribing"
        count = partial(count_chunks, longest_s=SPAN_S)
        with (
            self.checkpoint.loaded() as model,
            progress_bar(total=sum(map(count, clips)), verb=verb, unit="chunk") as progress,
            measured("transcribing", sum(clip.duration for clip in clips)),
        ):
            return run_in_batches(
                clips,
                lambda batch: self._transcribe_batch(model, batch, progress),
                length=lambda clip: clip.duration,
                batch_size=self.checkpoint.batch_size,
                progress=progress,
                on_result=on_result,
                steps=count,
            )

    def _transcribe_batch(self, model: PreTrainedModel, clips: Sequence[Clip], progress: tqdm[Any]) -> list[Response]:
        """Transcribe clips together, span by span: the first of each clip, the second of each, and so on."""
        spans: list[list[tuple[str, ...]]] = [[] for _ in clips]
        for batch in zip_longest(*(read_chunks(clip, SPAN_S) for clip in clips)):
            present = [(transcripts, span) for transcripts, span in zip(spans, batch, strict=True) if span is not None]
            found = self.decode(model, [span for _, span in present])
            for (transcripts, _), texts in zip(present, found, strict=True):
                transcripts.append(texts)
            progress.update(len(present))
        usage["asr_clips"] += len(clips)
        nbest = self.nbest or 0
        joined = [join_nbest(transcripts, " ") for transcripts in spans]
        return [Response(texts[0], coverage=1.0, hypotheses=texts[:nbest]) for texts in joined]

    @abstractmethod
    def decode(self, model: PreTrainedModel, audio: Sequence[np.ndarray]) -> list[tuple[str, ...]]:
        """Return the transcripts of each array, best first.

        Args:
            model: in memory, in inference mode.
            audio: float32, shape (samples,), 16 kHz.
        """

    def features(self, model: PreTrainedModel, audio: Sequence[np.ndarray], **settings: Any) -> BatchFeature:
        """Return the inputs of the model, on its device and in its dtype."""
        return self.request(audio, **settings).to(model.device, model.dtype)

    def request(self, audio: Sequence[np.ndarray], **settings: Any) -> BatchFeature:
        """Return the output of the processor for the arrays; `settings` take precedence over the usual ones."""
        arguments = {"sampling_rate": SAMPLING_RATE, "padding": True, "return_tensors": "pt"} | settings
        return self.processor(audio=list(audio), **arguments)

    def describe(self) -> dict[str, Any]:
        """Return the checkpoint, how it is loaded, and the longest span; see `Engine.describe`."""
        return self.checkpoint.describe() | {"span_s": SPAN_S}


def _load_processor(checkpoint: Checkpoint) -> ProcessorMixin:
    processor = checkpoint.load_processor(AutoProcessor)
    if missing := [part for part in ("feature_extractor", "tokenizer") if getattr(processor, part, None) is None]:
        raise SpeechIQError(
            f"{checkpoint.name}: comes without a {missing[0].replace('_', ' ')}; "
            f"save the processor of the model it was trained from into its folder"
        )
    return processor
