"""Run a voice behind an endpoint: `/v1/audio/speech`, as OpenAI, vLLM and others serve it."""

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta

from speechiq.core.batches import OnResult, drop
from speechiq.core.clip import SAMPLING_RATE, Clip
from speechiq.engines._shared.remote import AudioFormat, EndpointOptions, RemoteModel, Voice, read_audio
from speechiq.engines._shared.speech import as_speech, speak_line
from speechiq.engines.base import Setup, SpeechEngine
from speechiq.engines.options import only_given

PATH = "/audio/speech"


class SpeechEndpointOptions(EndpointOptions, frozen=True, kw_only=True):
    """Define the options of `OpenAISpeech`."""

    voice: Voice = "alloy"
    speed: Annotated[float, Meta(ge=0.25, le=4, description="Speed relative to the voice's own.")] = 1.0
    instructions: Annotated[
        str | None, Meta(description="How the voice should speak, for models that take instructions.")
    ] = None
    response_format: AudioFormat = "wav"


class OpenAISpeech(SpeechEngine):
    """Send each text to the endpoint, which takes no seed: speech may differ, and the cache keeps the first."""

    record = SpeechEndpointOptions

    def __init__(self, model: str, options: SpeechEndpointOptions, setup: Setup) -> None:
        self.remote = RemoteModel(model, options, setup.prefix)
        self.settings: dict[str, Any] = {"voice": options.voice, "response_format": options.response_format}
        if options.speed != 1:
            self.settings["speed"] = options.speed
        self.settings |= only_given(instructions=options.instructions)

    def speak(self, texts: Sequence[str], seeds: Sequence[int], on_result: OnResult = drop) -> list[Clip]:
        """Speak each text; see `SpeechEngine.speak`."""
        return self.remote.run(texts, lambda text: speak_line(text, self._send), "speaking", "text", on_result)

    def _send(self, line: str) -> Clip:
        body = {"model": self.remote.model, "input": line, **self.settings}
        endpoint = self.remote.endpoint
        samples = endpoint.post(PATH, "audio", lambda content: read_audio(content, endpoint.name), body, raw=True)
        return as_speech(samples, SAMPLING_RATE, endpoint.name)

    def identity(self) -> dict[str, Any]:
        """Return the description; see `Engine.identity`."""
        return {"stage": "speech", **self.describe()}

    def describe(self) -> dict[str, Any]:
        """Return the model, the address and the settings; see `Engine.describe`."""
        return self.remote.describe() | {"engine": "openai", **self.settings}
