"""The two ways in which a language model answers a question about a transcript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Protocol

import torch

from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.engines.sampling import draw, uniforms
from speechiq.harness_patch.systems.system import AUDIO, LETTERS, Question

LIKELIHOOD_PROMPT = "Speech: {transcript}\n\nQuestion: {question}\nAnswer:"
LIKELIHOOD_PROMPT_VERSION = 1


class Answering(Protocol):
    """Turns transcripts and questions into answers by means of a text engine."""

    def answer(self, llm, questions: Sequence[Question], heard: Sequence[str], n: int, seed: int) -> list[list[str]]:
        """`n` answers a question; `heard` holds the transcript of each question's clip."""


class Generate:
    """Free text: the task's prompt, the transcript in the place of the audio (the paper's way)."""

    def answer(self, llm, questions, heard, n, seed):
        answers: dict[int, list[str]] = {}
        by_settings = sorted(range(len(questions)), key=lambda i: repr(questions[i].settings))
        for _, same in groupby(by_settings, key=lambda i: questions[i].settings):
            chosen = list(same)
            prompts = [questions[i].prompt.replace(AUDIO, heard[i]) for i in chosen]
            seeds = [questions[i].seeds(seed, n) for i in chosen]
            answers.update(zip(chosen, llm.generate(prompts, seeds, questions[chosen[0]].settings), strict=True))
        return [answers[i] for i in range(len(questions))]

    def describe(self) -> Mapping[str, Any]:
        return {"answer": "generate"}


class Likelihood:
    """A choice among the options, for models that cannot follow a format.

    The score of an option is what the transcript adds to its log-probability after the question,
    log P(option | transcript, question) - log P(option | question). Each answer is a letter drawn from the
    softmax of the scores. An empty transcript adds nothing, and every letter is as likely as any other.
    """

    def answer(self, llm, questions, heard, n, seed):
        if blind := [question for question in questions if not question.clip.get("options")]:
            raise SpeechIQError(
                f"llm_answer=likelihood: {blind[0].clip['path']} comes without options to choose from; "
                f"use llm_answer=generate for tasks that are not multiple choice"
            )
        options = [[f" {option}" for option in question.clip["options"]] for question in questions]
        asked = [question.clip["question"] for question in questions]
        transcripts = [text.strip() for text in heard] + [""] * len(asked)
        contexts = [
            LIKELIHOOD_PROMPT.format(transcript=transcript, question=question)
            for transcript, question in zip(transcripts, asked * 2, strict=True)
        ]
        scored = llm.loglikelihood(contexts, options * 2)
        answers = []
        for question, after, before in zip(questions, scored, scored[len(asked) :], strict=False):
            gains = torch.tensor([a.logprob - b.logprob for a, b in zip(after, before, strict=True)])
            numbers = torch.from_numpy(uniforms(question.seeds(seed, n), 1)[:, 0])
            answers.append([LETTERS[i] for i in draw(gains.expand(n, -1), numbers)])
        return answers

    def describe(self) -> Mapping[str, Any]:
        return {"answer": "likelihood", "prompt_version": LIKELIHOOD_PROMPT_VERSION}


WAYS = {"generate": Generate, "likelihood": Likelihood}


def way_of_answering(name: str) -> Answering:
    """The way called `name`.

    Raises:
        SpeechIQError: no such way.
    """
    if name not in WAYS:
        raise SpeechIQError(f"llm_answer={name}: unknown; known are {', '.join(WAYS)}")
    return WAYS[name]()
