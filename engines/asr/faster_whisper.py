"""Run Whisper by faster-whisper, which uses CTranslate2."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import torch
from msgspec import Meta

from speechiq.core.batches import OnResult, drop, run_in_batches
from speechiq.core.checkpoints.names import ON_DISK, identity
from speechiq.core.checkpoints.opening import opening
from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import expand, is_file, is_folder
from speechiq.core.response import Response
from speechiq.core.suggestions import missing
from speechiq.core.usage import measured, usage
from speechiq.engines._shared.chunking import SPAN_S, read_chunks
from speechiq.engines.base import ASREngine, Setup
from speechiq.engines.languages import ENGLISH, FOLLOWS, refuse_language
from speechiq.engines.options import Count, Options

if TYPE_CHECKING:
    from faster_whisper import WhisperModel

WEIGHTS, TOKENIZER = "model.bin", "tokenizer.json"


class FasterWhisperOptions(Options, frozen=True, kw_only=True):
    """Define the options of `FasterWhisperASR`."""

    compute_type: Annotated[
        str | None,
        Meta(description="CTranslate2 type by name; without it float32 on a CPU, elsewhere the type of the model."),
    ] = None
    language: Annotated[str | None, Meta(description=f"Spoken language; {FOLLOWS}.")] = None
    num_beams: Annotated[Count, Meta(description="Beams of the search; 1 is greedy.")] = 1


class FasterWhisperASR(ASREngine):
    """Decode clips of any length, one at a time: with timestamps, without voice activity detection.

    Each window is decoded without the text of the window before it. The temperature is always 0, because texts from the
    fallback to sampling would differ from run to run. The model is a size (`large-v3`), a hub id, or a folder that
    `ct2-transformers-converter` wrote. CTranslate2 runs on CUDA or a CPU; the batch size is not used.
    """

    record = FasterWhisperOptions

    def __init__(self, model: str, options: FasterWhisperOptions, setup: Setup) -> None:
        if find_spec("faster_whisper") is None:
            raise SpeechIQError(f"faster-whisper:{model}", missing("faster-whisper"))
        self.model, self.place = model, _find(model)
        device = torch.device(setup.device)
        self.on_cuda, self.index = device.type == "cuda", device.index or 0
        self.compute_type = _choose_type(model, options.compute_type, self.on_cuda)
        self.language, self.num_beams = setup.choose_language(options.language) or ENGLISH, options.num_beams
        if model.endswith(".en") and self.language != ENGLISH:
            refuse_language(self.language, f"faster-whisper:{model}", [ENGLISH])

    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        """Transcribe each clip; see `ASREngine.transcribe`."""
        model = self._load()
        with measured("transcribing", sum(clip.duration for clip in clips)):
            return run_in_batches(
                clips,
                lambda batch, _: [self._transcribe_clip(model, clip) for clip in batch],
                length=lambda clip: clip.duration,
                batch_size=1,
                label=(f"faster-whisper:{self.model} transcribing", "clip"),
                on_result=on_result,
            )

    def _transcribe_clip(self, model: WhisperModel, clip: Clip) -> Response:
        usage["asr_clips"] += 1
        texts: list[str] = []
        for samples in read_chunks(clip, SPAN_S):
            segments, _ = model.transcribe(
                samples,
                language=self.language,
                beam_size=self.num_beams,
                temperature=0.0,
                condition_on_previous_text=False,
                vad_filter=False,
                without_timestamps=False,
            )
            texts += [segment.text.strip() for segment in segments]
        return Response(" ".join(filter(None, texts)), coverage=1.0)

    def _load(self) -> WhisperModel:
        from faster_whisper import WhisperModel

        device = {"device": "cuda", "device_index": self.index} if self.on_cuda else {"device": "cpu"}
        what = f"faster-whisper:{self.model}: cannot be loaded"
        with opening(what, "check the name and the connection to the hub, or give a complete folder", self.place):
            model = WhisperModel(self.place, compute_type=self.compute_type, **device)
        if self.language not in model.supported_languages:
            refuse_language(self.language, f"faster-whisper:{self.model}", sorted(model.supported_languages))
        return model

    def identity(self) -> dict[str, Any]:
        """Return the description and the files of a folder; see `Engine.identity`."""
        files = identity(self.place) if is_folder(self.place) else {}
        return {"stage": "asr", **self.describe(), **files}

    def describe(self) -> dict[str, Any]:
        """Return the model, the versions of the packages and the settings; see `Engine.describe`."""
        return {
            "model": self.model,
            "engine": f"faster-whisper {version('faster-whisper')}, ctranslate2 {version('ctranslate2')}",
            "compute_type": self.compute_type,
            "language": self.language,
            "num_beams": self.num_beams,
        }


def _find(model: str) -> str:
    """Return the name that faster-whisper takes for `model`: the path of a folder; sizes and hub ids unchanged."""
    from faster_whisper import available_models

    folder = expand(model)
    if is_file(folder / WEIGHTS) and is_file(folder / TOKENIZER):
        return str(folder)
    if is_folder(folder) or model.startswith(ON_DISK):
        missing_file = TOKENIZER if is_file(folder / WEIGHTS) else f"{WEIGHTS} of CTranslate2"
        raise SpeechIQError(
            f"faster-whisper:{model}",
            f"no folder with a {missing_file} is there",
            "convert a Whisper checkpoint with `ct2-transformers-converter --model CHECKPOINT --output_dir FOLDER "
            f"--copy_files {TOKENIZER}`",
        )
    if "/" not in model and model not in available_models():
        raise SpeechIQError(
            f"faster-whisper:{model}",
            "unknown size",
            f"known are {', '.join(available_models())}, a hub id, or a folder",
        )
    return model


def _choose_type(model: str, wanted: str | None, on_cuda: bool) -> str:
    import ctranslate2

    chosen = wanted or ("default" if on_cuda else "float32")
    known = ctranslate2.get_supported_compute_types("cuda" if on_cuda else "cpu") | {"default", "auto"}
    if chosen not in known:
        raise SpeechIQError(
            f"asr_compute_type={chosen}",
            f"not on this device for faster-whisper:{model}",
            f"it has {', '.join(sorted(known))}",
        )
    return chosen
