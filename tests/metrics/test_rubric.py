"""Rubrics are files, refused in one line if unusable, and a score is read from a reply by rule or has a reason."""

import json
import math
import time
from pathlib import Path

import pytest
import yaml

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.judge.rubric import read_reply, read_rubric, shipped_rubrics

#: Name and version of each rubric -> its content; a changed rubric gives other scores: its version must change with it.
FROZEN = {
    ("grade_0_5", 1): "4f2979f805ddd921",
    ("letter", 1): "0bc9a71c2e199fe9",
    ("pairwise", 1): "5ac4fe228887829d",
    ("points_1_10", 1): "c8da6f73c2a0a18c",
    ("meaning", 1): "59ea76d5ddac4831",
    ("points_1_5", 1): "5f510442a87896b9",
    ("reference_1_5", 1): "a4866543e5268d7e",
    ("right_wrong", 1): "1a41af4944579e7d",
    ("same_task", 1): "6259e298dd6b038e",
}

GOOD = {"name": "mine", "version": 1, "kind": "score", "scale": [0, 3], "prompt": "{question} {answer}\nScore: N"}


def test_the_rubrics_are_those_of_their_versions():
    rubrics = map(read_rubric, shipped_rubrics())
    assert {(each.name, each.version): each.sha256[:16] for each in rubrics} == FROZEN


@pytest.mark.parametrize("name", sorted({*shipped_rubrics()} - {"letter"}))
def test_a_rubric_of_speechiq_asks_for_its_verdict_in_the_last_line(name):
    rubric = read_rubric(name)
    assert rubric.name == name and rubric.version >= 1
    assert rubric.prompt.rstrip().splitlines()[-1] in ("Score: N", "Better: equal")
    labels = {"grade_0_5": 6, "meaning": 4, "right_wrong": 2, "points_1_5": 5, "reference_1_5": 5, "points_1_10": 10}
    assert len(rubric.labels) == labels.get(name, 3)


def test_a_file_of_a_user_is_read_and_its_content_is_its_identity(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(GOOD))
    rubric = read_rubric(str(file))
    assert rubric.scale == (0, 3) and rubric.as_share(1.5) == 0.5
    file.write_text("# a comment\n" + yaml.safe_dump(GOOD))
    assert read_rubric(str(file)).sha256 == rubric.sha256
    file.write_text(yaml.safe_dump(GOOD | {"prompt": "{answer}"}))
    assert read_rubric(str(file)).sha256 != rubric.sha256


def test_values_are_shown_as_they_are():
    rubric = read_rubric("grade_0_5")
    shown = rubric.fill({"question": "{answer}", "reference": "{x}", "answer": " {reference} ", "checklist": ""})
    assert "<question>\n{answer}\n" in shown and "<answer>\n{reference}\n" in shown and "5: all that" in shown


