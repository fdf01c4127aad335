"""Run an audio model behind an OpenAI-compatible endpoint that answers aloud: chat with audio in and out."""

import binascii
from base64 import b64decode
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta

from speechiq.core.batches import OnResult, drop
from speechiq.core.clip import SAMPLING_RATE
from speechiq.core.endpoint.replies import CONTENT_FILTER, Choice, NoAnswer
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt, audio_seconds
from speechiq.core.response import Response
from speechiq.core.usage import measured, usage
from speechiq.engines._shared.chat import sampling_parameters
from speechiq.engines._shared.remote import AudioFormat, Voice, read_audio
from speechiq.engines._shared.speech import as_speech
from speechiq.engines.audio.openai import AudioEndpoint, ChatOptions
from speechiq.engines.base import Kind, ReplyEngine, Seeds, Setup
from speechiq.engines.options import Count


class SpokenChatOptions(ChatOptions, frozen=True, kw_only=True):
    """Define the options of `EndpointReply`."""

    voice: Voice = "alloy"
    response_format: AudioFormat = "wav"
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
        limit = {"max_completion_tokens": options.max_tokens} if options.max_tokens else {}
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
        (choice, *_) = self._complete(self._message(prompt), parameters, partial(self._offer, settings, [seed]))
        usage["spoken_texts"] += 1
        audio = as_speech(self._read_speech(choice), SAMPLING_RATE, self.name)
        (coverage,) = self.coverage([prompt])
        return Response(choice.text.strip(), audio=audio, coverage=coverage)

    def _read_speech(self, choice: Choice) -> np.ndarray:
        """Return what was spoken; what a content filter removed is silence."""
        if choice.audio:
            try:
                return read_audio(b64decode(choice.audio, validate=True), self.name)
            except NoAnswer as error:
                raise SpeechIQError(self.name, error, "try another model or prompt") from error
            except (binascii.Error, ValueError) as error:
                raise SpeechIQError(
                    self.name, f"sent no audio ({error})", f"try another {self.remote.prefix}response_format"
                ) from error
        if choice.end == CONTENT_FILTER:
            return np.zeros(0)
        raise SpeechIQError(
            self.name,
            "wrote a reply without audio, so it does not speak by itself",
            "give speaks=ENGINE:MODEL, or another model",
        )

    def _settings(self) -> dict[str, Any]:
        return super()._settings() | {"kind": "own voice", **self.speech}
