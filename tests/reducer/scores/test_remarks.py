"""Test the remarks on a ranking: why SIQ is missing, how much was asked, and which numbers mean little."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speechiq.core.errors import SpeechIQError
from speechiq.reducer import as_grid, as_json, rank, read_systems
from speechiq.reducer.output.harness import as_harness
from speechiq.reducer.output.markup import as_latex, as_markdown
from speechiq.reducer.output.publish import as_csv
from speechiq.reducer.output.scoreboard_records import csv_rows, rows_of
from speechiq.reducer.scores import norms
from speechiq.reducer.stats.contrast import separates
from speechiq.reducer.stats.grid import flatten
from tests.commands import print_and_write, refusal, siq, succeed
from tests.reducer.conftest import levels, write_run, write_skills

TWO = "no SIQ and no Z: of two systems, one always has Z +1 and the other Z -1"


def pool_of(folder: Path, *skills: float, missing: str = "", **options):
    for number, skill in enumerate(skills):
        scores = {level: of for level, of in levels(skill, clips=8).items() if level != missing}
        write_run(folder / f"s{number}", scores, system=f"s{number}", **options)
    return read_systems([folder])


def test_two_systems_have_levels_alone_in_every_output(tmp_path):
    ranking = rank(pool_of(tmp_path, 0.9, 0.3), draws=60)
    data = as_json(ranking)
    assert data["no_siq"].startswith(TWO) and "siq compare A B" in data["no_siq"] and "--norms" in data["no_siq"]
    assert data["weights"] is data["rule"] is data["leave_one_out"] is None
    for row in data["systems"]:
        assert [row[key] for key in ("siq", "siq_interval", "siq_std", "rank", "rank_probabilities")] == [None] * 5
        for of in row["categories"].values():
            assert of["weighted"] is of["z"] is of["z_interval"] is None
            assert of["interval"][0] <= of["score"] <= of["interval"][1]
    json.dumps(data, allow_nan=False)
    for row in csv.DictReader(io.StringIO(as_csv([flatten(row) for row in csv_rows(ranking)]))):
        assert row["siq"] == row["rank"] == row["apply_z"] == row["siq_low"] == "" != row["apply_score"]
    grid = as_grid(ranking)
    assert [grid.heading(column)[0] for column in grid.shown][:2] == ["System", "Remember"]
    for text in (as_markdown(grid), as_latex(grid)):
        assert "no SIQ and no Z" in text and "nan" not in text and "level weights" not in text
    harness = as_harness(ranking, rows_of(ranking)[0])
    assert harness["results"]["siq"]["siq,none"] == harness["results"]["siq_apply"]["z,none"] == "N/A"
    assert harness["configs"]["siq_apply"]["metadata"]["no_siq"].startswith(TWO)
    json.dumps(harness, allow_nan=False)


def test_lm_evals_own_table_shows_what_has_no_siq(tmp_path):
    lm_eval_utils = pytest.importorskip("lm_eval.utils")
    ranking = rank(pool_of(tmp_path, 0.9, 0.3), draws=60)
    shown = lm_eval_utils.make_table(as_harness(ranking, rows_of(ranking)[0]), "groups")
    (line,) = (line for line in shown.splitlines() if "|siq  " in line.replace("|siq   |", ""))
    assert line.count("N/A") == 2 and "nan" not in shown


def test_two_systems_have_an_siq_on_norms(tmp_path):
    built = norms.build_norms(pool_of(tmp_path / "pool", 0.9, 0.5, 0.4, 0.3, 0.1), "five")
    ranking = rank(pool_of(tmp_path / "two", 0.8, 0.2), norms=built)
    assert ranking.remarks.no_siq is ranking.remarks.few is None
    assert np.isfinite(ranking.siq).all()


@pytest.mark.parametrize(("count", "weak"), [(3, True), (4, True), (5, False)])
def test_few_systems_are_a_weak_scale(tmp_path, count, weak):
    systems = pool_of(tmp_path, *np.linspace(0.1, 0.9, count))
    lines = list(rank(systems).remarks.lines(systems[0].levels))
    assert (f"only {count} systems: each result depends strongly on which systems they are" in lines[0]) == weak
    built = norms.build_norms(systems, "few")
    remarks = rank(systems[:1], norms=built).remarks
    assert bool(remarks.few) == weak and (not weak or remarks.few.startswith(f"norms of only {count} systems"))
    printed = siq("score", tmp_path, "--save-norms", tmp_path / "norms.json")
    assert (f"only {count} systems: each result depends strongly" in " ".join(printed.split())) == weak


def test_names_with_equal_rows_are_warned_of(tmp_path):
    pool_of(tmp_path, 0.9, 0.3, 0.9, 0.1)
    result = succeed("score", tmp_path, "-o", tmp_path / "siq.json")
    assert "siq: warning: systems 's0' and 's2' have the same score on every clip of every level" in result.stderr
    assert json.loads((tmp_path / "siq.json").read_text())["identical"] == [["s0", "s2"]]
    pool_of(tmp_path / "other", 0.9, 0.3, 0.1)
    assert "warning" not in succeed("score", tmp_path / "other").stderr


def test_a_pool_without_apply_is_scored_on_two_levels(tmp_path):
    ranking = rank(pool_of(tmp_path, 0.9, 0.5, 0.1, missing="apply"), draws=60)
    data = as_json(ranking)
    assert data["no_siq"].startswith("no SIQ: it needs Apply as well as Remember and Understand; ")
    assert "siq data questions" in data["no_siq"] and data["rule"] is None
    for row in data["systems"]:
        assert row["siq"] is row["rank"] is None and list(row["categories"]) == ["remember", "understand"]
        assert row["categories"]["remember"]["z_interval"] is not None
    shown = siq("score", tmp_path)
    assert "Levels, without Speech IQ" in shown and "SIQ" not in shown.split("no SIQ")[0]
    assert as_harness(ranking, rows_of(ranking)[0])["group_subtasks"] == {"siq": ["siq_remember", "siq_understand"]}


def test_levels_are_chosen(tmp_path):
    pool_of(tmp_path, 0.9, 0.5, 0.1)
    missing = {level: of for level, of in levels(0.7, clips=8).items() if level != "apply"}
    write_run(tmp_path / "s9", missing, system="s9")
    refused = refusal("score", tmp_path)
    assert "system 's9' has no apply scores" in refused and "--levels remember,understand" in refused
    succeed("score", tmp_path, "--levels", "remember,understand", "-o", tmp_path / "siq.json")
    assert list(json.loads((tmp_path / "siq.json").read_text())["clips"]) == ["remember", "understand"]
    assert "unknown level 'aply'; did you mean apply?" in refusal("score", tmp_path, "--levels", "aply")


def test_a_part_of_the_tasks_is_reported(tmp_path):
    limited = {"demo_0": {"original": 14, "effective": 8}, "demo_2": {"original": 42, "effective": 24}}
    write_skills(tmp_path, {"a": 0.9, "b": 0.5, "c": 0.1}, clips=8, **{"n-samples": limited})
    shown, data = print_and_write("score", tmp_path, "--explain")
    assert "8 clips, 24 questions" in shown
    assert "a part of the tasks was asked (--limit): Remember 8 of 14 clips, Apply 24 of 42 questions" in shown
    assert data["limited"] == {
        "remember": {"evaluated": 8, "available": 14},
        "apply": {"evaluated": 24, "available": 42},
    }
    assert data["items"] == {"remember": 8, "understand": 8, "apply": 24}


def test_levels_with_other_clips_are_reported(tmp_path):
    for name, skill in (("a", 0.9), ("b", 0.5), ("c", 0.1)):
        scores = levels(skill, clips=8)
        write_run(tmp_path / name, scores | {"apply": dict(list(scores["apply"].items())[:2])}, system=name)
    assert "the levels have different clips: Remember 8 clips, Understand 8 clips, Apply 2 clips (6 questions)" in siq(
        "score", tmp_path, "--explain"
    )


def test_draws_left_out_are_reported(tmp_path):
    for number, skill in enumerate((0.9, 0.5, 0.1)):
        scores = levels(skill, clips=3)
        scores["understand"] = dict.fromkeys(scores["understand"], 0.5) | {"demo/0": skill, "demo/1": skill}
        write_run(tmp_path / f"s{number}", scores, system=f"s{number}")
    shown, content = print_and_write("score", tmp_path, "--explain")
    left_out = content["bootstrap"]["left_out"]
    assert left_out and f"seed 0, {left_out} of them left out: no clip in them separates the systems" in shown


def test_a_level_that_separates_no_systems_is_named(tmp_path):
    rng = np.random.default_rng(0)
    for number, skill in enumerate((0.9, 0.5, 0.1)):
        scores = levels(skill, clips=14)
        scores["apply"] = {clip: {f"{clip}#0": float(rng.random() < 0.65)} for clip in scores["apply"]}
        write_run(tmp_path / f"s{number}", scores, system=f"s{number}")
    ranking = rank(read_systems([tmp_path]))
    data = as_json(ranking)
    assert data["separates"] == {"remember": True, "understand": True, "apply": False}
    (line,) = (line for line in data["remarks"] if line.startswith("Apply: "))
    weight = data["weights"]["apply"]
    assert line == (
        "Apply: no two systems differ beyond chance by mean or by Z (paired 95 % intervals, widened for 3 pairs), but "
        f"the level still moves SIQ with weight {weight:.3f}"
    )


@given(st.integers(2, 6), st.integers(2, 30), st.integers(0, 2**31))
def test_separation_agrees_with_students_permutation_test(systems, clips, seed):
    from scipy.stats import ttest_rel

    raw = np.random.default_rng(seed).normal(size=(systems, clips)) + np.arange(systems)[:, None] / 3
    pairs = [(i, j) for i in range(systems) for j in range(i)]
    p = min(ttest_rel(raw[i], raw[j]).pvalue for i, j in pairs)
    assert separates(raw) == (p * len(pairs) < 0.05)


def test_equal_systems_are_rarely_separated():
    rng = np.random.default_rng(0)
    found = [separates(rng.normal(size=(4, 20)) + rng.normal(size=20)) for _ in range(1000)]
    assert 0.02 < np.mean(found) < 0.05


def test_silence_is_the_floor(tmp_path):
    pool_of(tmp_path, 0.9, 0.5)
    described = {"siq": {"pretrained": "silence+llm", "system": {"kind": "cascade", "asr": {"control": "silence"}}}}
    write_run(tmp_path / "floor", levels(0.0, clips=8), system="x", config=described)
    shown = siq("score", tmp_path, "--explain")
    assert "floor: without any audio, silence+llm has WER 56.2 %, sim. 71.9 %, acc. 0.0 %" in shown


def test_systems_read_otherwise_are_not_mixed(tmp_path):
    systems = pool_of(tmp_path, 0.9, 0.5, 0.1)
    (other, *_) = (system.restrict(["remember"]) for system in systems)
    with pytest.raises(SpeechIQError, match="read all systems with the same levels and measures"):
        rank([other, *systems[1:]])


def test_a_ceiling_that_is_beaten_is_named_with_its_level_and_the_better_systems(tmp_path):
    for number, right in enumerate((3, 4, 5, 6, 7, 1)):
        scores = levels(1 - number / 10, clips=8)
        scores["apply"] = {clip: {"q": float(i < right)} for i, clip in enumerate(scores["apply"])}
        asr = {"control": "gold"} if number == 0 else {"model": "m"}
        config = {"siq": {"pretrained": f"s{number}", "system": {"kind": "cascade", "asr": asr}}}
        write_run(tmp_path / f"s{number}", scores, system=f"s{number}", config=config)
    systems = read_systems([tmp_path])
    ranking = rank(systems)
    below, models = "Apply: s0 is 4 of 8 questions below s4 and 3 others", "their language models differ"
    line = f"{below}, beyond the 95 % interval of this pair; {models}"
    assert ranking.remarks.ceilings == (line,) and line in as_json(ranking)["remarks"]
    halves = {clip: f"call {i // 4}" for i, clip in enumerate(ranking.pool.clips["apply"])}
    in_calls = [system.cluster_by(halves) for system in systems]
    assert rank(in_calls).remarks.ceilings == (f"{below}, which may be chance; {models}",)
    pair = in_calls[0].replace(name="gold+llm"), in_calls[4].replace(name="base+llm")
    assert rank(pair).remarks.ceilings == ("Apply: gold+llm is 4 of 8 questions below base+llm, which may be chance",)


def test_a_score_near_a_high_floor_is_put_between_floor_and_ceiling(tmp_path):
    for name, skill in {"gold": 1.0, "good": 0.9, "bad": 0.6, "silence": 0.2}.items():
        asr = {"control": name} if name in ("gold", "silence") else {"model": "m"}
        config = {"siq": {"pretrained": name, "system": {"kind": "cascade", "asr": asr}}}
        write_run(tmp_path / name, levels(skill, clips=8), system=name, config=config)
    systems = read_systems([tmp_path])
    (position,) = rank(systems).remarks.above_floor
    means = {system.name: np.mean([*system.scores["understand"].values()]) for system in systems}
    share = (means["good"] - means["silence"]) / (means["gold"] - means["silence"])
    assert position == (
        f"Understand: silence has {100 * means['silence']:.1f} %; from there to gold, {100 * means['good']:.1f} % is "
        f"{100 * share:.0f} % of the way"
    )
    (without_gold,) = rank([system for system in systems if system.name != "gold"]).remarks.above_floor
    assert "from there to 100 %, " in without_gold
    assert not rank([system for system in systems if system.name != "silence"]).remarks.above_floor
