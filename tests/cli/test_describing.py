"""`siq list` and `siq doctor`: what exists, and what is wrong with this machine."""

from __future__ import annotations

import json
import re

import pytest
from huggingface_hub import constants

from speechiq.cli import doctor
from speechiq.engines.registry import KINDS, list_backends
from speechiq.reducer.output import terminal
from speechiq.reducer.scores import norms
from speechiq.siq_tasks.demo.fetch import MODELS
from speechiq.siq_tasks.index import list_tasks
from tests.commands import call, refusal
from tests.conftest import KEY


def test_every_engine_is_listed_by_kind_with_what_is_missing(monkeypatch):
    content = json.loads(call("list", "systems", "--json").stdout)
    found = {(row["kind"], row["engine"]) for row in content["engines"]}
    assert found == {(kind, engine) for kind in KINDS for engine in list_backends(kind)}
    assert {row["model"] for row in content["demo_models"]} == {f"demo:{name}" for name in MODELS}
    monkeypatch.setattr("speechiq.engines.registry.find_spec", lambda package: None)
    shown = call("list", "systems").stdout
    assert "no: pocketsphinx missing, pip install '.[demo]'" in shown and "letter:B" in shown


def test_one_engine_is_shown_with_its_options():
    shown = call("list", "systems", "faster-whisper").stdout
    assert "asr engine faster-whisper" in shown and "written with asr_ before the name" in shown
    (row,) = json.loads(call("list", "systems", "faster-whisper", "--json").stdout)
    backend = list_backends("asr")["faster-whisper"]
    assert [option["name"] for option in row["options"]] == [option.name for option in backend.list_options()]
    assert all(option["description"] and option["type"] for option in row["options"])
    assert "options: none" in call("list", "systems", "gold").stdout


def test_sets_and_tasks_are_listed_and_shown():
    tasks, table = list_tasks(), call("list", "tasks").stdout
    assert json.loads(call("list", "tasks", "--json").stdout) == [task._asdict() for task in tasks]
    clips = {line.split()[0]: re.findall(r" \d+ ", line) for line in table.splitlines() if "siq_demo_" in line}
    assert clips["siq_demo_assistant"] == [" 68 "] and clips["siq_demo_noisy"] == [" 14 "]
    lines = {line.split()[0]: line for line in table.splitlines() if line.strip()}
    assert {task.set_name for task in tasks} <= lines.keys()
    assert "92 languages" in lines["siq_belebele"] and "Hub, questions" in lines["siq_earnings22"]
    assert "reply" in lines["siq_demo_reply"] and "judge" in lines["siq_demo_reply"]
    content = json.loads(call("list", "tasks", "siq_demo", "--json").stdout)
    assert [task["name"] for task in content["tasks"]] == [
        f"siq_demo_{level}" for level in ("remember", "understand", "apply")
    ]
    assert "clips: 14, 416.3 s" in content["data_sets"]["demo"]
    shown = call("list", "tasks", "siq_demo_apply").stdout
    assert "siq_demo_apply" in shown and "demo/austen" in shown


@pytest.mark.parametrize(
    ("word", "name"),
    [("audiobench", "audiobench_dream"), ("spoken_choice", "voicebench_mmsu"), ("ZHO_Hant", "siq_bel")],
)
def test_the_name_of_a_set_or_any_word_lists_its_tasks(word, name):
    assert name in call("list", "tasks", word).stdout


@pytest.mark.parametrize(
    "command", [("tasks",), ("tasks", "audiobench"), ("tasks", "siq_belebele_zho_Hant"), ("systems",), ("norms",)]
)
def test_no_name_is_broken_at_80_columns(command, monkeypatch):
    monkeypatch.setattr(terminal, "PIPE_WIDTH", 240)
    wide = call("list", *command).stdout
    monkeypatch.setattr(terminal, "PIPE_WIDTH", 80)
    narrow = call("list", *command).stdout.replace(":", " ")
    names = {
        word for word in wide.replace(":", " ").split() if not word.startswith("\N{BOX DRAWINGS LIGHT HORIZONTAL}")
    }
    assert names - set(narrow.split()) <= {"System", "Meaning"}, "headings of a table that is printed as paragraphs"


