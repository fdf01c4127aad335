"""Test the process from which others are forked: requests, ends of all kinds, and starts without a fork."""

import json
import os
import signal
import subprocess
import sys

import msgspec
import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch import processes
from speechiq.harness_patch.fork_server import Request
from speechiq.harness_patch.processes import ForkServer, WorkingProcess

#: Without packages, so that it starts at once.
PROGRAM = """
from speechiq.harness_patch import fork_server
fork_server.PACKAGES, fork_server._read_once = (), int
fork_server.{change}
fork_server.main()
"""
WAYS = ["CAN_FORK = True", "CAN_FORK = False", "_needs_interpreter = lambda: True"]

MODULE = """
import atexit, os, signal, sys, threading, time

def main(arguments):
    print("folder", os.getcwd(), os.environ["MINE"], sys.argv[1:], flush=True)
    print("a note", file=sys.stderr)
    if arguments == ["kill"]:
        os.kill(os.getpid(), signal.SIGKILL)
    if arguments == ["wait"]:
        time.sleep(60)
    if arguments == ["return"]:
        atexit.register(print, "at its exit")
        return threading.Timer(0.1, print, ["by its thread"]).start()
    raise SystemExit({"good": 0, "fail": 3}.get(arguments[0], 0))

if __name__ == "__main__":
    main(sys.argv[1:])
"""


@pytest.fixture
def ask(tmp_path):
    """Return a maker of requests for a module that says how it was entered."""
    (tmp_path / "entered.py").write_text(MODULE)
    (tmp_path / "output").touch()

    def make(*arguments: str, **fields) -> Request:
        environment = dict(os.environ) | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]), "MINE": "1"}
        return Request("entered", list(arguments), str(tmp_path), environment, str(tmp_path / "output"), **fields)

    return make


@pytest.mark.parametrize("change", WAYS)
def test_each_request_is_a_process_with_its_folder_variables_streams_and_exit_code(ask, tmp_path, change):
    requests = [ask("good"), ask("fail", has_notes=True), ask("kill"), ask("good"), ask("return")]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(change=change)],
        input=b"\n".join(map(msgspec.json.encode, requests)),
        stdout=subprocess.PIPE,
        env=requests[0].environment,
        check=True,
    )
    lines = done.stdout.decode().split()
    ends = [json.loads(line)["code"] for line in done.stdout.splitlines() if b"Ended" in line]
    assert ends == [0, 3, -signal.SIGKILL, 0, 0] and " ".join(lines).count("a note") == 1, lines
    printed = (tmp_path / "output").read_text().splitlines()
    assert printed.count("a note") == 4, "the notes of the second request are among the reports"
    folder = f"folder {tmp_path} 1 "
    entered = [line for line in printed if line.startswith("folder")]
    assert entered == [f"{folder}['{name}']" for name in ("good", "fail", "kill", "good", "return")]
    assert {"by its thread", "at its exit"} <= {*printed}


def test_a_process_that_is_ended_leaves_the_server_for_the_next(ask, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", ask().environment["PYTHONPATH"])
    command = [sys.executable, "-c", PROGRAM.format(change=WAYS[0])]
    monkeypatch.setattr(processes, "Popen", lambda _, **streams: subprocess.Popen(command, **streams))
    server = ForkServer()
    waiting = WorkingProcess(server)
    server.ask(ask("wait", has_notes=True))
    assert next(waiting.lines()) == b"a note\n"
    waiting.end()
    assert waiting.code == -signal.SIGTERM
    after = WorkingProcess(server)
    server.ask(ask("fail"))
    assert not [*after.lines()] and after.code == 3
    never = WorkingProcess(server)
    never.end()
    assert server.process.poll() is not None, "a server that may still import ends with what it was asked for"


def test_a_server_that_cannot_start_gives_its_reason(monkeypatch, tmp_path):
    (tmp_path / "msgspec.py").write_text("raise ImportError('msgspec is damaged')")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    with pytest.raises(SpeechIQError, match="starts the runs: ended ImportError: msgspec is damaged; give the same"):
        next(WorkingProcess(ForkServer()).lines())
