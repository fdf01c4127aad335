"""`siq data pack`: one archive of a folder of tasks, which a colleague unpacks and runs."""

import json
import shlex
import shutil
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.commands import refusal, siq
from tests.siq_tasks.conftest import encode

QUESTION = {"question": "What?", "options": ["boats", "copper", "tea", "rain"], "answer": "A"}
WRITTEN = {"writer": "hand", "checkers": [], "prompt_version": 1}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder of tasks of two clips, with questions; it is also the current folder's `calls`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))
    recordings = tmp_path / "recordings"
    recordings.joinpath("monday").mkdir(parents=True)
    recordings.joinpath("monday", "a.wav").write_bytes(encode(1.0))
    recordings.joinpath("b.wav").write_bytes(encode(2.0))
    tmp_path.joinpath("text.csv").write_text("audio,text\nmonday/a.wav,The boats stay.\nb.wav,Copper is dear.\n")
    siq("data", "new", "calls", "--audio", recordings, "--text", "text.csv", "--embedder", "demo:SmolLM2-135M-Instruct")
    rows = [{"id": key, "question_id": f"{key}{n}", **QUESTION, **WRITTEN} for key in "ab" for n in range(3)]
    tmp_path.joinpath("calls", "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "calls"


def test_a_colleague_runs_what_was_packed(folder, tmp_path, tiny_cascade, monkeypatch):
    printed = siq("data", "pack", "calls")
    unpack, evaluate = (shlex.split(line) for line in printed.splitlines()[1:])
    assert unpack == ["python", "-m", "zipfile", "-e", "calls.zip", "."]
    assert evaluate[:7] == ["siq", "eval", "SYSTEM", "--include-path", "calls", "--tasks", "siq_calls"]
    digests = [_run(evaluate, tiny_cascade)]
    other = tmp_path / "elsewhere"
    other.mkdir()
    shutil.move("calls.zip", other)
    for name in ("calls", "recordings", "runs", "cache"):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
    monkeypatch.chdir(other)
    ZipFile("calls.zip").extractall()
    digests.append(_run(evaluate, tiny_cascade))
    assert digests[0] == digests[1] and len(digests[0]) == 3


def _run(command, cascade):
    """Run the command that was printed, and return the digest of each task's content."""
    words = ["letter:A" if word == "SYSTEM" else word for word in command[1:]]
    siq(*words, "--metadata", f"embedder={cascade.llm}")
    (results,) = Path("runs/calls").glob("*/results_*.json")
    tasks = json.loads(results.read_text())["configs"]
    return {name: task["metadata"]["content_sha256"] for name, task in tasks.items()}


def test_the_same_files_give_the_same_bytes(folder, tmp_path):
    siq("data", "pack", folder, "-o", "first.zip")
    moved = tmp_path / "moved" / "calls"
    shutil.copytree(folder, moved)
    for file in moved.rglob("*"):
        file.touch()
    siq("data", "pack", moved, "-o", "second.zip")
    assert (tmp_path / "first.zip").read_bytes() == (tmp_path / "second.zip").read_bytes()
    names = ["audio/b.wav", "audio/monday/a.wav", "clips.jsonl", "questions.jsonl"]
    tasks = [f"siq_calls_{level}.yaml" for level in ("apply", "remember", "understand")]
    assert ZipFile("first.zip").namelist() == [f"calls/{name}" for name in names + tasks]


def test_without_questions_the_command_names_the_other_tasks(folder):
    folder.joinpath("questions.jsonl").unlink()
    assert "--tasks siq_calls_remember,siq_calls_understand --output" in siq("data", "pack", folder)


def _remove(folder):
    folder.joinpath("audio", "b.wav").unlink()


def _link(folder):
    folder.joinpath("audio", "monday").rename(folder.parent / "monday")
    folder.joinpath("audio", "monday").symlink_to(folder.parent / "monday")


def _name(audio):
    def change(folder):
        file = folder / "clips.jsonl"
        file.write_text(file.read_text().replace("audio/b.wav", audio.format(folder=folder)))

    return change


def _write(old, new):
    def change(folder):
        for file in folder.glob("*.yaml"):
            file.write_text(file.read_text().replace(old, new.format(folder=folder)))

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_remove, "clips.jsonl row 2: no file {folder}/audio/b.wav; restore it"),
        (_link, "clips.jsonl row 1: {folder}/audio/monday is a link; put what it points to"),
        (_name("../recordings/b.wav"), "row 2: {folder.parent}/recordings/b.wav is not in {folder}; move it there"),
        (_name("{folder}/audio/b.wav"), "row 2: {folder}/audio/b.wav is an absolute path; write it relative to"),
        (_write("folder:clips", "folder:../clips"), "metadata.dataset_path: {folder.parent}/clips.jsonl is not in"),
        (_write("folder:clips", "folder:list"), "metadata.dataset_path: no file {folder}/list.jsonl; restore it"),
        (_write("folder:clips", "{folder}/clips"), "{folder}/clips.jsonl is a path on this machine; write folder:NAME"),
        (_write("demo:Smol", "/models/Smol"), "metadata.embedder: /models/SmolLM2-135M-Instruct is a path on this"),
        (_write("metadata:", "metadata: none\nnotes:"), "metadata: 'none' is not a mapping"),
        (_write("custom_dataset:", "custom_dataset: !function own.load\nx:"), "is not a loader of speechiq"),
        (_write("tag:", "include: other.yaml\ntag:"), "include: names another task file; write its keys into"),
    ],
)
def test_what_would_not_run_elsewhere_is_refused_in_one_line(folder, change, message):
    change(folder)
    assert message.format(folder=folder) in refusal("data", "pack", folder)
    assert not folder.with_suffix(".zip").exists()


def test_an_archive_that_exists_and_a_folder_without_tasks_are_refused(folder, tmp_path):
    siq("data", "pack", folder)
    assert refusal("data", "pack", folder) == "'calls.zip': exists; name another file, or add --force to overwrite it"
    siq("data", "pack", folder, "--force")
    for name in ("calls.tar", "calls.tar.gz"):
        assert refusal("data", "pack", folder, "-o", name).endswith("does not end with .zip; write calls.zip")
    assert "'recordings': contains no task (*.yaml); give a folder" in refusal("data", "pack", "recordings")
    assert refusal("data", "pack", "nowhere").startswith("'nowhere': no such folder; give one that `siq data new` made")
