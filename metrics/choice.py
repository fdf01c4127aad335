"""Score the level Apply: five answers to a question, their letters, and the vote (paper, section 3.3).

A letter is read from each answer (`letters/reading.py`); an answer without one is unparsed (`?`). The system's answer
is the letter that most answers give; in a tie, the letter that got to its count first. If no answer can be read, the
vote is unparsed too, and the question does not count as answered correctly. If the docs name a reader
(`judge/reader.py`), it reads every answer too, and its letter takes the place of `?`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from lm_eval.api.filter import Filter

from speechiq.core.batches import group_by_size
from speechiq.core.response import response_of, reword
from speechiq.metrics.columns import higher, lower, mean_rows, returns
from speechiq.metrics.judge.reader import IDENTITY, prefer_rules, read_letters, score_reading
from speechiq.metrics.letters.options import LETTERS, NONE_OF_THE_ABOVE, NONE_OPTION, UNPARSED, tally_letters
from speechiq.metrics.letters.reading import parse_letter

__all__ = ["LETTERS", "NONE_OF_THE_ABOVE", "UNPARSED", "Vote", "list_options", "score", "vote"]


def vote(letters: Sequence[str]) -> str:
    """Return the letter that most answers give; in a tie, the letter that got to its count first.

    An answer without a letter is `?`, and so is a vote without letters.

    >>> vote(["A", "B", "B", "A", "?"]), vote(["?", "?"]), vote([])
    ('B', '?', '?')
    """
    counts: Counter[str] = Counter()
    winner = UNPARSED
    for letter in letters:
        counts[letter] += letter != UNPARSED
        if counts[letter] > counts[winner]:
            winner = letter
    return winner


def list_options(doc: Mapping[str, Any]) -> list[str]:
    """Return the options of a question in the order of their letters, with (E) in the language of the prompt."""
    return [*doc["options"], doc.get(NONE_OPTION, NONE_OF_THE_ABOVE)]


class Vote(Filter):
    """Turn the answers to each question into `[vote, [letter, ...]]`, as a filter of lm-eval.

    Each letter carries the response of its answer, which has its audio coverage. With a reader there are two more
    lists: the letters that the rules read, and those that the reader read.
    """

    def apply(self, resps: Iterable[Sequence[str]], docs: Iterable[Mapping[str, Any]]) -> list[list[Any]]:
        """Return one `[vote, [letter, ...]]` per question."""
        answers, docs = [list(answers) for answers in resps], list(docs)
        readings: list[list[str] | None] = [None] * len(docs)
        if docs and IDENTITY in docs[0]:
            readings = [*_read_answers(answers, docs)]
        return [count_votes(*each) for each in zip(answers, docs, readings, strict=True)]


def count_votes(answers: Sequence[str], doc: Mapping[str, Any], read: Sequence[str] | None = None) -> list[Any]:
    """Return the item of `Vote` for the answers to one question; `read` are the letters of a reader."""
    options = list_options(doc)
    ruled = [parse_letter(answer, options) for answer in answers]
    chosen = ruled
    if read is not None:
        chosen = [prefer_rules(*pair) for pair in zip(ruled, read, strict=True)]
    letters = [reword(answer, letter) for answer, letter in zip(answers, chosen, strict=True)]
    item: list[Any] = [vote(letters), letters]
    return item if read is None else [*item, ruled, list(read)]


def _read_answers(answers: Sequence[Sequence[str]], docs: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the letters that the reader of some docs reads from the answers to each."""
    doc_of_each = [doc for of_doc, doc in zip(answers, docs, strict=True) for _ in of_doc]
    options = [list_options(doc) for doc in doc_of_each]
    letters = read_letters(doc_of_each, [*chain.from_iterable(answers)], options)
    return group_by_size(letters, map(len, answers))


@returns(higher("acc", "acc_strict"), lower("unparsed", "none_of_the_above"), higher("agreement", "audio_coverage"))
def score(doc: Mapping[str, Any], results: Sequence[Sequence[Any]]) -> dict[str, float]:
    """Score the vote on one question, an item of `Vote`; the `process_results` of the level Apply.

    Its columns are `acc` (the vote is right), `acc_strict` (more than half of the answers are right, three of five:
    the rule behind the paper's released numbers), `unparsed` (share of answers without a letter), `none_of_the_above`
    (the vote is E), `agreement` (share of the answers that give the letter of the vote; 0 without a vote),
    `audio_coverage` (seconds that the system received / seconds of the clip; NaN if it did not report them). With a
    reader, also the means over the answers of the columns of `judge.reader.score_reading`. `acc_all` and `acc_any` are
    derived from the letters where they are read (`letters/options.py`).

    >>> rates = score({"answer": "B"}, [["B", ["B", "B", "A", "C", "?"]]])
    >>> rates["acc"], rates["acc_strict"], rates["agreement"], rates["unparsed"]
    (1.0, 0.0, 0.4, 0.2)
    """
    voted, letters, *readings = results[0]
    scores = {
        "acc": float(voted == doc["answer"]),
        **tally_letters(letters, doc["answer"], ["acc_strict"]),
        "unparsed": letters.count(UNPARSED) / len(letters),
        "none_of_the_above": float(voted == LETTERS[-1]),
        "agreement": letters.count(voted) / len(letters) if voted != UNPARSED else 0.0,
        "audio_coverage": response_of(letters[0]).coverage,
    }
    if readings:
        read = [score_reading(*pair) for pair in zip(*readings, strict=True)]
        scores |= mean_rows(read, read[0])
    return scores
