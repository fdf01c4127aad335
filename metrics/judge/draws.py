"""Ask the model of a judge: each draw once, from the response cache if it is there, with its cost announced first."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from speechiq.core.console import count_of, say
from speechiq.core.endpoint.client import Refusal
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.checksummed import content_sha256
from speechiq.core.prompt import Scored, TextPrompt
from speechiq.core.usage import counted_as, usage
from speechiq.engines.options import list_names
from speechiq.metrics.judge.engine import Opened, open_judge
from speechiq.metrics.judge.settings import LIKELIHOOD, JudgeOptions, Judging
from speechiq.metrics.judge.verdict import Verdict, read_reply

#: Answers in a row of which no draw succeeded that end the run: the judge itself does not work.
MOST_FAILURES = 16
#: What a likelihood judge reads after the prompt of a rubric, before the grade.
CUES = {"score": "\nScore:", "pairwise": "\nBetter:"}
NOT_A_NUMBER = "probabilities are not numbers"


class Question(NamedTuple):
    """What a judge is asked about one answer.

    Attributes:
        text: The prompt.
        key: What distinguishes it from other questions, in JSON types.
        name: Name of what is judged, for errors.
    """

    text: str
    key: list[str]
    name: str


class Draw(NamedTuple):
    """One judgment.

    Attributes:
        text: The raw reply, or what failed in brackets; of a likelihood judge the probability of each grade, in JSON.
        score: On the scale of the rubric; NaN if the draw is unjudged.
        reason: Why it is unjudged; empty if it is not.
    """

    text: str
    score: float
    reason: str = ""


def draw(questions: Sequence[Question], judging: Judging) -> list[list[Draw]]:
    """Return the draws of each question; equal questions are asked once.

    Raises:
        SpeechIQError: The judge cannot work: no connection, a refused key, a prompt that is too long for the model, ...
    """
    opened = open_judge(judging.judge, judging.engine_options, list_names(JudgeOptions))
    work = _Work(questions, judging, opened)
    work.announce()
    with opened.engine.keep_loaded(), counted_as("judging"):
        work.compute()
    return [[work.read(key) for key in row] for row in work.keys]


class _Work:
    """The draws of all questions, of which some are in the cache."""

    def __init__(self, questions: Sequence[Question], judging: Judging, opened: Opened) -> None:
        self.judging, self.engine, self.cache = judging, opened.engine, opened.cache
        self.by_likelihood = judging.by == LIKELIHOOD
        effective = self.engine.effective(judging.settings) if judging.settings else {}
        self.asked: dict[str, Question] = {content_sha256(question.key): question for question in questions}
        self.seeds = {name: _seeds(question, judging) for name, question in self.asked.items()}
        rows = {
            name: [
                content_sha256([judging.by, judging.rubric.sha256, effective, question.key, seed])
                for seed in self.seeds[name]
            ]
            for name, question in self.asked.items()
        }
        self.keys = [rows[content_sha256(question.key)] for question in questions]
        self.cache.fetch({key for row in rows.values() for key in row}, list[float] if self.by_likelihood else str)
        self.missing = {
            name: [(key, seed) for key, seed in zip(row, self.seeds[name], strict=True) if key not in self.cache.rows]
            for name, row in rows.items()
        }
        self.failures: dict[str, SpeechIQError] = {}
        self._in_a_row = 0

    def announce(self) -> None:
        """Print in one line how much there is to do."""
        new, total = sum(map(len, self.missing.values())), sum(map(len, self.seeds.values()))
        line = f"judge {self.judging.judge}: {count_of(len(self.asked), 'different answer')}"
        if self.judging.draws > 1:
            line += f", {self.judging.draws} draws each"
        if not new:
            return say_first(f"{line}; all in the response cache, nothing to ask")
        tokens = sum(self.engine.count(self.asked[name].text) * len(row) for name, row in self.missing.items())
        written = 0 if self.by_likelihood else new * int(self.judging.settings["max_gen_toks"])
        say_first(
            f"{line}; {total - new} cached, {new} to ask: up to {tokens:,} tokens of prompts"
            + (f" and {written:,} of replies" if written else "")
        )

    def compute(self) -> None:
        """Ask what is not in the cache."""
        by_count: dict[int, list[str]] = defaultdict(list)
        for name, row in self.missing.items():
            by_count[len(row)].append(name)
        for count in sorted(by_count.keys() - {0}, reverse=True):
            (self._score if self.by_likelihood else self._write)(by_count[count])

    def _write(self, names: Sequence[str]) -> None:
        def keep(places: Sequence[int], results: Sequence[Sequence[str | SpeechIQError]]) -> None:
            replies = {
                key: reply
                for place, row in zip(places, results, strict=True)
                for (key, _), reply in zip(self.missing[names[place]], row, strict=True)
            }
            written = {key: reply for key, reply in replies.items() if isinstance(reply, str)}
            self.cache.add(written)
            usage["judgments"] += len(written)
            self.failures |= {key: reply for key, reply in replies.items() if isinstance(reply, SpeechIQError)}
            self._in_a_row = 0 if written else self._in_a_row + len(places)
            if self._in_a_row >= MOST_FAILURES:
                raise list(self.failures.values())[-1]

        prompts = [self._prompt(name) for name in names]
        seeds = [[seed for _, seed in self.missing[name]] for name in names]
        self.engine.attempt(prompts, seeds, self.judging.settings, on_result=keep)

    def _score(self, names: Sequence[str]) -> None:
        labels = self.judging.rubric.labels
        # The line break ends the grade: without it 1 would include 10.
        continuations = [f" {label}\n" for label in labels]

        def keep(places: Sequence[int], results: Sequence[Sequence[Scored]]) -> None:
            rows = {self.missing[names[i]][0][0]: _normalize(row) for i, row in zip(places, results, strict=True)}
            self.cache.add(rows)
            usage["judgments"] += len(rows)

        self.engine.loglikelihood([self._prompt(name) for name in names], [continuations] * len(names), on_result=keep)

    def _prompt(self, name: str) -> TextPrompt:
        question = self.asked[name]
        cue = CUES[self.judging.rubric.kind] if self.by_likelihood else ""
        return TextPrompt(question.text.rstrip() + cue if cue else question.text, about=question.name)

    def read(self, key: str) -> Draw:
        """Return the draw of a key."""
        if key in self.failures:
            failure = self.failures[key]
            return Draw(f"[{failure}]", math.nan, _reason(failure))
        row = self.cache.rows[key]
        if not self.by_likelihood:
            return Draw(row, *read_reply(row, self.judging.rubric))
        verdict = _expect(row, list(self.judging.rubric.labels.values()))
        text = json.dumps(dict(zip(self.judging.rubric.labels, (round(each, 6) for each in row), strict=True)))
        return Draw(text, *verdict)


def _seeds(question: Question, judging: Judging) -> list[int]:
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
    """Return an error in few words: the HTTP status, or what is between the name of the model and the fix."""
    if isinstance(failure, Refusal):
        return f"answered {failure.status}"
    return str(failure).partition(": ")[2].rpartition("; ")[0] or str(failure)


def say_first(line: str) -> None:
    """Print a line in the first of several processes."""
    if os.environ.get("RANK", "0") == "0":
        say(line)
