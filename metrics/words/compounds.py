"""Align words so that a compound equals its parts: "white paper" and "whitepaper" differ in no word.

The rule is that of kaldialign's option `merge_compounds`: adjacent words of either text, joined, match one word of the
other text without an error. The Open ASR Leaderboard counts so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Alignment(NamedTuple):
    """Hold the counts of one alignment; `hits` counts words of the reference. Fewer errors are less."""

    errors: int
    substitutions: int
    deletions: int
    insertions: int
    hits: int

    def plus(self, substitutions: int = 0, deletions: int = 0, insertions: int = 0, hits: int = 0) -> Alignment:
        """Return the counts after one more step."""
        step = substitutions + deletions + insertions, substitutions, deletions, insertions, hits
        return Alignment(*map(sum, zip(self, step, strict=True)))


def align_compounds(reference: str, hypothesis: str) -> Alignment:
    """Return the counts of the alignment with the fewest errors.

    >>> align_compounds("the white paper of today", "the whitepaper to day")
    Alignment(errors=1, substitutions=0, deletions=1, insertions=0, hits=4)
    """
    spoken, written = reference.split(), hypothesis.split()
    rows = [[Alignment(j, 0, 0, j, 0) for j in range(len(written) + 1)]]
    for i, word in enumerate(spoken, 1):
        row = [Alignment(i, 0, i, 0, 0)]
        rows.append(row)
        for j, other in enumerate(written, 1):
            same = int(word == other)
            choices = [
                rows[i - 1][j - 1].plus(substitutions=1 - same, hits=same),
                rows[i - 1][j].plus(deletions=1),
                row[j - 1].plus(insertions=1),
            ]
            choices += [rows[i - count][j - 1].plus(hits=count) for count in _joined(spoken[:i], other)]
            choices += [rows[i - 1][j - count].plus(hits=1) for count in _joined(written[:j], word)]
            row.append(min(choices))
    return rows[-1][-1]


def _joined(words: Sequence[str], compound: str) -> Iterator[int]:
    """Yield how many of the last words (two or more), joined, are the compound; at most one number."""
    rest, count = compound, 0
    while count < len(words) and rest and rest.endswith(words[-1 - count]):
        rest, count = rest[: -len(words[-1 - count])], count + 1
    if count > 1 and not rest:
        yield count
