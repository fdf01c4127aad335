"""`siq score` as a user meets it."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.commands import as_json, call, print_and_write, refusal, succeed
from tests.conftest import run
from tests.reducer.conftest import levels, write_run, write_skills

succeeding = partial(succeed, "score")
refused_by = partial(refusal, "score")
siq = partial(call, "score")


def test_score_prints_and_writes(two_runs):
    write_run(two_runs / "middle", levels(0.5), system="middle")
    files = two_runs / "siq.json", two_runs / "siq.csv"
    result = succeeding(two_runs, "-o", files[0], "-o", files[1], "--explain")
    assert "Speech IQ" in result.stdout and "level weights (inverse-std)" in result.stdout
    assert all(f"siq: wrote {file}" in result.stderr for file in files)
    data = json.loads(files[0].read_text())
    assert [row["system"] for row in data["systems"]] == ["good", "middle", "bad"]
    assert [row["system"] for row in csv.DictReader(files[1].read_text().splitlines())] == ["good", "middle", "bad"]


def test_clip_weights_are_recorded_and_part_of_norms(two_runs):
    odd = levels(0.5)
    odd["remember"]["demo/0"] = 0.9
    write_run(two_runs / "middle", odd, system="middle")
    usual = as_json("score", two_runs)
    norms, table = two_runs / "norms.json", two_runs / "siq.csv"
    equal = ("--clip-weights", "equal")
    printed, content = print_and_write("score", two_runs, *equal, "--save-norms", norms, "-o", table, "--explain")
    assert "level weights (inverse-std, equal clip weights)" in " ".join(printed.split())
    assert (usual["clip_weights"], content["clip_weights"]) == ("variance", "equal")
    assert {row["clip_weights"] for row in csv.DictReader(table.read_text().splitlines())} == {"equal"}
    assert all(of["share"] == pytest.approx(1 / 4) for of in content["heaviest_clips"].values())
    ranked, before = ({row["system"]: row["siq"] for row in of["systems"]} for of in (content, usual))
    assert ranked != before and json.loads(norms.read_text())["clip_weights"] == "equal"
    alone = as_json("score", two_runs / "middle", "--norms", norms)
    assert alone["clip_weights"] == "equal" and alone["systems"][0]["siq"] == ranked["middle"]
    assert "correlation: 3 systems, fewer than 5" in refused_by(two_runs, "--weights", "correlation")
    assert "these norms were built with equal" in refused_by(two_runs, "--norms", norms, "--clip-weights", "variance")


def test_warning_goes_to_stderr(two_runs):
    write_run(two_runs / "again", levels(0.8), system="good", date=5.0)
    result = succeeding(two_runs)
    assert "siq: warning: system 'good' has several runs" in result.stderr and "warning" not in result.stdout


def test_a_system_on_the_scale_of_norms(two_runs):
    write_run(two_runs / "middle", levels(0.5), system="middle")
    built = succeeding(two_runs, "--save-norms", two_runs / "norms.json")
    assert "norms.json: norms (" in built.stderr and "3 systems on 4 clips" in built.stderr
    pool = as_json("score", two_runs)
    printed, alone = print_and_write("score", two_runs / "middle", "--norms", two_runs / "norms.json")
    assert "clips, task versions, normalizer, embedder match" in printed
    (middle,) = alone["systems"]
    assert middle["siq"] == next(row["siq"] for row in pool["systems"] if row["system"] == "middle")
    assert alone["weights"] == pool["weights"] and alone["leave_one_out"] is None
    assert pool["leave_one_out"]["good"].keys() == {"good", "bad", "middle"}


def test_other_task_versions_are_refused_or_marked(two_runs):
    write_run(two_runs / "bad", levels(0.1), system="bad", metadata={"apply": {"version": 2}})
    refused = siq(two_runs)
    assert str(refused.exception) == (
        "level apply, data set 'demo': version is 1 in system 'good' and 2 in system 'bad'; "
        "run the same tasks, or add --allow-mismatch to mark the scores"
    )
    marked = succeeding(two_runs, "--allow-mismatch", "-o", two_runs / "siq.json", "-o", two_runs / "siq.csv")
    assert "≠ not asked the same, scored on shared items: level apply" in marked.stdout
    rows = {row["system"]: row["mismatches"] for row in json.loads((two_runs / "siq.json").read_text())["systems"]}
    assert rows == {"bad": [], "good": [str(refused.exception).partition(";")[0]]}
    table = csv.DictReader((two_runs / "siq.csv").read_text().splitlines())
    assert {row["system"]: bool(row["mismatches"]) for row in table} == {"bad": False, "good": True}
    assert "good" in next(line for line in marked.stdout.splitlines() if "≠" in line)


def test_the_odd_one_out_is_marked_whatever_its_name(two_runs):
    write_run(two_runs / "middle", levels(0.5), system="middle")
    write_run(two_runs / "bad", levels(0.1), system="bad", metadata={"apply": {"version": 2}})
    rows = {row["system"]: row["mismatches"] for row in as_json("score", two_runs, "--allow-mismatch")["systems"]}
    marks = ["level apply, data set 'demo': version is 2 in system 'bad' and 1 in system 'good'"]
    assert rows == {"good": [], "middle": [], "bad": marks}


def test_what_a_clip_lacks_in_one_run_counts_for_none(two_runs):
    scores = levels(0.1)
    del scores["understand"]["demo/2"]
    write_run(two_runs / "bad", scores, system="bad")
    assert "1 of 4 items are not scored by every system" in refused_by(two_runs)
    data = as_json("score", two_runs, "--allow-mismatch")
    assert data["clips"] == {"remember": 4, "understand": 3, "apply": 4}
    assert data["mismatches"] == ["level understand: 1 of 4 items are missing in system 'bad', such as clip 'demo/2'"]


def test_nothing_is_overwritten_unless_forced(two_runs):
    for kind in ("json", "csv", "md", "tex"):
        path = two_runs / f"kept.{kind}"
        path.write_text("mine")
        assert "exists; name another file, or add --force" in refused_by(two_runs, "-o", path)
        assert path.read_text() == "mine"
        assert siq(two_runs, "-o", path, "--force").exit_code == 0 and "good" in path.read_text()
    assert "add --force" in refused_by(two_runs, "--save-norms", two_runs / "kept.json")
    succeeding(two_runs, "--save-norms", two_runs / "kept.json", "--force")


def test_intervals_can_be_skipped_and_are_equal_in_all_runs(two_runs):
    write_run(two_runs / "third", levels(0.4), system="third")

    def spread(*options):
        return as_json("score", two_runs, *options)["systems"][0]["siq_std"]

    assert spread() == spread("--bootstrap", "1000") != spread("--bootstrap", "999")
    assert spread("--bootstrap", "0") is None
    assert "intervals from" not in siq(two_runs, "--bootstrap", "0").stdout


def test_a_task_name_steers_no_terminal(two_runs):
    for date in (5.0, 6.0):
        write_run(two_runs / f"{date}", levels(0.5), system="\x1b[2J", date=date, tasks="\x1b[2J")
    result = succeeding(two_runs)
    assert "several runs of \ufffd[2J_0" in result.stderr
    assert "\x1b" not in result.stderr + result.stdout


def drop_samples(root: Path) -> None:
    for path in (root / "bad").glob("samples_*"):
        path.unlink()


def truncate(root: Path) -> None:
    path = sorted((root / "bad").glob("samples_*"))[-1]
    path.write_bytes(path.read_bytes()[:-10])


def write_nan(root: Path) -> None:
    scores = levels(0.1)
    scores["understand"]["demo/1"] = float("nan")
    write_run(root / "bad", scores, system="bad")


def tie(root: Path) -> None:
    for name in ("bad", "third"):
        write_run(root / name, levels(0.9), system=name)


WITHOUT_SCALE = {
    "one system": (lambda root: shutil.rmtree(root / "bad"), "no SIQ and no Z: one system alone has no scale"),
    "all tie": (tie, "no SIQ: level remember: all 3 systems have the same score"),
}


@pytest.mark.parametrize(("spoil", "reason"), WITHOUT_SCALE.values(), ids=WITHOUT_SCALE)
def test_systems_without_a_scale_have_raw_scores_and_the_reason(two_runs, spoil, reason):
    spoil(two_runs)
    shown = " ".join(succeeding(two_runs).stdout.split())
    assert reason in shown and "without Speech IQ" in shown
    succeeding(two_runs, "-o", two_runs / "page.html", "--bootstrap", "50")
    assert reason in (two_runs / "page.html").read_text(encoding="utf-8")


BAD_INPUT = {
    "nan": (write_nan, "system 'bad', level understand, clip 'demo/1': the score is nan"),
    "no samples": (drop_samples, "rerun lm_eval with --log_samples"),
    "truncated samples": (truncate, "line 12 is not a whole JSON object"),
    "broken results": (
        lambda root: (root / "results_2025-01-01T00-00-00.json").write_text("{"),
        "is not a results file of lm-eval",
    ),
}


@pytest.mark.parametrize(("spoil", "message"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_refused(two_runs, spoil, message):
    spoil(two_runs)
    assert message in refused_by(two_runs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{root}", "--weights", "magic"], "unknown rule of level weights 'magic'"),
        (["{root}", "--norms", "magic"], "no norms 'magic'"),
        (["{root}", "--norms", "demo"], "14 of 14 items of norms 'demo@1' are not in system 'bad'"),
        (["{root}", "--norms", "demo", "--weights", "equal"], "equal and norms 'demo': these norms were built"),
        (["{root}", "--clip-weights", "magic"], "unknown rule of clip weights 'magic'"),
        (["{root}", "--bootstrap", "3"], "3 draws are too few for a 95 % interval: give at least 40"),
        (["{root}", "--norms", "x" * 300], "no norms"),
        (["nowhere", "-o", "{root}/o.csv", "-o", "{root}/empty/../o.csv"], "is named for two outputs"),
        (["{root}", "--weights", "1e308,1e308,1e308"], "finite"),
    ],
)
def test_bad_arguments(two_runs, arguments, message):
    (two_runs / "empty").mkdir()
    assert message in refused_by(*(argument.format(root=two_runs) for argument in arguments))


@pytest.mark.slow
def test_as_a_process(tmp_path):
    refused = run("python", "-m", "speechiq.cli.main", "score", str(tmp_path / "nowhere"))
    assert refused.returncode == 1 and refused.stdout == ""
    assert refused.stderr.startswith("siq: error: ") and "cannot be read" in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "place", ["no/such/o.json", "folder.csv", "file/o.md", "x" * 300 + ".tex", "file", "file/below"]
)
def test_outputs_are_checked_before_the_runs_are_read(tmp_path, place):
    (tmp_path / "file").write_text("kept")
    (tmp_path / "folder.csv").mkdir()
    before = sorted(tmp_path.iterdir())
    assert refused_by("nowhere", "-o", tmp_path / place, "--force").startswith("cannot write ")
    assert sorted(tmp_path.iterdir()) == before and (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize("draws", ["99999999999999999999", "1000001", "-1"])
def test_draws_have_a_limit(draws):
    refused = call("score", "nowhere", "--bootstrap", draws)
    assert refused.exit_code == 2 and "bootstrap" in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "told"),
    [
        (">/dev/full", "siq: error: cannot write the output: No space left on device; free space"),
        ("| true", ""),
    ],
)
def test_stdout_without_space_is_one_line_and_a_closed_one_none_and_files_are_whole(two_runs, tmp_path, ending, told):
    write_run(two_runs / "middle", levels(0.5), system="middle")
    scores, norms = tmp_path / "o.json", tmp_path / "norms.json"
    program = "from speechiq.cli.main import main; main()"
    options = f"--bootstrap 0 -o {scores} --save-norms {norms}"
    command = f"{sys.executable} -c '{program}' score {two_runs} {options} {ending}"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if not line.startswith("siq: wrote ")]
    assert len(errors) == bool(told) and "".join(errors).startswith(told)
    assert len(json.loads(scores.read_text())["systems"]) == 3 and norms.exists()


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_does_not_end_a_command_nor_become_a_file_of_it(two_runs, tmp_path, closed):
    program = "from speechiq.cli.main import main; main()"
    command = f"{sys.executable} -c '{program}' score {two_runs} --bootstrap 0 -o {tmp_path / 'o.json'}"
    done = subprocess.run(["bash", "-c", f"{command} {closed}"], capture_output=True, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr and bool(done.stdout) == (closed == "2>&-")
    assert "wrote" not in done.stdout and len(json.loads((tmp_path / "o.json").read_text())["systems"]) == 2


COMMANDS = [
    ["score"],
    ["compare", "good", "bad"],
    ["score", "-o", "page.html"],
    ["score", "--save-norms", "norms.json"],
    ["study", "unanswerable", "-o", "review.jsonl"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command))
def test_a_run_that_lost_its_results_file_ends_every_command_unless_allowed(two_runs, monkeypatch, command):
    monkeypatch.chdir(two_runs)
    for number in range(2):
        write_run(two_runs / f"other{number}", levels(0.5 + number / 10), system=f"other{number}")
    write_run(two_runs / "lost", levels(0.6), system="lost").unlink()
    refused = call(*command, two_runs)
    assert refused.exit_code == 1 and "describes its task" in str(refused.exception), refused.output
    allowed = call(*command, two_runs, "--allow-mismatch")
    if command[0] == "study":  # whose rows these are not
        assert "needs id, question_id" in str(allowed.exception)
    else:
        assert allowed.exit_code == 0 and "describes its task: left out" in allowed.stderr, allowed.output


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command))
def test_an_empty_path_is_not_the_current_folder(two_runs, monkeypatch, command):
    monkeypatch.chdir(two_runs)
    assert "the path is empty" in refusal(*command, "")


def test_small_sets_are_marked(two_runs):
    """Look for the caution on the screen; how each file marks it is tested with few clusters."""
    write_run(two_runs / "middle", levels(0.5), system="middle")
    runs = [two_runs / name for name in ("good", "middle", "bad")]
    marked = "95 % intervals of SIQ of 14 clips contained the truth"
    assert marked in siq(*runs, "-o", two_runs / "harness", "--explain").stdout
    assert f"Small test set (4 clips): {marked}" in siq(*runs).stdout
    (results,) = (two_runs / "harness" / "good").glob("results_*.json")
    assert marked in json.loads(results.read_text())["configs"]["siq_apply"]["metadata"]["interval_caution"]
    assert marked not in siq(*runs, "--bootstrap", "0", "--explain").stdout
    many = [
        write_run(two_runs / f"many-{skill}", levels(skill, clips=100), system=f"{skill}") for skill in (0.2, 0.5, 0.9)
    ]
    assert "Small test set" not in siq(*many, "--explain").stdout


def test_two_data_sets_in_one_folder_are_one_short_line(two_runs):
    other = {level: {"dataset": "other"} for level in ("remember", "understand", "apply")}
    for system in ("new", "newer"):
        write_run(two_runs / system, levels(0.5), system=system, metadata=other)
    message = refused_by(two_runs)
    every = "levels remember, understand, apply: data set"
    assert f"{every} 'demo' is in system 'bad' and not in system 'new' and 1 other system" in message
    assert "; run the same tasks, or score the runs of one data set alone, or add --allow-mismatch " in message
    assert len(message) < 400


def test_a_review_or_samples_given_as_a_set_are_named(two_runs):
    (samples,) = two_runs.joinpath("good").glob("samples_demo_2_*")
    message = refused_by(two_runs, "--exclude", samples)
    assert "has a JSON text per line, as sample rows and files to review have; make one with" in message


def test_files_of_macos_are_no_runs(two_runs):
    before = siq(two_runs).stdout
    for file in [*two_runs.rglob("*.json*")]:
        file.with_name(f"._{file.name}").write_bytes(b"\0\5\26\7Mac OS X")
    (two_runs / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
    assert siq(two_runs).stdout == before


@pytest.mark.slow
@pytest.mark.parametrize("command", [["compare", "café", "worst", "runs"], ["list", "systems"]])
def test_output_in_ascii_has_codes_of_other_characters(tmp_path, command):
    write_skills(tmp_path / "runs", {"café": 0.9, "worst": 0.1})
    done = run("siq", *command, cwd=tmp_path, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    assert done.stdout.isascii() and ("caf\\xe9" in done.stdout) == ("runs" in command)
