import math

import pytest

from speechiq.metrics.judge.closed_form import contains_answer, score_mention


@pytest.mark.parametrize(
    ("answer", "accepted", "expected"),
    [
        ("It's the yen, which is used in Japan.", ["yen"], 1),
        ("People pay with yens", ["yen"], 0),
        ("There are twenty-four hours.", ["24"], 1),
        ("New or York", ["New York"], 0),
        ("Wien, of course!", ["Vienna", "Wien"], 1),
        ("", ["Lima"], 0),
    ],
)
def test_an_answer_mentions_an_accepted_one_word_for_word(answer, accepted, expected):
    assert contains_answer(answer, accepted) == expected


def test_without_an_accepted_answer_it_is_undefined():
    assert math.isnan(contains_answer("Lima", [])) and math.isnan(contains_answer("Lima", ["?"]))


def test_the_columns_of_the_judge_are_beside_it():
    doc = {"answer": "Lima", "accepted": ["Lima"], "judging": {"scale": [0, 1]}}
    scores = score_mention(doc, [{"answer": "It is Lima.", "scores": [0.0], "texts": [""], "coverage": 1.0}])
    assert (scores["contains_answer"], scores["exact_match"], scores["judge"], scores["audio_coverage"]) == (1, 0, 0, 1)
