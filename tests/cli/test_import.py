"""`siq import`: outputs of other programs become runs that every command takes."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.commands import as_json, call, refusal, siq, succeed

ROWS = [
    ("a", "So it goes on, and on.", "so it goes on and on", "so it goes"),
    ("b", "It cost $2,000.", "it cost two thousand dollars", "it cost"),
    ("c", "Good morning to you all.", "good evening to you all", ""),
    ("d", "We never close.", "we never close", "we never clothe"),
]
OPTIONS = '"it","he","she","they"'


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Return two tables of two systems: transcripts, and answers to a question per clip."""
    monkeypatch.chdir(tmp_path)
    words, answers = ["id,system,gender,reference,transcript"], ["id,system,question,A,B,C,D,answer,gold"]
    for number, (clip, reference, *transcripts) in enumerate(ROWS):
        for system, transcript in zip(("best", "worst"), transcripts, strict=True):
            words.append(f'{clip},{system},{"fm"[number % 2]},"{reference}","{transcript}"')
            answer = "A" if system == "best" or number == 0 else "(B) he"
            answers.append(f"{clip},{system},What goes?,{OPTIONS},{answer},it")
    tmp_path.joinpath("words.csv").write_text("\n".join(words), encoding="utf-8")
    tmp_path.joinpath("answers.csv").write_text("\n".join(answers), encoding="utf-8")
    return tmp_path


@pytest.fixture
def runs(tables):
    """Return the runs of both tables."""
    siq("import", "table", "words.csv", "-o", "runs", "--dataset", "calls", "--group-by", "gender")
    siq("import", "table", "answers.csv", "-o", "runs", "--dataset", "calls")
    return tables / "runs"


def test_the_end_says_what_was_written_and_what_comes_next(tables):
    printed = siq("import", "table", "words.csv", "-o", "mine")
    assert printed == "wrote mine: 2 systems, 4 clips; remember; no row left out\nnext: siq score mine\n"
    assert sorted(path.name for path in (tables / "mine").iterdir()) == ["best", "worst"]
    message = refusal("import", "table", "words.csv", "-o", "mine")
    assert "has task 'words_remember' of system 'best' already" in message and "--force" in message
    succeed("import", "table", "words.csv", "-o", "mine", "--force")
    assert len(list((tables / "mine").rglob("results_*"))) == 2


def test_imported_runs_are_scored_and_marked(runs):
    content = as_json("score", runs, "--bootstrap", 0)
    best, worst = sorted(content["systems"], key=lambda row: row["system"])
    assert (best["imported"], worst["imported"]) == ("table", "table")
    assert best["categories"]["apply"]["score"] == 1 and worst["categories"]["apply"]["score"] == 0.25
    assert best["categories"]["remember"]["score"] == pytest.approx(0.2 / 4)
    result = succeed("score", runs, "--bootstrap", 0, "--group-by", "gender")
    assert "Suite siq by gender: Remember" in result.stdout and "other options" not in result.output


def test_a_system_lacks_clips_of_others(tables):
    lines = (tables / "words.csv").read_text(encoding="utf-8").splitlines()
    (tables / "short.csv").write_text("\n".join(lines[:-1]), encoding="utf-8")
    lacking = "warning: system 'worst' has no remember output for 1 of 4 clips of 'short' that others have, such as 'd'"
    assert lacking in succeed("import", "table", "short.csv", "-o", "runs").stderr
    assert "content_sha256 is" in refusal("score", "runs") and call("score", "runs", "--allow-mismatch").exit_code == 0


def test_a_row_that_is_left_out_is_named_with_the_reason(tables):
    (tables / "one.csv").write_text(
        (tables / "answers.csv").read_text(encoding="utf-8") + '\nz,best,So?,a,b,c,d,A,"A,C"\n'
    )
    result = succeed("import", "table", "one.csv", "-o", "one")
    assert "; 1 row left out" in result.stdout
    fault = "warning: left out 'one.csv' line 10: the answer 'A,C' is not one of the options ['a', 'b', 'c', 'd']"
    assert fault in result.stderr


def test_other_content_under_one_name_is_refused(runs):
    changed = (runs.parent / "words.csv").read_text(encoding="utf-8").replace("Good morning", "Good evening")
    (runs.parent / "changed.csv").write_text(changed.replace(",best,", ",other,"), encoding="utf-8")
    siq("import", "table", "changed.csv", "-o", "more", "--dataset", "calls")
    shutil.rmtree(runs.parent / "more" / "worst")
    assert "data set 'calls': content_sha256 is" in refusal("score", runs, "more", "--levels", "remember")


def test_imported_runs_are_compared_and_reported(runs):
    printed = siq("compare", "best", "worst", runs, "--bootstrap", 100, "--clips", 1)
    assert "Remember WER %" in printed and "Apply acc. %" in printed
    siq("score", runs, "-o", "report.html", "--bootstrap", 0)
    page = (runs.parent / "report.html").read_text(encoding="utf-8")
    assert "Imported" in page and "<audio" not in page


def test_imported_runs_have_no_speed(runs):
    assert "no run recorded a speed: imported runs have none" in siq("score", runs, "--bootstrap", 0, "--speed")


def test_imported_runs_are_published_and_checked(runs):
    declaration = "all: {submitter: me, contamination: none known, interests: none}\n"
    (runs.parent / "declaration.yaml").write_text(declaration, encoding="utf-8")
    siq("publish", "runs", runs, "--output", "results", "--texts")
    assert siq("publish", "check", "results").count(" ok ") == 2
    result = json.loads(next((runs.parent / "results").glob("best*/*/result.json")).read_bytes())
    assert result["description"]["kind"] == "imported"
    assert {task["metadata"]["imported"] for task in result["tasks"]} == {"table"}
    siq("publish", "site", "results", "--output", "site")


def test_judged_scores_are_a_suite_of_their_own(tables):
    (tables / "judged.csv").write_text("id,answer,score\na,yes,4\nb,no,5\nc,why,3\n", encoding="utf-8")
    siq("import", "table", "judged.csv", "-o", "judged", "--dataset", "chat", "--highest-score", 5)
    content = as_json("score", "judged", "--bootstrap", 0)
    (row,) = content["suites"]["imported"]["systems"]
    assert row["categories"]["judged"]["score"] == pytest.approx(0.8)


def test_an_unknown_form_and_a_missing_file_are_refused(tables):
    assert "did you mean table? known are table" in refusal("import", "tables", "words.csv")
    assert refusal("import", "table", "none.csv") == "'none.csv': no such file; correct the path"
