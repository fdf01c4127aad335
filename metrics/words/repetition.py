"""Detect repetition: a transcript that repeats one phrase many times, as recognizers do when they lose the speech.

A text repeats itself if a phrase occurs at least `TIMES` times in a row and these repeats have at least `WORDS` words
together. What the speaker repeats does not count: as many repeats of the phrase as the reference has are left out. The
rule is the same for all systems, and no repeat is cut off a transcript.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from speechiq.metrics.words.normalizer import normalize

TIMES = 4
WORDS = 8
LONGEST_PHRASE = 50


def repeats_itself(text: str) -> bool:
    """Return whether `text` repeats itself; words are compared as Whisper's basic normalizer writes them.

    >>> repeats_itself("we are very, very, very glad"), repeats_itself("Thank you. " * 4)
    (False, True)
    """
    return bool(repetition(text, ""))


def repetition(hypothesis: str, reference: str) -> float:
    """Return 1 if the hypothesis repeats a phrase many times more than the reference does, else 0.

    >>> repetition("no, no, no, no, no, no, no, no", "no"), repetition("so it goes", "so it goes")
    (1.0, 0.0)
    """
    words, spoken = (normalize(text, "basic").split() for text in (hypothesis, reference))
    return float(
        any(
            length - len(phrase) * _count_repeats(phrase, spoken) >= max(TIMES * len(phrase), WORDS)
            for phrase, length in _find_runs(words)
        )
    )


def _find_runs(words: Sequence[str]) -> Iterator[tuple[Sequence[str], int]]:
    """Yield each phrase that occurs several times in a row, with the number of words of all its repeats."""
    for period in range(1, min(LONGEST_PHRASE, len(words) // TIMES) + 1):
        start = 0
        for is_same, run in groupby(zip(words, words[period:], strict=False), key=lambda pair: pair[0] == pair[1]):
            size = len(list(run))
            if is_same and size + period >= max(TIMES * period, WORDS):
                yield words[start : start + period], size + period
            start += size


def _count_repeats(phrase: Sequence[str], words: Sequence[str]) -> int:
    """Count the occurrences of a phrase after its first one, wherever it begins."""
    size = len(phrase)
    double = [*phrase, *phrase]
    phrases = [double[start : start + size] for start in range(size)]
    places = range(len(words) - size + 1)
    return max(0, *(sum(words[place : place + size] == each for place in places) - 1 for each in phrases))
