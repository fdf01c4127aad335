"""Test charts: what their lines and marks stand for."""

from __future__ import annotations

import json

import pytest

from speechiq.reducer.output.page.figures import against_size
from speechiq.reducer.output.page.studies import size_sections
from speechiq.reducer.output.page.study import gather_report
from speechiq.reducer.scores.levels import LEVELS
from tests.reducer.output.page.conftest import write_system

SIZES, NAMES = [7.0, 0.2, 1.0, 7.0, 70.0], list("abcde")


@pytest.mark.parametrize(
    ("scores", "lower", "front"),
    [
        ([110, 90, 85, 120, 119], False, {0.2: 90, 7.0: 120}),
        ([5.0, 30.0, 12.0, 6.0, 2.0], True, {0.2: 30.0, 1.0: 12.0, 7.0: 5.0, 70.0: 2.0}),
    ],
)
def test_the_line_joins_the_systems_that_none_beats_at_their_size_or_less(scores, lower, front):
    line, marks = against_size(SIZES, scores, NAMES, "Score", lower).data
    assert dict(zip(line.x, line.y, strict=True)) == front
    assert [*marks.x] == SIZES and [*marks.y] == scores


def test_a_report_draws_scores_against_counted_sizes(tmp_path):
    for place, (name, size) in enumerate({"small": 2e8, "middle": 1e9, "large": 7e9}.items()):
        write_system(tmp_path / name, name, lambda clip, text: text, "B" * place + "A")
        (file,) = tmp_path.joinpath(name).glob("results_*")
        results = json.loads(file.read_text())
        results["config"]["siq"]["parameters"] = int(size)
        file.write_text(json.dumps(results))
    (section,) = size_sections(gather_report([tmp_path], bootstrap=0, levels={"apply": LEVELS["apply"]}))
    marks = section.figures["sizes-apply"].data[1]
    assert dict(zip(marks.meta["labels"], marks.x, strict=True)) == {"large": 7, "middle": 1, "small": 0.2}
    assert size_sections(gather_report([tmp_path / "small", tmp_path / "large"], bootstrap=0)) == []
