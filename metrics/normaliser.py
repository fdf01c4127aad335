"""Whisper's text normalisers, which make two spellings of the same words equal."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache


@cache
def _normaliser(kind: str) -> Callable[[str], str]:
    if kind == "basic":
        from whisper_normalizer.basic import BasicTextNormalizer

        return BasicTextNormalizer()
    from whisper_normalizer.english import EnglishTextNormalizer

    return EnglishTextNormalizer()


def normalise(text: str, kind: str = "english") -> str:
    """`text` as Whisper's `english` or `basic` normaliser writes it, with single spaces.

    >>> normalise("Mr. Lee paid two thousand, uh, dollars.")
    'mister lee paid $2000'
    >>> normalise("Mr. Lee paid two thousand, uh, dollars.", "basic")
    'mr lee paid two thousand uh dollars'
    """
    return " ".join(_normaliser(kind)(text).split())
