"""The score is read from the last line of a reply by rule, or the reply is unjudged with a reason."""

import json
import math
from pathlib import Path

import pytest

from speechiq.metrics.judge.rubric import read_rubric
from speechiq.metrics.judge.verdict import read_reply

#: Name of a rubric, a reply, and what a careful reader takes from it: a score, or the reason why there is none.
HARD = json.loads(Path(__file__).with_name("hard_replies.json").read_text(encoding="utf-8"))


#: Written after the rules were frozen: a rubric, a reply, and its score, null if it states none of the scale.
FRESH = json.loads(Path(__file__).with_name("fresh_replies.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("rubric", "reply", "wanted"), FRESH, ids=[f"{i}" for i in range(len(FRESH))])
def test_a_reply_written_after_the_rules_were_frozen_is_read(rubric, reply, wanted):
    score, _ = read_reply(reply, read_rubric(rubric))
    assert math.isnan(score) if wanted is None else score == wanted


@pytest.mark.parametrize(("batch", "wrong", "unread"), [(1, 0, 6), (2, 1, 11)])
def test_replies_written_without_knowing_the_rules_are_read_as_often_as_the_docs_say(batch, wrong, unread):
    """The second batch was read once, after the last change of the rules; each has 78 replies with a score."""
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
