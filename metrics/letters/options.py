"""Name the letters of a multiple-choice question, and count the right answers to it.

This file imports no parser, so that rooms that read results have the same letters without it.
"""

from collections.abc import Iterable, Sequence

#: The letters that an option can have, in order.
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#: The letters of the level Apply: four options, and (E) "None of the above".
LETTERS = ALPHABET[:5]
#: The text of option (E), and the item of a doc that has it in another language.
NONE_OF_THE_ABOVE, NONE_OPTION = "None of the above", "none_option"
#: The letter of an answer from which no letter can be read.
UNPARSED = "?"
#: Whether more than half of the answers to a question are right (three of five), all of them, or any.
RULES = ("acc_strict", "acc_all", "acc_any")
#: The columns that sample rows do not have: the reducer derives them from the letters in the rows.
DERIVED = ("acc_all", "acc_any")


def tally_letters(letters: Sequence[str], answer: str, columns: Iterable[str] = RULES) -> dict[str, float]:
    """Return 1 or 0 for each of some columns of `RULES`; an answer without a letter is not right.

    The rules hold for any number of answers. With one answer, as imported questions have, all of them say whether that
    answer is right.

    >>> tally_letters(["B", "B", "B", "A", "?"], "B")
    {'acc_strict': 1.0, 'acc_all': 0.0, 'acc_any': 1.0}
    >>> tally_letters(["A"], "B"), tally_letters(["B"], "B", ["acc_all"])
    ({'acc_strict': 0.0, 'acc_all': 0.0, 'acc_any': 0.0}, {'acc_all': 1.0})
    """
    right = letters.count(answer)
    counts = {"acc_strict": 2 * right > len(letters), "acc_all": right == len(letters), "acc_any": right > 0}
    return {column: float(counts[column]) for column in columns}
