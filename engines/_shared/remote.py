"""Call a model behind an OpenAI-compatible endpoint, such as a chat model with prompts of text or of text and audio."""

import logging
import math
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Generic, Literal, TypeVar

import numpy as np
from msgspec import Meta

from speechiq.core.batches import OnResult, drop, run_concurrently
from speechiq.core.clip import Clip
from speechiq.core.endpoint.client import REJECTED, RETRIES, TIMEOUT, Advice, Endpoint, Malformed, NoConnection, Refusal
from speechiq.core.endpoint.replies import CONTENT_FILTER, LENGTH, Choice, NoAnswer
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt, Scored, TextPrompt, audio_seconds
from speechiq.core.recordings.audio_file import SHORTEST_S, decode, encode_audio, inspect, warn_once
from speechiq.core.response import CutText
from speechiq.core.usage import current_clock, measured, recording, timed
from speechiq.engines._shared.chunking import read_chunks
from speechiq.engines.base import Seeds, Writer
from speechiq.engines.options import DAY_S, UNIT, ChunkSeconds, Count, Options, only_given

CONCURRENT = 8
Voice = Annotated[str, Meta(description="Voice of the model.")]
AudioFormat = Annotated[
    Literal["wav", "flac", "mp3", "opus"], Meta(description="Format of the audio that the endpoint sends.")
]
#: Prefix of a stage -> its own option for the most tokens of an answer.
LENGTHS = {"ger_": "ger_max_gen_toks", "judge_": "judge_max_gen_toks", "reader_": "reader_max_gen_toks"}

Item = TypeVar("Item")
Result = TypeVar("Result")


class EndpointOptions(Options, frozen=True, kw_only=True):
    """Define the options of every engine that calls an endpoint; see `Endpoint`."""

    base_url: Annotated[
        str | None, Meta(description="URL of the API; without it the one in OPENAI_BASE_URL, or OpenAI.")
    ] = None
    key_variable: Annotated[
        str | None, Meta(description="Environment variable that contains the key; without it OPENAI_API_KEY.")
    ] = None
    num_concurrent: Annotated[Count, Meta(description="Most calls at the same time.")] = CONCURRENT
    timeout: Annotated[
        float,
        Meta(
            ge=0.01,
            le=DAY_S,
            extra={UNIT: "seconds"},
            description="Limit of one call, from the connection to the last byte of the reply.",
        ),
    ] = TIMEOUT
    max_retries: Annotated[int, Meta(ge=0, description="Most new tries of a call that failed.")] = RETRIES


class AudioEndpointOptions(EndpointOptions, frozen=True, kw_only=True):
    """Define the options of an engine that sends audio to an endpoint."""

    max_audio_s: Annotated[
        ChunkSeconds | None,
        Meta(description="Longest chunk that the model takes; without it no clip is split and coverage is unknown."),
    ] = None


class RemoteModel:
    """Call a model from several threads, after a first check; chunks of audio have at most `max_audio_s` seconds."""

    def __init__(self, model: str, options: EndpointOptions, prefix: str, max_audio_s: float | None = None) -> None:
        if not model:
            raise SpeechIQError("system openai", "no model", "write openai:MODEL, with its name at the endpoint")
        self.model, self.prefix, self.workers, self.max_audio_s = model, prefix, options.num_concurrent, max_audio_s
        self.endpoint = Endpoint(
            model,
            options.base_url,
            key_variable=options.key_variable,
            timeout=options.timeout,
            max_retries=options.max_retries,
            advice=Advice(
                f"{prefix}base_url",
                f"a larger {prefix}timeout or a smaller {prefix}num_concurrent",
                f"shorter chunks of audio, {prefix}max_audio_s=SECONDS",
                LENGTHS.get(prefix, "--gen_kwargs max_gen_toks"),
            ),
        )
        self.endpoint.check()

    def run(
        self, items: Sequence[Item], ask: Callable[[Item], Result], verb: str, unit: str, on_result: OnResult = drop
    ) -> list[Result]:
        """Return the result of `ask` for each item, several at a time; `verb` and `unit` are for the progress bar."""
        label = f"{self.endpoint.name} {verb}", unit
        return run_concurrently(items, ask, workers=self.workers, label=label, on_result=on_result)

    def encode(self, clip: Clip, container: str) -> Iterator[bytes]:
        """Yield the clip as files, split at pauses if it is longer than `max_audio_s`; it is decoded block by block."""
        if self.max_audio_s is None:
            yield encode_audio(clip.blocks(), container)
        else:
            for chunk in read_chunks(clip, self.max_audio_s):
                yield encode_audio([chunk], container)

    @property
    def coverage(self) -> float:
        """Return the share of a clip that the model processes; unknown (NaN) if clips are sent undivided."""
        return math.nan if self.max_audio_s is None else 1.0

    def describe(self) -> dict[str, Any]:
        """Return the model, the address and the longest chunk, if clips are split."""
        place = {"model": self.model, "base_url": self.endpoint.address}
        return place | only_given(max_audio_s=self.max_audio_s)


