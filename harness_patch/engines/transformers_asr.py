"""Speech recognition by an encoder-decoder of `transformers` (Whisper and its kin)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tqdm import tqdm
from transformers import AutoModelForSpeechSeq2Seq, AutoProcessor

from speechiq.core.checkpoints import is_speech_recogniser
from speechiq.core.passes import passes
from speechiq.core.response import Response
from speechiq.harness_patch.batches import run_in_batches
from speechiq.harness_patch.engines.checkpoint import Checkpoint
from speechiq.siq_tasks.audio import SAMPLING_RATE, AudioClip


class TransformersASR:
    """Greedy or beam-search decoding, of clips of any length.

    Whisper is decoded with its timestamp tokens, as OpenAI's own program does: without them it may end a
    clip after the first sentence. A clip longer than the model's window is decoded window by window, each
    beginning where the last one's final timestamp ended, so nothing is cut off.

    Args:
        model: hub id, folder, or `demo:NAME`.
        device, batch_size, dtype, revision: see `Checkpoint`.
        language: spoken language, for checkpoints that know several.
        num_beams: 1 is greedy.
    """

    def __init__(self, model, *, device, batch_size, dtype=None, revision=None, language="en", num_beams=1):
        self.checkpoint = Checkpoint(
            model, AutoModelForSpeechSeq2Seq, is_speech_recogniser,
            "a speech recogniser", device=device, batch_size=batch_size, dtype=dtype, revision=revision,
        )  # fmt: skip
        self.language, self.num_beams = language, int(num_beams)

    def transcribe(self, clips: Sequence[AudioClip]) -> list[Response]:
        processor = self.checkpoint.load_processor(AutoProcessor)
        window = getattr(processor.feature_extractor, "chunk_length", None) or float("inf")
        short = [i for i, clip in enumerate(clips) if clip["duration"] <= window]
        long = sorted(set(range(len(clips))) - set(short))
        texts: dict[int, str] = {}
        with (
            self.checkpoint.loaded() as model,
            tqdm(total=len(clips), desc=f"{self.checkpoint.name} transcribing", unit="clip") as progress,
        ):
            for part, padding in ((short, "max_length"), (long, "longest")):
                found = run_in_batches(
                    [clips[i] for i in part],
                    lambda batch, padding=padding: self._decode(model, processor, batch, padding),
                    length=lambda clip: clip["duration"],
                    batch_size=self.checkpoint.batch_size,
                    progress=progress,
                )
                texts.update(zip(part, found, strict=True))
        return [Response(texts[i].strip(), heard=1.0) for i in range(len(clips))]

    def _decode(self, model, processor, clips: Sequence[AudioClip], padding: str) -> list[str]:
        passes["asr_clips"] += len(clips)
        features = processor(
            [clip["array"] for clip in clips],
            sampling_rate=SAMPLING_RATE,
            return_tensors="pt",
            return_attention_mask=True,
            truncation=False,
            padding=padding,
        ).to(model.device, model.dtype)
        ids = model.generate(**features, **self._settings(model.generation_config))
        return processor.batch_decode(ids, skip_special_tokens=True)

    def _settings(self, defaults) -> dict[str, Any]:
        settings: dict[str, Any] = {"do_sample": False, "num_beams": self.num_beams}
        if getattr(defaults, "no_timestamps_token_id", None) is not None:
            settings["return_timestamps"] = True
        if getattr(defaults, "is_multilingual", False):
            settings |= {"language": self.language, "task": "transcribe"}
        return settings

    def describe(self) -> dict[str, Any]:
        return self.checkpoint.describe() | {"language": self.language, "num_beams": self.num_beams}
