"""Judge free answers by a language model or by rule: each answer by a rubric, or two answers against each other.

`read_judging` refuses judges that cannot work, before any system runs. `judge_cases` and `judge_pairs` take all answers
at once. What a model wrote is in the response cache: a rerun asks nothing.

Each draw is asked once, from the response cache if it is there, with its cost announced first.
"""

import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from speechiq.core.batches import OnResult
from speechiq.core.cache.stage_cache import cached
from speechiq.core.console import count_of, is_first_process, say
from speechiq.core.endpoint.client import Refusal
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Scored, TextPrompt
from speechiq.core.usage import counted_as, usage
from speechiq.engines.cached import CachedEngine
from speechiq.metrics.judge.rubric import Verdict, read_reply
from speechiq.metrics.judge.settings import EXACT_MATCH, LIKELIHOOD, READER, Judging, open_judge
from speechiq.metrics.rules.exact_match import count_keywords, exact_match

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
        """Return the cache key of the draw."""
        return repr((self.question.key, self.seed))


class Draw(NamedTuple):
    """Hold one judgment: a score on the scale of the rubric, or NaN and the reason why it is unjudged.

    A rubric that asks for a letter has no scale: a reply to it has neither a score nor a reason.
    The text is the raw reply, or what failed in brackets; of a likelihood judge the probability of each grade, in JSON.
    """

    text: str
    score: float
    reason: str = ""


def draw_judgments(questions: Sequence[JudgeQuestion], judging: Judging) -> list[list[Draw]]:
    """Return the draws of each question; equal questions are asked once."""
    engine = open_judge(judging.judge, judging.options.others, judging.role)
    return _Work(judging, engine).draw(questions)


class _Work:
    """Ask a judge what is not in the response cache."""

    def __init__(self, judging: Judging, engine: CachedEngine) -> None:
        self.judging, self.engine, self.by_likelihood = judging, engine, judging.options.by == LIKELIHOOD
        self._effective = engine.effective(judging.settings) if judging.settings else {}
        self._failures: dict[str, SpeechIQError] = {}
        self._failures_in_a_row = 0

    def draw(self, questions: Sequence[JudgeQuestion]) -> list[list[Draw]]:
        """Return the draws of each question, after one line that says how much there is to do."""
        asked = [_Asked(question, seed) for question in questions for seed in _seeds(question, self.judging)]
        different = len({tuple(question.key) for question in questions})
        line = f"{self.judging.role} {self.judging.judge}: {count_of(different, 'different answer')}"
        if self.judging.options.draws > 1:
            line += f", {self.judging.options.draws} draws each"
        announced: list[str] = []

        def compute(new: list[_Asked], on_result: OnResult) -> None:
            announced.append(self._announce(line, new, different * self.judging.options.draws - len(new)))
            with self.engine.keep_loaded(), counted_as("judging"):
                for items in _group(new):
                    (self._score if self.by_likelihood else self._write)(new, items, on_result)

        rows = cached(self.engine.cache, asked, self._key, compute, list[float] if self.by_likelihood else str)
        if not announced:
            say_first(f"{line}; all in the response cache, nothing to ask")
        draws = iter([self._read(item, row) for item, row in zip(asked, rows, strict=True)])
        return [list(islice(draws, self.judging.options.draws)) for _ in questions]

    def _key(self, asked: _Asked) -> list[Any]:
        return [self.judging.options.by, self.judging.rubric.sha256, self._effective, asked.question.key, asked.seed]

    def _announce(self, line: str, new: Sequence[_Asked], stored: int) -> str:
        tokens = sum(self.engine.count(item.question.text) for item in new)
        written = 0 if self.by_likelihood else len(new) * int(self.judging.settings["max_gen_toks"])
        line += f"; {stored} cached, {len(new)} to ask: up to {tokens:,} tokens of prompts"
        say_first(line + (f" and {written:,} of replies" if written else ""))
        return line

    def _write(self, new: Sequence[_Asked], groups: Sequence[Sequence[int]], on_result: OnResult) -> None:
        def keep(places: Sequence[int], results: Sequence[Sequence[str | SpeechIQError]]) -> None:
            replies: dict[int, str | SpeechIQError] = {}
            for place, row in zip(places, results, strict=True):
                replies.update(zip(groups[place], row, strict=True))
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
    keys = [repr((judging.options.seed, *question.key, i)) for i in range(judging.options.draws)]
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
    if is_first_process():
        say(line)


