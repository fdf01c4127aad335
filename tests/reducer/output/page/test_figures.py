"""Test charts of scores against size, cost, speed and latency: what their lines and marks stand for."""

from __future__ import annotations

import json

import numpy as np
import pytest

from speechiq.metrics.latency import FIRST_TOKEN, TOTAL
from speechiq.reducer.output.page.figures import against_size
from speechiq.reducer.output.page.kinds import list_speeds, tradeoff_sections
from speechiq.reducer.output.page.study import gather_report
from speechiq.reducer.runs.run_record import MeasuredSpeed, RunCost
from speechiq.reducer.scores.levels import LEVELS
from tests.reducer.conftest import change_results
from tests.reducer.output.page.conftest import cascade, use, write_system

SIZES, NAMES = [7.0, 0.2, 1.0, 7.0, 70.0], list("abcde")
APPLY = {"apply": LEVELS["apply"]}


@pytest.mark.parametrize(
    ("scores", "lower", "faster", "front"),
    [
        ([110, 90, 85, 120, 119], False, False, {0.2: 90, 7.0: 120}),
        ([5.0, 30.0, 12.0, 6.0, 2.0], True, False, {0.2: 30.0, 1.0: 12.0, 7.0: 5.0, 70.0: 2.0}),
        ([110, 90, 125, 120, 119], False, True, {70.0: 119, 7.0: 120, 1.0: 125}),
        ([5.0, 1.0, 12.0, 6.0, 2.0], True, True, {70.0: 2.0, 0.2: 1.0}),
    ],
)
def test_the_line_joins_the_systems_that_none_beats_in_both(scores, lower, faster, front):
    line, marks = against_size(SIZES, scores, NAMES, "Score", lower, faster=faster).data
    assert dict(zip(line.x, line.y, strict=True)) == front and [*line.x] == [*front]
    assert [*marks.x] == SIZES and [*marks.y] == scores


def test_a_small_cost_keeps_its_place():
    assert [*against_size([0.0004, 0.0016], [1, 2], ["a", "b"], "Score").data[1].x] == [0.0004, 0.0016]


#: System -> what its runs recorded, and the seconds of its answers.
RECORDED = {
    "small": (use(2e8, transcribing=2, answering=5, embedding=1), [0.1, 0.2, 0.3, 0.4]),
    "middle": (use(1e9, transcribing=4, answering=5, embedding=2), [1.0, 2.0, 3.0]),
    "large": (use(7e9, transcribing=8, embedding=3), [9.0]),
    "gold+large": (use(7e9, transcribing=1), [5.0]),
}


@pytest.fixture
def runs(tmp_path):
    """Write three systems and a control, with sizes, speeds and times of answers."""
    for place, (name, (recorded, times)) in enumerate(RECORDED.items()):
        described = cascade({"control": "gold"}) if name.startswith("gold") else {}
        write_system(tmp_path / name, name, lambda clip, text: text, "B" * place + "A", described, recorded=recorded)
        (results,) = tmp_path.joinpath(name).glob("results_*")
        change_results(results, lambda content: content["configs"]["t_apply"]["metadata"].update(timing="stream"))
        (samples,) = tmp_path.joinpath(name).glob("samples_t_apply*")
        lines = [json.loads(line) for line in samples.read_text().splitlines()]
        for line, seconds in zip(lines, [*times, *[None] * len(lines)], strict=False):
            line |= {TOTAL: seconds, FIRST_TOKEN: 1.0}
        samples.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def read_marks(figure) -> dict[str, float]:
    marks = figure.data[1]
    return dict(zip(marks.meta["labels"], marks.x, strict=True))


def test_a_report_draws_scores_against_what_runs_recorded(runs):
    costs = [RunCost(name, 0, 0, 0, 1.0, cost) for name, cost in (("small", 0.5), ("middle", 2.0), ("large", np.nan))]
    (section,) = tradeoff_sections(gather_report([runs], bootstrap=0, levels=APPLY), costs)
    # Two systems answered, two have a cost, and all had the first token after one second.
    assert section.values["axes"] == ["Parameters, billion", "RTFx, transcribing", "Median total, s"]
    assert section.title == "Scores against size, speed and latency"
    sizes, speeds, times = (read_marks(section.figures[f"tradeoffs-apply-{number}"]) for number in range(3))
    assert sizes == {"large": 7, "middle": 1, "small": 0.2} and speeds == {"large": 15, "middle": 30, "small": 60}
    assert times == {"large": 9.0, "middle": 2.0, "small": 0.2}, "the smallest time that half of the answers keep"
    rows = {row["RTFx, transcribing"]: row["Median total, s"] for row in section.grid.rows}
    assert rows == {15.0: 9.0, 30.0: 2.0, 60.0: 0.2}
    assert any("cuda:0" in note for note in section.grid.all_notes) and [*section.charts] == ["tradeoffs-apply"]


def test_the_runs_of_a_system_have_one_speed():
    runs = [("a", "answering", 10.0, 4.0), ("a", "answering", 50.0, 2.0), ("b", "answering", 8.0, 8.0)]
    speeds = [MeasuredSpeed(name, work, audio / spent, audio, spent, "cpu", "1") for name, work, audio, spent in runs]
    speeds.append(MeasuredSpeed("a", "judging", 9.0, 9.0, 1.0, "cpu", "1"))
    speeds.append(MeasuredSpeed("a", "correcting", None, 0.0, 5.0, "cpu", "1"))
    (answering,) = list_speeds(speeds)
    assert (
        answering.values == {"a": 60 / 6, "b": 1.0} and answering.notes[-1] == "device of answering: cpu (batch size 1)"
    )
