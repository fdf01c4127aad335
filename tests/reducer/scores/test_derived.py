"""Micro-averages of several categories, extra columns beside the scores, and scores by group of items."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

from speechiq.reducer.output.suite_scores import score_suite
from speechiq.reducer.scores.suites import ScoringOptions, find_suites
from speechiq.reducer.stats.bootstrap import count_clusters
from speechiq.siq_tasks.index import HERE, read_task
from tests import commands
from tests.commands import as_json, refusal
from tests.reducer.conftest import on_screen, write_files

NAN = math.nan
NOISE = ("clean", "natural_noise", "human_noise")
#: Category -> points of each query; NaN is unjudged.
POINTS = {
    "tc": [8, 6, 7, 9, 5, 7],
    "ii": [5, 5, 6, 4],
    "sr": [3, 9, 6],
    "oe": [7, 2, 4, 4, 6],
    "pf_pause": [2, 3],
    "pf_tone": [4, NAN, 6],
}
DERIVED = ["pf", "average", "speech_quality", "text_score", "speech_gap", "speech_text_wer"]


def write_replies(folder: Path, system: str, points: dict[str, list[float]], spoken: bool = True) -> None:
    """Write a run of some categories of `siq_wildspeech`, described as its YAMLs describe them."""
    configs, rows = {}, {}
    for category, values in points.items():
        task = read_task(HERE / "wildspeech" / f"siq_wildspeech_{category}.yaml")
        configs[task["task"]] = {"task": task["task"], "metadata": task["metadata"]}
        rows[task["task"]] = [
            {
                "doc": {"id": f"wildspeech/{category}{i}", "noise": NOISE[i % 3], "question": "Why?"},
                "filtered_resps": ["an answer"],
                "judge_points": value,
                "text_score": value,
                "speech_gap": 0.0 if spoken else NAN,
                "speech_text_wer": 0.1 if spoken else NAN,
                "speech_quality": 3.0 + i / 10 if spoken else NAN,
            }
            for i, value in enumerate(values)
        ]
    write_files(folder, system, 1.0, rows, configs=configs)


def plus(change: float) -> dict[str, list[float]]:
    return {category: [min(10, max(1, value + change)) for value in values] for category, values in POINTS.items()}


@pytest.fixture
def runs(tmp_path) -> Path:
    """Write runs of a system that speaks, and of one that writes better answers."""
    write_replies(tmp_path / "runs" / "speaker", "speaker", POINTS)
    write_replies(tmp_path / "runs" / "writer", "writer", plus(1), spoken=False)
    return tmp_path / "runs"


def siq(*arguments: object) -> str:
    return " ".join(commands.siq(*arguments).split())


def scores(runs: Path, *arguments: object) -> dict:
    return as_json("score", runs, "--bootstrap", "100", *arguments)["suites"]["wildspeech"]


def test_the_columns_are_those_of_the_papers_table(runs):
    found = scores(runs)
    assert [*found["measures"]] == ["tc", "ii", "sr", "oe", "pf_pause", "pf_tone"]
    assert [*found["derived"]] == DERIVED
    assert found["derived"]["pf"] | {"chance": None} == {
        "column": "judge_points",
        "direction": "higher",
        "unit": "points 1-10",
        "chance": None,
        "categories": ["pf_pause", "pf_tone"],
        "items": 5,
    }
    assert found["derived"]["average"]["items"] == sum(map(len, POINTS.values()))


def test_a_pooled_column_is_the_mean_of_items_not_of_categories(runs):
    speaker = next(row for row in scores(runs)["systems"] if row["system"] == "speaker")["derived"]
    everything = np.concatenate([*POINTS.values()])
    assert speaker["average"]["score"] == pytest.approx(np.nanmean(everything))
    assert speaker["pf"]["score"] == pytest.approx(np.mean([2, 3, 4, 6])) and speaker["pf"]["undefined"] == 1
    assert speaker["average"]["score"] != pytest.approx(np.mean([np.nanmean(of) for of in POINTS.values()]))
    assert speaker["speech_quality"]["score"] == pytest.approx(
        np.mean([3 + i / 10 for of in POINTS.values() for i in range(len(of))])
    )


def test_they_do_not_count_for_ranks(runs):
    with_them = scores(runs)["systems"]
    for path in runs.glob("*/results_*.json"):
        path.write_text(path.read_text().replace('"aggregate"', '"no_aggregate"').replace('"extra_', '"no_extra_'))
    without = scores(runs)
    assert without["derived"] == {} and "scores are not combined" in siq("score", runs, "--explain")
    for one, other in zip(with_them, without["systems"], strict=True):
        assert one["mean_rank"] == other["mean_rank"] and one["categories"] == other["categories"]


def test_their_intervals_are_from_the_draws_of_the_other_columns(tmp_path):
    points = {category: [value if value == value else 5 for value in of] for category, of in POINTS.items()}
    write_replies(tmp_path / "one", "one", points)
    (row,) = scores(tmp_path)["systems"]
    values = {f"{category}{i}": value for category, of in points.items() for i, value in enumerate(of)}
    (counts,) = count_clusters(len(values), 100, 0)
    place = {clip: i for i, clip in enumerate(sorted(values))}

    def std(begin: str) -> float:
        clips = [clip for clip in values if clip.startswith(begin)]
        part = counts[:, [place[clip] for clip in clips]]
        part = part[part.any(axis=1)]
        return float((part @ [values[clip] for clip in clips] / part.sum(axis=1)).std(ddof=1))

    assert row["derived"]["pf"]["std"] == pytest.approx(std("pf"))
    assert row["derived"]["average"]["std"] == pytest.approx(std(""))
    low, high = row["derived"]["average"]["interval"]
    assert low < row["derived"]["average"]["score"] < high


def test_a_system_that_only_writes_has_no_quality_and_is_counted(runs):
    writer, speaker = scores(runs)["systems"]
    assert writer["system"] == "writer" and writer["derived"]["speech_quality"]["score"] is None
    assert writer["derived"]["speech_quality"]["undefined"] == 23 and speaker["derived"]["speech_quality"]["interval"]
    assert "23 of 23 undefined" in siq("score", runs)


def test_a_column_that_no_row_has_is_left_out(tmp_path):
    write_replies(tmp_path / "writer", "writer", POINTS, spoken=False)
    assert [*scores(tmp_path)["derived"]] == ["pf", "average", "text_score"]
    assert [*scores(tmp_path, "--levels", "tc")["derived"]] == ["text_score"], "one category is not pooled"


def test_categories_with_different_measures_are_not_pooled(runs):
    found = scores(runs, "--metrics", "tc=text_score")
    assert "average" not in found["derived"] and "pf" in found["derived"]
    shown = siq("score", runs, "--metrics", "tc=text_score", "--explain")
    assert "Average: not shown, since its categories are scored by different measures" in shown


def test_every_output_has_them(runs, tmp_path):
    files = {ending: tmp_path / f"o.{ending}" for ending in ("csv", "md", "tex")}
    outputs = [part for file in files.values() for part in ("-o", file)]
    shown = siq("score", runs, *outputs, "--group-by", "noise", "-o", tmp_path / "out", "--explain")
    assert "Average" in shown and "mean of the 23 items of all categories, not part of the mean rank" in shown
    rows = list(csv.DictReader(files["csv"].read_text().splitlines()))
    assert [row["group_by"] for row in rows] == ["", "", "noise", "noise"]
    assert float(rows[1]["average_score"]) == pytest.approx(np.nanmean(np.concatenate([*POINTS.values()])))
    assert rows[1]["pf_undefined"] == "1" and float(rows[3]["clean_score"]) > 0
    for ending in ("md", "tex"):
        text = files[ending].read_text().replace("\\", "")
        assert all(word in text for word in ("Average", "Quality", "human_noise"))
    for path in (tmp_path / "out").glob("*/results_*.json"):
        results = json.loads(path.read_text())
        group = results["groups"]["wildspeech"]
        assert group["average,none"] > 0 and group["average_stderr,none"] > 0
        assert results["higher_is_better"]["wildspeech"]["speech_text_wer"] is False
        assert (group["speech_quality,none"] == "N/A") == (results["model_name"] == "writer")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_wide_table_is_printed_in_parts_that_fit(runs, width):
    found = find_suites([runs], False, ScoringOptions(draws=100, group_by="noise"))
    scores = score_suite("wildspeech", found.read("wildspeech"), ScoringOptions(draws=100, group_by="noise"))
    text = "".join(on_screen(grid, width) for grid in scores.grids)
    assert max(map(len, text.splitlines())) <= width and "\N{HORIZONTAL ELLIPSIS}" not in text
    assert all(word in text for word in ("TC", "PF Tone", "Average", "Quality", "natural_noise"))


def test_each_group_has_its_scores_and_its_number_of_items(runs):
    found = scores(runs, "--group-by", "noise")
    assert scores(runs)["by_group"] is None
    (groups,) = found["by_group"]["noise"]
    assert groups["item_categories"] == [*POINTS] and groups["without"] == 0
    assert groups["items"] == {"clean": 9, "human_noise": 6, "natural_noise": 8}
    speaker = next(row for row in groups["systems"] if row["system"] == "speaker")["categories"]
    for place, kind in enumerate(NOISE):
        values = [value for of in POINTS.values() for value in of[place::3]]
        assert speaker[kind]["score"] == pytest.approx(np.nanmean(values)) and speaker[kind]["interval"]
    assert speaker["natural_noise"]["undefined"] == 1
    shown = siq("score", runs, "--group-by", "noise")
    assert "Suite wildspeech by noise" in shown and "Best - worst" in shown
    assert "groups have different clips (no clip is in two), so a gap is not the effect of noise alone" in shown
    explained = siq("score", runs, "--group-by", "noise", "--explain")
    assert "size of groups: clean 9 clips, human_noise 6 clips, natural_noise 8 clips" in explained
    (part,) = scores(runs, "--group-by", "noise", "--levels", "ii")["by_group"]["noise"]
    assert part["items"]["clean"] == 2


def test_groups_that_do_not_exist_are_refused(runs):
    message = refusal("score", runs, "--group-by", "noize")
    assert message == (
        "--group-by noize: no task of these runs has groups by it; did you mean noise? choose from noise"
    )
    (file,) = (runs / "speaker").glob("samples_siq_wildspeech_tc_*.jsonl")
    file.write_text(file.read_text().replace('"noise"', '"sound"'))
    assert "needs doc.id, doc.noise and the number 'judge_points', by metadata.item" in refusal("score", runs)


def test_a_derived_column_with_the_name_of_a_category_is_refused(runs):
    for path in runs.glob("*/results_*.json"):
        path.write_text(path.read_text().replace('"aggregate": ["pf"', '"aggregate": ["tc"'))
    assert "a derived column of category 'pf_pause' is named 'tc', as is a category of suite" in refusal("score", runs)


def test_the_page_has_them(runs, tmp_path):
    siq("score", runs, "-o", tmp_path / "page.html", "--bootstrap", "100")
    page = (tmp_path / "page.html").read_text()
    for text in ("<span>Average</span>", "<span>Speech Quality</span>", 'id="suite-wildspeech-by-noise-0"'):
        assert text in page
    assert "Groups have different clips" in page and page.count('class="grid sortable"') == 2


def test_another_rater_of_speech_is_one_difference_of_a_category(runs):
    for system, rater in (("speaker", "distillmos"), ("writer", "utmos")):
        rated = f'"metadata": {{"speech_quality": "{rater}", "speech_quality_sha256": "{rater[0] * 64}", '
        (file,) = (runs / system).glob("results_*.json")
        file.write_text(file.read_text().replace('"metadata": {', rated))
    message = refusal("score", runs)
    difference = "speech_quality is 'utmos' in system 'writer' and 'distillmos' in system 'speaker'"
    assert message.count(difference) == 1 and "sha256" not in message
    assert f"levels {', '.join(POINTS)}" in message
    fix = "run them with the same settings, or add --allow-mismatch to mark the scores"
    assert message.endswith(f"{difference}; {fix}")
