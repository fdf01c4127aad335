"""A model that hears, behind an OpenAI-compatible endpoint: chat with audio parts."""

from __future__ import annotations

import logging
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from speechiq.core.batches import Keep, drop
from speechiq.core.clip import Clip
from speechiq.core.endpoint import Refusal
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt, Scored
from speechiq.core.replies import CONTENT_FILTER, LENGTH
from speechiq.core.response import Response
from speechiq.engines._shared.independence import check_samples
from speechiq.engines._shared.remote import CallingWithAudio, Remote, encode
from speechiq.engines.base import AudioEngine, Setup

log = logging.getLogger(__name__)

SEEDS = 2**31  # some endpoints take no larger one
BAD_REQUEST, UNPROCESSABLE = 400, 422
CUT_OFF = {LENGTH: "reached the token limit", CONTENT_FILTER: "were cut off by a content filter"}


def _input_audio(wav: str) -> dict[str, Any]:
    return {"type": "input_audio", "input_audio": {"data": wav, "format": "wav"}}


def _audio_url(wav: str) -> dict[str, Any]:
    return {"type": "audio_url", "audio_url": {"url": f"data:audio/wav;base64,{wav}"}}


PARTS = {"input_audio": _input_audio, "audio_url": _audio_url}


class ChatOptions(CallingWithAudio, frozen=True, kw_only=True):
    """Options of `AudioEndpoint`.

    Attributes:
        audio_part: `input_audio`, or `audio_url` for servers that take only these.
        own_seeds: one call per answer from the start, so that an endpoint that uses seeds repeats its answers.
    """

    audio_part: Literal["input_audio", "audio_url"] = "input_audio"
    own_seeds: bool = False


