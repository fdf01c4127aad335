"""Run a recognizer behind an endpoint: `/v1/audio/transcriptions`, as OpenAI, vLLM and others serve it."""

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta

from speechiq.core.batches import OnResult, drop
from speechiq.core.clip import Clip
from speechiq.core.endpoint.replies import NoAnswer
from speechiq.core.response import Response
from speechiq.core.usage import measured, usage
from speechiq.engines._shared.remote import AudioEndpointOptions, RemoteModel
from speechiq.engines.base import ASREngine, Setup
from speechiq.engines.languages import ENGLISH, FOLLOWS
from speechiq.engines.options import Seed, Temperature, only_given, refuse_unused_seed

PATH = "/audio/transcriptions"


class TranscriptionOptions(AudioEndpointOptions, frozen=True, kw_only=True):
    """Define the options of `OpenAIASR`."""

    language: Annotated[str | None, Meta(description=f"Spoken language; {FOLLOWS}.")] = None
    prompt: Annotated[
        str | None, Meta(description="Words that the recognizer should expect; the model decides how it uses them.")
    ] = None
    temperature: Temperature = 0
    seed: Seed = 0


class OpenAIASR(ASREngine):
    """Send each clip to the endpoint as a file: 16 kHz mono FLAC, which is lossless and half as large as WAV.

    The most audio per file depends on the endpoint: OpenAI takes 25 MB, about 25 minutes. Some servers of Whisper
    process only the first 30 s of a file without a warning: use `max_audio_s=30` there. Without it the coverage is NaN.
    A seed, which some servers use, is sent unless it is 0; without it every call samples anew.
    """

    record = TranscriptionOptions

    def __init__(self, model: str, options: TranscriptionOptions, setup: Setup) -> None:
        self.remote = RemoteModel(model, options, setup.prefix, options.max_audio_s)
        refuse_unused_seed(options.temperature, options.seed, setup.prefix)
        self.is_random = options.temperature > 0
        language = setup.choose_language(options.language) or ENGLISH
        given = only_given(prompt=options.prompt, seed=options.seed)
        self.settings = {"language": language, "temperature": options.temperature, **given}

    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        """Transcribe each clip; see `ASREngine.transcribe`."""
        usage["asr_clips"] += len(clips)
        with measured("transcribing", sum(clip.duration for clip in clips)):
            return self.remote.run(clips, self._transcribe, "transcribing", "clip", on_result)

    def _transcribe(self, clip: Clip) -> Response:
        text = " ".join(map(self._send, self.remote.encode(clip, "FLAC")))
        return Response(text.strip(), coverage=self.remote.coverage)

    def _send(self, flac: bytes) -> str:
        form = {"model": self.remote.model, **self.settings}
        file = ("clip.flac", flac, "audio/flac")
        return self.remote.endpoint.post(PATH, "transcription", _read, form, file)

    def identity(self) -> dict[str, Any]:
        """Return the description; see `Engine.identity`."""
        return {"stage": "asr", **self.describe()}

    def describe(self) -> dict[str, Any]:
        """Return the model, the address and the settings; see `Engine.describe`."""
        return self.remote.describe() | {"engine": "openai", **self.settings}


def _read(reply: Any) -> str:
    text = reply["text"]
    if text is None:
        raise NoAnswer("sent a transcription without text")
    if not isinstance(text, str):
        raise TypeError(f"text is a {type(text).__name__}")
    return text.strip()
