"""Speech recognition behind an endpoint: `/v1/audio/transcriptions`, as OpenAI, vLLM and others serve it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from speechiq.core.batches import OnResult, drop
from speechiq.core.clip import Clip
from speechiq.core.replies import NoAnswer
from speechiq.core.response import Response, whole
from speechiq.core.usage import usage
from speechiq.engines._shared.remote import CallingWithAudio, Remote, encode
from speechiq.engines.base import ASREngine, Setup

PATH = "/audio/transcriptions"


class TranscriptionOptions(CallingWithAudio, frozen=True, kw_only=True):
    """Define the options of `OpenAIASR`."""

    language: Annotated[str, Meta(description="Spoken language.")] = "en"
    prompt: Annotated[
        str | None, Meta(description="Words that the recognizer should expect; the model decides how it uses them.")
    ] = None


class OpenAIASR(ASREngine):
    """A recognizer that is sent files: 16 kHz mono FLAC, without loss and about half of a WAV file.

    What an endpoint takes is its own affair; OpenAI takes 25 MB, about 25 minutes. Some that serve Whisper
    cut a file after 30 s without a word: give those `longest=30`. Without it the coverage is NaN.

    Args:
        model: as the endpoint calls it.
        options: see `TranscriptionOptions`.
        setup: device and batch size are not used.
    """

    record = TranscriptionOptions

    def __init__(self, model: str, options: TranscriptionOptions, setup: Setup) -> None:
        self.remote = Remote(model, options, setup.prefix, options.longest)
        prompt = {"prompt": options.prompt} if options.prompt else {}
        self.settings = {"language": options.language, "temperature": 0} | prompt

    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        usage["asr_clips"] += len(clips)
        return self.remote.run(clips, self._transcribe, "transcribing", "clip", on_result)

    def _transcribe(self, clip: Clip) -> Response:
        said = " ".join(map(self._send, self.remote.pieces(clip)))
        return Response(said.strip(), coverage=self.remote.coverage)

    def _send(self, samples: np.ndarray) -> str:
        form = {"model": self.remote.model, **self.settings}
        file = ("clip.flac", encode(samples, "FLAC"), "audio/flac")
        return self.remote.endpoint.ask(PATH, "transcription", _read, form, file)

    def identity(self) -> dict[str, Any]:
        return {"stage": "asr", **self.describe()}

    def describe(self) -> dict[str, Any]:
        return self.remote.describe() | {"engine": "openai", **self.settings}


def _read(reply: Any) -> str:
    text = reply["text"]
    if text is None:
        raise NoAnswer("sent a transcription without text")
    if not isinstance(text, str):
        raise TypeError(f"text is a {type(text).__name__}")
    return whole(text).strip()
