"""Score answers that a rule can score, with the judge beside it: a letter, a label, a number or a caption.

The rule's score is the main one. Beside a letter or label is the floor: the score of an answer that is always the same.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from speechiq.metrics.columns import higher, lower, mean, returns
from speechiq.metrics.judge import free_answers as judge
from speechiq.metrics.judge.reader import score_reading
from speechiq.metrics.letters.labels import parse_label
from speechiq.metrics.letters.options import UNPARSED
from speechiq.metrics.letters.reading import parse_letter
from speechiq.metrics.rules import meteor
from speechiq.metrics.words.normalizer import normalize

Results = Sequence[Mapping[str, Any]]
#: The columns of `score_key`.
KEY = (*higher("acc", "acc_guess", "floor"), *lower("unparsed"))


def score_key(found: str, doc: Mapping[str, Any], choices: int) -> dict[str, float]:
    """Return the scores by rule of one letter or label, of a number of choices.

    They are `acc` (it is in `doc["gold"]`, which has several letters if options are equal), `acc_guess` (the same, but
    one of the choices is drawn for an answer without one: its expected accuracy is the share of them that is right),
    `unparsed` (it is `?`), and `floor`: the accuracy of a system that always answers `doc["majority"]`, the right
    answer to most items of the data set.

    >>> score_key("B", {"gold": ["B"], "majority": "A"}, 4)
    {'acc': 1.0, 'acc_guess': 1.0, 'unparsed': 0.0, 'floor': 0.0}
    >>> score_key("?", {"gold": ["A", "C"], "majority": "A"}, 4)
    {'acc': 0.0, 'acc_guess': 0.5, 'unparsed': 1.0, 'floor': 1.0}
    """
    right = float(found in doc["gold"])
    return {
        "acc": right,
        "acc_guess": len(doc["gold"]) / choices if found == UNPARSED else right,
        "unparsed": float(found == UNPARSED),
        "floor": float(doc["majority"] in doc["gold"]),
    }


def _score_found(ruled: str, doc: Mapping[str, Any], results: Results, choices: int) -> dict[str, float]:
    """Score the letter or label that the rules read, or that of the reader (`read`) where they read none."""
    read = results[0].get("read")
    scores = judge.score(doc, results)
    if read is None:
        return scores | score_key(ruled, doc, choices)
    found = read if ruled == UNPARSED else ruled
    return scores | score_key(found, doc, choices) | score_reading(ruled, read)


@returns(KEY, judge.COLUMNS)
def score_letter(doc: Mapping[str, Any], results: Results) -> dict[str, float]:
    """Score the one answer to a question with any number of options; the `process_results` of `_choice`.

    The doc has `options`, to which none is added, the letters `gold`, `majority`, and what `judge.score` reads. If a
    reader read the answer too (`read`), its letter counts where the rules read none; see `score_reading`.

    >>> doc = {"options": ["today", "never", "Monday"], "answer": "(C) Monday", "gold": ["C"], "majority": "A"}
    >>> item = {"answer": "(C) Monday", "scores": [1.0], "texts": [""], "coverage": 1.0}
    >>> row = score_letter(doc | {"judging": {"scale": [0, 1]}}, [item])
    >>> row["acc"], row["floor"], row["judge"]
    (1.0, 0.0, 1.0)
    """
    ruled = parse_letter(results[0]["answer"], doc["options"])
    return _score_found(ruled, doc, results, len(doc["options"]))


@returns(KEY, judge.COLUMNS, judge.WORDED)
def score_label(doc: Mapping[str, Any], results: Results) -> dict[str, float]:
    """Score the one label of a clip; the `process_results` of `_labels`.

    The doc has `labels` (label -> further words that name it), `gold` and `majority`; see `score_letter` for a reader.

    >>> doc = {"labels": {"joy": ["happy"], "anger": []}, "answer": "joy", "gold": ["joy"], "majority": "anger"}
    >>> item = {"answer": "I cannot decide.", "scores": [0.0], "texts": [""], "coverage": 1.0}
    >>> row = score_label(doc | {"judging": {"scale": [0, 1]}}, [item])
    >>> row["acc"], row["unparsed"]
    (0.0, 1.0)
    """
    ruled = parse_label(results[0]["answer"], doc["labels"])
    return _score_found(ruled, doc, results, len(doc["labels"]))


@returns(higher("acc", "acc_guess"), lower("unparsed"), judge.COLUMNS)
def score_number(doc: Mapping[str, Any], results: Results) -> dict[str, float]:
    """Score one number, as `judge.score`; others draw none for an answer without a number, so `acc_guess` is `acc`.

    >>> item = {"answer": "Two pianos and one drum: three.", "scores": [1.0], "texts": [""], "coverage": 1.0}
    >>> row = score_number({"answer": "3", "judging": {"scale": [0, 1]}}, [item])
    >>> row["acc"], row["acc_guess"], row["unparsed"]
    (1.0, 1.0, 0.0)
    """
    scores = judge.score(doc, results)
    has_number = any(char.isdigit() for char in normalize(results[0]["answer"]))
    right = scores["exact_match"]
    return scores | {"acc": right, "acc_guess": right, "unparsed": float(not has_number)}


@returns(higher("meteor", aggregation=mean), judge.COLUMNS, judge.WORDED)
def score_caption(doc: Mapping[str, Any], results: Results) -> dict[str, float]:
    """Score one caption, as `meteor.score` and `judge.score` do; the `process_results` of `_caption`."""
    # METEOR's columns come first: the text has no audio coverage here, the item of the judge has.
    return meteor.score(doc, [results[0]["answer"]]) | judge.score(doc, results)
