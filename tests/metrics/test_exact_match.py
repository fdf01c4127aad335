"""Free answers are matched with accepted answers by rule."""

import math

import pytest

from speechiq.metrics.rules.exact_match import contains_answer, exact_match, f1

RIGHT = [
    ("Paris", "paris.", ()),
    ("The answer is Paris.", "Paris", ()),
    ("So the correct answer is: the Eiffel Tower", "Eiffel Tower", ()),
    ("colour", "color", ()),
    ("He's late.", "he is late", ()),
    ("yes", "no", ("Yes.",)),
    ("twenty-one", "21", ()),
    ("There are 4 boxes with 6 each, so 24.", "24", ()),
    ("It costs $2,000.", "two thousand dollars", ()),
    ("The total is 3.50", "3.5", ()),
    ("about 40 percent", "40%", ()),
    ("-5", "minus 5", ()),
    ("10,000", "10000", ()),
    ("A", "a", ()),
    ("It weighs 5kg.", "5", ()),
    ("room 101b", "Room 101B", ()),
    ("a 16-year-old", "16", ()),
    ("5-3=2", "2", ()),
]
WRONG = [
    ("London", "Paris", ()),
    ("", "Paris", ()),
    ("Paris or London", "Paris", ()),
    ("not Paris", "Paris", ()),
    ("24 boxes, so 4", "24", ()),
    ("1924", "24", ()),
    ("24.5", "24", ()),
    ("-5", "5", ()),
    ("Room 101B", "101", ()),
    ("101", "Room 101B", ()),
    ("the 101B", "101", ()),
    ("a B-52", "52", ()),
    ("at 2:30", "30", ()),
    ("1/2", "2", ()),
    ("10-12", "12", ()),
    ("the room has number 12", "12 angry men", ()),
    ("a", "the", ()),
]


@pytest.mark.parametrize(
    ("answer", "reference", "accepted", "expected"), [(*case, 1) for case in RIGHT] + [(*case, 0) for case in WRONG]
)
def test_another_form_of_an_accepted_answer_matches_and_another_answer_does_not(answer, reference, accepted, expected):
    assert exact_match(answer, reference, accepted) == expected
    assert contains_answer(answer, reference, accepted) >= expected


def test_without_an_accepted_answer_nothing_is_defined():
    for undefined in (exact_match("Paris", "", ["", " "]), contains_answer("Lima", "", [" "]), f1("Paris", "")):
        assert math.isnan(undefined)


def test_the_overlap_is_that_with_the_most_similar_answer():
    assert f1("the big red car", "a truck", ["the red car"]) == pytest.approx(0.8)
    assert f1("blue", "a truck") == 0.0 and f1("A Truck!", "truck") == 1.0


CONTAINED = [
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
MISSING = [
    ("New or York", ["New York"]),
    ("It is Limassol.", ["Lima"]),
    ("a housefly", ["fly"]),
    ("It is made of glass", ["gas"]),
    ("two days", ["2.5"]),
    ("", ["Lima"]),
    ("%", ["$"]),
]


@pytest.mark.parametrize(
    ("answer", "accepted", "expected"), [(*case, 1) for case in CONTAINED] + [(*case, 0) for case in MISSING]
)
def test_an_answer_contains_an_accepted_one_word_for_word(answer, accepted, expected):
    assert contains_answer(answer, *accepted[:1], accepted[1:]) == expected
