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


@pytest.mark.parametrize(("answer", "reference", "accepted"), RIGHT)
def test_another_form_of_an_accepted_answer_matches(answer, reference, accepted):
    assert exact_match(answer, reference, accepted) == contains_answer(answer, reference, accepted) == 1.0


@pytest.mark.parametrize(("answer", "reference", "accepted"), WRONG)
def test_another_answer_does_not_match(answer, reference, accepted):
    assert exact_match(answer, reference, accepted) == 0.0


def test_without_an_accepted_answer_nothing_is_defined():
    assert math.isnan(exact_match("Paris", "", ["", " "])) and math.isnan(f1("Paris", ""))


def test_the_overlap_is_that_with_the_most_similar_answer():
    assert f1("the big red car", "a truck", ["the red car"]) == pytest.approx(0.8)
    assert f1("blue", "a truck") == 0.0 and f1("A Truck!", "truck") == 1.0
