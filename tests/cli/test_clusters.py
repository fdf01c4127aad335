"""What commands say of clips in clusters, from the rows of a run to every output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from speechiq.reducer.studies.references import compare_references
from tests.cli.test_compare import write_system
from tests.commands import as_json, print_and_write, refusal, siq
from tests.records import edit_rows
from tests.reducer.judged_runs import JUDGE, graded, write_judged
from tests.reducer.studies.test_hallucination import frozen_set, letters, write_answers
from tests.reducer.studies.test_judge_check import strict, write_scores
from tests.reducer.studies.test_references import system

OTHER = JUDGE | {"judge": "hf:org/judge", "judge_identity": "c" * 64}
GRADES = [[2 + i // 8 % 3, 3, 3 + i // 16 % 2] for i in range(48)]


def warn(clips: int, clusters: int) -> str:
    return f"Few clusters ({clips} clips in {clusters} clusters): the intervals are unreliable"


FEW = warn(12, 4)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Write three systems on 12 clips of 4 calls."""
    for name, skill in (("good", 0.9), ("middle", 0.5), ("bad", 0.1)):
        write_system(tmp_path / "runs" / name, f"org/{name}", skill)
    edit_rows(tmp_path, lambda row: row["doc"].update(options=["at nine", "at ten", "at noon", "never"]))
    return name_calls(tmp_path / "runs", 4)


def name_calls(folder: Path, calls: int) -> Path:
    """Give the docs of all rows below a folder the call of their clip."""

    def name(row):
        number = int("".join(filter(str.isdigit, row["doc"]["id"])) or 0)
        row["doc"]["cluster"] = f"call {number % calls}"

    edit_rows(folder, name)
    return folder


def as_line(text: str) -> str:
    """Return a text without the line breaks and escapes of its format."""
    return " ".join(text.replace("\\", "").split())


def test_every_output_of_score_states_clusters_and_warns(runs, tmp_path):
    files = [tmp_path / f"out.{ending}" for ending in ("json", "csv", "md", "tex", "html")]
    shown = siq("score", runs, "--bootstrap", 100, *(part for file in files for part in ("-o", file)))
    for text in (shown, *(file.read_text() for file in files)):
        assert FEW in as_line(text)
    content = json.loads(files[0].read_text())
    assert content["clusters"] == {"remember": 4, "understand": 4, "apply": 4}
    assert any("12 clips in 4 clusters" in line for line in content["remarks"])


def test_intervals_are_those_of_clusters(runs):
    ends, cautions = {}, {}
    for calls in (4, 12):
        content = as_json("score", name_calls(runs, calls), "--bootstrap", 100)
        ends[calls] = [row["categories"]["remember"]["interval"] for row in content["systems"]]
        cautions[calls] = content["bootstrap"]["caution"]
    assert ends[4] != ends[12] and FEW in cautions[4] and "cluster" not in cautions[12]


@pytest.mark.parametrize("options", [(), ("--metrics", "wer"), ("--levels", "remember")])
def test_a_comparison_permutes_clusters(runs, options):
    printed, content = print_and_write("compare", "good", "bad", runs, "--bootstrap", 100, *options)
    content = content.get("suites", {}).get("metrics", content)
    assert FEW in as_line(printed) and FEW in content["caution"] and content["clusters"] == 4
    assert all(score["p"] * 8 == round(score["p"] * 8) for score in content["scores"].values()), "16 patterns of signs"


def test_a_prediction_draws_clusters(runs):
    printed, content = print_and_write("study", "predict", runs, "--bootstrap", 100)
    assert FEW in as_line(printed) and (content["clips"], content["clusters"]) == (12, 4)


def test_one_cluster_has_no_intervals(runs):
    printed, content = print_and_write("score", name_calls(runs, 1))
    text = as_line(printed)
    assert "a single cluster of 12 clips has no error bar" in text and "so there are none here" in text
    assert content["clusters"]["apply"] == 1
    assert "10 draws are too few" in refusal("score", runs, "--bootstrap", 10)


@pytest.fixture
def judged(tmp_path: Path) -> list[Path]:
    """Write the answers of one system to 48 questions about 24 clips of six calls, scored by two judges."""
    for folder, judge, grades in (("one", JUDGE, GRADES), ("two", OTHER, GRADES[::-1])):
        write_judged(tmp_path / folder, graded([[*map(float, scores)] for scores in grades]), judge=judge)
        name_calls(tmp_path / folder, 6)
    return [tmp_path / "one", tmp_path / "two"]


def test_agreement_and_reliability_of_judges(judged, tmp_path):
    assert warn(24, 6) in as_line(siq("judge", "agree", *judged, "--bootstrap", 100))
    page = tmp_path / "out.md"
    siq("score", judged[0], "--bootstrap", 100, "-o", page)
    assert as_line(page.read_text()).count(warn(24, 6)) >= 2, "below the scores, and below the judge's reliability"


def test_a_judge_against_a_person(judged, tmp_path):
    scores = write_scores(tmp_path / "scores.jsonl", judged[0], strict)
    assert warn(24, 6) in as_line(siq("judge", "check", judged[0], "--scores", scores, "--bootstrap", 100))


def test_invented_answers(tmp_path):
    write_answers(tmp_path / "runs", "qwen", letters(6), clips=17)
    name_calls(tmp_path / "runs", 6)
    chosen = frozen_set(tmp_path / "runs", tmp_path / "set.json")
    shown = as_line(siq("study", "unanswerable", tmp_path / "runs", "--set", chosen))
    assert "Wilson over clusters" in shown and "17 clips in 6 clusters" in shown


def test_errors_of_references():
    rates = [{str(i): rate + i / 100 for i in range(12)} for rate in (0.4, 0.2)]
    rates[1] |= {str(i): 0.5 for i in range(3)}
    clusters = {f"vox/{i}": f"debate {i // 3}" for i in range(12)}
    grids = [compare_references([system("a", *rates).cluster_by(of)], "WER %").grids[0] for of in ({}, clusters)]
    alone, clustered = (grid.rows[0] for grid in grids)
    assert (alone["difference"].clusters, clustered["difference"].clusters) == (12, 4)
    assert clustered["difference"].low < alone["difference"].low
    assert any("12 clips in 4 clusters" in note for note in grids[1].all_notes)
