"""Scores of each data set and their mean."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from speechiq.reducer import align, macro_average, rank, rank_by_dataset, read_systems
from speechiq.reducer.output.scoreboard_records import rows_of
from speechiq.reducer.scores.ranking import split_datasets
from tests.commands import as_json, print_and_write, refusal, siq, succeed
from tests.reducer.conftest import levels, write_run

SKILLS = {"one": 0.9, "two": 0.5, "three": 0.1}


def renamed(scores: dict, dataset: str) -> dict:
    return {
        level: {
            clip.replace("demo", dataset): value
            if not isinstance(value, dict)
            else {question.replace("demo", dataset): of for question, of in value.items()}
            for clip, value in clips.items()
        }
        for level, clips in scores.items()
    }


def write_set(folder: Path, name: str, dataset: str, clips: int, skill: float, date: float = 1.0) -> None:
    """Write the run of a system on one data set."""
    scores = renamed(levels(skill, clips=clips), dataset)
    metadata = {level: {"dataset": dataset} for level in scores}
    write_run(folder / name / dataset, scores, name, date, dataset, metadata=metadata)


@pytest.fixture
def two_sets(tmp_path: Path) -> Path:
    """Three systems on a set of 12 clips and on one of 4, on which the order is another."""
    for name, skill in SKILLS.items():
        write_set(tmp_path, name, "large", 12, skill)
        write_set(tmp_path, name, "small", 4, 1 - skill)
    return tmp_path


def describe_tasks(two_sets: Path, describe) -> None:
    """Change what all tasks record of themselves: name -> metadata."""
    for path in two_sets.glob("*/*/results*"):
        content = json.loads(path.read_text())
        for name in content["configs"].keys() - {"arc_easy"}:
            content["configs"][name]["metadata"] |= describe(name)
        path.write_text(json.dumps(content))


def leave_out_apply(two_sets: Path) -> None:
    """Take the level Apply from the runs on the small set."""
    for path in two_sets.glob("*/small/results*"):
        content = json.loads(path.read_text())
        del content["configs"]["small_2"]
        path.write_text(json.dumps(content))
        next(path.parent.glob("samples_small_2_*")).unlink()


def test_a_set_is_scored_as_if_it_were_alone(two_sets):
    systems = read_systems([two_sets])
    found = rank_by_dataset(systems)
    assert list(found) == ["large", "small"]
    for dataset, scoreboard in found.items():
        alone = rank(read_systems(sorted(two_sets.glob(f"*/{dataset}"))))
        assert scoreboard.siq.tolist() == alone.siq.tolist()
        assert scoreboard.pool.clips == alone.pool.clips
    pooled = align(systems)
    assert len(pooled.clips["apply"]) == 16 and len(found["small"].pool.clips["apply"]) == 4


def test_the_macro_average_counts_each_set_once(two_sets):
    systems = read_systems([two_sets])
    found = rank_by_dataset(systems)
    macro = macro_average(rank(systems), found)
    rows = {row["system"]: row for row in rows_of(macro)}
    for j, name in enumerate(found["large"].pool.systems):
        assert rows[name]["siq"] == pytest.approx(np.mean([of.siq[j] for of in found.values()]))
        for level, of in rows[name]["categories"].items():
            sign = -1 if level == "remember" else 1
            for part, name, factor in (("score", "means", sign), ("z", "z", 1)):
                sets = [getattr(scoreboard, name)[level][j] for scoreboard in found.values()]
                assert of[part] == pytest.approx(factor * np.mean(sets))
            assert of["rank"] == 1 + sum(macro.means[level] > macro.means[level][j])
    assert next(row["rank"] for row in rows_of(macro)) == 1


def test_tables_json_and_csv_agree(two_sets):
    out, sheet, page = two_sets / "siq.json", two_sets / "siq.csv", two_sets / "siq.md"
    result = succeed("score", two_sets, "--group-by", "dataset", "-o", out, "-o", sheet, "-o", page)
    titles = ["Speech IQ", "Speech IQ: large", "Speech IQ: small", "Speech IQ: macro-average"]
    assert [line for line in result.stdout.splitlines() if line.startswith("Speech IQ")] == titles
    assert "each data set with the same weight: large (12 clips), small (4 clips)" in result.stdout
    assert "in the first table each clip counts once, so a data set with more clips counts more" in result.stdout
    data = json.loads(out.read_text())
    tables = {"all": data["systems"], "macro-average": data["macro_average"]}
    tables |= {dataset: of["systems"] for dataset, of in data["by_dataset"].items()}
    rows = list(csv.DictReader(sheet.read_text().splitlines()))
    assert [row["dataset"] for row in rows] == [
        name for name in ("all", "large", "small", "macro-average") for _ in SKILLS
    ]
    for row in rows:
        (same,) = (of for of in tables[row["dataset"]] if of["system"] == row["system"])
        assert float(row["siq"]) == same["siq"] and float(row["apply_score"]) == same["categories"]["apply"]["score"]
    assert page.read_text().count("| Rank | System |") == 4
    plain = succeed("score", two_sets, "-o", out, "--force")
    assert json.loads(out.read_text())["by_dataset"] is None and "macro" not in plain.stdout


def test_two_systems_have_raw_means_alone(two_sets):
    rows = as_json("score", two_sets / "one", two_sets / "two", "--group-by", "dataset")["macro_average"]
    assert all(row["siq"] is None and row["categories"]["apply"]["score"] >= 0 for row in rows)


def test_a_set_without_apply_leaves_the_mean_of_the_other_levels(two_sets):
    leave_out_apply(two_sets)
    systems = read_systems([two_sets])
    rows = rows_of(macro_average(rank(systems), rank_by_dataset(systems)))
    assert all(row["siq"] is None and list(row["categories"]) == ["remember", "understand"] for row in rows)
    assert "Levels, without Speech IQ: small" in siq("score", two_sets, "--group-by", "dataset")


def test_norms_have_one_scale_for_all_sets(two_sets):
    result = refusal("score", two_sets, "--group-by", "dataset", "--norms", "demo")
    assert "norms have one scale for all their data sets" in result


def test_a_set_that_cannot_be_scored_is_named(two_sets):
    for name in SKILLS:
        write_set(two_sets, name, "small", 4, 0.5, date=5.0)
    refused = refusal("score", two_sets, "--group-by", "dataset")
    assert refused.startswith("data set 'small': no SIQ: level remember: all 3 systems have the same score")


def test_every_item_is_in_one_set(two_sets):
    systems = read_systems([two_sets])
    parts = split_datasets(systems)
    for j, system in enumerate(systems):
        for level, scores in system.scores.items():
            assert scores == {k: v for part in parts.values() for k, v in part[j].scores[level].items()}


def test_a_suite_without_a_scale_averages_each_category_over_the_sets_that_have_it(two_sets):
    describe_tasks(two_sets, lambda name: {"suite": "mine"})
    leave_out_apply(two_sets)
    printed, content = print_and_write("score", two_sets, "--group-by", "dataset", "--bootstrap", 0)
    assert "Suite mine macro-average" in printed
    content = content["suites"]["mine"]
    sets = {dataset: {row["system"]: row for row in of["systems"]} for dataset, of in content["by_dataset"].items()}
    for row in content["macro_average"]:
        assert set(row["categories"]) == {"remember", "understand", "apply"} and row["mean_rank"] >= 1
        for category, cell in row["categories"].items():
            parts = [of[row["system"]]["categories"].get(category, {}).get("score") for of in sets.values()]
            assert cell["score"] == pytest.approx(np.mean([part for part in parts if part is not None]))


def test_categories_of_one_set_each_have_no_macro_average(two_sets):
    describe_tasks(two_sets, lambda name: {"suite": "mine", "category": name})
    content = as_json("score", two_sets, "--group-by", "dataset", "--bootstrap", 0)
    assert content["suites"]["mine"]["macro_average"] is None
