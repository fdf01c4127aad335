"""Make a speech system of an engine, its way of answering questions and its voice; or of a recognizer or `letter:X`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.folders import store_folder
from speechiq.core.prompt import Prompt, Scored
from speechiq.core.response import Response
from speechiq.core.usage import recording
from speechiq.engines.base import ASREngine, AudioEngine, BatchSize, ReplyEngine, Setup, SpeechEngine
from speechiq.engines.cached import with_cache
from speechiq.engines.options import pick_prefixed
from speechiq.engines.registry import build_engine, list_backends
from speechiq.harness_patch.systems.answering import REPLY, Answering, Generate, Question, answer_by_settings
from speechiq.harness_patch.systems.spec import Stage
from speechiq.metrics.letters.options import ALPHABET
from speechiq.siq_tasks.conditions.spec import STREAM, TIMING

#: End of the names of tasks that ask questions, beside which tasks of the same clips want transcripts.
APPLY = "_apply"
TIMED = f"--metadata {TIMING}={STREAM}"


class SpeechSystem(ABC):
    """Transcribe clips, and answer questions about them, without a model: as a control or a person does.

    Attributes:
        name: The system in errors.
        answering: The way in which a model answers questions; None without a model that does.
        hears: Whether the system needs the sound of clips.
    """

    name: str
    answering: Answering | None = None
    hears: bool = False

    def keep_loaded(self) -> AbstractContextManager[None]:
        """Return a block in which a loaded model may stay in memory from call to call."""
        return nullcontext()

    def refuse_task(self, task: str) -> None:
        """Refuse a task that asks questions, if the system answers none."""
        return

    def check(self, questions: Sequence[Question], n: int) -> None:
        """Refuse questions that cannot be answered `n` times, before anything is computed."""
        if any(question.is_timed for question in questions):
            self.check_timing()

    def check_timing(self) -> None:
        """Refuse a system whose answers do not stream."""
        raise SpeechIQError(TIMED, "this system does not write its answers", "give answer=generate, or leave it out")

    @abstractmethod
    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        """Return a transcript of the one clip of each prompt, whose text asks for it."""

    def answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """Return `n` independent answers to each question, the first with its times if it is to be timed and is new."""
        raise NotImplementedError(f"{self.name} answers no questions")

    def loglikelihood(self, prompts: Sequence[Prompt], continuations: Sequence[str]) -> list[Scored]:
        """Return the log-likelihood of each continuation after its prompt."""
        raise SpeechIQError(f"system {self.name}", "has no log-likelihoods", "run it on tasks that generate")

    def count_parameters(self) -> int | None:
        """Return the number of parameters of all stages, without a voice; None if that of one is not known."""
        return None

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Describe the parts of the system and their settings for the results file, in JSON types only."""


class ModelSystem(SpeechSystem):
    """Let an engine transcribe, and answer questions in one way."""

    answering: Answering

    def __init__(self, engine: AudioEngine, answering: Answering, seed: int) -> None:
        self.engine, self.answering, self.seed = engine, answering, seed
        self.hears = engine.hears

    def keep_loaded(self) -> AbstractContextManager[None]:
        """Return a block in which a loaded model stays in memory; see `SpeechSystem.keep_loaded`."""
        return self.engine.keep_loaded()

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        """Return a transcript of the clip of each prompt; see `SpeechSystem.transcribe`."""
        return self.engine.transcribe(prompts)

    def check(self, questions: Sequence[Question], n: int) -> None:
        """Refuse questions that the engine cannot answer in this way; see `SpeechSystem.check`."""
        super().check(questions, n)
        self.answering.check(self.engine, questions, n)
        if any(question.transcript is not None for question in questions):
            self.engine.check_text_alone()

    def check_timing(self) -> None:
        """Refuse a system whose answers do not stream."""
        if not isinstance(self.answering, Generate):
            super().check_timing()
        if not self.engine.streams:
            raise SpeechIQError(TIMED, "the engine of this system does not stream", "use hf or openai, or leave it out")

    def answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """Answer each question `n` times; see `SpeechSystem.answer`."""
        if not any(question.is_timed for question in questions):
            return self._answer(questions, n)
        with recording() as recorder:
            answers = self._answer(questions, n)
        for question, row in zip(questions, answers, strict=True):
            row[0] = replace(row[0], latency=recorder.latencies.get(question.seeds(self.seed, n)[0]))
        return answers

    def _answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """Return `n` answers to each question, without times."""
        with self.engine.keep_loaded():
            answers = self.answering.answer(self.engine, questions, n, self.seed)
            shares = self.engine.coverage([question.input for question in questions])
        responses = []
        for texts, share in zip(answers, shares, strict=True):
            responses.append([Response(text, coverage=share) for text in texts])
        return responses

    def loglikelihood(self, prompts: Sequence[Prompt], continuations: Sequence[str]) -> list[Scored]:
        """Return the log-likelihood of each continuation; see `SpeechSystem.loglikelihood`."""
        groups = self.engine.loglikelihood(prompts, [[text] for text in continuations])
        return [scored for (scored,) in groups]

    def count_parameters(self) -> int | None:
        """Return the number of parameters of the engine; see `SpeechSystem.count_parameters`."""
        return self.engine.count_parameters()

    def describe(self) -> dict[str, Any]:
        """Describe the engine and the way of answering; see `SpeechSystem.describe`."""
        return self.engine.describe() | {"answering": dict(self.answering.describe())}


