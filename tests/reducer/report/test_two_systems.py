"""A report of systems that have no SIQ."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.levels import choose
from speechiq.reducer.report import build, gather, render
from speechiq.reducer.report.data import charts, standings
from tests.reducer.conftest import levels, write_run


def test_two_systems_get_levels_and_the_reason(two_runs: Path):
    page = build([two_runs], bootstrap=60)
    assert page.count("no SIQ and no Z: of two systems one stands at Z +1") == 2
    study = gather([two_runs], bootstrap=60)
    rows = standings(study)
    assert [row.name for row in rows] == ["bad", "good"] and all(row.interval is None for row in rows)
    drawn = charts(study, rows)
    assert drawn["bell"]["data"][-1]["x"] == [] and len(drawn["accuracy"]["data"][-1]["x"]) == 2
    assert "NaN" not in json.dumps(drawn) and not re.search(r'"nan"|:nan', render(study))


def test_another_column_is_named_on_the_page(tmp_path: Path):
    for name, skill in (("a", 0.9), ("b", 0.1), ("c", 0.5)):
        write_run(tmp_path / name, levels(skill), system=name, columns={"apply": {"acc_strict": float(skill > 0.4)}})
    page = build([tmp_path], levels=choose(["apply=acc_strict"]))
    assert "Apply is scored by <code>acc_strict</code>: this is what the page shows" in page
    assert "is scored by" not in build([tmp_path])


def test_without_apply_the_report_names_what_is_lacking(tmp_path: Path):
    for name, skill in (("a", 0.9), ("b", 0.1), ("c", 0.5)):
        scores = {level: of for level, of in levels(skill).items() if level != "apply"}
        write_run(tmp_path / name, scores, system=name)
    with pytest.raises(SpeechIQError, match=r"siq report shows all three levels, .* needs Apply as well as Remember"):
        build([tmp_path])
