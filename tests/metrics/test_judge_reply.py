"""The score is read from a reply by rule, or the reply is unjudged with a reason."""

import json
import math
import time
from pathlib import Path

import pytest

from speechiq.metrics.judge.rubric import read_reply, read_rubric

#: Name of a rubric, a reply, and what a careful reader takes from it: a score, or the reason why there is none.
HARD = json.loads(Path(__file__).with_name("hard_replies.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("batch", "wrong", "unread"), [(0, 0, 11), (1, 0, 9), (2, 0, 14)])
def test_replies_written_without_knowing_the_rules_are_read_as_often_as_the_docs_say(batch, wrong, unread):
    """Of 60, 100 and 100 replies of the batches, 45, 78 and 78 have a score."""
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
