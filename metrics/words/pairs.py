"""Pair references with hypotheses, given as two texts or as two lists of texts."""

from __future__ import annotations

from collections.abc import Sequence

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError


def pair_texts(reference: str | Sequence[str], hypothesis: str | Sequence[str]) -> list[tuple[str, str]]:
    """Return one (reference, hypothesis) per clip; a single text counts as a list of one.

    Raises:
        SpeechIQError: The lists have different lengths.

    >>> pair_texts("so it goes", "so he goes")
    [('so it goes', 'so he goes')]
    """
    references, hypotheses = ([side] if isinstance(side, str) else list(side) for side in (reference, hypothesis))
    if len(references) != len(hypotheses):
        raise SpeechIQError(
            f"references: {count_of(len(references), 'text')}, hypotheses: {len(hypotheses)}; give one "
            "hypothesis per reference"
        )
    return list(zip(references, hypotheses, strict=True))