class AudioEndpoint(AudioEngine):
    """Prompts go out as text and audio (16-bit WAV) parts, in the prompt's own order.

    Transcripts and answers that are not sampled are asked for at temperature 0. Answers are sampled by the endpoint's
    own defaults, before which the task's generation settings count; what the endpoint's API has no name for is passed
    on as it is. `n`, `seed` and temperature 0 are left out from when they are refused, and `describe` tells which.

    The answers to a question come from one call (`n`); an endpoint that gives fewer, or refuses, is asked once
    more an answer. Those calls carry a seed each, one call for several answers carries none: some servers would
    then give the same answer several times. A refusal, and what a content filter left, is what the system said;
    where it left nothing, that is `FILTERED`.

    Args:
        model: as the endpoint calls it.
        options: see `ChatOptions`. With `longest` all chunks of a question are sent at once; without it the coverage is
            NaN.
        setup: device and batch size are not used.
    """

    stage = "audio"
    record = ChatOptions
    asks_in_words = True

    def __init__(self, model: str, options: ChatOptions, setup: Setup) -> None:
        self.remote = Remote(model, options, setup.prefix, options.longest)
        self.name, self.audio_part, self.own_seeds = self.remote.endpoint.name, options.audio_part, options.own_seeds
        self._left_out: set[str] = set()
        self._samples = False
        self._ends: list[str | None] = []

    def has_loglikelihood(self) -> bool:
        """Return False: no chat server gives log-probabilities of texts that it is sent."""
        return False

    def heard(self, prompts: Sequence[Prompt]) -> list[float]:
        return [prompt.coverage([self.remote.coverage] * len(prompt.clips)) for prompt in prompts]

    def transcribe(self, prompts: Sequence[Prompt], keep: Keep = drop) -> list[Response]:
        return self._run(prompts, self._write_down, "transcribing", "clip", keep)

    def generate(
        self,
        prompts: Sequence[Prompt],
        seeds: Sequence[Sequence[int]],
        settings: Mapping[str, Any],
        keep: Keep = drop,
    ) -> list[list[str]]:
        """Answers to each prompt, one a seed; a temperature that is not given is the endpoint's own.

        Raises:
            SpeechIQError: several answers are wanted of a model that does not sample.
        """
        if settings.get("do_sample") and any(len(row) > 1 for row in seeds) and not self._samples:
            self._check_samples(settings)
        return self._write(prompts, seeds, settings, keep)

    def _check_samples(self, settings: Mapping[str, Any]) -> None:
        """Refuse a model that does not sample; one that takes no prompt without audio is not asked."""
        left_out = set(self._left_out)
        try:
            check_samples(self.name, settings, lambda text, row: self._write([Prompt.about(text)], [row], settings)[0])
        except Refusal:
            self._left_out = left_out
        self._samples = True

    def _write(self, prompts, seeds, settings: Mapping[str, Any], keep: Keep = drop) -> list[list[str]]:
        rows = list(zip(prompts, seeds, strict=True))
        return self._run(rows, lambda row: self._answer(row[0], row[1], settings), "answering", "prompt", keep)

    def loglikelihood(
        self, prompts: Sequence[Prompt], continuations: Sequence[Sequence[str]], keep: Keep = drop
    ) -> list[list[Scored]]:
        raise SpeechIQError(f"{self.name}: an endpoint weighs no texts; run it on tasks that generate")

    def _run(self, items, ask, verb: str, unit: str, keep: Keep) -> list:
        self._ends.clear()
        results = self.remote.run(items, ask, verb, unit, keep)
        for end, count in Counter(self._ends).items():
            if end in CUT_OFF:
                log.warning("%s %s: %s of %s replies %s", self.name, verb, count, len(self._ends), CUT_OFF[end])
        return results

    def _write_down(self, prompt: Prompt) -> Response:
        said = []
        for piece in self.remote.pieces(prompt.clip):
            parts = [[piece] if isinstance(part, Clip) else part for part in prompt.content]
            said.append(self._transcribe(self._content(parts)))
        return Response(" ".join(said).strip(), coverage=self.remote.coverage)

    def _transcribe(self, content) -> str:
        said: list[str] = []
        while not said:
            said = self._say(content, {}, self._temperature({}))
        return said[0].strip()

    def _answer(self, prompt: Prompt, seeds: Sequence[int], settings: Mapping[str, Any]) -> list[str]:
        parts = [self.remote.pieces(part) if isinstance(part, Clip) else part for part in prompt.content]
        content = self._content(parts)
        asked = _as_parameters(settings)
        answers: list[str] = []
        while missing := len(seeds) - len(answers):
            several = {"n": missing} if missing > 1 and not self.own_seeds and "n" not in self._left_out else {}
            one = {"seed": seeds[len(answers)] % SEEDS} if "seed" not in self._left_out else {}
            answers += self._say(content, asked, (several or one) | self._temperature(settings))[:missing]
        return answers

    def _temperature(self, settings: Mapping[str, Any]) -> dict[str, int]:
        """0 for what is not sampled, unless the endpoint refused it."""
        return {} if settings.get("do_sample") or "temperature" in self._left_out else {"temperature": 0}

    def _content(self, parts: Sequence[str | Sequence[np.ndarray]]) -> Any:
        """Return a message as the API takes it, of words and the pieces of one clip each."""
        as_part = PARTS[self.audio_part]
        content = []
        for part in parts:
            if isinstance(part, str):
                content += [{"type": "text", "text": part.strip()}] if part.strip() else []
            else:
                content += [as_part(b64encode(encode(piece, "WAV")).decode()) for piece in part]
        return content

    def _say(self, content, asked: Mapping[str, Any], optional: Mapping[str, int]) -> list[str]:
        """What came back: nothing where one of `optional` may be what was refused, which is left out from now on."""
        try:
            choices = self.remote.endpoint.chat(content, **{**asked, **optional})
        except Refusal as refusal:
            if not optional or refusal.status not in (BAD_REQUEST, UNPROCESSABLE):
                raise
            self._left_out.add(_find_fault(refusal, optional))
            return []
        self._ends += [choice.end for choice in choices]
        if len(choices) < optional.get("n", 1):
            self._left_out.add("n")
        return [choice.text for choice in choices]

    def _spell(self) -> dict[str, Any]:
        """What was asked for when it was built."""
        return {
            "kind": "end to end",
            **self.remote.describe(),
            "engine": "openai",
            "audio_part": self.audio_part,
            "own_seeds": self.own_seeds,
        }

    def describe(self) -> dict[str, Any]:
        return self._spell() | ({"left_out": sorted(self._left_out)} if self._left_out else {})

    def identity(self) -> dict[str, Any]:
        return {"stage": self.stage, **self._spell()}

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """What the endpoint is told of sampling; the rest is its own affair."""
        told = _own(settings) | self._temperature(settings)
        return {"do_sample": bool(settings.get("do_sample")), **told}


def _as_parameters(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Generation settings of lm-eval as parameters of the chat API."""
    return {"max_completion_tokens": settings.get("max_gen_toks", 256), **_own(settings)}


def _own(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that are passed on under their own names."""
    own = {name: value for name, value in settings.items() if name not in ("until", "do_sample", "max_gen_toks")}
    if not settings.get("do_sample"):
        own.pop("temperature", None)
    return own


def _find_fault(refusal: Refusal, optional: Mapping[str, int]) -> str:
    """Of what an endpoint need not take, what it names in its refusal, else the first."""
    named = [name for name in optional if re.search(rf"\b{name}\b", str(refusal))]
    return [*named, *optional][0]
