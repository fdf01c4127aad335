"""Give a system a voice for its replies: an engine that speaks what it wrote, or a voice of its own."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.folders import store_folder
from speechiq.core.response import Response
from speechiq.engines.base import AudioEngine, BatchSize, ReplyEngine, Setup, SpeechEngine
from speechiq.engines.cached import with_cache
from speechiq.engines.registry import build, list_backends
from speechiq.harness_patch.systems.answering import REPLY, Answering, Question, answer_by_settings
from speechiq.harness_patch.systems.spec import Stage
from speechiq.harness_patch.systems.system import TIMED, SpeechSystem

#: Model argument that names the voice, and the prefix of its options.
SPEAKS, SPEAKS_PREFIX = "speaks", "speaks_"
#: Value of `speaks` for a model that speaks by itself.
OWN = "own"


class Speaking(SpeechSystem):
    """Speak by an engine what the system wrote, after all of it is written (`speaks=ENGINE:MODEL`).

    One model is in memory at a time: that of the system is freed before a voice is loaded. The voice speaks the answers
    to questions that ask for a reply.
    """

    def __init__(self, engine: AudioEngine, answering: Answering, seed: int, voice: SpeechEngine | ReplyEngine) -> None:
        super().__init__(engine, answering, seed)
        self.voice: Any = voice

    def keep_loaded(self) -> AbstractContextManager[None]:
        """Return a block that keeps no model loaded, since the next one may be the voice."""
        return nullcontext()

    def answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """Answer each question `n` times, and speak the answers to those that ask for a reply."""
        answers = super().answer(questions, n)
        aloud = [(i, k) for i, question in enumerate(questions) if question.purpose == REPLY for k in range(n)]
        texts = [answers[i][k].text for i, k in aloud]
        seeds = [questions[i].seeds(self.seed, n)[k] for i, k in aloud]
        for (i, k), clip in zip(aloud, self.voice.speak(texts, seeds) if aloud else (), strict=True):
            answers[i][k] = replace(answers[i][k], audio=clip)
        return answers

    def describe(self) -> dict[str, Any]:
        """Describe the system and its voice; see `SpeechSystem.describe`."""
        return super().describe() | {"speaks": self.voice.describe()}


class SpeakingByItself(Speaking):
    """Let a model write and speak its replies at once (`speaks=own`)."""

    def check_timing(self) -> None:
        """Refuse a system whose answers do not stream, or whose voice does not."""
        super().check_timing()
        if not self.voice.streams:
            raise SpeechIQError(TIMED, "the voice of this system does not stream", "use hf or openai, or leave it out")

    def answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """Answer each question `n` times: replies by the model's own voice, all others by the system."""
        aloud = [question for question in questions if question.purpose == REPLY]
        silent = [question for question in questions if question.purpose != REPLY]
        answers = iter(SpeechSystem.answer(self, silent, n) if silent else [])
        replies = iter(answer_by_settings(self.voice.reply, aloud, n, self.seed))
        return [next(replies if question.purpose == REPLY else answers) for question in questions]


class VoiceChoice(NamedTuple):
    """Hold the voice that a user chose: the class that speaks with it, and how the last stage's options build it."""

    system: type[Speaking]
    build: Callable[[Mapping[str, Any]], Any]


def take_voice(
    arguments: dict[str, Any], stages: Sequence[Stage], device: Any, batch_size: BatchSize
) -> VoiceChoice | None:
    """Return the voice that model arguments name, and remove it from them; None without one."""
    options = {
        name.removeprefix(SPEAKS_PREFIX): arguments.pop(name)
        for name in sorted(arguments)
        if name.startswith(SPEAKS_PREFIX)
    }
    if (spec := arguments.pop(SPEAKS, None)) is None:
        if options:
            name = f"{SPEAKS_PREFIX}{next(iter(options))}"
            raise SpeechIQError(name, "the system does not speak", f"give speaks=ENGINE:MODEL or speaks={OWN} too")
        return None
    engine, model = _find_own(stages) if spec == OWN else _split(str(spec))
    setup = Setup(engine=engine, prefix=SPEAKS_PREFIX, device=device, batch_size=batch_size)
    if spec == OWN:
        return VoiceChoice(
            SpeakingByItself,
            lambda shared: with_cache(build("reply", model, {**shared, **options}, setup), store_folder()),
        )
    voice = with_cache(build("speech", model, options, setup), store_folder())
    return VoiceChoice(Speaking, lambda shared: voice)


def _split(spec: str) -> tuple[str, str]:
    """Return the engine and the model of a voice."""
    engine, _, model = spec.partition(":")
    if not (engine and model):
        raise SpeechIQError(
            f"speaks={spec}",
            "not a voice",
            f"write ENGINE:MODEL, such as speaks=hf:facebook/mms-tts-eng, or speaks={OWN} for a model that speaks by "
            "itself",
        )
    return engine, model


def _find_own(stages: Sequence[Stage]) -> tuple[str, str]:
    """Return the engine and the model of a system that is one audio model."""
    (*earlier, last) = stages
    if earlier:
        raise SpeechIQError(
            f"speaks={OWN}",
            "a recognizer with a language model has no voice of its own",
            "give speaks=ENGINE:MODEL, or one audio model that speaks",
        )
    if last.engine not in (known := list_backends("reply")):
        raise SpeechIQError(
            f"speaks={OWN}",
            f"the engine {last.engine} does not speak by itself, {' and '.join(sorted(known))} can",
            "give speaks=ENGINE:MODEL",
        )
    return last.engine, last.model
