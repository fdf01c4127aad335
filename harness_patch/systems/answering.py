"""Define questions about clips, and answer them in one of three ways: generate, likelihood or argmax."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Any, ClassVar, Protocol, TypeVar

import torch

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import AUDIO, Prompt
from speechiq.core.response import CutText
from speechiq.core.suggestions import suggest
from speechiq.core.usage import replies
from speechiq.engines._shared.sampling import check_sampling_settings, draw_choices, uniforms
from speechiq.engines.base import AudioEngine
from speechiq.metrics.letters.options import ALPHABET

LIKELIHOOD_PROMPT = "Speech: {transcript}\n\nQuestion: {question}\nAnswer:"
LIKELIHOOD_PROMPT_VERSION = 1

#: `Question.purpose` of what asks for a transcript, and of what is answered aloud.
TRANSCRIBE, REPLY = "transcribe", "reply"

Answers = TypeVar("Answers")


@dataclass(frozen=True, slots=True)
class Question:
    """Describe a question about clips.

    Attributes:
        settings: The task's generation settings (`do_sample`, `max_gen_toks`, `until`, ...).
        text: The question alone, if the task gives it; else empty.
        options: Texts to choose from, for multiple choice; or the one continuation to score.
        purpose: `transcribe`, `answer`, `reply` (aloud), or empty if the task does not have it.
        transcript: What a model reads instead of the clips (`listen=text`); None if it gets the audio.
        is_timed: Whether its answers are to be timed.
    """

    prompt: Prompt
    settings: Mapping[str, Any]
    text: str = ""
    options: tuple[str, ...] = ()
    purpose: str = ""
    transcript: str | None = None
    is_timed: bool = False

    @property
    def input(self) -> Prompt:
        """Return the prompt that a model gets; seeds are those of `prompt`, in every variant of a question."""
        return self.prompt if self.transcript is None else self.prompt.written(self.transcript)

    def seeds(self, seed: int, n: int) -> list[int]:
        """Return one seed per answer, which depends on prompt and audio, never on the batch or the process."""
        text, *clips = self.prompt.key
        key = seed, *clips, text
        return [int.from_bytes(hashlib.sha256(repr((*key, i)).encode()).digest()[:8]) for i in range(n)]


class Answering(Protocol):
    """Define a way of answering questions with an engine that takes audio; `way` is its name."""

    way: ClassVar[str]

    def check(self, engine: AudioEngine, questions: Sequence[Question], n: int) -> None:
        """Refuse questions that cannot be answered in this way, before anything is computed."""

    def answer(self, engine: AudioEngine, questions: Sequence[Question], n: int, seed: int) -> list[list[str]]:
        """Return `n` answers per question."""

    def describe(self) -> Mapping[str, Any]:
        """Return the way of answering for the results file, in JSON types only."""


def answer_by_settings(
    generate: Callable[[Sequence[Prompt], Sequence[Sequence[int]], Mapping[str, Any]], Sequence[Answers]],
    questions: Sequence[Question],
    n: int,
    seed: int,
) -> list[Answers]:
    """Return what a model generates for each question, by one call of `generate` for all of equal settings."""
    answers: dict[int, Answers] = {}
    by_settings = sorted(range(len(questions)), key=lambda i: repr(questions[i].settings))
    for settings, same in groupby(by_settings, key=lambda i: questions[i].settings):
        chosen = list(same)
        prompts = [questions[i].input for i in chosen]
        seeds = [questions[i].seeds(seed, n) for i in chosen]
        answers.update(zip(chosen, generate(prompts, seeds, settings), strict=True))
    return [answers[i] for i in range(len(questions))]


@dataclass(frozen=True)
class Generate:
    """Answer by free text, with the task's own prompt (the paper's way); the model argument `option` chose this way."""

    way: ClassVar[str] = "generate"
    option: str

    def check(self, engine: AudioEngine, questions: Sequence[Question], n: int) -> None:
        """Refuse questions that cannot be answered in this way; see `Answering.check`."""
        for settings, _ in groupby(sorted((question.settings for question in questions), key=repr)):
            check_sampling_settings(settings, n)
            engine.sampling(settings)

    def answer(self, engine: AudioEngine, questions: Sequence[Question], n: int, seed: int) -> list[list[str]]:
        """Answer each question `n` times; see `Answering.answer`."""
        answers = answer_by_settings(engine.generate, questions, n, seed)
        for text in chain.from_iterable(answers):
            replies["written"] += 1
            replies["at_limit"] += isinstance(text, CutText)
        return answers

    def describe(self) -> Mapping[str, Any]:
        """Describe the way of answering; see `Answering.describe`."""
        return {"way": self.way}


@dataclass(frozen=True)
class Likelihood:
    """Answer by likelihood, for models that do not follow instructions; the model argument `option` chose this way.

    The score of an option is the difference that the speech makes to its log-likelihood after the question,
    log P(option | speech, question) - log P(option | question). Each answer is a letter drawn from the softmax of the
    scores. If no speech arrives, all scores are 0 and every letter is equally likely.
    """

    way: ClassVar[str] = "likelihood"
    option: str

    def check(self, engine: AudioEngine, questions: Sequence[Question], n: int) -> None:
        """Refuse questions that cannot be answered in this way; see `Answering.check`."""
        if unfit := [question.prompt for question in questions if not (question.prompt.clips and question.options)]:
            name = unfit[0].clips[0].name if unfit[0].clips else "a question without a clip"
            raise SpeechIQError(
                f"{self.option}={self.way}",
                f"{name} has no options to choose from",
                f"use {self.option}=generate for tasks that are not multiple choice",
            )

    def answer(self, engine: AudioEngine, questions: Sequence[Question], n: int, seed: int) -> list[list[str]]:
        """Answer each question `n` times; see `Answering.answer`."""
        options, with_clip, without_clip = [], [], []
        for question in questions:
            options.append([f" {option}" for option in question.options])
            heard = Prompt.about(_ask(question, AUDIO), question.prompt.clips[:1])
            with_clip.append(replace(question, prompt=heard).input)
            without_clip.append(Prompt.about(_ask(question, "")))
        scored = engine.loglikelihood(with_clip + without_clip, options * 2)
        answers = []
        for question, after, before in zip(questions, scored, scored[len(questions) :], strict=False):
            gains = torch.tensor([a.logprob - b.logprob for a, b in zip(after, before, strict=True)])
            numbers = torch.from_numpy(uniforms(question.seeds(seed, n), 1)[:, 0])
            answers.append([ALPHABET[i] for i in draw_choices(self.sharpen(gains).expand(n, -1), numbers)])
        return answers

    def sharpen(self, gains: torch.Tensor) -> torch.Tensor:
        """Return the logits from which letters are drawn, shape (options,), of the scores of the options."""
        return gains

    def describe(self) -> Mapping[str, Any]:
        """Describe the way of answering; see `Answering.describe`."""
        return {"way": self.way, "prompt_version": LIKELIHOOD_PROMPT_VERSION}


class Argmax(Likelihood):
    """Answer with the option of the highest score, equal for all seeds; among equal scores a letter is drawn."""

    way = "argmax"

    def sharpen(self, gains: torch.Tensor) -> torch.Tensor:
        """Return logits that are minus infinity for all but the highest scores; see `Likelihood.sharpen`."""
        return gains.masked_fill(gains < gains.max(), -torch.inf)


def _ask(question: Question, speech: str) -> str:
    return LIKELIHOOD_PROMPT.format(transcript=speech, question=question.text)


WAYS: dict[str, Callable[[str], Answering]] = {kind.way: kind for kind in (Generate, Likelihood, Argmax)}


def way_of_answering(name: str, option: str) -> Answering:
    """Return the way of answering called `name`, which the model argument `option` has."""
    if name not in WAYS:
        raise SpeechIQError(f"{option}={name}", "unknown", suggest(name, WAYS))
    return WAYS[name](option)
