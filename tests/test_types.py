"""The installed package is typed: mypy accepts right uses of it and reports wrong ones."""

import re
import subprocess
import sys

import pytest

#: One process makes the reports for both tests.
pytestmark = [pytest.mark.checks, pytest.mark.slow, pytest.mark.xdist_group("types")]

RIGHT = """
from pathlib import Path

from speechiq.reducer.stats.grid import Grid

import speechiq
from speechiq.core.clip import Clip
from speechiq import Scoreboard, rank, read_systems
from speechiq.metrics.words.wer import wer
from speechiq.reducer import as_grid

runs = read_systems([Path("runs"), "more"])
ranking: Scoreboard = rank(runs, draws=200)
ranking = speechiq.rank(runs)
version: str = speechiq.__version__
better: str | None = speechiq.compare("base", "tiny", runs).better
grid: Grid = as_grid(ranking)
best: str = ranking.pool.systems[ranking.order[0]]
rate: float = wer("so it goes on", "so it goes")


def keys(clips: list[Clip]) -> list[str]:
    return [clip.key for clip in clips]
"""
#: Each line with a comment is wrong in the way that the comment names.
WRONG = """
import speechiq
from speechiq.core.clip import Clip
from speechiq import compare, rank, read_systems
from speechiq.metrics.words.wer import wer
from speechiq.reducer import as_grid

runs = read_systems(7)  # arg-type
ranking = rank([7], draws=200)  # list-item
ranking = rank(runs, draws="many")  # arg-type
as_grid(runs)  # arg-type
ranking.winner  # attr-defined
speechiq.winner  # attr-defined
compare("base", "tiny", ranking)  # arg-type
wer(0.5, "so it goes")  # arg-type
rate: int = wer("so it goes on", "so it goes")  # assignment


def seconds(clip: Clip) -> float:
    return clip.key  # return-value
"""
#: Types that no public function takes or returns, and that take four fifths of the time.
CONFIG = """
[mypy]
strict = True
[mypy-torch.*,transformers.*]
follow_imports = skip
"""
REPORT = re.compile(r"(\w+)\.py:(\d+): error: .* \[([\w-]+)\]")


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Return what mypy reports of both scripts, as (script, line, code)."""
    folder = tmp_path_factory.mktemp("types")
    folder.joinpath("right.py").write_text(RIGHT)
    folder.joinpath("wrong.py").write_text(WRONG)
    folder.joinpath("mypy.ini").write_text(CONFIG)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir=cache", "right.py", "wrong.py"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert not done.stderr, done.stderr
    return {(script, int(line), code) for script, line, code in REPORT.findall(done.stdout)}


def test_a_right_use_has_no_errors(reports):
    assert {report for report in reports if report[0] != "wrong"} == set()


def test_every_wrong_use_is_reported(reports):
    lines = enumerate(WRONG.splitlines(), 1)
    wrong = {("wrong", number, line.partition("  # ")[2]) for number, line in lines if "  # " in line}
    assert {report for report in reports if report[0] == "wrong"} == wrong
