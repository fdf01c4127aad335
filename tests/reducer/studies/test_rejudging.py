"""`siq judge run RUNS`: stored answers, a new judge, new files of lm-eval beside the old ones."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from random import random

import pytest

from speechiq.reducer.runs.judged import find_judged, read_judged
from tests.commands import call, refusal, siq, succeed
from tests.records import edit_rows
from tests.reducer.conftest import change_results
from tests.reducer.studies.conftest import write_judged
from tests.siq_tasks.questions.server import serving


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch, endpoint_key):
    """A response cache of its own."""
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))


def grade(prompt: str, _number: int = 0) -> str:
    """Grade by the number in the answer, which is the clip's."""
    found = re.search(r"<answer>\n\w+ (\d+)", prompt)
    return f"I see.\nScore: {int(found[1]) % 6 if found[1] != '7' else 'none'}" if found else str(random())


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.json*"))}


def rows_of(folder: Path) -> list[dict]:
    lines = (line for path in sorted(folder.rglob("*.jsonl")) for line in path.read_text("utf-8").split("\n"))
    return [json.loads(line) for line in lines if line]


@pytest.fixture
def judged(judged_runs):
    """The runs, and the folder of new ones by a judge behind an endpoint."""
    with serving(grade) as server:
        yield judged_runs, judged_runs.with_name("runs-judged-by-openai__m"), server


def again(runs: Path, server, *options):
    return call("judge", "run", runs, "--judge", "openai:m", "--judge-option", f"base_url={server.url}", *options)


def test_stored_answers_get_new_judgments_in_the_form_of_lm_eval(judged):
    runs, new, server = judged
    before = files(runs)
    done = again(runs, server)
    assert done.exit_code == 0, done.output
    assert "82 answers of 2 systems judged by openai:m, 2 unjudged; wrote 2 runs; next: siq score" in done.stderr
    assert "82 different answers; 0 cached, 82 to ask" in done.stderr and files(runs) == before
    assert files(new).keys() == before.keys()
    old_rows, new_rows = rows_of(runs), rows_of(new)
    for old, row in zip(old_rows, new_rows, strict=True):
        number = row["doc_id"]
        item = json.loads(row["filtered_resps"][0])
        assert list(row) == list(old) and row["resps"] == old["resps"] and item["answer"] == old["resps"][0][0]
        assert item["scores"] == [None if number == 7 else float(number % 6)] and "I see." in item["texts"][0]
        assert row["judge"] == pytest.approx(number % 6 / 5) or (number == 7 and math.isnan(row["judge"]))
        assert (
            row["unjudged"] == (number == 7)
            and row["doc"]["judge"] == "openai:m"
            and row["exact_match"] == old["exact_match"]
        )
        doc = json.dumps(row["doc"], indent=2, ensure_ascii=False)
        assert row["doc_hash"] == hashlib.sha256(doc.encode()).hexdigest()
    results = json.loads(next(new.glob("good/results_*")).read_text())
    of = results["results"]["judged"]
    mean = sum(i % 6 / 5 for i in range(40) if i != 7) / 39
    assert of["judge,judgment"] == pytest.approx(mean) and of["judge_stderr,judgment"] == "N/A"
    assert of["unjudged_stderr,judgment"] == "N/A" and of["refusal_stderr,judgment"] == 0.0
    assert of["unjudged,judgment"] == 1 / 40 and results["results"]["group"] == {}
    assert results["group_subtasks"] == {"group": ["judged"]} and results["configs"].keys() == {"judged"}
    metadata = results["configs"]["judged"]["metadata"]
    assert metadata["judge"] == "openai:m" and metadata["judge_rubric"] == "grade_0_5" and results["date"] > 1e9
    assert metadata["judging"]["options"] == {"base_url": server.url} and metadata["suite"] == "toy"
    assert results["task_hashes"].keys() == {"judged"} and results["judged_again"]["date"] == 1.0


def test_a_second_call_asks_and_writes_nothing_and_another_judge_needs_a_folder(judged):
    runs, new, server = judged
    again(runs, server)
    asked, written = len(server.requests), files(new)
    done = again(runs, server)
    assert done.exit_code == 0 and "wrote 0 runs, 2 unchanged" in done.stderr and "nothing to ask" in done.stderr
    assert len(server.requests) == asked and files(new) == written
    refused = again(runs, server, "--judge-option", "rubric=points_1_10")
    assert "exists and was not made from" in str(refused.exception) and len(server.requests) == asked
    assert "--force" in str(refused.exception) and files(new) == written
    assert again(runs, server, "--judge-option", "draws=2", "-o", new.with_name("other")).exit_code == 0
    assert again(runs, server, "--judge-option", "draws=2", "--force").exit_code == 0
    assert {len(json.loads(row["filtered_resps"][0])["scores"]) for row in rows_of(new)} == {2}


