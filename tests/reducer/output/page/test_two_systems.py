"""A report of systems that have no SIQ."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from speechiq.metrics.words.normalizer import normalize
from speechiq.reducer.output.page.browser import charts, describe_clips
from speechiq.reducer.output.page.build import SECTIONS, build_report, list_sections, render_report
from speechiq.reducer.output.page.clips import read_clips
from speechiq.reducer.output.page.review import review_questions
from speechiq.reducer.output.page.study import gather_report
from speechiq.reducer.output.scoreboard_records import rows_of
from speechiq.reducer.runs.tasks import find_tasks
from speechiq.reducer.scores.levels import choose_levels
from speechiq.reducer.stats.estimate import plain
from tests.commands import succeed
from tests.records import judge_transcripts
from tests.reducer.conftest import levels, write_run

pytestmark = pytest.mark.slow


def test_two_systems_get_levels_and_the_reason(two_runs: Path):
    page = build_report([two_runs], bootstrap=60).text
    assert page.count("no SIQ and no Z: of two systems, one always has Z +1") == 1
    assert "Left out of this page: Scale, Level profiles, Stability." in page and "Most discriminating" not in page
    study = gather_report([two_runs], bootstrap=60)
    rows = rows_of(study.scoreboard)
    assert [row["system"] for row in rows] == ["bad", "good"] and all(row["siq"] is None for row in rows)
    drawn = {name: figure.to_plotly_json() for name, figure in charts(study, rows).items()}
    assert {*drawn} == {"similarity", "accuracy", "clips-wer"} and len(drawn["accuracy"]["data"][-1]["x"]) == 2
    assert "NaN" not in json.dumps(drawn) and not re.search(r'"nan"|:nan', render_report(study).text)


def test_another_column_is_named_on_the_page_and_has_its_chance(tmp_path: Path):
    for name, skill in (("a", 0.9), ("b", 0.1), ("c", 0.5)):
        write_run(tmp_path / name, levels(skill), system=name, columns={"apply": {"acc_strict": float(skill > 0.4)}})
    strict = build_report([tmp_path], levels=choose_levels(["apply=acc_strict"]), bootstrap=0).text
    usual = build_report([tmp_path], bootstrap=0).text
    assert "Apply is scored by <code>acc_strict</code>: the page shows this score" in strict
    assert "Apply by chance: 6 %" in strict and "Apply by chance: 20 %" in usual and "is scored by" not in usual


def write_levels(folder: Path, *wanted: str) -> Path:
    """Write three systems that ran some levels."""
    for name, skill in (("a", 0.9), ("b", 0.1), ("c", 0.5)):
        write_run(folder / name, {level: levels(skill)[level] for level in wanted}, system=name)
    return folder


LEFT_OUT = {
    ("remember", "understand"): ["curve", "firmness", "review"],
    ("remember", "apply"): ["curve", "firmness"],
    ("understand", "apply"): ["curve", "understanding", "firmness"],
    ("remember",): ["curve", "understanding", "firmness", "review"],
    ("understand",): ["curve", "understanding", "firmness", "suspects", "review"],
    ("apply",): ["curve", "understanding", "firmness"],
}


@pytest.mark.parametrize(("wanted", "left_out"), LEFT_OUT.items(), ids="+".join)
def test_some_levels_make_a_page_of_their_own(tmp_path: Path, wanted: tuple[str, ...], left_out: list[str]):
    study = gather_report([write_levels(tmp_path, *wanted)], bootstrap=60)
    page, rows = render_report(study).text, rows_of(study.scoreboard)
    sections = {section.id: section for section in list_sections(study, rows, review_questions([]))}
    assert page.count("no SIQ: it needs") == 1
    assert [section for section in SECTIONS if section not in sections] == ["datasets", "groups", *left_out]
    assert all((f'id="{section}"' in page) == (section in sections) for section in SECTIONS)
    rows = sections["leaderboard"].values["leaderboard"].rows
    scores = [row[level] for row in rows for level in wanted]
    assert len(rows) == 3 and all(score.low <= score.value <= score.high for score in scores)
    clips = plain(describe_clips(study, rows_of(study.scoreboard))["clips"])
    assert len(clips) == 4 and all(clip["weight"] is None for clip in clips)


def test_levels_that_ran_can_be_left_out_of_the_page(two_runs: Path, tmp_path: Path):
    file = tmp_path / "report.html"
    done = succeed("score", two_runs, "-o", file, "--levels", "remember,understand", "--bootstrap", 0)
    assert "no SIQ: it needs Apply" in file.read_text(encoding="utf-8") and "no questions are shown" not in done.stderr


def test_transcripts_whose_meaning_was_judged_are_shown_as_they_were_written(tmp_path: Path):
    results = write_run(tmp_path, {"remember": {"x": 0.0}})
    tasks, _ = find_tasks([results])
    before = read_clips(tasks)
    judge_transcripts(tmp_path)
    assert read_clips(tasks) == before


@pytest.mark.parametrize("rules", ["english", "basic", "multilingual"])
def test_texts_are_marked_as_the_task_normalizes_them(tmp_path: Path, rules: str):
    doc = {"id": "x", "text": "It cost $2,000.", "normalizer": rules}
    row = {"doc": doc, "filtered_resps": ["it cost two thousand dollars"]}
    results = write_run(tmp_path, {"remember": {"x": 0.0}})
    (samples,) = tmp_path.glob("samples_*")
    samples.write_text(json.dumps(row) + "\n")
    tasks, _ = find_tasks([results])
    (clip,) = read_clips(tasks)
    assert clip.words == normalize(doc["text"], rules)
    assert (clip.transcripts["system"].ops == [3]) == (rules == "english")
