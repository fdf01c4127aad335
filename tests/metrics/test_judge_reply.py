"""The score is read from the last line of a reply by rule, or the reply is unjudged with a reason."""

import json
import math
from pathlib import Path

import pytest

from speechiq.metrics.judge_reply import read_reply
from speechiq.metrics.rubric import read_rubric

#: Name of a rubric, a reply, and what a careful reader takes from it: a score, or the reason why there is none.
HARD = json.loads(Path(__file__).with_name("hard_replies.json").read_text(encoding="utf-8"))


#: Written after the rules were frozen: a rubric, a reply, and its score, null if it states none of the scale.
FRESH = json.loads(Path(__file__).with_name("fresh_replies.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("rubric", "reply", "wanted"), FRESH, ids=[f"{i}" for i in range(len(FRESH))])
def test_a_reply_written_after_the_rules_were_frozen_is_read(rubric, reply, wanted):
    score, _ = read_reply(reply, read_rubric(rubric))
    assert math.isnan(score) if wanted is None else score == wanted


@pytest.mark.parametrize(("rubric", "reply", "wanted"), HARD, ids=[f"{i}" for i in range(len(HARD))])
def test_a_hard_reply_is_read_as_a_careful_reader_would(rubric, reply, wanted):
    score, reason = read_reply(reply, read_rubric(rubric))
    if isinstance(wanted, str):
        assert reason == wanted and math.isnan(score)
    else:
        assert (score, reason) == (wanted, "")