def read_audio(content: bytes, name: str) -> np.ndarray:
    """Return the samples in an audio file that a server sent: float32, shape (samples,), mono, 16 kHz.

    Raises:
        NoAnswer: the file is empty, or shorter than any speech.
        ValueError: it is not readable as audio.
    """
    if not content:
        raise NoAnswer("sent no audio (an empty reply)")
    try:
        found = inspect(content, "its reply")
        samples = decode(content, 0.0, found.duration)
    except SpeechIQError as error:
        raise ValueError(str(error).partition(";")[0]) from error
    if found.duration < SHORTEST_S:
        raise NoAnswer(f"sent no speech (its audio has {found.duration:g} s)")
    for warning in found.warnings:
        warn_once(name, warning)
    return samples


log = logging.getLogger(__name__)

SEEDS = 2**31  # some endpoints take no larger one
#: HTTP statuses that all further calls would get too.
ENDING = (401, 403, 404, 405, 429)
#: How often an answer is requested if replies are malformed.
TRIES = 3
#: An open question, for whose answers a model that samples needs several seeds.
PROBE = "Write down ten words that have nothing to do with each other."
PROBE_SEEDS = (1, 2, 3)
#: What makes an endpoint state the tokens of a reply that it streams.
WITH_USAGE = {"stream_options": {"include_usage": True}}
#: Temperature below which equal answers prove nothing.
WARM = 0.5
CUT_OFF = {LENGTH: "ended at the token limit", CONTENT_FILTER: "were cut off by a content filter"}

PromptType = TypeVar("PromptType", Prompt, TextPrompt)
SeedPerCall = Annotated[
    bool, Meta(description="Whether each answer is a call of its own with a seed; makes answers repeatable.")
]


