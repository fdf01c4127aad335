"""Loops: a transcript that says the same phrase over and over, as recognizers do where they lose the speech.

A text loops where a phrase stands at least `TIMES` times in a row and these repeats make at least `WORDS`
words. What a speaker really repeats is no loop: a text is excused where its reference loops too. The rule is
the same for all systems, and nothing is cut off a transcript that loops.
"""

from __future__ import annotations

from itertools import groupby

from speechiq.metrics.normalizer import normalize

TIMES = 4
WORDS = 8
LONGEST_PHRASE = 50


def loops(text: str) -> bool:
    """Whether `text` loops; words are compared as Whisper's basic normalizer writes them.

    >>> loops("we are very, very, very glad"), loops("Thank you. " * 4)
    (False, True)
    """
    words = normalize(text, "basic").split()
    return any(
        same and len(list(run)) + period >= max(TIMES * period, WORDS)
        for period in range(1, min(LONGEST_PHRASE, len(words) // TIMES) + 1)
        for same, run in groupby(zip(words, words[period:], strict=False), key=lambda pair: pair[0] == pair[1])
    )


def loop(hypothesis: str, reference: str) -> float:
    """Metric of a clip: 1 where the hypothesis loops and the reference does not, else 0.

    >>> loop("no, no, no, no, no, no, no, no", "no"), loop("so it goes", "so it goes")
    (1.0, 0.0)
    """
    return float(loops(hypothesis) and not loops(reference))
