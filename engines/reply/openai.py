"""Run an audio model behind an OpenAI-compatible endpoint that answers aloud: chat with audio in and out."""

import binascii
from base64 import b64decode
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from msgspec import Meta

from speechiq.core.batches import OnResult, drop
from speechiq.core.clip import SAMPLING_RATE, Clip
from speechiq.core.endpoint.replies import CONTENT_FILTER, Choice, NoAnswer
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt, audio_seconds
from speechiq.core.response import Response
from speechiq.core.usage import measured, timed, usage
from speechiq.engines._shared.remote import Voice, read_audio, sampling_parameters
from speechiq.engines._shared.speech import STEPS, as_speech
from speechiq.engines.audio.openai import AudioEndpoint, ChatOptions
from speechiq.engines.base import Kind, ReplyEngine, Seeds, Setup
from speechiq.engines.options import Count, only_given

#: The format without a header, which some servers send in streams alone: 16 bits, mono, at this rate (Hz).
PCM, PCM_RATE = "pcm16", 24_000


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
        """Return what was spoken; what a content filter removed is silence."""
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
