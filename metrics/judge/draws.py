"""Ask the model of a judge: each draw once, from the response cache if it is there, with its cost announced first."""

import hashlib
import json
import math
import os
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

from speechiq.core.batches import OnResult
from speechiq.core.cache.stage_cache import cached
from speechiq.core.console import count_of, say
from speechiq.core.endpoint.client import Refusal
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Scored, TextPrompt
from speechiq.core.usage import counted_as, usage
from speechiq.engines.cached import CachedEngine
from speechiq.metrics.judge.settings import LIKELIHOOD, Judging, open_judge
from speechiq.metrics.judge.verdict import Verdict, read_reply

#: Answers in a row of which no draw succeeded that end the run: the judge itself does not work.
MOST_FAILURES = 16
#: What a likelihood judge reads after the prompt of a rubric, before the grade.
CUES = {"score": "\nScore:", "pairwise": "\nBetter:"}
NOT_A_NUMBER = "probabilities are not numbers"


class JudgeQuestion(NamedTuple):
    """Hold a prompt of a judge, the key that distinguishes it from others (in JSON types), and its name in errors."""

    text: str
    key: list[str]
    name: str


class _Asked(NamedTuple):
    """Hold a question and the seed of one draw of it."""

    question: JudgeQuestion
    seed: int

    @property
    def name(self) -> str:
        """Return what distinguishes this draw from others."""
        return repr((self.question.key, self.seed))


class Draw(NamedTuple):
    """Hold one judgment: a score on the scale of the rubric, or NaN and the reason why it is unjudged.

    A rubric that asks for a letter has no scale: a reply to it has neither a score nor a reason.
    The text is the raw reply, or what failed in brackets; of a likelihood judge the probability of each grade, in JSON.
    """

    text: str
    score: float
    reason: str = ""


def draw(questions: Sequence[JudgeQuestion], judging: Judging) -> list[list[Draw]]:
    """Return the draws of each question; equal questions are asked once."""
    engine = open_judge(judging.judge, judging.engine_options, judging.role)
    return _Work(judging, engine).draw(questions)


