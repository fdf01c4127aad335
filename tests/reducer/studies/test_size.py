"""Test SIQ given size: the line against numpy's, distances by hand, sizes of runs and tables, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer import rank, read_systems
from speechiq.reducer.output.page.studies import render_study
from speechiq.reducer.studies.size import read_sizes, study_size
from tests.commands import refusal, succeed
from tests.reducer.conftest import write_run

CLIPS = 12
SIZES = {"a": 40_000_000, "b": 74_000_000, "c": 244_000_000, "d": 1_500_000_000, "e": 7_000_000_000}


def scores_of(skill: float, seed: int) -> dict:
    """Return scores of 12 clips at all levels, better with skill."""
    noise = np.random.default_rng(seed).normal(size=(3, CLIPS)) / 10
    wer, similarity, accuracy = (np.clip(skill + row, 0.02, 0.98) for row in noise)
    return {
        "remember": {f"demo/{n}": float(1 - wer[n]) for n in range(CLIPS)},
        "understand": {f"demo/{n}": float(similarity[n]) for n in range(CLIPS)},
        "apply": {f"demo/{n}": {f"demo/{n}#0": float(accuracy[n] > 0.5)} for n in range(CLIPS)},
    }


def write_sized(folder: Path, sizes: dict[str, int | None] = SIZES) -> Path:
    """Write a run of each system; its recorded number of parameters is its size."""
    for seed, (name, size) in enumerate(sizes.items()):
        recorded = {"siq": {} if size is None else {"parameters": size}}
        write_run(folder / name, scores_of(0.3 + 0.1 * seed, seed), system=name, config=recorded)
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    return write_sized(tmp_path_factory.mktemp("runs"))


def sizes_of(result) -> dict[str, tuple[float, str]]:
    return {row["system"]: (row["size"], row["source"]) for row in result.grids[0].rows}


def table(folder: Path, text: str) -> Path:
    file = folder / "sizes.csv"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_line_and_the_distances_are_those_of_least_squares(runs):
    board = rank(read_systems([runs]), draws=40)
    result = study_size(board)
    systems, line = result.grids[0].rows, result.content["line"]
    x, y = np.log10([*SIZES.values()]), board.siq
    slope, intercept = np.polyfit(x, y, 1)
    distances = y - (slope * x + intercept)
    assert line["slope"].value == pytest.approx(slope)
    by_name = {row["system"]: row for row in systems}
    for name, siq, distance in zip(SIZES, y, distances, strict=True):
        assert by_name[name]["siq"].value == siq and by_name[name]["expected"] == pytest.approx(siq - distance)
        assert by_name[name]["given_size"].value == pytest.approx(100 + 15 * distance / distances.std())
    given = [row["given_size"].value for row in systems]
    assert given == sorted(given, reverse=True)
    assert np.mean(given) == pytest.approx(100) and np.std(given) == pytest.approx(15)
    assert line["explained"] == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)
    on_line = np.polyval((slope, intercept), np.log10([place["size"] for place in line["places"]]))
    assert [place["siq"].value for place in line["places"]] == pytest.approx(on_line)
    half = 3.182446 * np.sqrt((distances**2).sum() / 3 / ((x - x.mean()) ** 2).sum())  # Student's t, 3 degrees
    assert line["slope_of_systems"].ends == pytest.approx((slope - half, slope + half))


def test_each_draw_has_a_line_of_its_own(runs):
    board = rank(read_systems([runs]), draws=60)
    result = study_size(board)
    x, slopes, given = np.log10([*SIZES.values()]), [], []
    for siq in board.bars.siq_draws:
        slope, intercept = np.polyfit(x, siq, 1)
        distances = siq - (slope * x + intercept)
        slopes.append(slope)
        given.append(100 + 15 * distances / distances.std())
    slope = result.content["line"]["slope"]
    assert slope.low == pytest.approx(min(np.percentile(slopes, 2.5), slope.value))
    ends = np.percentile(given, [2.5, 97.5], axis=0)
    for row in result.grids[0].rows:
        column, given_size = [*SIZES].index(row["system"]), row["given_size"]
        low, high = min(ends[0, column], given_size.value), max(ends[1, column], given_size.value)
        assert given_size.ends == pytest.approx((low, high))


def test_controls_and_systems_of_unknown_size_are_left_out(tmp_path):
    runs = write_sized(tmp_path, SIZES | {"model-7b": None, "f": 3_000_000_000})
    control = {"siq": {"parameters": 1, "system": {"kind": "cascade", "asr": {"control": "gold"}}}}
    write_run(tmp_path / "gold", scores_of(0.95, 9), system="gold", config=control)
    result = study_size(rank(read_systems([runs])), "parameters", {"model-7B": {"parameters": 1e9}})
    assert result.content["left_out"] == {"gold": "a control", "model-7b": "unknown size; did you mean model-7B?"}
    assert len(result.grids[0].rows) == 6
    assert any("not on the line: model-7b (unknown size" in note for note in result.grids[0].notes)
    assert np.isnan(result.content["line"]["slope"].low), "no draws, no interval"


def test_declared_sizes_come_before_counted_ones(tmp_path, runs):
    file = table(tmp_path, "system,parameters,active_parameters,training_flops\na,5e7,,1e18\ne,,2e9,\nother,1,,\n")
    declared = read_sizes(file)
    assert declared["a"] == {"parameters": 5e7, "training_flops": 1e18}
    assert declared["e"] == {"active_parameters": 2e9} and declared["other"] == {"parameters": 1}
    board = rank(read_systems([runs]))
    by_name = sizes_of(study_size(board, "parameters", declared))
    assert by_name["a"] == (5e7, "declared") and by_name["e"] == (7e9, "counted")
    active = sizes_of(study_size(board, "active_parameters", declared))
    assert active["a"] == (5e7, "declared") and active["e"] == (2e9, "declared") and active["b"] == (74e6, "counted")


def test_training_compute_is_declared(runs):
    flops = {name: {"training_flops": 1e18 * (n + 1) ** 2} for n, name in enumerate(SIZES)}
    result = study_size(rank(read_systems([runs])), "training_flops", flops)
    assert {source for _, source in sizes_of(result).values()} == {"declared"}
    assert "class" not in result.content["systems"][0] and result.content["by"] == "training_flops"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,parameters\na,1\n", "no column 'system'"),
        ("system,size\na,1\n", "no column of sizes; add parameters, active_parameters, training_flops"),
        ("system,parameters\na,7B\n", "row 1: parameters is '7B', not a number above 0; write it in full"),
        ("system,parameters\na,-1\n", "not a number above 0"),
        ("system,parameters\na,inf\n", "not a number above 0"),
        ("system,parameters\na,1\na,2\n", "row 2: duplicate system 'a'"),
    ],
)
def test_tables_of_sizes_that_are_none(tmp_path, runs, text, message):
    with pytest.raises(SpeechIQError, match=message):
        read_sizes(table(tmp_path, text))


def test_too_few_sizes_are_refused(tmp_path, runs):
    board = rank(read_systems([runs]))
    same = {name: {"parameters": 1e9} for name in ("a", "b")}
    with pytest.raises(SpeechIQError, match="4 sizes among 5 systems of known size, fewer than 5; give more systems"):
        study_size(board, "parameters", same)
    with pytest.raises(SpeechIQError, match="SIQ given size: no SIQ: it needs Apply"):
        study_size(rank([system.restrict(["remember", "understand"]) for system in read_systems([runs])]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "parameter"], "--by parameter: no size; did you mean parameters"),
        (["--by", "training_flops"], "no system declares it; add the column training_flops"),
        (["--sizes", "nowhere.csv"], "nowhere.csv': no such file; correct the path"),
        (["--weights", "magic"], "unknown rule of level weights"),
    ],
)
def test_the_command_refuses(runs, options, message):
    refused = refusal("study", "size", str(runs), *options)
    assert message in refused and "siq data" not in refused


def test_the_command_writes_every_format(tmp_path, runs):
    names = ("size.html", "size.json", "size.csv", "size.md", "size.tex")
    outputs = [part for name in names for part in ("--output", str(tmp_path / name))]
    succeed("study", "size", str(runs), "--clip-weights", "equal", "--bootstrap", "60", *outputs)
    content = json.loads((tmp_path / "size.json").read_text())
    assert content["schema"] == "speechiq-size" and content["rule"] == {"levels": "inverse-std", "clips": "equal"}
    assert len(content["line"]["places"]) == 41 and len((tmp_path / "size.csv").read_text().splitlines()) == 6
    assert "siq-size" in (tmp_path / "size.html").read_text()


def test_the_page_escapes_names(tmp_path):
    runs = write_sized(tmp_path, {f"<b>{name}": size for name, size in SIZES.items()})
    page = render_study(study_size(rank(read_systems([runs]), draws=40)), "siq study size")
    assert "<b>a" not in page
