"""The two ways in which a model answers a question about a clip."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol

import torch

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import AUDIO, Prompt
from speechiq.engines._shared.independence import check_settings
from speechiq.engines._shared.sampling import draw, uniforms
from speechiq.harness_patch.systems.system import AudioModel, Question
from speechiq.metrics.option_letters import ALPHABET

LIKELIHOOD_PROMPT = "Speech: {transcript}\n\nQuestion: {question}\nAnswer:"
LIKELIHOOD_PROMPT_VERSION = 1


class Answering(Protocol):
    """Turns questions into answers by means of a audio_model."""

    def check(self, audio_model: AudioModel, questions: Sequence[Question], n: int) -> None:
        """Refuse questions that cannot be answered so, before anything is computed."""

    def answer(self, audio_model: AudioModel, questions: Sequence[Question], n: int, seed: int) -> list[list[str]]:
        """`n` answers a question."""

    def describe(self) -> Mapping[str, Any]:
        """Return how it answers, for the results file: JSON types only."""


@dataclass(frozen=True)
class Generate:
    """Free text, by the task's own words (the paper's way).

    Args:
        option: the model argument that chose it, for the errors.
    """

    option: str

    def check(self, audio_model: AudioModel, questions: Sequence[Question], n: int) -> None:
        for settings, _ in groupby(sorted((question.settings for question in questions), key=repr)):
            check_settings(settings, n)
            audio_model.sampling(settings)

    def answer(self, audio_model: AudioModel, questions: Sequence[Question], n: int, seed: int) -> list[list[str]]:
        answers: dict[int, list[str]] = {}
        by_settings = sorted(range(len(questions)), key=lambda i: repr(questions[i].settings))
        for settings, same in groupby(by_settings, key=lambda i: questions[i].settings):
            chosen = list(same)
            prompts = [questions[i].prompt for i in chosen]
            seeds = [questions[i].seeds(seed, n) for i in chosen]
            answers.update(zip(chosen, audio_model.generate(prompts, seeds, settings), strict=True))
        return [answers[i] for i in range(len(questions))]

    def describe(self) -> Mapping[str, Any]:
        return {"way": "generate"}


@dataclass(frozen=True)
class Likelihood:
    """A choice among the options, for models that cannot follow a format.

    The score of an option is what the speech adds to its log-probability after the question,
    log P(option | speech, question) - log P(option | question). Each answer is a letter drawn from the
    softmax of the scores. A speech that was not heard adds nothing, and every letter is as likely as any other.

    Args:
        option: the model argument that chose it, for the errors.
    """

    option: str

    def check(self, audio_model: AudioModel, questions: Sequence[Question], n: int) -> None:
        if blind := [asked.prompt for asked in questions if not (asked.prompt.clips and asked.options)]:
            about = blind[0].clips[0].name if blind[0].clips else "a question about no clip"
            raise SpeechIQError(
                f"{self.option}={self.describe()['way']}: {about} comes without options to choose from; "
                f"use {self.option}=generate for tasks that are not multiple choice"
            )

    def answer(self, audio_model: AudioModel, questions: Sequence[Question], n: int, seed: int) -> list[list[str]]:
        options = [[f" {option}" for option in question.options] for question in questions]
        hearing = [Prompt.about(_ask(question, AUDIO), question.prompt.clips[:1]) for question in questions]
        deaf = [Prompt.about(_ask(question, "")) for question in questions]
        scored = audio_model.loglikelihood(hearing + deaf, options * 2)
        answers = []
        for question, after, before in zip(questions, scored, scored[len(questions) :], strict=False):
            gains = torch.tensor([a.logprob - b.logprob for a, b in zip(after, before, strict=True)])
            numbers = torch.from_numpy(uniforms(question.seeds(seed, n), 1)[:, 0])
            answers.append([ALPHABET[i] for i in draw(self.sharpen(gains).expand(n, -1), numbers)])
        return answers

    def sharpen(self, gains: torch.Tensor) -> torch.Tensor:
        """Return the logits from which letters are drawn, shape (options,), of the scores of the options."""
        return gains

    def describe(self) -> Mapping[str, Any]:
        return {"way": "likelihood", "prompt_version": LIKELIHOOD_PROMPT_VERSION}


class Argmax(Likelihood):
    """The option to whose likelihood the speech adds most, without chance; only among equals a letter is drawn.

    All answers to a question are one, so that nothing moves where a run is repeated with another seed.
    """

    def sharpen(self, gains: torch.Tensor) -> torch.Tensor:
        return gains.masked_fill(gains < gains.max(), -torch.inf)

    def describe(self) -> Mapping[str, Any]:
        return {**super().describe(), "way": "argmax"}


def _ask(question: Question, speech: str) -> str:
    return LIKELIHOOD_PROMPT.format(transcript=speech, question=question.text)


WAYS: dict[str, Callable[[str], Answering]] = {"generate": Generate, "likelihood": Likelihood, "argmax": Argmax}


def way_of_answering(name: str, option: str) -> Answering:
    """The way called `name`.

    Args:
        name: a key of `WAYS`.
        option: that says so, for the errors.

    Raises:
        SpeechIQError: no such way.
    """
    if name not in WAYS:
        raise SpeechIQError(f"{option}={name}: unknown; known are {', '.join(WAYS)}")
    return WAYS[name](option)