#: From how many different answers on a judge with one score for all of them is announced.
MANY = 5
NO_REFERENCE = "no reference to match"
#: What a rubric shows of a case; the order is that of the key in the response cache.
CASE_FIELDS = ("question", "reference", "answer", "checklist", "first", "second")


class Case(NamedTuple):
    """Hold an answer to judge.

    Attributes:
        reference: The right answer; may be empty if the rubric does not show it.
        checklist: What a good answer has.
        accepted: Further right answers, for `judge=exact_match`.
        name: Name in errors.
        keywords: What a good answer contains, for `judge=exact_match` without an accepted answer; see `count_keywords`.
        is_equal: Whether it is known to equal its reference: it is not sent to the judge, and has the highest score.
        grades: What each score of the scale means for this answer, the lowest first; empty for those of the rubric.
    """

    question: str
    answer: str
    reference: str = ""
    checklist: str = ""
    accepted: tuple[str, ...] = ()
    name: str = ""
    keywords: tuple[str, ...] = ()
    is_equal: bool = False
    grades: tuple[str, ...] = ()


class Judgment(NamedTuple):
    """Hold the draws of one answer.

    An empty answer is not sent to the judge: it has the lowest score in every draw, with empty texts.

    Attributes:
        scores: One per draw, on the scale of the rubric; NaN for an unjudged draw.
        texts: What the judge wrote in each draw.
        reasons: Why a draw is unjudged; empty if it is not.
    """

    scores: tuple[float, ...]
    texts: tuple[str, ...]
    reasons: tuple[str, ...] = ()


class PairCase(NamedTuple):
    """Hold two answers to compare; the reference may be empty, and `name` is for errors."""

    question: str
    first: str
    second: str
    reference: str = ""
    name: str = ""


class PairJudgment(NamedTuple):
    """Hold the draws of a comparison, each in both orders: 1 if the first is better, -1 the second, 0 equal, else NaN.

    Attributes:
        shown_first: Scores with the first answer shown first.
        shown_second: Scores with the second answer shown first, again with 1 for the first answer.
        combined: Per draw the mean of both orders; NaN if one is unjudged.
        texts: What the judge wrote: those of `shown_first`, then those of `shown_second`.
        reasons: As for `Judgment`, in the order of `texts`.
    """

    shown_first: tuple[float, ...]
    shown_second: tuple[float, ...]
    combined: tuple[float, ...]
    texts: tuple[str, ...]
    reasons: tuple[str, ...] = ()


def judge_cases(cases: Sequence[Case], judging: Judging) -> list[Judgment]:
    """Return the judgment of each answer, by a rubric of the kind `score`.

    Raises:
        SpeechIQError: A case misses the reference that the rubric shows, or the judge cannot work.

    >>> from speechiq.metrics.judge.settings import read_judging
    >>> judge_cases([Case("How many?", "Three.", "3"), Case("How many?", "", "3")], read_judging({}))
    [Judgment(scores=(5.0,), texts=('match',), reasons=('',)), Judgment(scores=(0.0,), texts=('',), reasons=('',))]
    """
    lowest, draws = float(judging.rubric.scale[0]), judging.options.draws
    rule = Judgment((lowest,) * draws, ("",) * draws, ("",) * draws)
    found = {i: rule for i, case in enumerate(cases) if not case.answer.strip()}
    # One score, which makes no pair: that a model agrees with itself is not known here.
    same = Judgment((float(judging.rubric.scale[1]),), ("",), ("",))
    found |= {i: same for i, case in enumerate(cases) if case.is_equal}
    rest = [i for i in range(len(cases)) if i not in found]
    if judging.judge == EXACT_MATCH:
        return [found.get(i) or _match(case, judging) for i, case in enumerate(cases)]
    check_cases(cases, judging)
    if rest:
        drawn = draw_judgments([_ask(cases[i], judging) for i in rest], judging)
        report(drawn, judging)
        _warn_of_one_score([cases[i] for i in rest], drawn, judging)
        found |= {i: Judgment(*_columns(row)) for i, row in zip(rest, drawn, strict=True)}
    return [found[i] for i in range(len(cases))]