def test_a_case_may_have_its_own_meanings_of_the_scores():
    rubric = read_rubric("reference_1_5")
    values = {"question": "Who?", "reference": "Ann", "answer": "Bo"}
    assert "\n3: right in part;" in rubric.fill(values)
    own = rubric.fill(values | {"grades": rubric.list_grades([f"meaning {n}" for n in "abcde"])})
    assert "<scores>\n1: meaning a\n2: meaning b\n3: meaning c\n4: meaning d\n5: meaning e\n</scores>" in own


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale": None}, "no scale; add a line"),
        ({"scale": [5, 0]}, r"scale: \[5, 0\]: not the lowest and the highest"),
        ({"scale": [0, 1000]}, "at most 101 whole numbers"),
        ({"scale": [0, 2.5]}, r"not a rubric \(Expected `int`, got `float` - at `\$.scale"),
        ({"scale": "0-5"}, r"not a rubric \(Expected `array`, got `str` - at `\$.scale`"),
        ({"kind": "points"}, "not a rubric .*at `\\$.kind`"),
        ({"version": None}, "missing required field `version`"),
        ({"tone": "strict"}, "contains unknown field `tone`"),
        ({"grades": {7: "superb"}}, "grades: 7 is outside the scale from 0 to 3"),
        ({"prompt": "{answr}"}, r"\{answr\} is not a placeholder of a score rubric; did you mean answer\?"),
        ({"prompt": "{question}"}, r"has no \{answer\}"),
        ({"kind": "pairwise", "scale": None}, r"\{answer\} is not a placeholder of a pairwise rubric"),
        ({"kind": "pairwise"}, "scale: a pairwise rubric has none"),
    ],
)
def test_a_file_that_is_not_a_rubric_is_one_line(tmp_path, changes, message):
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump({key: value for key, value in (GOOD | changes).items() if value is not None}))
    with pytest.raises(SpeechIQError, match=message) as refused:
        read_rubric(str(file))
    assert str(refused.value).startswith(f"judge_rubric={file}: ") and "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["a: [", "- 1\n", "", "\0"])
def test_a_rubric_that_is_missing_or_a_file_of_another_kind_is_one_line(tmp_path, text):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    missing = (("grade_0_6", "unknown; did you mean grade_0_5"), ("no.yaml", "cannot be read .*; correct the path"))
    for name, message in (*missing, (str(file), r"not valid YAML|not a rubric")):
        with pytest.raises(SpeechIQError, match=message):
            read_rubric(name)


#: Name of a rubric, a reply, and what a careful reader takes from it: a score, or the reason why there is none.
HARD = json.loads(Path(__file__).with_name("hard_replies.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("batch", "wrong", "unread"), [(0, 0, 11), (1, 0, 9), (2, 0, 14)])
def test_replies_written_without_knowing_the_rules_are_read_as_often_as_the_docs_say(batch, wrong, unread):
    """Read 60, 100 and 100 replies of the batches, of which 45, 78 and 78 have a score."""
    rows = json.loads(Path(__file__).with_name("blind_replies.json").read_text(encoding="utf-8"))
    read = [(row[2], row[3], read_reply(row[2], read_rubric(row[1])).score) for row in rows if row[0] == batch]
    misread = [row for row in read if not math.isnan(row[2]) and row[2] != row[1]]
    missed = [row for row in read if math.isnan(row[2]) and row[1] is not None]
    assert (len(misread), len(missed)) == (wrong, unread), misread + missed


@pytest.mark.parametrize(("rubric", "reply", "wanted"), HARD, ids=[f"{i}" for i in range(len(HARD))])
def test_a_hard_reply_is_read_as_a_careful_reader_would(rubric, reply, wanted):
    score, reason = read_reply(reply, read_rubric(rubric))
    if isinstance(wanted, str):
        assert reason == wanted and math.isnan(score)
    else:
        assert (score, reason) == (wanted, "")


REMARKS = [
    "Note: it could be shorter.",
    "It names Lima instead of Cusco.",
    "If it were shorter, it would be perfect.",
    "The change of topic is rather abrupt.",
    "Nobody has to wait for the end. Speaker1 might be meant.",
]
DOUBTS = [
    "Wait, that is too generous.",
    "On reflection, that is too high.",
    "Perhaps the score is too high.",
    "It could also be a 7.",
    "Or maybe seven.",
    "Make that seven.",
    "I might be too generous.",
]


@pytest.mark.parametrize("between", ["\n\n", ". "])
@pytest.mark.parametrize(("behind", "score"), [*((text, 8.0) for text in REMARKS), *((text, None) for text in DOUBTS)])
def test_a_remark_about_the_answer_leaves_the_score_before_it_and_doubt_about_the_score_does_not(
    behind, score, between
):
    read = read_reply(f"Score: 8{between}{behind}", read_rubric("points_1_10")).score
    assert read == score if score else math.isnan(read)


@pytest.mark.parametrize(
    "part",
    ["1 + ", "score ", "score of ", "{", '{"a": ', '{"', "(", "9", "a 4 ", "eq = ", "better is ", "the so ", " "],
)
def test_the_time_of_a_reply_grows_as_its_length_does(part):
    def read(size: int) -> float:
        text = "Score: " + part * (size // len(part))
        started = time.process_time()
        for rubric in ("grade_0_5", "pairwise"):
            read_reply(text, read_rubric(rubric))
        return time.process_time() - started

    short, long = (min(read(size) for _ in range(3)) for size in (20_000, 80_000))
    assert long < 9 * short + 0.05