class ConstantLetter(SpeechSystem):
    """Answer every question with the same letter; a score far from chance shows that the questions are not balanced."""

    def __init__(self, letter: str) -> None:
        if letter not in tuple(ALPHABET):
            raise SpeechIQError(
                f"system letter:{letter}", "not one of the letters A to Z", "write, for example, letter:B"
            )
        self.letter, self.name = letter, f"letter:{letter}"

    def check(self, questions: Sequence[Question], n: int) -> None:
        """Refuse a letter that no question has as an option."""
        super().check(questions, n)
        count = max((len(question.options) for question in questions), default=0)
        if count and self.letter not in ALPHABET[:count]:
            raise SpeechIQError(
                f"system {self.name}",
                f"no question has an option {self.letter}",
                f"write one of letter:A to letter:{ALPHABET[count - 1]}",
            )

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        """Return empty transcripts."""
        return [Response("", coverage=0.0) for _ in prompts]

    def answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """Return the letter `n` times per question."""
        return [[Response(self.letter, coverage=0.0)] * n for _ in questions]

    def count_parameters(self) -> int | None:
        """Return 0: no model runs."""
        return 0

    def describe(self) -> dict[str, Any]:
        """Return the name of the control."""
        return {"kind": "control", "control": self.name}


class Recognizer(SpeechSystem):
    """Transcribe by a recognizer alone, for tasks that want transcripts; it answers no questions.

    The recognizer loads and frees its model itself.
    """

    def __init__(self, name: str, recognizer: ASREngine) -> None:
        self.name, self.recognizer, self.hears = name, recognizer, recognizer.hears

    def refuse_task(self, task: str) -> None:
        """Refuse a task that asks questions."""
        others = "choose tasks that want transcripts"
        if task.endswith(APPLY):
            stem = task.removesuffix(APPLY)
            others += f": --tasks {stem}_remember,{stem}_understand"
        raise SpeechIQError(
            f"task {task}", f"asks questions, and {self.name} only transcribes", f"write {self.name}+LLM, or {others}"
        )

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        """Return a transcript of the one clip of each prompt."""
        return self.recognizer.transcribe([prompt.clip for prompt in prompts])

    def count_parameters(self) -> int | None:
        """Return the number of parameters of the recognizer; see `SpeechSystem.count_parameters`."""
        return self.recognizer.count_parameters()

    def describe(self) -> dict[str, Any]:
        """Describe the recognizer; see `SpeechSystem.describe`."""
        return {"kind": "recognizer", "asr": self.recognizer.describe()}


#: Model argument that names the voice, and the prefix of its options.
SPEAKS, SPEAKS_PREFIX = "speaks", "speaks_"
#: Value of `speaks` for a model that speaks by itself.
OWN = "own"


class Speaking(ModelSystem):
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

    def _answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """Answer each question `n` times, and speak the answers to those that ask for a reply."""
        answers = super()._answer(questions, n)
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

    def _answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """Answer each question `n` times: replies by the model's own voice, all others by the system."""
        aloud = [question for question in questions if question.purpose == REPLY]
        silent = [question for question in questions if question.purpose != REPLY]
        answers = iter(super()._answer(silent, n) if silent else [])
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
    options = pick_prefixed(arguments, SPEAKS_PREFIX)
    for name in options:
        del arguments[SPEAKS_PREFIX + name]
    if (spec := arguments.pop(SPEAKS, None)) is None:
        if options:
            name = f"{SPEAKS_PREFIX}{min(options)}"
            raise SpeechIQError(name, "the system does not speak", f"give speaks=ENGINE:MODEL or speaks={OWN} too")
        return None
    engine, model = _find_own(stages) if spec == OWN else _split(str(spec))
    setup = Setup(engine=engine, prefix=SPEAKS_PREFIX, device=device, batch_size=batch_size)
    if spec == OWN:
        return VoiceChoice(
            SpeakingByItself,
            lambda shared: with_cache(build_engine("reply", model, {**shared, **options}, setup), store_folder()),
        )
    voice = with_cache(build_engine("speech", model, options, setup), store_folder())
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
