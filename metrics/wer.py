"""Score the level Remember: word and character error rates against the reference (paper, section 3.1).

Every clip is scored on its own, with the normalizer that the task names (`wer`; by default Whisper's English one)
and with Whisper's basic one (`wer_basic`, for which "2,000" and "two thousand" differ). `wer_corpus` pools the counts
of all clips. A rate over a reference without words is undefined: NaN. An empty hypothesis has rate 1.

Where a corrector rewrote what a recognizer heard, `wer_first` is the rate of the recognizer's first text and
`wer_oracle` that of the best text it held possible, so that a row shows what the correction brought and what
it could have brought.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import jiwer

from speechiq.core.response import response_of
from speechiq.metrics.normalizer import DEFAULT, normalize
from speechiq.metrics.repetition import loop

Align = Callable[[str, str], jiwer.WordOutput | jiwer.CharacterOutput]


@dataclass(frozen=True)
class Errors:
    """Counts of one alignment, or the sum of several; the unit is words or characters.

    >>> count_errors("so it goes", "so he goes on") + Errors(hits=7)
    Errors(hits=9, substitutions=1, deletions=0, insertions=1)
    """

    hits: int = 0
    substitutions: int = 0
    deletions: int = 0
    insertions: int = 0

    def __post_init__(self) -> None:
        if min(astuple(self)) < 0:
            raise ValueError(f"counts of errors cannot be negative: {self}")

    def __add__(self, other: Errors) -> Errors:
        return Errors(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    @property
    def reference_length(self) -> int:
        return self.hits + self.substitutions + self.deletions

    @property
    def total(self) -> int:
        return self.substitutions + self.deletions + self.insertions

    def per_unit(self, count: int) -> float:
        """`count` divided by the length of the reference; NaN where that is 0."""
        return count / self.reference_length if self.reference_length else math.nan


class ErrorRate(float):
    """The error rate of `errors`: a float that remembers its counts, so that rates can be pooled.

    >>> pool([ErrorRate(Errors(hits=9, deletions=1)), ErrorRate(Errors(hits=9, substitutions=21))])
    0.55
    """

    errors: Errors

    def __new__(cls, errors: Errors) -> ErrorRate:
        rate = super().__new__(cls, errors.per_unit(errors.total))
        rate.errors = errors
        return rate

    def __reduce__(self) -> tuple[type[ErrorRate], tuple[Errors]]:
        return type(self), (self.errors,)


def count_errors(reference: str, hypothesis: str, align: Align = jiwer.process_words) -> Errors:
    """The errors of one alignment, of words or (`align=jiwer.process_characters`) of characters."""
    if not reference:
        units = hypothesis.split() if align is jiwer.process_words else hypothesis
        return Errors(insertions=len(units))
    found = align(reference, hypothesis)
    return Errors(found.hits, found.substitutions, found.deletions, found.insertions)


def wer(reference: str | Sequence[str], hypothesis: str | Sequence[str], normalizer: str = DEFAULT) -> float:
    """Return the word error rate of one text, or of several together (all errors over all reference words).

    Args:
        reference: The words that were spoken.
        hypothesis: The transcript; as many texts as `reference` has.
        normalizer: A key of `metrics.normalizer.RULES`.

    Returns:
        Errors per reference word; NaN if the references have no words.

    >>> wer("It cost $2,000.", "it cost two thousand dollars")
    0.0
    >>> wer(["so it goes on", "yes"], ["so it goes", "no"])
    0.4
    """
    spoken, written = ([side] if isinstance(side, str) else side for side in (reference, hypothesis))
    return pool(
        ErrorRate(count_errors(normalize(said, normalizer), normalize(text, normalizer)))
        for said, text in zip(spoken, written, strict=True)
    )


def score(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
    """Return all rates of one clip; the `process_results` of the level Remember.

    Args:
        doc: `text` is the reference, `normalizer` names the rules for all rates but `wer_basic` (a key of
            `metrics.normalizer.RULES`; by default `english`).
        results: one hypothesis.

    Returns:
        `heard` (share of the clip's seconds that the system was fed; NaN where it did not say), `loop` (see
        `metrics/loop.py`), `wer`, `wer_basic`, `cer`, `wer_corpus`, and `substitutions`, `deletions`, `insertions` per
        reference word; `wer_first` and `wer_oracle`, both `wer` for a system without an
        n-best list and a corrector; `corrector_trimmed` and `corrector_refused` (1 where the corrector's
        answer was that, see `CORRECTIONS`).
    """
    response, reference = response_of(results[0]), doc["text"]
    hypothesis = response.text
    kind = doc.get("normalizer", DEFAULT)
    texts = normalize(reference, kind), normalize(hypothesis, kind)
    words = count_errors(*texts)
    possible = [count_errors(texts[0], normalize(text, kind)) for text in response.hypotheses or [hypothesis]]
    basic = count_errors(normalize(reference, "basic"), normalize(hypothesis, "basic"))
    characters = count_errors(*texts, align=jiwer.process_characters)
    return {
        "audio_coverage": response.coverage,
        "repetition": loop(hypothesis, reference),
        "wer": float(ErrorRate(words)),
        "wer_basic": float(ErrorRate(basic)),
        "cer": float(ErrorRate(characters)),
        "wer_corpus": ErrorRate(words),
        "substitutions": words.per_unit(words.substitutions),
        "deletions": words.per_unit(words.deletions),
        "insertions": words.per_unit(words.insertions),
        "wer_first": float(ErrorRate(possible[0])),
        "wer_oracle": float(min(map(ErrorRate, possible))),
        "corrector_trimmed": float(response.provenance == "trimmed"),
        "corrector_refused": float(response.provenance == "refused"),
    }


def pool(rates: Iterable[ErrorRate]) -> float:
    """Aggregation of `wer_corpus`: all errors over all reference words."""
    return float(ErrorRate(sum((rate.errors for rate in rates), Errors())))
