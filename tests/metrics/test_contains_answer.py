"""An answer in a sentence of its own words is right if it contains an accepted answer."""

import math

import pytest

from speechiq.metrics.rules.exact_match import contains_answer

RIGHT = [
    ("It's the yen, which is used in Japan.", ["yen"]),
    ("People pay with yens", ["yen"]),
    ("There are twenty-four hours.", ["24"]),
    ("They pay $2,000 for it.", ["two thousand"]),
    ("about forty percent of them", ["40"]),
    ("Wien, of course!", ["Vienna", "Wien"]),
    ("A bat hangs there.", ["the bats"]),
    ("Three cities: Rome is the first of these cities", ["a city"]),
    ("It keeps foxes out.", ["a fox"]),
    ("It was founded (by Jane Doe) long ago.", ["Jane Doe"]),
    ("It's in Peru.", ["Peru (in South America)"]),
    ("There are 4 boxes with 6 each, so 24.", ["24 apples"]),
]
WRONG = [
    ("New or York", ["New York"]),
    ("It is Limassol.", ["Lima"]),
    ("a housefly", ["fly"]),
    ("It is made of glass", ["gas"]),
    ("two days", ["2.5"]),
    ("", ["Lima"]),
    ("%", ["$"]),
]


@pytest.mark.parametrize(
    ("answer", "accepted", "expected"), [(*case, 1) for case in RIGHT] + [(*case, 0) for case in WRONG]
)
def test_an_answer_contains_an_accepted_one_word_for_word(answer, accepted, expected):
    assert contains_answer(answer, *accepted[:1], accepted[1:]) == expected


def test_without_an_accepted_answer_it_is_undefined():
    assert math.isnan(contains_answer("Lima", "", [" "]))
