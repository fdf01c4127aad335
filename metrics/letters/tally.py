"""Count the right answers to a question: right in all, in more than half, or in any of its answers.

The rules hold for any number of answers. With one answer, as imported questions have, all of them say whether that
answer is right.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple


class Tally(NamedTuple):
    """Hold how many of the answers to a question are right."""

    right: int
    answers: int


#: Column -> whether a question counts as answered correctly. `acc_strict` of five answers needs three right ones.
RULES: dict[str, Callable[[Tally], bool]] = {
    "acc_strict": lambda tally: 2 * tally.right > tally.answers,
    "acc_all": lambda tally: tally.right == tally.answers,
    "acc_any": lambda tally: tally.right > 0,
}
#: The columns that sample rows do not have: the reducer derives them from the letters in the rows.
DERIVED = ("acc_all", "acc_any")


def tally_letters(letters: Sequence[str], answer: str, columns: Iterable[str] = tuple(RULES)) -> dict[str, float]:
    """Return 1 or 0 for each of some columns of `RULES`; an answer without a letter is not right.

    >>> tally_letters(["B", "B", "B", "A", "?"], "B")
    {'acc_strict': 1.0, 'acc_all': 0.0, 'acc_any': 1.0}
    >>> tally_letters(["A"], "B"), tally_letters(["B"], "B", ["acc_all"])
    ({'acc_strict': 0.0, 'acc_all': 0.0, 'acc_any': 0.0}, {'acc_all': 1.0})
    """
    tally = Tally(letters.count(answer), len(letters))
    return {column: float(RULES[column](tally)) for column in columns}
