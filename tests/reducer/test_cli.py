"""`siq score` as a user meets it."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.cli import app, main
from tests.reducer.conftest import levels, write_run


def siq(*arguments: object):
    return CliRunner().invoke(app, ["score", *map(str, arguments)])


def python(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=60)


def test_score_prints_and_writes(two_runs):
    files = two_runs / "siq.json", two_runs / "siq.csv"
    result = siq(two_runs, "--json", files[0], "--csv", files[1])
    assert result.exit_code == 0, result.output
    assert "Speech IQ" in result.stdout and "level weights (inverse-std)" in result.stdout
    assert all(f"siq: wrote {file}" in result.stderr for file in files)
    data = json.loads(files[0].read_text())
    assert [row["system"] for row in data["systems"]] == ["good", "bad"]
    assert [row["system"] for row in csv.DictReader(files[1].open())] == ["good", "bad"]
    assert siq(two_runs).exit_code == 0, "what was written is not taken for a run"


def test_rules_differ(two_runs):
    write_run(two_runs / "middle", levels(0.5), system="middle")
    weights = {}
    for rule in ("inverse-std", "inverse-variance"):
        siq(two_runs, "--weights", rule, "--json", two_runs / "siq.json")
        data = json.loads((two_runs / "siq.json").read_text())
        weights[data["rule"]] = data["weights"]["understand"]
    assert weights["inverse-variance"] > weights["inverse-std"] > 1 / 3


def test_warning_goes_to_stderr(two_runs):
    write_run(two_runs / "again", levels(0.8), system="good", date=5.0)
    result = siq(two_runs)
    assert result.exit_code == 0
    assert "siq: warning: system 'good' has several runs" in result.stderr and "warning" not in result.stdout


def drop_samples(root: Path) -> None:
    for path in (root / "bad").glob("samples_*"):
        path.unlink()


def truncate(root: Path) -> None:
    path = sorted((root / "bad").glob("samples_*"))[-1]
    path.write_bytes(path.read_bytes()[:-10])


def alter_bad(**changes) -> Callable[[Path], Path]:
    return lambda root: write_run(root / "bad", levels(0.1) | changes, system="bad")


BAD_INPUT = {
    "fewer than two systems": (lambda root: shutil.rmtree(root / "bad"), "at least two, got 1 ('good')"),
    "missing level": (
        lambda root: write_run(root / "third", {"apply": levels(0.5)["apply"]}, system="third"),
        "system 'third' has no remember scores",
    ),
    "different clips": (alter_bad(remember={"demo/0": 0.5}), "level remember: 3 of 4 items"),
    "all tie": (alter_bad(**levels(0.9)), "level remember: all 2 systems have the same score"),
    "nan": (
        alter_bad(understand=levels(0.1)["understand"] | {"demo/1": float("nan")}),
        "system 'bad', level understand, clip 'demo/1': the score is nan",
    ),
    "no samples": (drop_samples, "rerun lm_eval with --log_samples"),
    "truncated samples": (truncate, "line 12 is not a whole JSON object"),
    "broken results": (
        lambda root: (root / "results_2025-01-01T00-00-00.json").write_text("{"),
        "is not a results file of lm-eval",
    ),
}


@pytest.mark.parametrize(("spoil", "message"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_one_line(two_runs, monkeypatch, capsys, spoil, message):
    spoil(two_runs)
    monkeypatch.setattr(sys, "argv", ["siq", "score", str(two_runs)])
    with pytest.raises(SystemExit) as stop:
        main()
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if not line.startswith("siq: warning: ")]
    assert stop.value.code == 1 and out == ""
    assert len(lines) == 1 and lines[0].startswith("siq: ") and message in lines[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{root}/nowhere"], "cannot be read"),
        (["{root}/empty"], "no SpeechIQ results"),
        (["{root}", "--weights", "magic"], "unknown rule of level weights 'magic'"),
        (["{root}", "--json", "{root}/no/such/siq.json"], "cannot write"),
    ],
)
def test_bad_arguments(two_runs, arguments, message):
    (two_runs / "empty").mkdir()
    result = siq(*(argument.format(root=two_runs) for argument in arguments))
    assert result.exit_code == 1
    assert isinstance(result.exception, SpeechIQError) and message in str(result.exception)


def test_as_a_process(two_runs):
    done = python("-m", "speechiq.reducer.cli", "score", two_runs)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.index(" good ") < done.stdout.index(" bad ")
    refused = python("-m", "speechiq.reducer.cli", "score", two_runs / "good")
    assert refused.returncode == 1 and refused.stdout == ""
    assert refused.stderr.startswith("siq: SIQ compares systems") and refused.stderr.count("\n") == 1


def test_needs_neither_torch_nor_lm_eval():
    heavy = "{'torch', 'lm_eval', 'transformers', 'datasets'}"
    done = python("-c", f"import sys, speechiq.reducer.cli; print({heavy} & set(sys.modules))")
    assert done.stdout == "set()\n", done.stderr