def check_cases(cases: Iterable[Case], judging: Judging) -> None:
    """Refuse cases without the reference that the rubric shows, or with other grades than its scale has."""
    if judging.judge == EXACT_MATCH:
        return
    shows_grades, shows_reference = judging.rubric.has("grades"), judging.rubric.has("reference")
    for number, case in enumerate(cases):
        if shows_grades and case.grades and len(case.grades) != len(judging.rubric.labels):
            raise SpeechIQError(
                case.name,
                f"has {len(case.grades)} descriptions of scores, and the rubric {judging.options.rubric} "
                f"{len(judging.rubric.labels)} scores",
                "correct the column, or leave metadata.grades_column out",
            )
        if shows_reference and not case.reference.strip():
            raise SpeechIQError(
                f"{case.name or f'answer {number}'}",
                f"no reference answer, which the rubric {judging.options.rubric} shows to the judge",
                "add one, or name a rubric without {reference}, judge_rubric=points_1_10",
            )


def judge_pairs(cases: Sequence[PairCase], judging: Judging) -> list[PairJudgment]:
    """Return the judgment of each pair of answers by a pairwise rubric; every draw is made in both orders.

    Two equal answers are equal by rule, and are not sent to the judge. An empty answer is shown as `(none)`.
    """
    equal = [case.first.strip() == case.second.strip() for case in cases]
    rest = [case for case, same in zip(cases, equal, strict=True) if not same]
    swapped = [case._replace(first=case.second, second=case.first) for case in rest]
    questions = [_ask(case, judging) for case in (*rest, *swapped)]
    drawn = draw_judgments(questions, judging) if questions else []
    report(drawn, judging)
    rows = iter(zip(drawn[: len(rest)], drawn[len(rest) :], strict=True))
    zeros, empty = (0.0,) * judging.options.draws, ("",) * judging.options.draws
    same_answer = PairJudgment(zeros, zeros, zeros, empty * 2, empty * 2)
    return [same_answer if same else _combine(*next(rows)) for same in equal]


def _combine(forth: Sequence[Draw], back: Sequence[Draw]) -> PairJudgment:
    shown_first, shown_second = tuple(draw.score for draw in forth), tuple(-draw.score for draw in back)
    combined = tuple((first + second) / 2 for first, second in zip(shown_first, shown_second, strict=True))
    _, texts, reasons = _columns([*forth, *back])
    return PairJudgment(shown_first, shown_second, combined, texts, reasons)


def _ask(case: Case | PairCase, judging: Judging) -> JudgeQuestion:
    shown = {name: getattr(case, name) for name in CASE_FIELDS if name in case._fields}
    if "checklist" in shown and judging.options.checklist == "off":
        shown["checklist"] = ""
    if isinstance(case, Case) and case.grades and judging.rubric.has("grades"):
        shown["grades"] = judging.rubric.list_grades(case.grades)
    return JudgeQuestion(judging.rubric.fill(shown), list(shown.values()), case.name)


def _columns(row: Sequence[Draw]) -> tuple[tuple[float, ...], tuple[str, ...], tuple[str, ...]]:
    return tuple(draw.score for draw in row), tuple(draw.text for draw in row), tuple(draw.reason for draw in row)


def _match(case: Case, judging: Judging) -> Judgment:
    lowest, highest = judging.rubric.scale
    matched = exact_match(case.answer, case.reference, case.accepted)
    if math.isnan(matched):
        matched = count_keywords(case.answer, case.keywords)
    if math.isnan(matched):
        return Judgment((math.nan,), ("",), (NO_REFERENCE,))
    text = f"{100 * matched:.0f} % match"
    if matched in (0, 1):
        text = "match" if matched else "no match"
    return Judgment((lowest + matched * (highest - lowest),), (text,), ("",))


def report(drawn: Sequence[Sequence[Draw]], judging: Judging) -> None:
    """Print in one line how many draws are unjudged, or unread by a reader, and why."""
    reasons = Counter(draw.reason for row in drawn for draw in row if draw.reason)
    if reasons:
        total = sum(map(len, drawn))
        counts = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        word = "unread" if judging.role == READER else "unjudged"
        say_first(f"{judging.role} {judging.judge}: {reasons.total()} of {total} draws are {word}: {counts}")


def _warn_of_one_score(cases: Sequence[Case], drawn: Sequence[Sequence[Draw]], judging: Judging) -> None:
    scores = {draw.score for row in drawn for draw in row if not draw.reason}
    different = len({case.answer for case in cases})
    if len(scores) == 1 and different >= MANY:
        say_first(
            f"judge {judging.judge}: gives {scores.pop():g} to all {different} different answers; try it on answers "
            f"that are known to be wrong, or use a larger judge"
        )
