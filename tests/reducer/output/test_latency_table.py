"""Test the times of answers in tables and pages: quantiles, what has no time, and intervals by clusters."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speechiq.metrics.latency import AT_ONCE, CACHED, FACTOR, FIRST_AUDIO, FIRST_TOKEN, TOTAL, WARM_UP
from speechiq.reducer.output.side_tables import quantiles
from tests.commands import as_json, print_and_write, siq
from tests.records import edit_rows
from tests.reducer.conftest import levels, write_run

NO_TIMES = dict.fromkeys((FIRST_TOKEN, FIRST_AUDIO, TOTAL, FACTOR, AT_ONCE), math.nan)


def add_times(folder, rows):
    """Add times to the rows of Apply in a run: the first ones are of the warm-up and of the cache."""
    file = next(path for path in folder.glob("samples_*.jsonl") if '"acc"' in path.read_text())
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(lines) == len(rows)
    file.write_text("".join(json.dumps(line | row) + "\n" for line, row in zip(lines, rows, strict=True)))


def time_row(seconds, **changes):
    times = {FIRST_TOKEN: seconds / 10, FIRST_AUDIO: math.nan, TOTAL: seconds, FACTOR: seconds / 4, AT_ONCE: 2.0}
    return times | {WARM_UP: 0.0, CACHED: 0.0} | changes


@pytest.fixture
def runs(tmp_path):
    """Return two systems with 40 clips, of which the good one was timed: 2 answers warm-up, 18 cached, 100 timed."""
    for name, skill in {"good": 0.9, "poor": 0.3}.items():
        metadata = {"apply": {"timing": "stream"}} if name == "good" else {}
        write_run(tmp_path / name, levels(skill, clips=40), system=name, metadata=metadata)
    rows = [NO_TIMES | {WARM_UP: 1.0, CACHED: 0.0}] * 2 + [NO_TIMES | {WARM_UP: 0.0, CACHED: 1.0}] * 18
    add_times(tmp_path / "good", [*rows, *(time_row(float(number)) for number in range(1, 101))])
    return tmp_path


def test_quantiles_are_of_the_answers_that_were_timed(runs):
    text, content = print_and_write("score", runs, "--speed")
    rows = {row["time"]: row for row in content["latencies"]}
    assert list(rows) == ["first token, s", "total, s", "real-time factor"]
    total = rows["total, s"]
    assert (total["system"], total["task_type"]) == ("good", "apply")
    assert (total["p50"], total["p95"]) == (50, 95) and total["p50_low"] < 50 < total["p50_high"]
    assert (total["timed"], total["warm_up"], total["cached"], total["at_once"]) == (100, 2, 18, 2)
    assert rows["first token, s"]["p50"] == 5 and rows["real-time factor"]["p50"] == 12.5
    assert "good, apply: 18 of 120 answers came from the response cache and have no time; run it with store=off" in text
    text = siq("score", runs)
    assert "Latency" in text and "RTFx" not in text


def total_of(content):
    (total,) = [row for row in content["latencies"] if row["time"] == "total, s"]
    return total


def test_intervals_take_whole_clusters(runs):
    alone = total_of(as_json("score", runs, "--speed"))
    edit_rows(runs, lambda row: row["doc"].update(cluster=f"demo/{int(row['doc']['id'].split('/')[1]) // 10}"))
    text, content = print_and_write("score", runs, "--speed", "--explain")
    clustered = total_of(content)
    assert alone["p50"] == clustered["p50"] == 50 and text.count("Few clusters (") == 2
    assert clustered["p50_high"] - clustered["p50_low"] > alone["p50_high"] - alone["p50_low"]


def test_a_run_whose_answers_all_came_from_the_cache_says_so(runs):
    add_times(runs / "good", [NO_TIMES | {WARM_UP: 0.0, CACHED: 1.0}] * 120)
    text, content = print_and_write("score", runs, "--speed")
    (row,) = content["latencies"]
    assert (row["time"], row["timed"], row["cached"]) == ("total, s", 0, 120) and "120 of 120 answers" in text


def test_one_clip_has_times_without_intervals(tmp_path):
    write_run(tmp_path / "one", levels(0.9, clips=1), system="one", metadata={"apply": {"timing": "stream"}})
    add_times(tmp_path / "one", [time_row(seconds) for seconds in (1.0, 2.0, 4.0)])
    printed, content = print_and_write("score", tmp_path / "one", "--speed")
    text, total = " ".join(printed.split()), total_of(content)
    assert "a single clip has no error bar" in text and "so there are none here" in text
    assert (total["p50"], total["p50_low"]) == (2, None)


def test_the_page_has_a_curve_for_each_time(runs):
    page = runs / "page.html"
    siq("score", runs, "-o", page)
    text = page.read_text()
    assert 'id="latency"' in text and 'id="total_s"' in text and 'id="first_token_s"' in text
    assert 'id="first_audio_s"' not in text and "Share of the answers by total, s" in text
    siq("score", runs / "poor", "--levels", "apply", "-o", runs / "other.html")
    assert 'id="latency"' not in (runs / "other.html").read_text()


@given(st.lists(st.floats(0, 100), min_size=1, max_size=30), st.integers(0, 2**32))
def test_a_quantile_is_that_of_the_items_as_often_as_they_count(values, seed):
    counts = np.random.default_rng(seed).multinomial(len(values), [1 / len(values)] * len(values), size=3)
    found = quantiles(np.array(values), [0.5, 0.95])(counts.astype(float))
    for row, drawn in zip(counts, found, strict=True):
        expected = np.quantile(np.repeat(values, row), [0.5, 0.95], method="inverted_cdf")
        assert drawn.tolist() == pytest.approx(expected.tolist())
