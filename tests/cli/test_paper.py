"""`siq paper`: ranks of people against scores, errors of references, and scores as the paper has them."""

import csv
import json
from functools import partial

import pytest

from tests.commands import as_json, print_and_write, refusal, succeed
from tests.reducer.conftest import levels, write_run, write_skills

succeeding = partial(succeed, "paper", "correlate")
refused_by = partial(refusal, "paper", "correlate")

SKILLS = {"good": 0.9, "fair": 0.6, "poor": 0.3, "bad": 0.1, "worst": 0.05}


@pytest.fixture
def runs(tmp_path):
    return write_skills(tmp_path / "runs", SKILLS)


def table(folder, text):
    file = folder / "people.csv"
    file.write_text(text)
    return file


METRICS = ["SIQ", "remember wer", "understand similarity", "apply acc", "BLEU", "chrF"]
GIVEN = "system,people,bleu\ngood,1,2\nfair,2,1\npoor,3,3\nbad,4,4\nworst,5,5\n"


def test_siq_levels_and_other_ranks_are_correlated_with_people(runs, tmp_path):
    out = tmp_path / "out.json"
    done = succeeding(runs, "--ranks", table(tmp_path, GIVEN), "-o", out, "-o", tmp_path / "out.csv")
    found = {row["metric"]: row for row in json.loads(out.read_text())["correlations"]}
    assert found["SIQ"]["spearman"]["value"] == pytest.approx(1.0)
    assert found["remember wer"]["kendall"]["value"] == pytest.approx(1.0)
    assert found["bleu"]["spearman"]["value"] == pytest.approx(0.9)
    assert found["bleu"]["spearman"]["low"] < 0.9 < found["bleu"]["spearman"]["high"]
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert list(found) == [*METRICS, "bleu"] and len(rows) == len(found)
    assert [row["clips"] for row in found.values()] == [4, 4, 4, 4, 4, 4, None]
    assert [float(row["pearson_p"] or "nan") for row in rows] == pytest.approx(
        [float(row["pearson_p"] or "nan") for row in found.values()], nan_ok=True
    )
    assert "Correlation with people" in done.output and "5 systems" in done.output


def test_a_column_with_the_name_of_a_metric_is_beside_it(runs, tmp_path):
    given = table(tmp_path, GIVEN.replace("bleu", "BLEU"))
    _, content = print_and_write("paper", "correlate", runs, "--ranks", given)
    assert [row["metric"] for row in content["correlations"]] == [*METRICS, "BLEU (given)"]


def test_clip_weights_change_siq_alone(runs, tmp_path):
    odd = levels(0.3)
    odd["understand"]["demo/3"] = 1.0
    write_run(runs / "poor", odd, system="poor", date=2.0)
    found = {}
    for rule in ("variance", "equal"):
        content = as_json("paper", "correlate", runs, "--ranks", table(tmp_path, GIVEN), "--clip-weights", rule)
        found[rule] = {row["metric"]: row["pearson"]["value"] for row in content["correlations"]}
    changed = [metric for metric in found["equal"] if found["equal"][metric] != found["variance"][metric]]
    assert changed == ["SIQ"]
    assert "clip weights 'x'" in refused_by(runs, "--ranks", table(tmp_path, GIVEN), "--clip-weights", "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,people\ngood,1\n", "no column 'system'"),
        ("system\ngood\nfair\npoor\n", "no column of ranks"),
        ("system,people\ngood,1\nfair,2\ngod,3\n", "row 3: no run of system 'god'; did you mean good?"),
        ("system,people\ngood,1\nfair,2\ngood,3\n", "row 3: duplicate system 'good'"),
        ("system,people\ngood,1\nfair,2\npoor,third\n", "row 3: people is 'third', not a rank"),
        ("system,people\ngood,1\nfair,2\npoor,1_0\n", "row 3: people is '1_0', not a rank"),
        ("system,people\ngood,1\nfair,2\npoor,\u0663\n", "row 3: people is '\u0663', not a rank"),
        ("system,people\ngood,1\nfair,2\npoor,0\n", "row 3: people is '0', not a rank"),
        ("system,people\ngood,1\nfair,2\n", "ranks of 2 systems"),
        ("system,people\ngood,1\nfair,1\npoor,1\n", "all systems have the same 'people'"),
    ],
)
def test_a_table_that_cannot_be_used_is_one_line(runs, tmp_path, text, message):
    assert message in refused_by(runs, "--ranks", table(tmp_path, text))


def test_references_need_a_set_in_both_versions(runs):
    refused = refusal("paper", "references", runs)
    assert "no system ran a set and its cleaned version (sets: demo)" in refused


def test_each_system_is_compared_on_both_versions_of_a_set(tmp_path):
    for dataset, factor in (("vox", 1.0), ("vox_cleaned", 0.8)):
        for name, rate in (("good", 0.1), ("bad", 0.4)):
            scores = {"remember": {f"{dataset}/{i}": factor * rate * (i + 1) / 5 for i in range(10)}}
            about = {"remember": {"dataset": dataset}}
            write_run(tmp_path / "runs" / dataset / name, scores, name, tasks=dataset, metadata=about)
    printed, content = print_and_write("paper", "references", tmp_path / "runs")
    rows = content["references"]
    assert [(row["dataset"], row["system"], row["clips"]) for row in rows] == [("vox", "good", 10), ("vox", "bad", 10)]
    assert all(
        row["share"] == pytest.approx(0.2)
        and row["difference"]["low"] <= row["difference"]["value"] <= row["difference"]["high"]
        for row in rows
    )
    assert "Errors of the references" in printed and "20.0" in printed


def test_the_scores_of_the_paper_have_their_weights_and_columns(runs):
    for name, skill in SKILLS.items():
        columns = {"remember": {"wer_basic": 1 - skill}, "apply": {"acc_strict": round(skill)}}
        write_run(runs / name, levels(skill), system=name, columns=columns, date=2.0)
    of_paper = ("--weights", "inverse-variance", "--metrics", "remember=wer_basic,apply=acc_strict")
    shown = succeed("score", runs, *of_paper, "--explain").output
    assert "inverse-variance" in shown and "remember=wer_basic, apply=acc_strict" in shown
