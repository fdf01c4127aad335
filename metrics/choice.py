"""Score the level Apply: five answers to a question, their letters, and the vote (paper, section 3.3).

A letter is read off an answer (`metrics/letters.py`), or the answer is unparsed (`?`). The plurality of
the letters read is the system's answer, a tie going to the letter that reached its count first. Where no
answer could be read the vote is unparsed too, and the question counts as not answered right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lm_eval.api.filter import Filter

from speechiq.core.response import response_of, reword
from speechiq.metrics.letters import UNPARSED, parse_letter

NONE_OF_THE_ABOVE = "None of the above"
LETTERS = "ABCDE"
STRICT = 3


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

    def apply(self, resps: Iterable[Sequence[str]], docs: Iterable[Mapping[str, Any]]) -> list[list[Any]]:
        voted = []
        for answers, doc in zip(resps, docs, strict=True):
            options = [*doc["options"], NONE_OF_THE_ABOVE]
            letters = [reword(answer, parse_letter(answer, options)) for answer in answers]
            voted.append([vote(letters), letters])
        return voted


def score(doc: Mapping[str, Any], results: Sequence[Sequence[Any]]) -> dict[str, float]:
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
        "audio_coverage": response_of(letters[0]).coverage,
    }
