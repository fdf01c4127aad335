import re

import pytest

from speechiq.core.errors import SpeechIQError
from tests.conftest import run

PROGRAM = """
from speechiq.core.errors import SpeechIQError, print_in_one_line
print_in_one_line()
print_in_one_line()
raise {error}("runs/a: \\x1b[2J\\x1b]0;title\\x07 \\u202e \\x9b31m not\\n  readable")
"""


@pytest.mark.parametrize(
    ("error", "line"),
    [("SpeechIQError", r"siq: error: runs/a: .* not readable\n"), ("KeyboardInterrupt", r"siq: runs/a: .*\n")],
)
def test_an_error_for_the_user_is_one_line_that_does_not_control_the_terminal(error, line):
    done = run("python", "-c", PROGRAM.format(error=error))
    assert re.fullmatch(line, done.stderr) and done.stderr.strip().isprintable()
    assert done.returncode != 0 and (error != "SpeechIQError" or done.returncode == 1)


def test_any_other_error_keeps_its_traceback():
    done = run("python", "-c", PROGRAM.format(error="ValueError"))
    assert done.returncode == 1 and done.stderr.startswith("Traceback")


STOPPED = """
import _thread, time
from speechiq.core.errors import print_in_one_line
from speechiq.core.files.plain import write_whole
print_in_one_line()
def parts():
    _thread.interrupt_main()
    time.sleep(5)
    yield b""
{call}
"""


def test_a_ctrl_c_in_code_of_speechiq_is_one_line_and_in_other_code_a_traceback(tmp_path):
    done = run("python", "-c", STOPPED.format(call=f"write_whole({str(tmp_path / 'file')!r}, parts(), '')"))
    assert done.returncode != 0 and done.stderr.startswith("siq: stopped by hand; the same command continues")
    assert done.stderr.count("\n") == 1 and not list(tmp_path.iterdir())
    done = run("python", "-c", STOPPED.format(call="list(parts())"))
    assert done.stderr.startswith("Traceback") and "KeyboardInterrupt" in done.stderr


def test_a_long_value_does_not_hide_what_to_do_about_it():
    line = str(SpeechIQError(f"set.json has version {'9' * 100_000}; make it anew"))
    assert len(line) < 2000 and line.startswith("set.json has version 99") and line.endswith("99; make it anew")


def test_an_error_has_a_thing_a_fault_and_a_fix_and_prints_them_in_one_line():
    error = SpeechIQError("--limit 0", "no clip\nis left", "give 1 or more")
    assert (error.thing, error.fault, error.fix) == ("--limit 0", "no clip is left", "give 1 or more")
    assert str(error) == "--limit 0: no clip is left; give 1 or more"
    assert str(SpeechIQError("lm_eval ended", fix="see the log")) == "lm_eval ended; see the log"
    assert str(SpeechIQError("questions.jsonl", "not JSON")) == "questions.jsonl: not JSON"
