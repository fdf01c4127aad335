"""Make a speech system of an engine and its way of answering questions, or of the control `letter:X`."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt, Scored
from speechiq.core.response import Response
from speechiq.core.usage import recording
from speechiq.engines.base import AudioEngine
from speechiq.harness_patch.systems.answering import Answering, Generate, Question
from speechiq.metrics.letters.options import ALPHABET
from speechiq.siq_tasks.conditions.spec import STREAM, TIMING

TIMED = f"--metadata {TIMING}={STREAM}"


class SpeechSystem:
    """Transcribe clips, and answer questions about them in one way, None for a control that does not read them."""

    answering: Answering | None

    def __init__(self, engine: AudioEngine, answering: Answering, seed: int) -> None:
        self.engine, self.answering, self.seed = engine, answering, seed

    def keep_loaded(self) -> AbstractContextManager[None]:
        """Return a block in which a loaded model may stay in memory from call to call."""
        return self.engine.keep_loaded()

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        """Return a transcript of the one clip of each prompt, whose text asks for it."""
        return self.engine.transcribe(prompts)

    def check(self, questions: Sequence[Question], n: int) -> None:
        """Refuse questions that cannot be answered `n` times, before anything is computed."""
        if any(question.is_timed for question in questions):
            self.check_timing()
        if self.answering is not None:
            self.answering.check(self.engine, questions, n)
            if any(question.transcript is not None for question in questions):
                self.engine.check_text_alone()

    def answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """Return `n` independent answers to each question."""
        assert self.answering is not None, "a control has answers of its own"
        with self.engine.keep_loaded():
            answers = self.answering.answer(self.engine, questions, n, self.seed)
            shares = self.engine.coverage([question.input for question in questions])
        return [[Response(text, coverage=share) for text in row] for row, share in zip(answers, shares, strict=True)]

    def check_timing(self) -> None:
        """Refuse a system whose answers do not stream."""
        if not isinstance(self.answering, Generate):
            raise SpeechIQError(
                TIMED, "this system does not write its answers", "give answer=generate, or leave it out"
            )
        if not self.engine.streams:
            raise SpeechIQError(TIMED, "the engine of this system does not stream", "use hf or openai, or leave it out")

    def answer_timed(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """Answer like `answer`; if a question is to be timed, the first answer has its times, if it is new."""
        if not any(question.is_timed for question in questions):
            return self.answer(questions, n)
        with recording() as recorder:
            answers = self.answer(questions, n)
        for question, row in zip(questions, answers, strict=True):
            row[0] = replace(row[0], latency=recorder.latencies.get(question.seeds(self.seed, n)[0]))
        return answers

    def loglikelihood(self, prompts: Sequence[Prompt], continuations: Sequence[str]) -> list[Scored]:
        """Return the log-likelihood of each continuation after its prompt."""
        groups = self.engine.loglikelihood(prompts, [[text] for text in continuations])
        return [scored for (scored,) in groups]

    def describe(self) -> dict[str, Any]:
        """Return what ran and how for the results file, in JSON types only."""
        way = {"answering": dict(self.answering.describe())} if self.answering is not None else {}
        return self.engine.describe() | way


class ConstantLetter(SpeechSystem):
    """Answer every question with the same letter; a score far from chance shows that the questions are not balanced."""

    answering = None

    def __init__(self, letter: str) -> None:
        if letter not in tuple(ALPHABET):
            raise SpeechIQError(
                f"system letter:{letter}", "not one of the letters A to Z", "write, for example, letter:B"
            )
        self.letter = letter

    def keep_loaded(self) -> AbstractContextManager[None]:
        """Return an empty block: no model is loaded."""
        return nullcontext()

    def check(self, questions: Sequence[Question], n: int) -> None:
        """Refuse a letter that no question has as an option."""
        super().check(questions, n)
        count = max((len(question.options) for question in questions), default=0)
        if count and self.letter not in ALPHABET[:count]:
            raise SpeechIQError(
                f"system letter:{self.letter}",
                f"no question has an option {self.letter}",
                f"write one of letter:A to letter:{ALPHABET[count - 1]}",
            )

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        """Return empty transcripts."""
        return [Response("", coverage=0.0) for _ in prompts]

    def answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """Return the letter `n` times per question."""
        return [[Response(self.letter, coverage=0.0)] * n for _ in questions]

    def loglikelihood(self, prompts: Sequence[Prompt], continuations: Sequence[str]) -> list[Scored]:
        """Refuse tasks with log-likelihoods."""
        raise SpeechIQError(f"system letter:{self.letter}", "has no log-likelihoods", "run it on tasks that generate")

    def describe(self) -> dict[str, Any]:
        """Return the name of the control."""
        return {"kind": "control", "control": f"letter:{self.letter}"}
