"""Letters are voted on, and `acc_guess` is the expected accuracy if one were drawn for each answer without a letter."""

import random
import statistics
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speechiq.metrics.choice import LETTERS, UNPARSED, Vote, score, vote
from speechiq.metrics.judge.free_answers import score_label, score_letter, score_number
from speechiq.metrics.letters.options import ALPHABET, tally_letters

OPTIONS = ["a factory fire", "higher diesel prices", "a legal fine", "a labour strike"]
DOC = {"options": OPTIONS, "answer": "B"}


@pytest.mark.parametrize(
    ("letters", "winner"),
    [
        ("BBBBB", "B"), ("ABBAC", "B"), ("ABABC", "A"), ("ABCDE", "A"), ("?A???", "A"), ("?????", "?"),
        ("??BBA", "B"), ("BAAAB", "A"), ("EEABC", "E"), ("CABAB", "A"), ("", "?"), ("C", "C"),
    ],
)  # fmt: skip
def test_a_tie_goes_to_the_letter_that_got_to_its_count_first(letters, winner):
    assert vote(list(letters)) == winner


@given(st.lists(st.sampled_from(LETTERS + UNPARSED), min_size=5, max_size=5))
def test_the_winner_has_a_plurality_of_the_letters_read(letters):
    counts = Counter(letter for letter in letters if letter != UNPARSED)
    winner = vote(letters)
    assert counts[winner] == max(counts.values(), default=0)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["B"] * 5, {"acc": 1, "acc_strict": 1, "unparsed": 0, "none_of_the_above": 0, "agreement": 1}),
        (["B", "B", "A", "C", "huh"], {"acc": 1, "acc_strict": 0, "unparsed": 0.2, "agreement": 0.4}),
        (["E", "E", "E", "B", "B"], {"acc": 0, "acc_strict": 0, "none_of_the_above": 1, "agreement": 0.6}),
        (["", "?", "hm", "no", "so"], {"acc": 0, "unparsed": 1, "none_of_the_above": 0, "agreement": 0}),
    ],
)
def test_answers_are_voted_on_and_scored(answers, expected):
    (voted,) = Vote().apply([answers], [DOC])
    scores = score(DOC, [voted])
    assert {metric: scores[metric] for metric in expected} == expected
    assert all(isinstance(value, float) for value in scores.values())


@pytest.mark.parametrize(
    ("letters", "strict", "every", "some"),
    [
        ("B", 1, 1, 1), ("A", 0, 0, 0), ("?", 0, 0, 0),
        ("BBB", 1, 1, 1), ("BBA", 1, 0, 1), ("BA?", 0, 0, 1), ("AAA", 0, 0, 0),
        ("BBBBB", 1, 1, 1), ("BBBA?", 1, 0, 1), ("BBAAA", 0, 0, 1), ("B????", 0, 0, 1), ("ACDE?", 0, 0, 0),
        ("BBAA", 0, 0, 1),
    ],
)  # fmt: skip
def test_answers_are_right_in_most_in_all_or_in_any(letters, strict, every, some):
    assert tally_letters(list(letters), "B") == {"acc_strict": strict, "acc_all": every, "acc_any": some}
    assert score(DOC, [[vote(letters), list(letters)]])["acc_strict"] == strict


@given(st.lists(st.sampled_from(LETTERS + UNPARSED), min_size=1, max_size=9))
def test_each_rule_is_harder_than_the_next(letters):
    tally = tally_letters(letters, "B")
    assert tally["acc_all"] <= tally["acc_strict"] <= score(DOC, [[vote(letters), letters]])["acc"] <= tally["acc_any"]


WORDS = ("copper", "a violin", "three trains", "at noon", "the north wind", "her brother")
#: Answers that name one letter, and answers that name none or leave several open.
CLEAR = ("{0}", "({0})", "The answer is ({0}).", "{0}. {1}", "I would say {0}.", "Option {0}, as it was said twice.")
OPEN = ("", "I cannot tell.", "It is either (A) or (B).", "The recording does not say.", "What was the question?")


def made_rows(count=1000, seed=11):
    """Yield questions with 2 to 6 options, and an answer to each: half right, three of ten wrong, two of ten open."""
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
    """Score an answer as others do: one without a letter gets a random one."""
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
