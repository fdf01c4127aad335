"""Test the report of several data sets, and the facts about the runs in its head."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from speechiq.reducer.output.page import build as report
from speechiq.reducer.output.page import tables as page_tables
from speechiq.reducer.output.page.page import describe_origin
from speechiq.reducer.output.page.study import gather_report
from speechiq.reducer.output.page.tables import list_all_tasks
from speechiq.reducer.output.scoreboard_records import rows_of
from speechiq.reducer.runs.tasks import find_tasks
from speechiq.reducer.scores.ranking import macro_average, rank, rank_by_dataset
from speechiq.reducer.scores.suites import read_systems
from tests.commands import siq
from tests.reducer.conftest import levels, write_run

SKILLS = {"a": 0.9, "b": 0.1, "c": 0.5}


def write_sets(folder: Path, sizes: Mapping[str, int], skills: Mapping[str, float] = SKILLS) -> Path:
    """Write runs of several data sets, of so many clips each; a system's skill is lower on each set than before."""
    for system, skill in skills.items():
        for number, (dataset, clips) in enumerate(sizes.items()):
            scores = json.loads(json.dumps(levels(skill / (1 + number), clips)).replace("demo/", f"{dataset}/"))
            metadata = {level: {"dataset": dataset} for level in scores}
            write_run(folder / system, scores, system, 1.0 + number, dataset, metadata=metadata)
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    return write_sets(tmp_path_factory.mktemp("runs"), {"x": 6, "y": 3})


def test_each_set_and_their_mean_are_on_the_page(runs: Path):
    study = gather_report([runs], bootstrap=60)
    scores = page_tables.scores_by_set(study)
    tables = page_tables.set_tables(study, scores)
    assert [*tables] == ["siq", "remember", "understand", "apply"]
    sets = ["x\n6 clips", "y\n3 clips", "Macro average\neach set once", "All clips\n9 clips"]
    assert [column.heading for column in tables["siq"].shown] == ["System", *sets]
    systems = read_systems([runs])
    boards = rank_by_dataset(systems)
    for row in rows_of(macro_average(rank(systems), boards)):
        at = study.names.index(row["system"])
        first, second, macro, pooled = (scores[name][row["system"], "siq"][0] for name in sets)
        assert [first.value, second.value] == pytest.approx([board.siq[at] for board in boards.values()])
        assert macro.value == pytest.approx(row["siq"]) and np.isnan(macro.low)
        assert pooled.value == pytest.approx(study.scoreboard.siq[at])
        assert first.low <= first.high
        accuracy, z = scores[sets[2]][row["system"], "apply"]
        assert (accuracy.value, z) == pytest.approx(
            (100 * row["categories"]["apply"]["score"], row["categories"]["apply"]["z"])
        )
    page = report.render_report(study).text
    assert "The macro average is the mean of the sets' numbers: each set counts once" in page
    assert "each clip counts once: a set with more clips counts more" in page


def test_one_set_has_no_section_of_its_own(two_runs: Path):
    assert 'id="datasets"' not in report.build_report([two_runs], bootstrap=0).text


def test_norms_have_one_scale_for_all_sets(runs: Path, tmp_path: Path):
    norms, file = tmp_path / "norms.json", tmp_path / "report.html"
    siq("score", runs, "--save-norms", norms)
    siq("score", runs, "-o", file, "--norms", norms, "--allow-mismatch", "--bootstrap", 0)
    assert 'id="datasets"' not in file.read_text(encoding="utf-8")


def test_a_set_that_cannot_be_scored_is_named(tmp_path: Path):
    write_sets(tmp_path, {"x": 6})
    write_sets(tmp_path / "same", {"same": 3}, dict.fromkeys(SKILLS, 0.5))
    study = gather_report([tmp_path], bootstrap=0)
    assert study.sets == {} and "no scores per data set are shown: data set 'same'" in study.warnings[-1]
    assert "no scores per data set are shown" in report.render_report(study).text


def test_sets_are_sorted_and_saved(visit, runs: Path, tmp_path: Path):
    file = tmp_path / "report.html"
    report.write_report(report.build_report([runs], bootstrap=0), file)
    here = visit(file)
    assert here.tab.locator("#datasets table").count() == 4
    here.tab.locator("#datasets table").first.locator("thead button").first.click()
    table = here.download(here.tab.get_by_label("Save the table datasets-siq as CSV"))
    rows = list(csv.DictReader(table.splitlines()))
    assert [row["System"] for row in rows] == [*SKILLS]
    assert {"x, 6 clips", "y, 3 clips", "Macro average, each set once", "All clips, 9 clips"} < {*rows[0]}
    here.see_all()


def test_two_systems_have_the_levels_of_each_set(tmp_path: Path):
    study = gather_report([write_sets(tmp_path, {"x": 6, "y": 3}, {"a": 0.9, "b": 0.1})], bootstrap=0)
    tables = page_tables.set_tables(study, page_tables.scores_by_set(study))
    assert [*tables] == ["remember", "understand", "apply"]


def test_the_head_names_the_versions_of_the_runs(tmp_path: Path):
    versions = {"a": "0.4.13", "b": "0.4.12", "c": 7}
    for name, version in versions.items():
        write_run(tmp_path / name, levels(SKILLS[name]), name, lm_eval_version=version, transformers_version="5.23.0")
    study = gather_report([tmp_path], bootstrap=0)
    assert (
        describe_origin(list_all_tasks(study.scoreboard.systems), "")["Run with"]
        == "lm-eval 0.4.12 and 0.4.13, transformers 5.23.0"
    )
    tasks, _ = find_tasks([tmp_path / "c"])
    assert dict(tasks[0].versions) == {"transformers": "5.23.0"}


def test_runs_without_versions_say_nothing_of_them(two_runs: Path):
    tasks, _ = find_tasks([two_runs])
    assert "Run with" not in describe_origin(tasks, "")