class ChatEndpoint(Writer, Generic[PromptType]):
    """Answer prompts by calls of `/chat/completions`.

    Sampled answers use the endpoint's own defaults; generation settings of the task take precedence, and those without
    a counterpart in the API are passed on unchanged. Answers that are not sampled are requested at temperature 0. The
    parameters `n`, `seed`, `temperature=0` and, of timed answers, `stream_options` are left out once the endpoint
    refuses them; `describe` lists those.

    The answers to a question come from one call (`n`). If the endpoint returns fewer, or refuses `n`, there is one more
    call per missing answer. Each of those has a seed; a call for several answers has none, because some servers would
    then return the same answer several times. A refusal by the model, and text that a content filter cut, count as the
    answer; if the filter left no text, the answer is `FILTERED`.

    Args:
        seed_per_call: whether each answer is a call of its own with a seed, so that an endpoint that uses seeds repeats
            its answers.
        system: text of a system turn before each prompt; empty or None for none.
    """

    streams = True

    def __init__(self, remote: RemoteModel, seed_per_call: bool, system: str | None = None) -> None:
        self.remote, self.name, self.seed_per_call = remote, remote.endpoint.name, seed_per_call
        self.system = system or ""
        self._left_out: set[str] = set()
        self._samples = False
        self._ends: list[str | None] = []

    @abstractmethod
    def _message(self, prompt: PromptType) -> Any:
        """Return the prompt as the content of a message of the API."""

    def _settings(self) -> dict[str, Any]:
        """Return the model, the address and the options of the engine."""
        settings = {**self.remote.describe(), "engine": "openai", "seed_per_call": self.seed_per_call}
        return settings | only_given(system=self.system)

    def has_loglikelihood(self) -> bool:
        """Return False: the chat API has no log-probabilities of given texts."""
        return False

    def generate(
        self, prompts: Sequence[PromptType], seeds: Seeds, settings: Mapping[str, Any], on_result: OnResult = drop
    ) -> list[list[str]]:
        """Answer each prompt once per seed; without a temperature the endpoint uses its own."""
        if settings.get("do_sample") and any(len(row) > 1 for row in seeds) and not self._samples:
            self.check_sampling(settings)
            self._samples = True
        return self._ask(self._answer, prompts, seeds, settings, on_result)

    def check_sampling(self, settings: Mapping[str, Any]) -> None:
        """Refuse a model that gives one answer for all seeds, as servers do that decode greedily, by a few calls."""
        if settings.get("temperature", 1) < WARM:
            return
        with recording(False):
            answers = self._answer(PROBE, PROBE_SEEDS, settings)
        if len(set(answers)) == 1:
            raise SpeechIQError(
                self.name,
                "gives the same answer for every seed, so its answers to a question would be the same",
                "let its server sample (do_sample in the model's generation_config.json), or --gen_kwargs "
                "do_sample=false",
            )

    def attempt(
        self, prompts: Sequence[PromptType], seeds: Seeds, settings: Mapping[str, Any], on_result: OnResult = drop
    ) -> list[list[str | SpeechIQError]]:
        """Answer like `generate`, with the failures of single calls in the places of their answers.

        Calls for which a content filter, the size of the prompt or a fault of the server is the reason fail alone. No
        connection, a refused key, an unknown model, and a limit of calls that outlasts all retries end it.
        """
        return self._ask(self._attempt, prompts, seeds, settings, on_result)

    def _ask(
        self,
        ask: Callable[[Any, Sequence[int], Mapping[str, Any]], Result],
        prompts: Sequence[PromptType],
        seeds: Seeds,
        settings: Mapping[str, Any],
        on_result: OnResult,
    ) -> list[Result]:
        rows = list(zip(prompts, seeds, strict=True))
        with measured("answering", audio_seconds(prompts)):
            return self._run(
                rows, lambda row: ask(self._message(row[0]), row[1], settings), "answering", "prompt", on_result
            )

    def _attempt(self, content: Any, seeds: Sequence[int], settings: Mapping[str, Any]) -> list[str | SpeechIQError]:
        """Return the answers to a message; those of calls that failed alone are their failures."""
        together = [[seed] for seed in seeds] if self.seed_per_call else [seeds]
        answers: list[str | SpeechIQError] = []
        for group in together:
            try:
                answers += self._answer(content, group, settings)
            except SpeechIQError as failure:
                if isinstance(failure, NoConnection) or (isinstance(failure, Refusal) and failure.status in ENDING):
                    raise
                answers += [failure] * len(group)
        return answers

    def loglikelihood(
        self, prompts: Sequence[PromptType], continuations: Sequence[Sequence[str]], on_result: OnResult = drop
    ) -> list[list[Scored]]:
        """Refuse: the chat API has no log-probabilities of given texts."""
        raise SpeechIQError(self.name, "an endpoint has no log-likelihoods", "run it on tasks that generate")

    def _run(
        self, items: Sequence[Item], ask: Callable[[Item], Result], verb: str, unit: str, on_result: OnResult
    ) -> list[Result]:
        self._ends.clear()
        results = self.remote.run(items, ask, verb, unit, on_result)
        for end, count in Counter(self._ends).items():
            if end in CUT_OFF:
                log.warning("%s %s: %s of %s replies %s", self.name, verb, count, len(self._ends), CUT_OFF[end])
        return results

    def _answer(self, content: Any, seeds: Sequence[int], settings: Mapping[str, Any]) -> list[str]:
        parameters = {"max_completion_tokens": settings.get("max_gen_toks", 256), **sampling_parameters(settings)}
        answers: list[str] = []
        while missing := seeds[len(answers) :]:
            with timed(missing[0]):
                choices = self._complete(content, parameters, partial(self._offer, settings, missing))
            answers += [_mark(choice) for choice in choices[: len(missing)]]
        return answers

    def _offer(self, settings: Mapping[str, Any], seeds: Sequence[int], left_out: Collection[str]) -> dict[str, Any]:
        """Return the optional parameters of a call for as many answers as there are seeds."""
        offered: dict[str, Any] = offer_temperature(settings, left_out)
        if current_clock.get() is not None and not WITH_USAGE.keys() & left_out:
            offered = WITH_USAGE | offered
        if len(seeds) > 1 and not self.seed_per_call and "n" not in left_out:
            return {"n": len(seeds), **offered}
        if "seed" in left_out:
            return offered
        return {"seed": seeds[0] % SEEDS, **offered}

    def _complete(
        self, content: Any, parameters: Mapping[str, Any], offer: Callable[[Collection[str]], dict[str, Any]]
    ) -> list[Choice]:
        """Return the answers of a call, without the optional parameters that the endpoint refuses.

        A parameter is left out from now on only if the call without it succeeds: a prompt may be refused for itself.
        `offer` takes the names of parameters to leave out, and returns the optional ones.
        """
        left_out = set(self._left_out)
        while True:
            optional: dict[str, Any] = offer(left_out)
            try:
                choices = self._chat(content, {**parameters, **optional})
            except Refusal as refusal:
                if not optional or refusal.status not in REJECTED:
                    raise
                named: list[str] = [name for name in optional if re.search(rf"\b{name}\b", str(refusal))]
                left_out.add([*named, *optional][0])
                continue
            if len(choices) < optional.get("n", 1):
                left_out.add("n")
            self._left_out |= left_out
            self._ends += [choice.end for choice in choices]
            return choices

    def _chat(self, content: Any, parameters: Mapping[str, Any]) -> list[Choice]:
        """Return the answers of one call; a malformed reply, such as one that was cut off, is requested again."""
        for _ in range(TRIES - 1):
            with suppress(Malformed):
                return self.remote.endpoint.chat(content, system=self.system, **parameters)
        return self.remote.endpoint.chat(content, system=self.system, **parameters)

    def describe(self) -> dict[str, Any]:
        """Return the settings of the engine and the parameters that the endpoint refused; see `Engine.describe`."""
        return self._settings() | only_given(left_out=sorted(self._left_out))

    def identity(self) -> dict[str, Any]:
        """Return the settings of the engine; see `Engine.identity`."""
        return {"stage": self.kind, **self._settings()}

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sampling settings that the endpoint gets; it uses its own defaults for all others."""
        given = sampling_parameters(settings) | offer_temperature(settings, self._left_out)
        return {"do_sample": bool(settings.get("do_sample")), **given}


def _mark(choice: Choice) -> str:
    """Return the text of an answer, marked if it ended at the limit of its tokens."""
    return CutText(choice.text) if choice.end == LENGTH else choice.text


def offer_temperature(settings: Mapping[str, Any], left_out: Collection[str]) -> dict[str, int]:
    """Return temperature 0 for answers that are not sampled, unless the endpoint refused it."""
    return {} if settings.get("do_sample") or "temperature" in left_out else {"temperature": 0}


def sampling_parameters(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the generation settings that are passed on under their own names."""
    passed_on = {name: value for name, value in settings.items() if name not in ("until", "do_sample", "max_gen_toks")}
    if not settings.get("do_sample"):
        passed_on.pop("temperature", None)
    return passed_on
