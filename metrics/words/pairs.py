"""Pair references with hypotheses, given as two texts or as two lists of texts."""

from collections.abc import Sequence

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError


def pair_texts(reference: str | Sequence[str], hypothesis: str | Sequence[str]) -> list[tuple[str, str]]:
    """Return one (reference, hypothesis) per clip; a single text counts as a list of one.

    >>> pair_texts("so it goes", "so he goes")
    [('so it goes', 'so he goes')]
    """
    references, hypotheses = ([side] if isinstance(side, str) else list(side) for side in (reference, hypothesis))
    if len(references) != len(hypotheses):
        raise SpeechIQError(
            "references",
            f"{count_of(len(references), 'text')}, hypotheses: {len(hypotheses)}",
            "give one hypothesis per reference",
        )
    return list(zip(references, hypotheses, strict=True))


def index_texts(pairs: Sequence[tuple[str, str]], names: Sequence[str] = ()) -> tuple[dict[str, str], list[list[int]]]:
    """Return the different texts of pairs, sorted, each with its name in errors, and the places of both sides in them.

    `pairs` has (reference, hypothesis) per clip, at least one, and `names` a name per clip, by default its number.

    >>> index_texts([("so it goes", "so he goes")])[1]
    [[1], [0]]
    """
    owners: dict[str, str] = {}
    for (reference, hypothesis), clip in zip(pairs, names or range(len(pairs)), strict=True):
        owners.setdefault(hypothesis, f"the transcript of {clip}")
        owners[reference] = f"the reference of {clip}"
    rows = {text: row for row, text in enumerate(sorted(owners))}
    return {text: owners[text] for text in rows}, [[rows[text] for text in side] for side in zip(*pairs, strict=True)]
