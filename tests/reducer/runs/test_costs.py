"""Test what runs cost: tokens and work at given prices."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.commands import print_and_write, refusal, succeed
from tests.reducer.conftest import levels, write_run

USED = {"calls": 30, "prompt_tokens": 2_000_000, "completion_tokens": 500_000}
SPEED = {
    "answering": {"audio_seconds": 10.0, "work_seconds": 1800.0, "rtfx": 0.1},
    "embedding": {"audio_seconds": 0.0, "work_seconds": 900.0, "rtfx": None},
}


@pytest.fixture
def runs(tmp_path) -> Path:
    """Return runs of two systems, each half an hour of work and measured; the first called an endpoint."""
    folder = tmp_path / "runs"
    for name, used in (("openai:m", USED), ("local", {"prefills": 5})):
        config = {"siq": {"pretrained": name, "usage": used, "speed": SPEED}}
        write_run(folder / name.replace(":", "_"), levels(0.5 if used is USED else 0.2), system=name, config=config)
    return folder


def table(folder: Path, text: str) -> Path:
    file = folder / "prices.csv"
    file.write_text(text)
    return file


def test_a_cost_is_that_of_tokens_and_of_the_systems_own_work(runs, tmp_path):
    prices = table(tmp_path, "system,input,output,hour\nopenai:m,2.5,10,\nother,1,1,1\n")
    printed, content = print_and_write("score", runs, "--prices", prices, "--bootstrap", 0)
    found = {row["system"]: row for row in content["costs"]}
    assert found["openai:m"]["cost"] == pytest.approx(2 * 2.5 + 0.5 * 10) and found["local"]["cost"] is None
    assert [found[name]["work_seconds"] for name in found] == [1800, 1800] and found["local"]["calls"] == 0
    assert "10.0000" in printed and "2,000,000" in printed
    by_hour = table(tmp_path, "system,hour\nlocal,3\n")
    _, content = print_and_write("score", runs, "--prices", by_hour, "--bootstrap", 0)
    assert {row["system"]: row["cost"] for row in content["costs"]} == {"openai:m": None, "local": 1.5}


def test_a_report_draws_scores_against_costs_of_three_systems(runs, tmp_path):
    write_run(runs / "third", levels(0.8), system="third", config={"siq": {"pretrained": "third", "speed": SPEED}})
    prices = table(tmp_path, "system,hour\nlocal,3\nthird,9\nopenai:m,6\n")
    succeed("score", runs, "--prices", prices, "-o", tmp_path / "report.html", "--bootstrap", 0)
    page = (tmp_path / "report.html").read_text()
    assert "Scores against cost" in page and 'id="tradeoffs-siq"' in page
    succeed("score", runs, "-o", tmp_path / "plain.html", "--bootstrap", 0)
    assert "Scores against cost" not in (tmp_path / "plain.html").read_text()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("name,input\na,1\n", "no column 'system'"),
        ("system,price\na,1\n", "no column of prices; add input, output, hour"),
        ("system,input\nlocal,free\n", "row 1: input is 'free', not a price"),
        ("system,input\nlocal,-1\n", "row 1: input is '-1', not a price"),
        ("system,input\nlocal,1\nlocal,2\n", "row 2: duplicate system 'local'"),
        ("system,input\nlocl,1\n", "--prices: names no system of these runs; did you mean local?"),
    ],
)
def test_prices_that_cannot_be_used_are_refused(runs, tmp_path, text, fault):
    assert fault in refusal("score", runs, "--prices", table(tmp_path, text))


def test_a_dash_stands_for_a_cost_without_a_price(runs, tmp_path):
    prices = table(tmp_path, "system,input\nopenai:m,1\n")
    file = tmp_path / "siq.json"
    succeed("score", runs, "--prices", prices, "-o", file, "--bootstrap", 0)
    costs = {row["system"]: row["cost"] for row in json.loads(file.read_text())["costs"]}
    assert costs["local"] is None and math.isclose(costs["openai:m"], 2.0)
