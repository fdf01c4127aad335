"""Judge free answers by a language model or by rule: each answer by a rubric, or two answers against each other.

`read_judging` refuses judges that cannot work, before any system runs. `judge_cases` and `judge_pairs` take all answers
at once. What a model wrote is in the response cache: a rerun asks nothing.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.judge.draws import Draw, JudgeQuestion, draw, say_first
from speechiq.metrics.judge.settings import EXACT_MATCH, READER, Judging
from speechiq.metrics.rules.exact_match import count_keywords, exact_match

#: From how many different answers on a judge with one score for all of them is announced.
MANY = 5
NO_REFERENCE = "no reference to match"
#: What a rubric shows of a case; the order is that of the key in the response cache.
SHOWN = ("question", "reference", "answer", "checklist", "first", "second")


class Case(NamedTuple):
    """Hold an answer to judge.

    Attributes:
        reference: The right answer; may be empty if the rubric does not show it.
        checklist: What a good answer has.
        accepted: Further right answers, for `judge=exact_match`.
        name: Name in errors.
        keywords: What a good answer contains, for `judge=exact_match` without an accepted answer; see `count_keywords`.
    """

    question: str
    answer: str
    reference: str = ""
    checklist: str = ""
    accepted: tuple[str, ...] = ()
    name: str = ""
    keywords: tuple[str, ...] = ()


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
    lowest = float(judging.rubric.scale[0])
    rule = Judgment((lowest,) * judging.draws, ("",) * judging.draws, ("",) * judging.draws)
    found = {i: rule for i, case in enumerate(cases) if not case.answer.strip()}
    rest = [i for i in range(len(cases)) if i not in found]
    if judging.judge == EXACT_MATCH:
        return [found.get(i) or _match(case, judging) for i, case in enumerate(cases)]
    check_cases(cases, judging)
    if rest:
        drawn = draw([_ask(cases[i], judging) for i in rest], judging)
        report(drawn, judging)
        _warn_of_one_score([cases[i] for i in rest], drawn, judging)
        found |= {i: Judgment(*_columns(row)) for i, row in zip(rest, drawn, strict=True)}
    return [found[i] for i in range(len(cases))]


def check_cases(cases: Iterable[Case], judging: Judging) -> None:
    """Refuse cases without the reference that the rubric shows."""
    if judging.judge != EXACT_MATCH and judging.rubric.has("reference"):
        for number, case in enumerate(cases):
            if not case.reference.strip():
                raise SpeechIQError(
                    f"{case.name or f'answer {number}'}",
                    f"no reference answer, which the rubric {judging.rubric_name} shows to the judge",
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
    drawn = draw(questions, judging) if questions else []
    report(drawn, judging)
    rows = iter(zip(drawn[: len(rest)], drawn[len(rest) :], strict=True))
    zeros, empty = (0.0,) * judging.draws, ("",) * judging.draws
    same_answer = PairJudgment(zeros, zeros, zeros, empty * 2, empty * 2)
    return [same_answer if same else _combine(*next(rows)) for same in equal]


def _combine(forth: Sequence[Draw], back: Sequence[Draw]) -> PairJudgment:
    shown_first, shown_second = tuple(draw.score for draw in forth), tuple(-draw.score for draw in back)
    combined = tuple((first + second) / 2 for first, second in zip(shown_first, shown_second, strict=True))
    _, texts, reasons = _columns([*forth, *back])
    return PairJudgment(shown_first, shown_second, combined, texts, reasons)


def _ask(case: Case | PairCase, judging: Judging) -> JudgeQuestion:
    shown = {name: getattr(case, name) for name in SHOWN if name in case._fields}
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
    text = "match" if matched == 1 else f"{100 * matched:.0f} % match" if matched else "no match"
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
