"""Run an audio model behind an OpenAI-compatible endpoint: chat with audio parts."""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Literal

from msgspec import Meta

from speechiq.core.batches import OnResult, drop
from speechiq.core.clip import Clip
from speechiq.core.endpoint.client import Refusal
from speechiq.core.prompt import Prompt, audio_seconds
from speechiq.core.response import Response
from speechiq.core.usage import measured
from speechiq.engines._shared.remote import (
    AudioEndpointOptions,
    ChatEndpoint,
    RemoteModel,
    SeedPerCall,
    offer_temperature,
)
from speechiq.engines.base import AudioEngine, Setup
from speechiq.engines.options import SystemTurn


class ChatOptions(AudioEndpointOptions, frozen=True, kw_only=True):
    """Define the options of `AudioEndpoint`."""

    audio_part: Annotated[
        Literal["input_audio", "audio_url"],
        Meta(description="Type of the message parts with audio; some servers take only audio_url."),
    ] = "input_audio"
    seed_per_call: SeedPerCall = False
    system: SystemTurn = None


class AudioEndpoint(ChatEndpoint[Prompt], AudioEngine):
    """Send prompts as text and audio (16-bit WAV) parts, in the order of the prompt.

    Transcripts are requested at temperature 0; see `ChatEndpoint` for answers. With `max_audio_s` all chunks of a
    question are sent in one message; without it the coverage is NaN.
    """

    record = ChatOptions

    def __init__(self, model: str, options: ChatOptions, setup: Setup) -> None:
        remote = RemoteModel(model, options, setup.prefix, options.max_audio_s)
        super().__init__(remote, options.seed_per_call, options.system)
        self.audio_part = options.audio_part

    def coverage(self, prompts: Sequence[Prompt]) -> list[float]:
        """Return the coverage of each prompt; NaN without `max_audio_s`."""
        return [prompt.coverage([self.remote.coverage] * len(prompt.clips)) for prompt in prompts]

    def check_sampling(self, settings: Mapping[str, Any]) -> None:
        """Refuse a model that does not sample, unless it refuses prompts without audio."""
        with suppress(Refusal):
            super().check_sampling(settings)

    def transcribe(self, prompts: Sequence[Prompt], on_result: OnResult = drop) -> list[Response]:
        """Transcribe the clip of each prompt; see `AudioEngine.transcribe`."""
        with measured("transcribing", audio_seconds(prompts)):
            return self._run(prompts, self._transcribe_clip, "transcribing", "clip", on_result)

    def _transcribe_clip(self, prompt: Prompt) -> Response:
        texts: list[str] = []
        for wav in self.remote.encode(prompt.clip, "WAV"):
            parts = [[wav] if isinstance(part, Clip) else part for part in prompt.content]
            choices = self._complete(self._content(parts), {}, partial(offer_temperature, {}))
            texts.append(choices[0].text.strip())
        return Response(" ".join(texts).strip(), coverage=self.remote.coverage)

    def _message(self, prompt: Prompt) -> list[dict[str, Any]]:
        parts = [self.remote.encode(part, "WAV") if isinstance(part, Clip) else part for part in prompt.content]
        return self._content(parts)

    def _content(self, parts: Sequence[str | Iterable[bytes]]) -> list[dict[str, Any]]:
        """Return the content of a message of the API from texts, and from the chunks of each clip as WAV files."""
        content: list[dict[str, Any]] = []
        for part in parts:
            if isinstance(part, str):
                content += [{"type": "text", "text": part.strip()}] if part.strip() else []
            else:
                content += [self._as_part(b64encode(wav).decode()) for wav in part]
        return content

    def _as_part(self, wav: str) -> dict[str, Any]:
        """Return a part of a message from a WAV file in Base64."""
        if self.audio_part == "audio_url":
            return {"type": "audio_url", "audio_url": {"url": f"data:audio/wav;base64,{wav}"}}
        return {"type": "input_audio", "input_audio": {"data": wav, "format": "wav"}}

    def _settings(self) -> dict[str, Any]:
        return super()._settings() | {"kind": "end to end", "audio_part": self.audio_part}
