"""`siq view`: the report of a folder, written where it is missing or old, and opened in a browser or named."""

from __future__ import annotations

import json
import os
import sys
import webbrowser
from functools import partial
from pathlib import Path

import pytest

from tests.commands import refusal, succeed
from tests.reducer.conftest import levels, write_run

view = partial(succeed, "view")
refused_by = partial(refusal, "view")


@pytest.fixture(autouse=True)
def opened(monkeypatch):
    """Open no browser on a machine with a display; return the list of the addresses that one would open."""
    addresses = []

    def note(address):
        addresses.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", note)
    monkeypatch.setenv("DISPLAY", ":0")
    return addresses


def make_old(*files: Path) -> None:
    for file in files:
        os.utime(file, (1, 1))


def test_a_missing_report_is_written_and_opened(two_runs, opened):
    done = view(two_runs)
    page = two_runs / "report.html"
    assert opened == [page.as_uri()] and "</html>" in page.read_text(encoding="utf-8")
    assert "Speech IQ" in done.stdout and f"wrote {page}" in done.stderr and f"opened {page}" in done.stderr


def test_a_report_is_opened_as_it_is_until_results_are_newer(two_runs, opened):
    page = two_runs / "report.html"
    page.write_text("<p>speechiq", encoding="utf-8")
    make_old(*two_runs.glob("*/*.json*"))
    assert view(two_runs).stdout == "" and page.read_text(encoding="utf-8") == "<p>speechiq"
    make_old(page)
    view(two_runs)
    assert "</html>" in page.read_text(encoding="utf-8") and opened == [page.as_uri()] * 2
    (two_runs / "third").mkdir()
    write_run(two_runs / "third", levels(0.5), system="third")
    make_old(page)
    view(two_runs)
    assert "third" in page.read_text(encoding="utf-8")


def test_an_option_writes_the_report_again(two_runs, opened):
    write_run(two_runs / "middle", levels(0.5), system="middle")
    succeed("score", two_runs, "--save-norms", two_runs / "norms.json", "-o", two_runs / "report.html")
    assert "Speech IQ" not in view(two_runs).stdout
    assert "norms (" in view(two_runs, "--norms", two_runs / "norms.json").stdout


def test_a_page_is_opened_as_it_is(tmp_path, opened):
    page = tmp_path / "my page.html"
    page.write_text("mine", encoding="utf-8")
    view(page)
    assert opened == [page.as_uri()] and "%20" in opened[0] and page.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("cause", ["no display", "no browser", "a broken browser"])
def test_without_a_browser_the_file_is_named(tmp_path, monkeypatch, opened, cause):
    if cause == "no display":
        monkeypatch.setattr(sys, "platform", "linux")
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
            monkeypatch.delenv(name, raising=False)
    elif cause == "no browser":
        monkeypatch.setattr(webbrowser, "open", lambda address: False)
    else:
        monkeypatch.setattr(webbrowser, "open", break_down)
    page = tmp_path / "report.html"
    page.touch()
    done = view(page)
    assert opened == [] and done.stdout == f"{page}\n"
    assert "no browser here: open the file in one, or copy it to a machine that has one" in done.stderr
    (tmp_path / "report_files").mkdir()
    assert "copy it with the folder report_files to a machine" in view(page).stderr


def break_down(address):
    raise webbrowser.Error("could not locate runnable browser")


def test_folders_without_runs_are_refused_as_by_siq_score(tmp_path, opened):
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "missing"):
        assert refused_by(folder) == refusal("score", folder, "-o", tmp_path / "report.html")
    assert opened == [] and not (tmp_path / "empty" / "report.html").exists()


def test_what_is_no_folder_and_no_page_is_refused(two_runs, opened):
    results = next(two_runs.glob("good/results_*.json"))
    assert "not a folder of runs or a page; name the folder that it is in" in refused_by(results)
    assert "no such page; correct the path, or write it: siq score RUNS" in refused_by(two_runs / "other.html")
    (two_runs / "report.html").write_text("mine", encoding="utf-8")
    make_old(two_runs / "report.html")
    assert "not a report of siq, so it is not replaced; move it away" in refused_by(two_runs)
    (two_runs / "report.html").unlink()
    results.unlink()
    results.symlink_to(two_runs / "gone.json")
    assert refused_by(two_runs) == refusal("score", two_runs) and opened == []


def test_an_evaluation_has_its_norms_and_newest_settings_and_goes_on(instant, tmp_path, opened, monkeypatch):
    runs, page = tmp_path / "runs", tmp_path / "runs" / "report.html"
    monkeypatch.chdir(tmp_path)
    succeed("eval", "good", "fair", "poor", "-o", runs)
    succeed("score", runs, "--save-norms", "norms.json")
    others = ["good", "poor", "-o", runs, "--metadata", "seed_text=1"]
    # The runs of the tests have other tasks than those that were planned.
    succeed("eval", *others, "--norms", "norms.json", "--allow-mismatch")
    assert json.loads((runs / "eval.json").read_text())["norms"] == str(tmp_path / "norms.json")
    monkeypatch.chdir(runs)
    page.unlink()
    done = view(runs)
    assert "norms (" in done.stdout and "fair" not in done.stdout.split("norms (")[0]
    assert f"{runs} also has 3 runs with others" in done.stderr and opened == [page.as_uri()]
    monkeypatch.chdir(tmp_path)
    again = succeed("eval", *others)
    assert "2 of 2 systems finished before" in again.stderr
    assert json.loads((runs / "eval.json").read_text())["norms"] is None
