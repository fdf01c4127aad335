"""Test what is said of clip weights: a clip that decides a level, and an order by Z that is not that of the means."""

from __future__ import annotations

import csv
import io
import json

import pytest

from speechiq.reducer import as_grid, as_json, rank
from speechiq.reducer.output.page.items import more_errors_than_words
from speechiq.reducer.output.publish import as_csv
from speechiq.reducer.output.scoreboard_records import csv_rows
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores import norms
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.stats.grid import Important, flatten

CLIPS = [f"own/{number:02}" for number in range(18)]
RIGHT = {"steady": range(12), "wrong": [*range(10), 14, 15], "poor": [*range(3, 14), 17], "last": range(4)}


def make(name: str, rates: list[float]) -> System:
    """A system with an error rate per clip, which its similarities follow, and 12 right answers, or 4."""
    scores = {
        "remember": {(clip,): -rate for clip, rate in zip(CLIPS, rates, strict=True)},
        "understand": {(clip,): 1 - rate / 8 for clip, rate in zip(CLIPS, rates, strict=True)},
        "apply": {(clip, "q"): float(number in RIGHT[name]) for number, clip in enumerate(CLIPS)},
    }
    return System.of_scores(name, scores, levels=LEVELS)


def make_all(wrong: float) -> list[System]:
    """Four systems on 18 clips; `wrong` is the best one, with this error rate on the clip with a wrong reference."""
    hard = [number / 60 for number in range(18)]
    best = [0.5 * rate for rate in hard]
    best[7] = wrong
    plus = {"steady": 0.1, "poor": 0.25, "last": 0.5}
    return [make("wrong", best)] + [make(name, [rate + more for rate in hard]) for name, more in plus.items()]


def test_one_wrong_reference_is_named_with_its_share_and_effect():
    board = rank(make_all(1.8))
    remember, *others = board.remarks.weighting
    assert isinstance(remember, Important)
    assert remember.startswith("Remember: Z orders 3 of 6 pairs of systems otherwise than the mean: ")
    assert "steady has 24.17 WER % and Z +1.38, wrong has 16.76 WER % and Z -1.01, within chance by Z" in remember
    effect = "clip 'own/07' has 34 % of the weight, and without it wrong has Z +1.28 instead of -1.01"
    assert remember.endswith(f"{effect}; check its reference")
    assert others[-1].startswith("Apply: Z orders 2 of 6 pairs") and "of the weight" not in others[-1]
    data = as_json(board)
    assert data["heaviest_clips"]["remember"] == {"clip": "own/07", "share": pytest.approx(0.339, abs=1e-3)}
    assert remember in data["remarks"] and remember in as_grid(board).notes
    rows = csv.DictReader(io.StringIO(as_csv([flatten(row) for row in csv_rows(board)])))
    assert all(row["weighting"].startswith(remember) for row in rows)
    json.dumps(data, allow_nan=False)
    suspects = more_errors_than_words(board.pool, board.listening, board.pool.systems)
    assert [(row["system"], row["rate"]) for row in suspects.rows] == [("wrong", 180.0)]


def test_on_norms_a_heavy_clip_has_no_effect_that_could_be_computed():
    built = norms.build_norms(make_all(1.8), "four")
    remember, *_ = rank(make_all(1.8), norms=built).remarks.weighting
    assert remember.endswith("clip 'own/07' has 34 % of the weight; check its reference")


def test_equal_orders_and_even_weights_need_no_line():
    systems = make_all(0.1)
    assert not any(line.startswith(("Remember", "Understand")) for line in rank(systems).remarks.weighting)


def test_controls_count_for_no_order_and_have_no_rank():
    """The best system is the ceiling here: the other three keep their order."""
    task = TaskRun(1.0, "", "", "demo", LEVELS["remember"], {}, {})
    board = rank(
        system.replace(tasks=(task._replace(described={"control": "gold"} if system.name == "wrong" else {}),))
        for system in make_all(1.8)
    )
    assert board.remarks.weighting[0].startswith("Remember: clip 'own/07'")
    assert [board.pool.systems[row] for row in board.order] == ["steady", "poor", "last", "wrong"]
    assert [row["rank"] for row in as_json(board)["systems"]] == [1, 2, 3, None]
    assert [row["rank"] for row in as_grid(board).rows] == [1, 2, 3, ""]
    assert board.to_frame()["rank"].tolist()[:3] == [1, 2, 3] and board.to_frame()["rank"].isna().tolist()[3]


def test_a_level_whose_weighted_order_is_within_chance_says_so():
    """One is better than two others on every clip; almost all weight is on a clip that the third one fails."""
    rates = {"steady": [0.2] * 18, "poor": [0.3 + number / 1000 for number in range(18)], "last": [0.2] * 17 + [4.0]}
    board = rank(make(name, of) for name, of in rates.items())
    assert board.remarks.separates["remember"] and not board.remarks.separates_by_z["remember"]
    lines = [line for line in board.remarks.lines(board.levels) if "differ beyond chance" in line]
    assert lines[0].startswith("Remember: no two systems differ beyond chance by Z (paired 95 % intervals")
    assert as_json(board)["separates_by_z"] == dict(board.remarks.separates_by_z)
