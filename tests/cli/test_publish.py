"""`siq publish`: frozen norms, and a registry of results."""

from __future__ import annotations

import json
import shutil
from importlib.metadata import version

import pytest
import yaml

from speechiq.reducer.output.published.check import restore
from speechiq.reducer.output.published.folder import read_declaration, read_folder
from speechiq.reducer.output.published.record import ENDING, unpack_rows
from speechiq.reducer.scores import norms
from tests.commands import call, refusal, siq
from tests.reducer.conftest import levels, write_run, write_skills
from tests.test_docs import BLOCK, REGISTRY, ROOT


@pytest.fixture
def draft(tmp_path):
    write_skills(tmp_path / "runs", {"best": 0.9, "middle": 0.5, "worst": 0.1})
    siq("score", tmp_path / "runs", "--save-norms", tmp_path / "draft.json", "--bootstrap", 0)
    return tmp_path / "draft.json"


def test_norms_are_frozen_once(tmp_path, draft):
    frozen = tmp_path / "mine@1.json"
    assert "a population of 3 systems, fewer than 10" in refusal("publish", "norms", draft, "-o", frozen)
    siq("publish", "norms", draft, "-o", frozen, "--example")
    assert (
        norms.read_norms(frozen).label == "mine@1" and norms.read_norms(frozen).levels == norms.read_norms(draft).levels
    )
    assert "frozen norms are never replaced" in refusal("publish", "norms", draft, "-o", frozen, "--example")
    printed = siq("score", tmp_path / "runs" / "best", "--norms", frozen, "--bootstrap", 0)
    assert "norms: mine@1 (example, " in printed and "of 3 systems" in printed
    assert '"name": "mine@1"' in siq("list", "norms", frozen, "--json")


def test_a_registry_is_checked_by_its_workflow(tmp_path):
    siq("publish", "init", tmp_path / "board")
    workflow = yaml.safe_load((tmp_path / "board/.github/workflows/check.yml").read_text())
    *_, install, check = [step.get("run") for step in workflow["jobs"]["check"]["steps"]]
    assert install == f"pip install speechiq=={version('speechiq')}" and workflow["permissions"] == {"contents": "read"}
    shutil.copytree(REGISTRY / "results", tmp_path / "board" / "results")
    printed = siq(*check.split()[1:-1], tmp_path / "board" / check.split()[-1])
    assert "norms: demo@1" in printed and printed.count(" ok ") == 5
    site = workflow["jobs"]["site"]
    commands = [step["run"] for step in site["steps"] if "run" in step]
    assert commands == [install, "siq publish site results --output site"]
    assert site["if"] == "github.event_name == 'push'" and site["needs"] == "check"
    board = tmp_path / "board"
    assert read_declaration(board / "declaration.yaml", board / "results", ["a"])["a"].contamination is None
    assert "exists" in refusal("publish", "init", tmp_path / "board")


def test_the_commands_of_the_readme_publish_the_demo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, published in enumerate(read_folder(REGISTRY / "results")):
        run = tmp_path / "runs" / "demo" / str(number)
        run.mkdir(parents=True)
        rows = published.folder / "rows"
        tasks = published.result.tasks
        restore(published.result, {of.task: unpack_rows(rows / f"{of.task}{ENDING}", of.rows) for of in tasks}, run)
    block = next(block for kind, block in BLOCK.findall((ROOT / "README.md").read_text()) if "siq publish" in block)
    publish, *others = (line.split()[1:] for line in block.splitlines())
    fill_in = "was missing and is written now; fill it in, and give the same command again"
    assert fill_in in refusal(*publish)
    file = tmp_path / "declaration.yaml"
    assert "contamination and interests not declared for demo:" in refusal(*publish)
    text = file.read_text().replace("contamination:\n", "contamination: none known\n")
    file.write_text(text.replace("interests:\n", "interests: none\n"))
    for command in (publish, *others):
        siq(*command)
    file.write_text(file.read_text().replace("submitter: your name", "submitter: me"))
    siq(*publish)
    assert '"submitter": "me"' in next(tmp_path.glob("results/*/*/result.json")).read_text()
    assert (tmp_path / "site" / "index.html").is_file() and siq(*others[0]).count(" ok ") == 5


def test_refused_results_end_the_check_with_a_line_each(tmp_path):
    results = shutil.copytree(REGISTRY / "results", tmp_path / "results")
    for file in results.glob("*/*/rows/*remember*"):
        file.write_bytes(b"")
    checked = call("publish", "check", results, "-o", tmp_path / "check.json")
    assert checked.exit_code == 1
    assert checked.stderr.count("siq: error: refused: ") == 5 == checked.stdout.count("refused")
    content = json.loads((tmp_path / "check.json").read_text())
    assert len(content["refused"]) == len(content["results"]) == 5
    assert "not a folder" in refusal("publish", "check", tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert "has no results" in refusal("publish", "check", tmp_path / "empty")


def test_results_on_different_norms_never_share_a_table(tmp_path, draft):
    siq("publish", "norms", draft, "-o", tmp_path / "mine@1.json", "--example")
    declaration = tmp_path / "declaration.yaml"
    declaration.write_text("all: {contamination: none known, interests: none}")
    whole = {task: {"original": n, "effective": n} for task, n in {"demo_0": 4, "demo_1": 4, "demo_2": 12}.items()}
    write_run(tmp_path / "one" / "best", levels(0.9), system="best", **{"n-samples": whole})
    for label, place in (("mine@1", tmp_path / "mine@1.json"), (None, None)):
        name = "one" if label else "two"
        write_run(tmp_path / name / "x", levels(0.7), system=f"{name} x", **{"n-samples": whole})
        chosen = ("--norms", place) if label else ()
        siq("publish", "runs", tmp_path / name, "-o", tmp_path / "results", "--declare", declaration, *chosen)
    printed = siq("publish", "check", tmp_path / "results")
    tables = printed.split("Published results, ")
    assert tables[1].startswith("norms: mine@1") and "best" in tables[1] and "two x" not in tables[1]
    assert tables[2].startswith("norms: none") and "two x" in tables[2]
    siq("publish", "site", tmp_path / "results", "-o", tmp_path / "site")
    _, frozen, without = (tmp_path / "site" / "index.html").read_text().split("<section")
    assert "Speech IQ on norms mine@1" in frozen and "best" in frozen and "two x" not in frozen
    assert "Levels, without Speech IQ" in without and "two x" in without and 'data-column="siq"' not in without
    assert "3 systems, too few: an example" in (tmp_path / "site" / "about.html").read_text()
