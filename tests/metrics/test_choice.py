from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speechiq.metrics.choice import LETTERS, UNPARSED, Vote, score, vote
from speechiq.metrics.letters.options import tally_letters

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
