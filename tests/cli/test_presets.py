"""`siq paper references`: what it prints and refuses; and scores as the paper's tables have them."""

import json

import pytest
from typer.testing import CliRunner

from speechiq.cli.main import app
from speechiq.core.errors import SpeechIQError
from tests.reducer.conftest import levels, write_run


@pytest.fixture
def runs(tmp_path):
    for name, skill in {"good": 0.9, "fair": 0.6, "poor": 0.3}.items():
        write_run(tmp_path / "runs" / name, levels(skill), system=name)
    return tmp_path / "runs"


def siq(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_references_need_a_set_in_both_versions(runs, tmp_path):
    refused = siq("paper", "references", runs, "-o", tmp_path / "out.json")
    assert isinstance(refused.exception, SpeechIQError)
    assert "no system ran a set and its cleaned version (sets: demo)" in str(refused.exception)


def test_each_system_is_compared_on_both_versions_of_a_set(tmp_path):
    for dataset, factor in (("vox", 1.0), ("vox_cleaned", 0.8)):
        for name, rate in (("good", 0.1), ("bad", 0.4)):
            scores = {"remember": {f"{dataset}/{i}": factor * rate * (i + 1) / 5 for i in range(10)}}
            about = {"remember": {"dataset": dataset}}
            write_run(tmp_path / "runs" / dataset / name, scores, name, tasks=dataset, metadata=about)
    out = tmp_path / "out.json"
    done = siq("paper", "references", tmp_path / "runs", "-o", out)
    assert done.exit_code == 0, (done.output, done.exception)
    rows = json.loads(out.read_text())["references"]
    assert [(row["dataset"], row["system"], row["clips"]) for row in rows] == [("vox", "good", 10), ("vox", "bad", 10)]
    assert all(
        row["share"] == pytest.approx(0.2)
        and row["difference"]["low"] <= row["difference"]["value"] <= row["difference"]["high"]
        for row in rows
    )
    assert "Errors of the references" in done.output and "20.0" in done.output


def test_the_scores_of_the_paper_have_their_weights_and_columns(runs, tmp_path):
    for name, skill in {"good": 0.9, "fair": 0.6, "poor": 0.3}.items():
        columns = {"remember": {"wer_basic": 1 - skill}, "apply": {"acc_strict": round(skill)}}
        write_run(runs / name, levels(skill), system=name, columns=columns, date=2.0)
    out = tmp_path / "out.json"
    done = siq(
        "score",
        runs,
        "--weights",
        "inverse-variance",
        "--metrics",
        "remember=wer_basic,apply=acc_strict",
        "--explain",
        "-o",
        out,
    )
    assert done.exit_code == 0, (done.output, done.exception)
    content = json.loads(out.read_text())
    assert "inverse-variance" in done.output and "remember=wer_basic, apply=acc_strict" in done.output, content.keys()
