"""`acc_guess`: the expected accuracy if a random letter were drawn for each answer without one."""

import random
import statistics

import pytest

from speechiq.metrics.judge.free_answers import score_label, score_letter, score_number
from speechiq.metrics.letters.options import ALPHABET

WORDS = ("copper", "a violin", "three trains", "at noon", "the north wind", "her brother")
#: Answers that name one letter, and answers that name none or leave several open.
CLEAR = ("{0}", "({0})", "The answer is ({0}).", "{0}. {1}", "I would say {0}.", "Option {0}, as it was said twice.")
OPEN = ("", "I cannot tell.", "It is either (A) or (B).", "The recording does not say.", "What was the question?")


def made_rows(count=1000, seed=11):
    """Questions with 2 to 6 options, and an answer to each: half right, three of ten wrong, two of ten open."""
    draw = random.Random(seed)
    for _ in range(count):
        options = list(WORDS[: draw.randint(2, 6)])
        letters = ALPHABET[: len(options)]
        gold, kind = draw.choice(letters), draw.choices(("right", "wrong", "open"), (5, 3, 2))[0]
        letter = gold if kind == "right" else draw.choice([each for each in letters if each != gold])
        text = draw.choice(OPEN) if kind == "open" else draw.choice(CLEAR).format(letter, WORDS[ALPHABET.index(letter)])
        doc = {"options": options, "answer": gold, "gold": [gold], "majority": "A", "judging": {"scale": [0, 1]}}
        yield doc, {"answer": text, "scores": [0.0], "texts": [""], "coverage": 1.0}


def guess(doc, scores, draw):
    """What others count: a random letter for an answer without one."""
    return draw.choice(ALPHABET[: len(doc["options"])]) in doc["gold"] if scores["unparsed"] else bool(scores["acc"])


def test_the_expected_score_is_the_mean_of_random_letters():
    rows = [(doc, score_letter(doc, [item])) for doc, item in made_rows()]
    acc, expected, unparsed = (
        statistics.fmean(row[name] for _, row in rows) for name in ("acc", "acc_guess", "unparsed")
    )
    draw = random.Random(1)
    simulated = [statistics.fmean(guess(doc, scores, draw) for doc, scores in rows) for _ in range(1000)]
    error = statistics.stdev(simulated) / len(simulated) ** 0.5
    assert abs(statistics.fmean(simulated) - expected) < 4 * error < 0.002
    # The figures of docs/how-to/numbers_of_others.md.
    assert [round(100 * value, 1) for value in (acc, unparsed, expected)] == [51.5, 20.0, 57.5]
    runs = statistics.fmean(simulated), min(simulated), max(simulated)
    assert [round(100 * value, 1) for value in runs] == [57.5, 55.4, 59.6]


def test_a_letter_that_was_read_counts_alike_in_both():
    for doc, item in made_rows(200, seed=3):
        row = score_letter(doc, [item])
        assert row["acc_guess"] == (1 / len(doc["options"]) if row["unparsed"] else row["acc"])


EMOTION = {"labels": {"joy": [], "anger": [], "fear": []}, "answer": "joy", "gold": ["joy"], "majority": "joy"}


@pytest.mark.parametrize(
    ("score", "doc", "answer", "acc", "guessed", "unparsed"),
    [
        *((score_label, EMOTION, *case) for case in (("joy", 1, 1, 0), ("anger", 0, 0, 0), ("What?", 0, 1 / 3, 1))),
        *((score_number, {"answer": "7"}, answer, 1, 1, 0) for answer in ("So 4 + 3 is 7.", "seven")),
        *((score_number, {"answer": "7"}, answer, 0, 0, 1) for answer in ("many things", "")),
        (score_number, {"answer": "7"}, "7 + 1 = 8", 0, 0, 0),
    ],
)
def test_labels_are_guessed_among_those_of_the_set_and_numbers_never(score, doc, answer, acc, guessed, unparsed):
    item = {"answer": answer, "scores": [0.0], "texts": [""], "coverage": 1.0}
    row = score(doc | {"judging": {"scale": [0, 1]}}, [item])
    assert (row["acc"], row["acc_guess"], row["unparsed"]) == (acc, guessed, unparsed)
