"""Pairs of systems on the page: computed as `siq compare` does, in both directions, within a limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from speechiq.reducer.output.page import browser
from speechiq.reducer.output.page import build as report
from speechiq.reducer.output.page.study import gather_report
from speechiq.reducer.output.scoreboard_records import rows_of
from speechiq.reducer.stats.estimate import plain
from tests.commands import as_json
from tests.reducer.conftest import write_skills

COLUMNS = {"remember": "wer", "understand": "sim", "apply": "acc"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    return write_skills(tmp_path_factory.mktemp("runs"), {"a": 0.9, "b": 0.5, "c": 0.2}, clips=6)


def of_page(runs: Path, bootstrap: int) -> tuple[report.Study, dict, list[str]]:
    study = gather_report([runs], bootstrap=bootstrap)
    rows = rows_of(study.scoreboard)
    return study, plain(browser.compare_pairs(study, rows)), [row["system"] for row in rows]


def test_every_pair_is_that_of_the_command_in_both_directions(runs: Path):
    _, data, names = of_page(runs, 60)
    assert len(data["pairs"]) == 6
    for pair, shown in data["pairs"].items():
        a, b = (names[int(place)] for place in pair.split())
        found = as_json("compare", a, b, runs, "--bootstrap", 60, "--clips", 0)
        siq = found["siq"]
        expected = [siq[key] for key in ("a", "b", "difference", "low", "high", "p")]
        assert shown["rows"][-1][2:8] == pytest.approx(expected, abs=1e-5)
        level, unit, *numbers, _ = shown["rows"][0]
        remember = found["scores"]["remember"]
        assert (level, unit) == ("Remember", "WER %")
        assert numbers[2:5] == pytest.approx([100 * remember[key] for key in ("difference", "low", "high")], abs=1e-4)


def test_the_parts_of_the_clips_sum_to_the_difference(runs: Path):
    study, data, names = of_page(runs, 60)
    pool, order = study.scoreboard.pool, [study.names.index(name) for name in names]
    total = 0.0
    for level, raw in pool.raw.items():
        shown = study.scoreboard.levels[level].show(raw[order[0]] - raw[order[1]])
        parts = data["levels"][COLUMNS[level]]["parts"]
        total += sum(parts[clip] * gap for clip, gap in zip(pool.clips[level], shown, strict=True))
    assert total == pytest.approx(data["pairs"]["0 1"]["rows"][-1][4], abs=1e-4)


def test_the_difference_is_that_of_the_table(visit, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shown = browser._columns
    coarse = lambda *given: [[round(score, -1) for score in scores] for scores in shown(*given)]  # noqa: E731
    monkeypatch.setattr(browser, "_columns", coarse)
    for bootstrap in (0, 60):
        report.write_report(report.build_report([runs], bootstrap=bootstrap), tmp_path / f"{bootstrap}.html")
        here = visit(tmp_path / f"{bootstrap}.html", fragment="#compare/a/b")
        here.tab.locator("#compare-table tr.total").wait_for()
        difference = here.tab.locator("#compare-table tr.total td").nth(2).inner_text()
        assert f"in the difference of {difference} SIQ;" in here.tab.locator("#compare-unit").inner_text()


def test_further_pairs_and_pages_without_draws_have_scores_alone(runs: Path, monkeypatch: pytest.MonkeyPatch):
    _, without, _ = of_page(runs, 0)
    assert without["pairs"] == {} and [len(of) for of in without["scores"]] == [7, 7, 7]
    monkeypatch.setattr(browser, "MOST_WORK", 12)
    assert {*of_page(runs, 60)[1]["pairs"]} == {"0 1", "1 0", "1 2", "2 1"}


def test_a_pair_without_intervals_says_so(visit, runs: Path, tmp_path: Path):
    report.write_report(report.build_report([runs], bootstrap=0), tmp_path / "report.html")
    here = visit(tmp_path / "report.html", fragment="#compare/a/b")
    verdict = here.tab.locator("#compare-verdict", has_text="The intervals of this pair are not on the page")
    verdict.wait_for()
    assert "siq compare 'a' 'b' RUNS" in verdict.inner_text()
    assert here.tab.locator("#compare-table tbody tr").count() == 7