def test_unjudged_answers_are_asked_again_and_replace_what_was_written(judged_runs):
    with serving(lambda prompt, number: (500, {}, "{}") if "bad 3" in prompt else grade(prompt)) as server:
        done = again(judged_runs, server, "--judge-option", "max_retries=0")
        assert done.exit_code == 0 and "judged by openai:m, 13 unjudged" in done.stderr, done.output
        server.script = grade
        done = again(judged_runs, server, "--judge-option", "max_retries=0")
    assert "judged by openai:m, 2 unjudged; wrote 1 run, 1 unchanged" in done.stderr


def test_a_judge_without_a_single_score_writes_nothing(judged_runs):
    with serving(lambda *_: "I cannot tell.") as server:
        done = again(judged_runs, server)
    assert done.exit_code == 1 and "none of 82 answers has a score, so nothing is written" in str(done.exception)
    assert not judged_runs.with_name("runs-judged-by-openai__m").exists()


def test_new_runs_are_scored_compared_and_judged_like_any_other(tmp_path):
    runs = tmp_path / "runs"
    for name, shift in (("one", 0), ("two", 1)):
        write_judged(runs / name, name, [float(i % 5 + shift) for i in range(12)])
    succeed("judge", "run", runs, "--judge", "exact_match")
    new = tmp_path / "runs-judged-by-exact_match"
    assert "exact_match" in siq("score", new, "--bootstrap", 100)
    assert "judged by 'exact_match'" in refusal("score", runs / "one", new / "two")
    assert "taking the newest" in succeed("score", runs, new, "--bootstrap", 100).stderr
    succeed("score", new, "-o", tmp_path / "report.html", "--bootstrap", 100)
    succeed("judge", "run", new, "--judge", "exact_match", "-o", tmp_path / "third")


def test_several_folders_and_rubrics_go_in_one_call(tmp_path):
    write_judged(tmp_path / "a" / "x", "x", [1.0] * 12)
    right = write_judged(tmp_path / "b" / "x", "x", [1.0] * 12, rubric="right_wrong", task="right")
    done = succeed("judge", "run", tmp_path / "a", right, "--judge", "exact_match", "-o", tmp_path / "new")
    assert "24 answers of 1 system judged by" in done.stderr
    written = sorted(path.parent.relative_to(tmp_path / "new").as_posix() for path in tmp_path.glob("new/**/*.json"))
    assert written == ["a/x", "x"]
    tasks, _ = find_judged([tmp_path / "new"])
    rubrics = {task.task: task.metadata["judge_rubric"] for task in tasks}
    assert rubrics == {"judged": "grade_0_5", "right": "right_wrong"}
    assert {row.stored.scores[0] for task in tasks for row in read_judged(task)[1]} == {0.0}
    succeed("judge", "run", tmp_path / "a", tmp_path / "b", "--judge", "exact_match")
    assert (tmp_path / "b-judged-by-exact_match" / "x").is_dir()


def test_rows_of_other_filters_and_columns_of_other_metrics_stay(tmp_path):
    results = write_judged(tmp_path / "runs", "one", [1.0] * 12)
    (path,) = tmp_path.joinpath("runs").glob("*.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    beside = [row | {"filter": "letter", "filtered_resps": ["A"], "judge": 0.25} for row in rows]
    kept = [{name: value for name, value in row.items() if name != "f1"} | {"acc": 0.5} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*kept, *beside]))
    succeed("judge", "run", results, "--judge", "exact_match")
    new = rows_of(tmp_path / "runs-judged-by-exact_match")
    assert [row["judge"] for row in new] == [0.0] * 12 + [0.25] * 12 and new[0]["acc"] == 0.5
    assert "f1" not in new[0]
    assert [row["filtered_resps"] for row in new[12:]] == [["A"]] * 12


def test_the_spread_over_wordings_is_that_of_the_new_judge(tmp_path):
    results = write_judged(tmp_path / "runs", "one", [5.0] * 4)

    def word(row):
        number = row["doc_id"]
        row["doc"] |= {"question_id": f"{number // 2}#{number % 2}", "instruction_id": number % 2}
        row["doc"]["answer"] = "the reference" if number % 2 else row["resps"][0][0]
        row["instruction_spread"] = 1.0

    edit_rows(tmp_path / "runs", word)
    change_results(results, lambda content: content["results"]["judged"].update({"instruction_spread,judgment": 0.0}))
    succeed("judge", "run", results, "--judge", "exact_match")
    new = tmp_path / "runs-judged-by-exact_match"
    assert [row["instruction_spread"] for row in rows_of(new)] == [1.0, 0.0, 1.0, 0.0]
    (written,) = new.glob("*.json")
    spread = json.loads(written.read_text())["results"]["judged"]["instruction_spread,judgment"]
    assert spread == pytest.approx(0.5**0.5)


