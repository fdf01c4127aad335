"""Test that the installation shows one line on a terminal, nothing elsewhere, and what pip refuses."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = [sys.executable, str(Path(__file__).parents[2] / "tools" / "install.py"), "--no-index"]
#: What pip finds without an index, and what it does not find.
FOUND, LOST = ("--dry-run", "pip"), ("--dry-run", "no-such-package-anywhere")

pytestmark = pytest.mark.slow


def run_on_terminal(*arguments):
    """Return the exit code and what a terminal got from stdout."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*SCRIPT, *arguments], stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    process.communicate(timeout=60)
    printed = os.read(ours, 10_000).decode()
    os.close(ours)
    return process.returncode, printed


def test_a_terminal_gets_one_line_that_is_empty_at_the_end():
    code, printed = run_on_terminal(*FOUND)
    assert code == 0 and "packages: Requirement already satisfied: pip" in printed
    assert "\n" not in printed and printed.endswith("\r\x1b[K")


@pytest.mark.parametrize(("arguments", "code"), [(FOUND, 0), (LOST, 1)])
def test_elsewhere_only_errors_are_printed(arguments, code):
    done = subprocess.run([*SCRIPT, *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (code, "")
    assert ("No matching distribution found for no-such-package" in done.stderr) == bool(code)


def test_an_error_on_a_terminal_has_the_code_of_pip():
    assert run_on_terminal(*LOST)[0] == 1
