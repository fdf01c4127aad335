"""Detect repetition: a transcript that repeats one phrase many times, as recognizers do when they lose the speech.

A text repeats itself if a phrase occurs at least `TIMES` times in a row and these repeats have at least `WORDS` words
together. Repetition by the speaker does not count: a text is excused if its reference repeats itself too. The rule is
the same for all systems, and no repeat is cut off a transcript.
"""

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
    words = normalize(text, "basic").split()
    return any(
        same and len(list(run)) + period >= max(TIMES * period, WORDS)
        for period in range(1, min(LONGEST_PHRASE, len(words) // TIMES) + 1)
        for same, run in groupby(zip(words, words[period:], strict=False), key=lambda pair: pair[0] == pair[1])
    )


def repetition(hypothesis: str, reference: str) -> float:
    """Return 1 if the hypothesis repeats itself and the reference, if it has words, does not, else 0.

    >>> repetition("no, no, no, no, no, no, no, no", "no"), repetition("so it goes", "so it goes")
    (1.0, 0.0)
    """
    return float(repeats_itself(hypothesis) and not repeats_itself(reference))