def test_norms_are_listed_and_shown():
    demo = norms.read_norms("demo")
    (listed,) = json.loads(call("list", "norms", "--json").stdout)
    shown = json.loads(call("list", "norms", "demo", "--json").stdout)
    assert listed == shown and shown["sha256"] == demo.sha256 and shown["population"] == list(demo.systems)
    for level, each in demo.levels.items():
        assert shown["levels"][level] | {"mean": each.mean, "weight": each.weight} == shown["levels"][level]
        assert shown["levels"][level]["clips"] == len(each.clips)
    table = call("list", "norms", "demo").stdout
    assert (
        demo.sha256 in table
        and all(system in table for system in demo.systems)
        and "normalizer_version: speechiq 2" in table
    )


def test_norms_of_a_file_are_shown_and_others_refused(tmp_path):
    copy = tmp_path / "mine.json"
    copy.write_bytes(norms.SHIPPED["demo@1"].read_bytes())
    assert json.loads(call("list", "norms", copy, "--json").stdout)["name"] == "demo@1"
    assert "no norms 'nowhere'" in refusal("list", "norms", "nowhere")


@pytest.fixture
def no_network(monkeypatch):
    monkeypatch.setattr(doctor, "find_hub_fault", lambda patience: "no answer")


def test_the_doctor_examines_everything_and_shows_no_key(no_network, endpoint_key, monkeypatch, tmp_path):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))
    done = call("doctor", "--json")
    content = json.loads(done.stdout)
    assert done.exit_code == 0 and content["ok"] and KEY not in done.stdout
    found = {each["name"]: each for each in content["findings"]}
    assert found["OPENAI_API_KEY"]["detail"] == "set" and found["HF_TOKEN"]["detail"]
    assert {each["topic"] for each in content["findings"]} == {
        "Machine", "Packages", "Caches", "Keys", "Models", "Network",
    }  # fmt: skip
    for name in MODELS:
        assert (found[f"demo:{name}"]["state"], found[f"demo:{name}"]["fix"]) == ("note", "siq demo fetch")
    assert "free" in found["speechiq cache"]["detail"] and not (tmp_path / "cache").exists()
    assert all(each["fix"] for each in content["findings"] if each["state"] == "error")


def test_a_cache_that_cannot_be_written_is_an_error_with_its_fix(no_network, monkeypatch, tmp_path):
    tmp_path.joinpath("file").touch()
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "file"))
    done = call("doctor")
    assert done.exit_code == 1 and "fix the errors first, beginning with speechiq cache" in done.stdout
    assert "set SIQ_CACHE to a folder of yours" in " ".join(done.stdout.split())


def test_packages_that_are_missing_or_untested_have_a_fix(monkeypatch):
    versions = {"torch": None, "lm-eval": "9.9"}
    monkeypatch.setattr(doctor, "find_version", lambda package: versions.get(package, "0"))
    found = {each.name: each for each in doctor.find_packages()}
    assert found["torch"].state == "error" and found["torch"].fix == "pip install 'torch<3,>=2.9'"
    assert found["lm-eval"].state == "note" and "9.9, tested" in found["lm-eval"].detail


def test_a_hub_that_never_answers_is_not_waited_for(monkeypatch, silent_server):
    monkeypatch.setattr(doctor, "PATIENCE_S", 0.05)
    monkeypatch.setattr(constants, "ENDPOINT", silent_server)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    (finding,) = doctor.find_hub()
    assert finding.state == "note" and finding.detail == f"the hub ({silent_server}) does not answer within 0.05 s"


def test_a_damaged_demo_model_is_found(monkeypatch, tmp_path):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    folder = tmp_path / "models" / "whisper-base"
    folder.mkdir(parents=True)
    folder.joinpath("source.txt").write_text("other==1 sha256:0\n")
    found = {each.name: each for each in doctor.find_models()}
    assert found["demo:whisper-base"].detail == "made from other packages than this version uses"
    assert found["demo:whisper-tiny.en"].detail == "not fetched"