class _Work:
    """Ask a judge what is not in the response cache."""

    def __init__(self, judging: Judging, engine: CachedEngine) -> None:
        self.judging, self.engine, self.by_likelihood = judging, engine, judging.by == LIKELIHOOD
        self._effective = engine.effective(judging.settings) if judging.settings else {}
        self._failures: dict[str, SpeechIQError] = {}
        self._failures_in_a_row = 0

    def draw(self, questions: Sequence[JudgeQuestion]) -> list[list[Draw]]:
        """Return the draws of each question, after one line that says how much there is to do."""
        asked = [_Asked(question, seed) for question in questions for seed in _seeds(question, self.judging)]
        different = len({tuple(question.key) for question in questions})
        line = f"{self.judging.role} {self.judging.judge}: {count_of(different, 'different answer')}"
        if self.judging.draws > 1:
            line += f", {self.judging.draws} draws each"
        announced: list[str] = []

        def compute(new: list[_Asked], on_result: OnResult) -> None:
            announced.append(self._announce(line, new, different * self.judging.draws - len(new)))
            with self.engine.keep_loaded(), counted_as("judging"):
                for items in _group(new):
                    (self._score if self.by_likelihood else self._write)(new, items, on_result)

        rows = cached(self.engine.cache, asked, self._key, compute, list[float] if self.by_likelihood else str)
        if not announced:
            say_first(f"{line}; all in the response cache, nothing to ask")
        draws = iter([self._read(item, row) for item, row in zip(asked, rows, strict=True)])
        return [list(islice(draws, self.judging.draws)) for _ in questions]

    def _key(self, asked: _Asked) -> list[Any]:
        return [self.judging.by, self.judging.rubric.sha256, self._effective, asked.question.key, asked.seed]

    def _announce(self, line: str, new: Sequence[_Asked], stored: int) -> str:
        tokens = sum(self.engine.count(item.question.text) for item in new)
        written = 0 if self.by_likelihood else len(new) * int(self.judging.settings["max_gen_toks"])
        line += f"; {stored} cached, {len(new)} to ask: up to {tokens:,} tokens of prompts"
        say_first(line + (f" and {written:,} of replies" if written else ""))
        return line

    def _write(self, new: Sequence[_Asked], groups: Sequence[Sequence[int]], on_result: OnResult) -> None:
        def keep(places: Sequence[int], results: Sequence[Sequence[str | SpeechIQError]]) -> None:
            replies = {
                item: reply
                for place, row in zip(places, results, strict=True)
                for item, reply in zip(groups[place], row, strict=True)
            }
            failures = {item: reply for item, reply in replies.items() if isinstance(reply, SpeechIQError)}
            written = [item for item in replies if item not in failures]
            on_result(written, [replies[item] for item in written])
            usage["judgments"] += len(written)
            self._failures |= {new[item].name: failure for item, failure in failures.items()}
            self._failures_in_a_row = 0 if written else self._failures_in_a_row + len(places)
            if self._failures_in_a_row >= MOST_FAILURES:
                raise list(self._failures.values())[-1]

        prompts = [self._prompt(new[group[0]].question) for group in groups]
        seeds = [[new[item].seed for item in group] for group in groups]
        self.engine.attempt(prompts, seeds, self.judging.settings, on_result=keep)

    def _score(self, new: Sequence[_Asked], groups: Sequence[Sequence[int]], on_result: OnResult) -> None:
        # The line break ends the grade: without it 1 would include 10.
        continuations = [f" {label}\n" for label in self.judging.rubric.labels]

        def keep(places: Sequence[int], results: Sequence[Sequence[Scored]]) -> None:
            on_result([groups[place][0] for place in places], list(map(_normalize, results)))
            usage["judgments"] += len(places)

        prompts = [self._prompt(new[group[0]].question) for group in groups]
        self.engine.engine.loglikelihood(prompts, [continuations] * len(groups), on_result=keep)

    def _prompt(self, question: JudgeQuestion) -> TextPrompt:
        cue = CUES[self.judging.rubric.kind] if self.by_likelihood else ""
        return TextPrompt(question.text.rstrip() + cue if cue else question.text, about=question.name)

    def _read(self, asked: _Asked, row: Any) -> Draw:
        if row is None:
            failure = self._failures[asked.name]
            return Draw(f"[{failure}]", math.nan, _reason(failure))
        if self.judging.rubric.kind == "letter":
            return Draw(row, math.nan)
        if not self.by_likelihood:
            return Draw(row, *read_reply(row, self.judging.rubric))
        verdict = _expect(row, list(self.judging.rubric.labels.values()))
        text = json.dumps(dict(zip(self.judging.rubric.labels, (round(share, 6) for share in row), strict=True)))
        return Draw(text, *verdict)


def _group(new: Sequence[_Asked]) -> list[list[list[int]]]:
    """Return the places of new draws: by the number of draws of a question, the highest first, then by question."""
    by_question: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, item in enumerate(new):
        by_question[tuple(item.question.key)].append(place)
    by_number: dict[int, list[list[int]]] = defaultdict(list)
    for places in by_question.values():
        by_number[len(places)].append(places)
    return [by_number[number] for number in sorted(by_number, reverse=True)]


def _seeds(question: JudgeQuestion, judging: Judging) -> list[int]:
    """Return one seed per draw, which depends on the question and the judge's seed, not on order or process."""
    keys = [repr((judging.seed, *question.key, i)) for i in range(judging.draws)]
    return [int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]) for key in keys]


def _normalize(row: Sequence[Scored]) -> list[float]:
    """Return the probability of each grade, given that it is one of them; zeros if they are not numbers."""
    highest = max(scored.logprob for scored in row)
    shares = [math.exp(scored.logprob - highest) for scored in row]
    total = math.fsum(shares)
    return [share / total for share in shares] if math.isfinite(total) else [0.0] * len(row)


def _expect(shares: Sequence[float], scores: Sequence[int]) -> Verdict:
    expected = math.fsum(share * score for share, score in zip(shares, scores, strict=True))
    return Verdict(expected) if any(shares) else Verdict(math.nan, NOT_A_NUMBER)


def _reason(failure: SpeechIQError) -> str:
    """Return an error in few words: the HTTP status, or what is wrong with the model."""
    return f"answered {failure.status}" if isinstance(failure, Refusal) else failure.fault or str(failure)


def say_first(line: str) -> None:
    """Print a line in the first of several processes."""
    if os.environ.get("RANK", "0") == "0":
        say(line)
