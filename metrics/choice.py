"""Apply: five answers to a multiple-choice question, their letters, and the vote (paper, section 3.3).

A letter is read off an answer, or the answer is unparsed (`?`); a letter is never guessed. The plurality of
the letters read is the system's answer, a tie going to the letter that reached its count first. Where no
answer could be read the vote is unparsed too, and the question counts as not answered right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from lm_eval.api.filter import Filter

from speechiq.core.response import Response, drop_reasoning

NONE_OF_THE_ABOVE = "None of the above"
LETTERS = "ABCDE"
UNPARSED = "?"
STRICT = 3

_ALONE = re.compile(r"[\W_]*([A-Ea-e])[\W_]*")
_AMBIGUOUS = r"(?!\W*(?:or|and)?\W*[A-E]\b)"
_STATED = re.compile(
    r"\b(?i:answer(?:\s+(?:is|would be|should be))?|(?:option|choice)\s+(?:is|would be))"
    r"\W{0,6}(?i:option\s+)?\W{0,3}([A-E])(?![\w'])" + _AMBIGUOUS
)
_AT_HEAD = re.compile(r"^\W{0,4}([A-E])(?:\W{0,2}[.,):\]*]|\s*$|\s+[-\u2013\u2014]\s)" + _AMBIGUOUS, re.MULTILINE)
_ENCLOSED = re.compile(r"(?:[(\[{]|\*\*)([A-E])(?:[)\]}]|\*\*)")


def parse_letter(answer: str, options: Sequence[str]) -> str:
    """The letter that `answer` gives, or `?` where it gives none or more than one.

    The first of these that occurs decides: the letter alone ("b", "[[B]]"); stated ("The answer is B"); at
    the head of a line ("B. ...", "(B) ..."); enclosed anywhere ("so (B) it is"); the text of one option.
    An answer that lists the options again is read only where it states one.

    Args:
        answer: what the system said; reasoning up to `</think>` is left out.
        options: the options' texts, in the order of their letters.

    >>> options = ["a factory fire", "higher diesel prices", "a legal fine", "a strike", "None of the above"]
    >>> parse_letter("The answer is (B).", options), parse_letter("It was a legal fine.", options)
    ('B', 'C')
    >>> parse_letter("A or B, hard to say", options)
    '?'
    """
    text = drop_reasoning(answer).strip()
    if alone := _ALONE.fullmatch(text):
        return _only(alone[1].upper(), options)
    if stated := _STATED.findall(text):
        return _only(stated, options)
    heads, enclosed = _AT_HEAD.findall(text), _ENCLOSED.findall(text)
    if len({*heads, *enclosed}) >= len(options) - 1:
        return UNPARSED
    return _only(heads or enclosed or _spoken(text, options), options)


def _only(letters: Iterable[str], options: Sequence[str]) -> str:
    distinct = set(letters)
    return distinct.pop() if len(distinct) == 1 and distinct <= set(LETTERS[: len(options)]) else UNPARSED


def _spoken(text: str, options: Sequence[str]) -> list[str]:
    said = _plain(text)
    found = {letter: _plain(option) for letter, option in zip(LETTERS, options, strict=False) if _plain(option) in said}
    return [
        letter
        for letter, option in found.items()
        if not any(option in other and option != other for other in found.values())
    ]


def _plain(text: str) -> str:
    words = re.sub(r"[^\w\s]", " ", text.lower()).split()
    return f" {' '.join(words)} "


def vote(letters: Sequence[str]) -> str:
    """The plurality of the letters that could be read; a tie goes to the one that reached its count first.

    >>> vote(["A", "B", "B", "A", "?"]), vote(["?", "?"])
    ('B', '?')
    """
    counts: Counter[str] = Counter()
    winner = UNPARSED
    for letter in letters:
        counts[letter] += letter != UNPARSED
        if counts[letter] > counts[winner]:
            winner = letter
    return winner


class Vote(Filter):
    """lm-eval filter: a question's answers become `[vote, [letter, ...]]`; a letter is heard as its answer was."""

    def apply(self, resps: Iterable[Sequence[str]], docs: Iterable[Mapping]) -> list[list]:
        voted = []
        for answers, doc in zip(resps, docs, strict=True):
            options = [*doc["options"], NONE_OF_THE_ABOVE]
            letters = [Response.of(answer).saying(parse_letter(answer, options)) for answer in answers]
            voted.append([vote(letters), letters])
        return voted


def score(doc: Mapping, results: Sequence[Sequence]) -> dict[str, float]:
    """`process_results` of the level Apply: one question.

    Args:
        doc: `answer` is the right letter.
        results: what `Vote` made of the answers.

    Returns:
        `acc` (the vote is right), `acc_strict` (at least three answers are right, the rule behind the
        paper's released numbers), `unparsed` (share of answers without a letter), `none_of_the_above`
        (the vote is E), `agreement` (share of the answers that carry the vote; 0 without a vote), `heard`
        (share of the clip's seconds that the system was fed; NaN where it did not say).
    """
    voted, letters = results[0]
    return {
        "acc": float(voted == doc["answer"]),
        "acc_strict": float(letters.count(doc["answer"]) >= STRICT),
        "unparsed": letters.count(UNPARSED) / len(letters),
        "none_of_the_above": float(voted == LETTERS[-1]),
        "agreement": letters.count(voted) / len(letters) if voted != UNPARSED else 0.0,
        "heard": Response.of(letters[0]).heard,
    }
