"""`siq score --preset` and `siq compare --references`: what they print, and what they refuse."""

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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "papr"], "--preset papr: unknown; did you mean paper?"),
        (["--preset", "paper", "--weights", "equal"], "--preset paper: it sets the weights and measures; leave out"),
        (["--preset", "paper", "--measure", "remember=cer"], "--preset paper: it sets the weights and measures"),
    ],
)
def test_a_preset_that_cannot_be_used_is_one_line(runs, arguments, message):
    refused = siq("score", runs, *arguments)
    assert isinstance(refused.exception, SpeechIQError) and message in str(refused.exception)


def test_references_need_a_set_in_both_versions(runs, tmp_path):
    refused = siq("compare", runs, "--references", "-o", tmp_path / "out.json")
    assert isinstance(refused.exception, SpeechIQError)
    assert "no system ran a set and its cleaned version (sets: demo)" in str(refused.exception)
    alone = siq("compare", runs)
    assert "one system alone; name the other, or give --references" in str(alone.exception)


def test_each_system_is_compared_on_both_versions_of_a_set(tmp_path):
    for dataset, factor in (("vox", 1.0), ("vox_cleaned", 0.8)):
        for name, rate in (("good", 0.1), ("bad", 0.4)):
            scores = {"remember": {f"{dataset}/{i}": factor * rate * (i + 1) / 5 for i in range(10)}}
            about = {"remember": {"dataset": dataset}}
            write_run(tmp_path / "runs" / dataset / name, scores, name, tasks=dataset, metadata=about)
    out = tmp_path / "out.json"
    done = siq("compare", tmp_path / "runs", "--references", "-o", out)
    assert done.exit_code == 0, (done.output, done.exception)
    rows = json.loads(out.read_text())["references"]
    assert [(row["dataset"], row["system"], row["clips"]) for row in rows] == [("vox", "good", 10), ("vox", "bad", 10)]
    assert all(
        row["share"] == pytest.approx(0.2)
        and row["difference"]["low"] <= row["difference"]["value"] <= row["difference"]["high"]
        for row in rows
    )
    assert "Errors of the references" in done.output and "20.0" in done.output


def test_the_preset_of_the_paper_sets_weights_and_measures(runs, tmp_path):
    for name, skill in {"good": 0.9, "fair": 0.6, "poor": 0.3}.items():
        columns = {"remember": {"wer_basic": 1 - skill}, "apply": {"acc_strict": round(skill)}}
        write_run(runs / name, levels(skill), system=name, columns=columns, date=2.0)
    out = tmp_path / "out.json"
    done = siq("score", runs, "--preset", "paper", "-o", out)
    assert done.exit_code == 0, (done.output, done.exception)
    content = json.loads(out.read_text())
    assert "inverse-variance" in done.output and "remember=wer_basic, apply=acc_strict" in done.output, content.keys()
