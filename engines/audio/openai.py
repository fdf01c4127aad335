"""Run an audio model behind an OpenAI-compatible endpoint: chat with audio parts, with replies in writing or aloud."""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from msgspec import Meta

from speechiq.core.batches import OnResult, drop
from speechiq.core.clip import SAMPLING_RATE, Clip
from speechiq.core.endpoint.client import Refusal
from speechiq.core.endpoint.replies import CONTENT_FILTER, LENGTH, Choice, NoAnswer
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt, audio_seconds
from speechiq.core.response import Response
from speechiq.core.usage import measured, timed, usage
from speechiq.engines._shared.remote import (
    AudioEndpointOptions,
    ChatEndpoint,
    RemoteModel,
    SeedPerCall,
    Voice,
    offer_temperature,
    read_audio,
    sampling_parameters,
)
from speechiq.engines._shared.speech import STEPS, as_speech
from speechiq.engines.base import AudioEngine, Kind, ReplyEngine, Seeds, Setup
from speechiq.engines.options import Count, SystemTurn, only_given

#: The format without a header, which some servers send in streams alone: 16 bits, mono, at this rate (Hz).
PCM, PCM_RATE = "pcm16", 24_000


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
        at_limit = False
        for wav in self.remote.encode(prompt.clip, "WAV"):
            parts = [[wav] if isinstance(part, Clip) else part for part in prompt.content]
            choices = self._complete(self._content(parts), {}, partial(offer_temperature, {}))
            texts.append(choices[0].text.strip())
            at_limit |= choices[0].end == LENGTH
        return Response(" ".join(texts).strip(), coverage=self.remote.coverage, at_limit=at_limit)

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


class SpokenChatOptions(ChatOptions, frozen=True, kw_only=True):
    """Define the options of `EndpointReply`."""

    voice: Voice = "alloy"
    response_format: Annotated[
        Literal["wav", "flac", "mp3", "opus", "pcm16"],
        Meta(description="Format of the audio that the endpoint sends; pcm16 for streams of OpenAI."),
    ] = "wav"
    max_tokens: Annotated[
        Count | None,
        Meta(description="Most tokens of a reply, text and speech together; without it the endpoint's own limit."),
    ] = None


class EndpointReply(AudioEndpoint, ReplyEngine):
    """Send prompts as `AudioEndpoint` does, and ask for text and audio (`modalities`).

    The API counts text and speech by one limit, so `max_gen_toks` of the task is not sent: it would cut off the speech.
    """

    record = SpokenChatOptions
    kind: ClassVar[Kind] = "reply"

    def __init__(self, model: str, options: SpokenChatOptions, setup: Setup) -> None:
        super().__init__(model, options, setup)
        limit = only_given(max_completion_tokens=options.max_tokens)
        how = {"voice": options.voice, "format": options.response_format}
        self.speech: dict[str, Any] = {"modalities": ["text", "audio"], "audio": how, **limit}

    def reply(
        self, prompts: Sequence[Prompt], seeds: Seeds, settings: Mapping[str, Any], on_result: OnResult = drop
    ) -> list[list[Response]]:
        """Answer each prompt aloud, by one call per seed; see `ReplyEngine.reply`."""
        rows = list(zip(prompts, seeds, strict=True))
        with measured("answering", audio_seconds(prompts)):
            return self._run(
                rows,
                lambda row: [self._reply(row[0], seed, settings) for seed in row[1]],
                "answering aloud",
                "prompt",
                on_result,
            )

    def _reply(self, prompt: Prompt, seed: int, settings: Mapping[str, Any]) -> Response:
        parameters = {**sampling_parameters(settings), **self.speech}
        message = self._message(prompt)
        with timed(seed):
            (choice, *_) = self._complete(message, parameters, partial(self._offer, settings, [seed]))
        usage["spoken_texts"] += 1
        audio = self._read_speech(choice)
        (coverage,) = self.coverage([prompt])
        return Response(choice.text.strip(), audio=audio, coverage=coverage)

    def _read_speech(self, choice: Choice) -> Clip:
        """Return the speech of an answer; speech that a content filter removed is silence."""
        if choice.audio:
            try:
                content = b64decode(choice.audio, validate=True)
                if self.speech["audio"]["format"] == PCM:
                    return as_speech(np.frombuffer(content, "<i2") / STEPS, PCM_RATE, self.name)
                return as_speech(read_audio(content, self.name), SAMPLING_RATE, self.name)
            except NoAnswer as error:
                raise SpeechIQError(self.name, error, "try another model or prompt") from error
            except (binascii.Error, ValueError) as error:
                raise SpeechIQError(
                    self.name, f"sent no audio ({error})", f"try another {self.remote.prefix}response_format"
                ) from error
        if choice.end == CONTENT_FILTER:
            return as_speech(np.zeros(0), SAMPLING_RATE, self.name)
        raise SpeechIQError(
            self.name,
            "wrote a reply without audio, so it does not speak by itself",
            "give speaks=ENGINE:MODEL, or another model",
        )

    def _settings(self) -> dict[str, Any]:
        return super()._settings() | {"kind": "own voice", **self.speech}
