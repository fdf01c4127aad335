"""Align transcripts with the reference word by word, as the word error rate counts errors.

Both texts are normalized with the task's rules before they are aligned. The marks are therefore exactly the errors that
`wer` counts: none for "2,000" against "two thousand", one for each wrong word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import jiwer

Ops = list[int | str]


class Edit(NamedTuple):
    """One place at which a text differs from the reference.

    Attributes:
        start: Number of the first word of the reference that differs, from 0.
        dropped: How many words of the reference are missing from there on.
        written: The words written instead; may be empty.
    """

    start: int
    dropped: int
    written: str


def compare(reference: str, texts: Sequence[str]) -> list[Ops]:
    """Align normalized texts with a normalized reference.

    Returns:
        For each text its steps: `n` equal words, `-n` missing words of the reference, or the words written instead.

    >>> compare("a quick brown fox", ["a quick red fox jumps", "fox", ""])
    [[2, -1, 'red', 1, 'jumps'], [-3, 1], [-4]]
    """
    if not texts:
        return []
    aligned = jiwer.process_words([reference] * len(texts), list(texts))
    return [
        [
            step
            for same, chunks in groupby(of, key=lambda chunk: chunk.type == "equal")
            for step in _steps(same, chunks, to)
        ]
        for of, to in zip(aligned.alignments, aligned.hypotheses, strict=True)
    ]


def edits(ops: Ops) -> Iterator[Edit]:
    """Yield the places at which a text differs from the reference.

    >>> list(edits([2, -1, "red", 1, "jumps"]))
    [Edit(start=2, dropped=1, written='red'), Edit(start=4, dropped=0, written='jumps')]
    """
    at = 0
    for same, group in groupby(ops, key=lambda step: isinstance(step, int) and step > 0):
        steps = list(group)
        numbers = [abs(step) for step in steps if isinstance(step, int)]
        if not same:
            yield Edit(at, sum(numbers), " ".join(step for step in steps if isinstance(step, str)))
        at += sum(numbers)


def _steps(same: bool, chunks: Iterator[jiwer.AlignmentChunk], words: list[str]) -> Iterator[int | str]:
    run = list(chunks)
    count = run[-1].ref_end_idx - run[0].ref_start_idx
    if count:
        yield count if same else -count
    if not same and (written := words[run[0].hyp_start_idx : run[-1].hyp_end_idx]):
        yield " ".join(written)
