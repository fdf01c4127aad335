"""The time that an evaluation still takes, from finished systems and the work of the others."""

import pytest

from speechiq.cli.evaluation import runs
from speechiq.cli.evaluation.runs import TimeLeft
from speechiq.core.cache.stage_cache import StageCount
from speechiq.harness_patch.work import SystemWork


@pytest.fixture
def clock(monkeypatch):
    """Hold a clock that a test sets."""
    times = [0.0]
    monkeypatch.setattr(runs.time, "monotonic", lambda: times[0])
    return times


def work(missing=0, rows=100):
    return SystemWork("", "", [StageCount("asr", rows, rows - missing)], not missing)


def test_the_rest_takes_what_finished_systems_took(clock):
    left = TimeLeft([work(100), work(100), work(100)])
    assert left.estimate() is None and left.describe() == ""
    clock[0] = 100
    assert left.end() == "100 s; about 3 min left"
    clock[0] = 130
    assert left.estimate() == 170
    clock[0] = 250
    assert left.estimate() == 100, "a system that takes longer than expected ends soon"
    assert left.end() == "150 s; about 2 min left"
    clock[0] = 260
    assert left.end() == "10 s"


def test_a_control_shows_only_how_long_a_start_takes(clock):
    left = TimeLeft([work(), work(100), work(50), work()])
    clock[0] = 20
    assert left.end() == "20 s", "no system that computes is finished"
    clock[0] = 140
    left.end()
    assert left.estimate() == 20 + 50 + 20, "half of the rows of the third are cached"


def test_a_failure_shows_no_time(clock):
    left = TimeLeft([work(100), work(100), work(100)])
    clock[0] = 5
    assert left.end(failed=True) == "5 s"
    clock[0] = 65
    assert left.end() == "60 s; about 60 s left"