def test_imported_answers_without_a_score_are_scored_by_rule_and_judged(tmp_path):
    rows = ["c1,q1,Where?,It is Paris.,Paris", "c2,q2,How many?,three,3", "c3,q3,Who?,,Bob", "c4,q4,,yes,yes"]
    (tmp_path / "s.csv").write_text("\n".join(["id,question_id,question,answer,gold", *rows]) + "\n")
    done = succeed("import", "table", tmp_path / "s.csv", "-o", tmp_path / "runs", "--dataset", "calls")
    assert "free; 1 row left out" in done.stdout and "no question" in done.stderr
    (task,) = find_judged([tmp_path / "runs"])[0]
    rows, answers = read_judged(task)
    assert task.task == "calls_free" and [row["contains_answer"] for row in rows] == [1.0, 1.0, 0.0]
    assert [row["judge"] for row in rows] == [0.0, 1.0, 0.0] and answers[0].stored.texts == ["no match"]
    with serving(lambda prompt, _: "Score: 4" if "Paris" in prompt else "Score: 1") as server:
        done = again(tmp_path / "runs", server, "-o", tmp_path / "judged")
    assert done.exit_code == 0 and "3 answers of 1 system judged by openai:m, 0 unjudged" in done.stderr, done.output
    rows, _ = read_judged(find_judged([tmp_path / "judged"])[0][0])
    assert [row["judge"] for row in rows] == [0.8, 0.2, 0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--judge", "openai"], "judge=openai: not of the form"),
        (["--judge", "faster-whisper:tiny"], "is an engine for speech"),
        (["--judge", "exact_match", "--judge-option", "draws=2"], "judge_draws=2"),
        (["--judge", "exact_match", "--judge-option", "rubric=pairwise"], "a pairwise rubric"),
        (["--judge", "exact_match", "--judge-option", "temperature"], "not a key with a value; write KEY=VALUE"),
        (["--judge", "openai:m", "--judge-option", "no_such=1"], "no_such"),
    ],
)
def test_a_judge_that_cannot_be_used_is_refused_in_one_line(options, message, judged_runs):
    assert message in refusal("judge", "run", judged_runs, *options)
    assert not judged_runs.with_name("runs-judged-by-exact_match").exists()


def test_runs_that_cannot_be_judged_are_refused_in_one_line(two_runs, tmp_path):
    assert "no judged task in" in refusal("judge", "run", two_runs / "good", "--judge", "exact_match")
    (tmp_path / "table.csv").write_text("id,question,answer,gold,score,system\nc1,Where?,Here.,Here.,0.5,s\n")
    succeed("import", "table", tmp_path / "table.csv", "-o", tmp_path / "imported")
    refused = refusal("judge", "run", tmp_path / "imported", "--judge", "exact_match")
    assert "only " in refused and "imported answers keep the scores that they came with" in refused
    results = write_judged(tmp_path / "run", "one", [1.0] * 3)
    (path,) = (tmp_path / "run").glob("*.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for change, message in (
        ({"filtered_resps": ["hello"]}, "has no judged answer in 3 rows"),
        ({"doc": {"id": "x", "answer": "y"}}, "line 1 needs an object doc with the texts"),
        ({"doc": rows[0]["doc"] | {"question": " "}}, "the question of 'toy/0' is empty"),
    ):
        path.write_text("".join(json.dumps(row | change) + "\n" for row in rows))
        assert message in refusal("judge", "run", results, "--judge", "exact_match")
    path.write_text(json.dumps(rows[0])[:-9])
    assert "not a whole JSON object" in refusal("judge", "run", results, "--judge", "exact_match")
    shutil.rmtree(tmp_path / "run")
    assert "cannot be read" in refusal("judge", "run", tmp_path / "run", "--judge", "exact_match")


@pytest.mark.slow
def test_ctrl_c_ends_in_one_line_and_the_same_command_goes_on(judged_runs):
    """The judge's endpoint interrupts the command, which waits for replies that come only after it has ended."""
    running, ended = [], threading.Event()

    def interrupt(prompt, number):
        if number == 30:
            running[0].send_signal(signal.SIGINT)
        if number >= 30:
            ended.wait(120)
        return grade(prompt)

    with serving(interrupt) as server:
        command = ["-m", "speechiq.cli.main", "judge", "run", str(judged_runs), "--judge", "openai:m"]
        command += ["--judge-option", f"base_url={server.url}"]
        running.append(subprocess.Popen([sys.executable, *command], stderr=subprocess.PIPE, text=True))
        _, told = running[0].communicate(timeout=120)
        ended.set()
        assert running[0].returncode == 130 and "Traceback" not in told, told
        assert told.splitlines()[-1] == "siq: stopped by hand; the same command continues from the response cache"
        asked = len(server.requests)
        done = again(judged_runs, server)
        assert done.exit_code == 0 and asked <= len(server.requests) < asked + 82
