"""Every command with a standard stream that is closed or full, and every command that writes with a full disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import run
from tests.fuzz.targets import clip_sets, questions, runs, studies
from tests.fuzz.targets.target import Command
from tests.fuzz.test_fuzz import SECONDS

pytestmark = pytest.mark.slow

#: Each command is run by a child of one process that has imported `siq`, so that only one import is waited for.
PROGRAM = """
import json, os, resource, sys, traceback
from pathlib import Path
import jinja2, jiwer, scipy.stats, speechiq.reducer.scores.suites
from speechiq.cli.main import main

def disturb(way):
    if way == "full disk":
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if way == "full stdout":
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if way == f"closed {name}":
            os.close(number)
            setattr(sys, name, None)

def run(command, way, writer):
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(writer, 2)
    disturb(way)
    sys.argv = ["siq", *command]
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        os.write(writer, traceback.format_exc().encode())
        code = 99
    os._exit(code)

def list_files():
    return {path for path in Path(sys.argv[3]).rglob("*") if path.is_file()}

way, before = sys.argv[1], list_files()
for command in json.loads(sys.argv[2]):
    reader, writer = os.pipe()
    if not (child := os.fork()):
        run(command, way, writer)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as told:
        errors = told.read()
    code, new = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), list_files() - before
    for file in new:
        file.unlink()
    print(json.dumps([code, errors, len(new)]))
"""
#: Options that name a file or a folder to write.
WRITES = {"-o", "--output", "--save-norms"}
#: Of the ways that concern no command in particular, the step between the commands that are tried; `make fuzz` tries
#: more of them.
FEWER = {"closed stderr": 9, "closed stdin": 9, "full stdout": 6}
if not SECONDS:
    FEWER |= {"closed stdout": 3, "full disk": 2}
LISTS: list[Command] = [["list", "tasks"], ["store", "list"], ["list", "systems"], ["--version"], ["--help"]]


def prepare_all(folder: Path) -> list[Command]:
    """Write the input of every command that needs neither a model nor a server, and return the commands."""
    inputs = {
        "runs": runs.RUNS, "labels": studies.LABELS, "judged": studies.JUDGED, "conditions": studies.CONDITIONS,
        "table": clip_sets.TABLES, "questions": questions.QUESTIONS,
    }  # fmt: skip
    for name, target in inputs.items():
        folder.joinpath(name).mkdir()
        target.prepare(folder / name)
    table = folder / "table"
    make = ["data", "new", "calls", "--audio", table / "audio", "--text", table / "calls.jsonl"]
    return [
        *runs.commands_of_runs(folder / "runs"),
        *studies.commands_of_labels(folder / "labels"),
        *studies.commands_of_judged(folder / "judged"),
        *studies.commands_of_conditions(folder / "conditions"),
        [*make, "--embedder", clip_sets.EMBEDDER, "-o", table / "made"],
        ["data", "check", folder / "questions" / "questions.jsonl"],
        *LISTS,
    ]


@pytest.mark.parametrize("way", ["closed stdout", "closed stderr", "closed stdin", "full stdout", "full disk"])
def test_no_stream_and_no_disk_ends_a_command_in_a_traceback(way, tmp_path, demo_models):
    every = FEWER.get(way, 1)
    commands = [[str(word) for word in command] for command in prepare_all(tmp_path)[::every]]
    done = run("python", "-c", PROGRAM, way, json.dumps(commands), str(tmp_path))
    assert done.returncode == 0, done.stderr
    faults = []
    for command, line in zip(commands, done.stdout.splitlines(), strict=True):
        code, errors, new = json.loads(line)
        writes = bool(WRITES & set(command))
        expected = {"full stdout": (0, 1), "full disk": (int(writes),)}.get(way, (0,))
        told = not code or "siq: error: cannot write " in errors
        if "Traceback" in errors or code not in expected or not told or (way == "full disk" and new):
            faults.append(f"{' '.join(command)}: exit code {code}, {new} files, {errors[-1500:]}")
    assert not faults, "\n\n".join(faults)
