"""Curves over the strength of a condition: losses, slopes and crossings of known scores."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.conditions import SeriesRun, describe_series_run
from speechiq.reducer.scores import norms
from speechiq.reducer.scores.bootstrap import resample_raw
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.score_matrix import align
from speechiq.reducer.scores.suites import ScoringOptions, find_suites, read_systems
from speechiq.reducer.stats.bootstrap import Resampled
from speechiq.reducer.stats.estimate import plain
from speechiq.reducer.studies.result import StudyResult
from speechiq.reducer.studies.robustness import Measured, Robustness, find_crossings, study_robustness
from tests.reducer.conftest import levels, write_run

CLIPS = 12
STRENGTHS = (20, 10, 0)


def write_study(folder: Path, strengths=STRENGTHS, systems=("steady", "fragile", "weak"), clips=CLIPS) -> Path:
    """Write systems on clean audio and under white noise: one keeps its skill, one loses it, one is bad throughout."""
    skills = {"steady": [0.8, 0.78, 0.76, 0.74], "fragile": [0.95, 0.9, 0.7, 0.2], "weak": [0.3, 0.28, 0.26, 0.24]}
    for system in systems:
        for number, strength in enumerate(("clean", *strengths)):
            about = {} if strength == "clean" else {"condition": f"white@{strength}dB"}
            metadata = {
                level: {"content_sha256": f"{strength}", **about} for level in ("remember", "understand", "apply")
            }
            scores = levels(skills[system][number], clips=clips)
            write_run(folder / system, scores, system, date=1.0 + number, metadata=metadata)
    return folder


def study(folder: Path, draws: int = 200, **options) -> StudyResult:
    return study_robustness(find_suites([folder], False, ScoringOptions()), draws, **options)


def read(folder: Path, **options) -> Robustness:
    (found,) = study(folder, **options).details
    return found


@pytest.fixture(scope="module")
def robustness(tmp_path_factory) -> Robustness:
    return read(write_study(tmp_path_factory.mktemp("runs")))


def curve(robustness: Robustness, measure: str, system: str):
    (found,) = [each for each in robustness.curves if (each.measure, each.system) == (measure, system)]
    return found


def test_a_curve_goes_from_clean_audio_to_the_severest_strength(robustness):
    points = curve(robustness, "remember", "fragile").points
    assert [point.run.label for point in points] == ["clean", "20 dB", "10 dB", "0 dB"]
    mean = np.mean([(i + 1) / CLIPS for i in range(CLIPS)])
    assert [point.score.value for point in points] == pytest.approx(
        [100 * (1 - s) * mean for s in (0.95, 0.9, 0.7, 0.2)]
    )
    assert points[0].loss.value == 0 and points[-1].loss.value == pytest.approx(100 * 0.75 * mean)
    assert all(point.score.low < point.score.value < point.score.high for point in points)


def test_scores_of_levels_have_the_intervals_of_other_tables(robustness, tmp_path):
    systems = read_systems([write_study(tmp_path, strengths=())])
    names, bars = [system.name for system in systems], resample_raw(align(systems), draws=200)
    for level in ("remember", "apply"):
        # Error rates are negative in raw scores.
        ends = sorted(100 * abs(end[names.index("fragile")]) for end in bars.intervals[level])
        score = curve(robustness, level, "fragile").points[0].score
        assert [score.low, score.high] == pytest.approx(ends)


def test_losses_are_paired_by_clip(robustness):
    """Both scores of a clip move together, so the loss of the steady system is far more certain than its scores."""
    point = curve(robustness, "remember", "steady").points[-1]
    assert point.loss.high - point.loss.low < 0.5 * (point.score.high - point.score.low)


def test_slopes_are_per_10_db(robustness):
    found = curve(robustness, "remember", "fragile")
    values = [point.score.value for point in found.points[1:]]
    assert found.slope.value == pytest.approx(10 * np.polyfit(STRENGTHS, values, 1)[0]) and found.per == 10
    assert found.slope.low < found.slope.value < found.slope.high < 0


def test_the_better_system_falls_below_the_other_where_the_lines_cross(robustness):
    (crossing,) = [each for each in robustness.crossings if each.measure == "remember" and each.worse == "steady"]
    assert crossing.better == "fragile" and 10 < crossing.strength.value < 20 and crossing.share == 1
    gaps = [(0.95 - 0.8), (0.9 - 0.78), (0.7 - 0.76)]
    assert crossing.strength.value == pytest.approx(20 - 10 * gaps[1] / (gaps[1] - gaps[2]))
    assert not [each for each in robustness.crossings if each.measure == "remember" and each.better == "steady"]


def test_curves_cross_between_the_strengths_that_both_have(tmp_path, robustness):
    write_study(tmp_path, systems=("steady", "weak"))
    write_study(tmp_path, strengths=(20, 10, 5), systems=("fragile",))
    found = read(tmp_path)
    whole, shared = (
        next(each for each in of.crossings if (each.measure, each.worse) == ("remember", "steady"))
        for of in (robustness, found)
    )
    assert shared.better == "fragile" and shared.strength.value == whole.strength.value
    note = "under white, not all systems have 5 dB, 0 dB; curves cross between the strengths that both have"
    assert note in found.notes and not [note for note in robustness.notes if note.startswith("under")]


def test_siq_is_on_the_scale_of_the_clean_runs(robustness):
    clean = [curve(robustness, "siq", system).points[0].score.value for system in ("steady", "fragile", "weak")]
    assert np.mean(clean) == pytest.approx(100)
    assert curve(robustness, "siq", "fragile").points[-1].score.value < clean[2]


def test_two_systems_have_no_siq_without_norms(tmp_path):
    found = read(write_study(tmp_path, systems=("steady", "weak")))
    assert {each.measure for each in found.curves} == {"remember", "understand", "apply"}
    assert "no SIQ: no scale from 2 systems on clean audio; run 3, or give --norms" in found.notes


def test_norms_of_other_clips_are_refused(tmp_path):
    with pytest.raises(SpeechIQError, match="do not have clip 'demo/0'"):
        read(write_study(tmp_path), norms=norms.read_norms("demo"))


def test_without_draws_there_are_no_intervals(tmp_path):
    result = study(write_study(tmp_path, strengths=(20,)), draws=0)
    (found,) = result.details
    assert all(math.isnan(point.score.low) for each in found.curves for point in each.points)
    assert all(math.isnan(each.slope.value) for each in found.curves)
    assert plain(result.content)["suites"]["siq"]["points"][0]["score"]["low"] is None


def test_a_single_clip_has_scores_and_losses_without_intervals(tmp_path):
    found = read(write_study(tmp_path, systems=("steady", "weak"), clips=1))
    losses = [point.loss for each in found.curves for point in each.points]
    assert all(math.isfinite(loss.value) and math.isnan(loss.low) for loss in losses)


def test_runs_without_a_condition_or_without_clean_audio_are_refused(tmp_path):
    write_run(tmp_path / "a", levels(0.9), "a")
    with pytest.raises(SpeechIQError, match="no run under a condition: run the same tasks with --metadata condition="):
        read(tmp_path)
    noisy = {level: {"condition": "white@10dB"} for level in levels(0.9)}
    write_run(tmp_path / "b", levels(0.9), "b", metadata=noisy)
    with pytest.raises(SpeechIQError, match="system 'b' has no run on clean audio"):
        read(tmp_path)


def test_runs_that_differ_in_more_than_the_condition_are_refused(tmp_path):
    write_study(tmp_path, systems=("steady",))
    other = {level: {"condition": "white@5dB", "prompt_version": 2} for level in levels(0.9)}
    write_run(tmp_path / "steady", levels(0.5, clips=CLIPS), "steady", date=9.0, metadata=other)
    with pytest.raises(SpeechIQError, match="prompt_version is 2 in system 'steady \\[white@5dB\\]'") as caught:
        read(tmp_path)
    assert "--allow-mismatch" not in str(caught.value)


def test_conditions_are_sorted_into_series(tmp_path):
    codecs = ["codec:opus@24k", "codec:opus@8k", "codec:gsm", "band:300-3400+white@5dB"]
    sided = ["speed:1.25", "speed:0.8", "gain:-20dB", "gain:6dB", "babble:3@0.5", "babble:3@1", "babble:3@6dB"]
    for number, condition in enumerate(["", *codecs, *sided]):
        metadata = {level: {"condition": condition} if condition else {} for level in levels(0.9)}
        write_run(tmp_path, levels(0.9 - 0.05 * number), "a", date=1.0 + number, metadata=metadata)
    found = read(tmp_path, draws=0)
    paths = {each.series: [point.run.label for point in each.points] for each in found.curves}
    assert paths == {
        "codec:opus": ["clean", "24 k", "8 k"],
        "codec:gsm": ["clean", "13 k"],
        "band:300-3400+white": ["clean", "5 dB"],
        "speed": ["clean", "1.25"],
        "speed below 1": ["clean", "0.8"],
        "gain": ["clean", "6 dB"],
        "gain below 0 dB": ["clean", "-20 dB"],
        "babble:3": ["clean", "0.5", "1"],
        "babble:3@dB": ["clean", "6 dB"],
    }


def test_draws_in_which_the_system_is_already_worse_on_clean_audio_are_no_crossings():
    """Clean gaps of +1, and of -1 in half of the draws; the system is worse under noise in all of them."""
    runs = [SeriesRun(f"{name}{end}", name, *of) for name in "ab" for end, of in (("", ()), ("!", ("w@9dB", "w", 9.0)))]
    values = np.array([81.0, 60.0, 80.0, 70.0])
    draws = np.repeat([values, [79.0, 60.0, 80.0, 70.0]], 50, axis=0)
    drawn = Resampled(np.vstack([values, draws]), 2, 2, 2)
    measured = Measured("apply", "acc. %", 1.0, drawn.estimates, drawn)
    (crossing,) = find_crossings(measured, {"w": {"a": [0, 1], "b": [2, 3]}}, runs)
    assert (crossing.better, crossing.worse, crossing.share) == ("a", "b", 0.5)


def test_a_system_under_a_condition_has_a_name_of_its_own(tmp_path):
    found = find_suites([write_study(tmp_path, strengths=(20,), systems=("weak",))], False, ScoringOptions())
    runs = [describe_series_run(system) for system in found.read("siq")]
    assert [run.name for run in runs] == ["weak", "weak [white@20dB]"]
    assert runs[1] == SeriesRun("weak [white@20dB]", "weak", "white@20dB", "white", 20.0, "dB", -20.0)


def test_clips_of_all_levels_are_drawn_together_and_the_smallest_level_is_named(tmp_path):
    for number, about in enumerate(({}, {"condition": "white@0dB"})):
        scores = levels(0.8 - 0.3 * number, clips=CLIPS)
        scores["remember"] = dict(list(scores["remember"].items())[:5])
        write_run(tmp_path, scores, "s", date=1.0 + number, metadata=dict.fromkeys(LEVELS, about))
    result = study(tmp_path)
    about = result.content["suites"]["siq"]
    assert about["clips"] == CLIPS and "Small test set (5 clips): the intervals are approximate." in about["notes"]
    assert all("Small test set" in " ".join(grid.all_notes) for grid in result.grids)


def test_one_run_may_hold_several_conditions(tmp_path):
    """As one run of `siq_demo_noisy`: the tasks of a results file differ in their condition."""
    folder = tmp_path / "system"
    write_run(folder, levels(0.8, clips=CLIPS), "s", date=1.0)
    stamps = {"white@10dB": 0.6, "white@0dB": 0.3}
    configs, date = {}, 2.0
    for condition, skill in stamps.items():
        about = {level: {"condition": condition, "content_sha256": condition} for level in LEVELS}
        name = condition.replace("@", "_")
        file = write_run(folder, levels(skill, clips=CLIPS), "s", date=date, tasks=name, metadata=about)
        configs |= json.loads(file.read_text())["configs"]
    file.write_text(json.dumps(json.loads(file.read_text()) | {"configs": configs}))
    points = curve(read(tmp_path), "remember", "s").points
    assert [point.run.label for point in points] == ["clean", "10 dB", "0 dB"]
    assert points[0].loss.value == 0 < points[1].loss.value < points[2].loss.value


def test_a_run_at_a_strength_that_changes_nothing_is_a_point_and_leaves_the_slope_alone(tmp_path):
    write_study(tmp_path, systems=("weak",))
    about = {level: {"condition": "white@infdB", "content_sha256": "clean"} for level in LEVELS}
    write_run(tmp_path / "weak", levels(0.3, clips=CLIPS), "weak", date=9.0, metadata=about)
    result = study(tmp_path)
    (found,) = result.details
    points = curve(found, "remember", "weak").points
    assert [point.run.label for point in points] == ["clean", "inf dB", "20 dB", "10 dB", "0 dB"]
    slope = 10 * np.polyfit(STRENGTHS, [point.score.value for point in points[2:]], 1)[0]
    assert curve(found, "remember", "weak").slope.value == pytest.approx(slope)
    assert plain(result.content)["suites"]["siq"]["points"][1]["strength"] is None
