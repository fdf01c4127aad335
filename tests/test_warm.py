"""Processes that tests fork from a warm one: what a command prints, and how it ends, is that of a true process."""

from __future__ import annotations

import os
import signal

import pytest

from tests.conftest import run
from tests.warm import lm_eval, run_warm, siq

pytestmark = pytest.mark.slow

QUICK = ("--model", "hf-audio", "--model_args", "pretrained=letter:B", "--tasks", "siq_demo_apply", "--limit", "1")


def kill_oneself():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("entry", "arguments"),
    [
        (siq, ("score", "no-such-folder")),
        (siq, ("scor",)),
        (lm_eval, (*QUICK, "--log_samples", "--output_path", "runs")),
    ],
)
def test_a_command_does_what_it_does_in_a_true_process(entry, arguments, tmp_path):
    folders = [tmp_path / name for name in ("true", "warm")]
    for folder in folders:
        folder.mkdir()
    env = os.environ | {"LMEVAL_LOG_LEVEL": "ERROR"}
    true = run(entry.__name__, *arguments, env=env, cwd=folders[0])
    warm = run_warm(entry, *arguments, env=env, cwd=folders[1])
    assert (warm.returncode, warm.stdout) == (true.returncode, true.stdout), warm.stderr
    assert warm.stderr.splitlines()[-1:] == true.stderr.splitlines()[-1:]
    written = [sorted(path.suffix for path in folder.rglob("*") if path.is_file()) for folder in folders]
    assert written[0] == written[1]


def test_a_process_that_is_killed_ends_by_its_signal():
    assert run_warm(kill_oneself).returncode == -signal.SIGKILL
