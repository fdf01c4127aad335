"""Counts of rows in the response cache: exact, and without computing any."""

from __future__ import annotations

import pytest

from speechiq.core.cache.stage_cache import StageCache, StageCount, cached, counting, end_count


def compute(new, on_result):
    on_result(range(len(new)), [item.upper() for item in new])


def never(new, on_result):
    raise AssertionError(f"computed {new}")


@pytest.fixture
def cache(tmp_path):
    """A stage that has two rows."""
    stage = StageCache({"stage": "asr"}, tmp_path)
    cached(stage, ["a", "b"], str, compute)
    return StageCache({"stage": "asr"}, tmp_path)


def test_a_missing_row_ends_the_count_and_is_not_computed(cache):
    with counting() as counter:
        cached(cache, ["a", "c", "a"], str, never)
        raise AssertionError("the count goes on")
    assert counter.counts() == [StageCount("asr", 2, 1)] and not counter.complete


def test_cached_rows_are_returned_and_counted_once(cache):
    with counting() as counter:
        assert cached(cache, ["a"], str, never) + cached(cache, ["a", "b"], str, never) == ["A", "A", "B"]
        end_count()
    assert counter.counts() == [StageCount("asr", 2, 2)] and counter.complete


def test_without_a_count_nothing_ends(cache):
    end_count()
    assert cached(cache, ["c"], str, compute) == ["C"]
