"""Ctrl-C while a command starts: one line, in commands of the suite and of lm-eval alone."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

STOP = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(1)\n"
LM_EVAL, SIQ = (str(Path(sys.executable).parent / name) for name in ("lm_eval", "siq"))


def stop(folder, module, *command):
    """Return the exit code and what stderr holds of a command that Ctrl-C stops as it imports a module."""
    folder.joinpath(f"{module}.py").write_text(STOP)
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    ended = subprocess.run(
        command,
        env=os.environ | {"PYTHONPATH": path},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    return ended.returncode, ended.stderr


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("torch", [LM_EVAL, "run", "--model", "hf-audio", "--model_args", "pretrained=demo", "--tasks", "siq_demo"]),
        ("msgspec", [SIQ, "demo", "run"]),
        ("requests", [SIQ, "run", "ls", "tasks"]),
    ],
)
def test_a_command_that_is_stopped_as_it_starts_says_so_in_one_line(tmp_path, module, command):
    code, printed = stop(tmp_path, module, *command)
    assert code in (130, -signal.SIGINT)
    *logged, last = printed.splitlines()
    expected = (" INFO ", "siq: this run saves nothing")
    assert "stopped by hand" in last and all(any(text in line for text in expected) for line in logged)


def test_other_programs_that_import_lm_eval_keep_their_traceback(tmp_path):
    code, printed = stop(tmp_path, "requests", sys.executable, "-c", "import lm_eval.utils")
    assert code == -signal.SIGINT and printed.startswith("Traceback") and printed.endswith("KeyboardInterrupt\n")
