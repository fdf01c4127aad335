"""The public Python API: the same numbers as the commands, frames and figures of them, and errors in one line."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import speechiq
from speechiq.reducer.runs.samples import FLAGS
from tests.commands import as_json, siq
from tests.reducer.conftest import levels, write_run

SYSTEMS = {
    "demo:whisper-base+demo:SmolLM2-135M-Instruct": 0.8,
    "demo:whisper-tiny.en+demo:SmolLM2-135M-Instruct": 0.6,
    "pocketsphinx:en-us+demo:SmolLM2-135M-Instruct": 0.2,
}
BASE, TINY, SPHINX = SYSTEMS
EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)
PUBLIC = [speechiq, speechiq.read_systems, speechiq.rank, speechiq.compare]
PUBLIC += [speechiq.Scoreboard.to_frame, speechiq.Scoreboard.samples, speechiq.Comparison.to_frame]
PUBLIC += [speechiq.plot.scores, speechiq.plot.levels, speechiq.plot.compare]


@pytest.fixture
def runs(tmp_path, monkeypatch) -> Path:
    """Return a folder with runs of three systems, below the working folder."""
    for name, skill in SYSTEMS.items():
        columns = {"remember": {"audio_coverage": 0.5 if name == SPHINX else 1.0}}
        write_run(tmp_path / "runs" / name.partition("+")[0], levels(skill, clips=6), name, columns=columns)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs"


@pytest.fixture
def scoreboard(runs) -> speechiq.Scoreboard:
    return speechiq.rank(speechiq.read_systems(runs))


def test_a_ranking_has_the_numbers_of_siq_score(scoreboard):
    rows = as_json("score", "runs")["systems"]
    frame = scoreboard.to_frame()
    assert list(frame.index) == [row["system"] for row in rows] == [BASE, TINY, SPHINX]
    for row, (_, scores) in zip(rows, frame.iterrows(), strict=True):
        assert (scores["rank"], scores["siq"]) == (row["rank"], row["siq"])
        assert [scores["siq_low"], scores["siq_high"]] == row["siq_interval"]
        remember = row["categories"]["remember"]
        assert scores["remember"] == pytest.approx(100 * remember["score"])
        assert [scores["remember_low"], scores["remember_high"]] == pytest.approx(
            [100 * end for end in remember["interval"]]
        )
        assert [scores["apply_z_low"], scores["apply_z_high"]] == row["categories"]["apply"]["z_interval"]
        assert scores["incomplete_audio"] == row["flags"]["incomplete_audio"]
        assert np.isnan(scores["unparsed"]) and row["flags"]["unparsed"] is None
    assert frame.attrs["units"] == {"remember": "WER %", "understand": "sim. %", "apply": "acc. %"}
    assert frame.index.name == "system" and frame.columns.name == "score"


def test_some_systems_and_levels_are_ranked(runs):
    found = speechiq.read_systems(runs, levels=["remember", "apply"])
    frame = speechiq.rank(found[:2], draws=0).to_frame()
    assert frame["siq"].isna().all() and frame["rank"].isna().all() and frame["apply_z"].isna().all()
    assert frame["remember_low"].isna().all() and frame["remember"].notna().all()
    assert list(frame.attrs["units"]) == ["remember", "apply"]


def test_a_level_is_scored_by_another_column(tmp_path):
    for name, skill in SYSTEMS.items():
        columns = {"apply": {"acc_strict": 1.0 if name == BASE else 0.0}}
        write_run(tmp_path / name, levels(skill), name, columns=columns)
    found = speechiq.read_systems(tmp_path, measures={"apply": "acc_strict"})
    assert speechiq.rank(found, draws=0).to_frame()["apply"].to_dict() == {BASE: 100.0, TINY: 0.0, SPHINX: 0.0}


def test_samples_have_a_row_for_each_item_of_each_system(scoreboard):
    samples = scoreboard.samples()
    assert len(samples) == 3 * (6 + 6 + 18) and list(samples.columns[-len(FLAGS) :]) == list(FLAGS)
    assert samples.groupby("level")["question"].nunique().to_dict() == {"apply": 18, "remember": 0, "understand": 0}
    means = samples.groupby(["system", "level"])["score"].mean()
    frame = scoreboard.to_frame()
    for system in SYSTEMS:
        for level in ("remember", "understand", "apply"):
            assert means[system, level] == pytest.approx(frame.loc[system, level])
    coverage = samples[samples["level"] == "remember"].groupby("system")["audio_coverage"].unique()
    assert coverage.map(list).to_dict() == {BASE: [1.0], TINY: [1.0], SPHINX: [0.5]}
    assert set(samples["dataset"]) == {"demo"} and samples["unparsed"].isna().all()


def test_a_comparison_has_the_numbers_of_siq_compare(runs):
    written = as_json("compare", "whisper-base", "sphinx", "runs")
    for given in ("runs", [runs], speechiq.read_systems(runs), list(speechiq.read_systems(runs))):
        comparison = speechiq.compare("whisper-base", "sphinx", given)
        frame = comparison.to_frame()
        assert list(frame.index) == ["remember", "remember_z", "understand", "understand_z", "apply", "apply_z", "siq"]
        for part in ("a", "b", "difference", "low", "high", "p"):
            assert frame.loc["siq", part] == written["siq"][part]
        assert frame.loc["remember", "difference"] == pytest.approx(100 * written["scores"]["remember"]["difference"])
        assert comparison.better == written["better"] == frame.loc["siq", "better"] == BASE
        assert frame.loc["remember", "unit"] == "WER %" and frame.loc["remember", "high"] < 0


def test_two_folders_are_compared_without_a_scale(runs):
    base, tiny = (runs / name for name in ("demo:whisper-base", "demo:whisper-tiny.en"))
    comparison = speechiq.compare(base, str(tiny), levels="remember")
    assert list(comparison.to_frame().index) == ["remember", "understand", "apply"]
    assert comparison.required == ("remember",) and "no SIQ" in comparison.no_siq


def test_names_and_notes_from_files_are_escaped(tmp_path):
    names = ("<b>one</b>", "<script>two</script>", "three & four", "five")
    for number, name in enumerate(names):
        write_run(tmp_path / str(number), levels(0.2 * number + 0.1), name)
    write_run(tmp_path / "twin", levels(0.1), "<i>twin</i>")
    runs = speechiq.read_systems(tmp_path)
    shown = speechiq.rank(runs)._repr_html_() + speechiq.compare("one", "two", runs)._repr_html_()
    assert "&lt;b&gt;one&lt;/b&gt;" in shown and "three &amp; four" in shown
    assert not re.search("<(b|script|i)>", shown)


def test_records_have_short_texts(scoreboard, runs):
    assert re.fullmatch(rf"<Scoreboard by SIQ: {re.escape(BASE)} \d+\.\d, .*>", repr(scoreboard))
    assert "better: None" in repr(speechiq.compare("base", "tiny", runs, draws=0))
    assert (
        repr(scoreboard.systems[0]) == f"<System {BASE!r} with 6 remember scores, 6 understand scores, 18 apply scores>"
    )


def test_figures_hold_the_scores_and_no_names_of_colors(scoreboard, runs):
    frame = scoreboard.to_frame()
    figure = speechiq.plot.scores(scoreboard)
    assert list(figure.data[0].y) == list(frame.index[::-1])
    assert list(figure.data[0].x) == pytest.approx(list(frame["siq"][::-1]), abs=1e-4)
    by_level = speechiq.plot.levels(scoreboard)
    assert [list(trace.x) for trace in by_level.data] == [
        pytest.approx(list(frame[level][::-1]), abs=1e-4) for level in ("remember", "understand", "apply")
    ]
    differences = speechiq.plot.compare(speechiq.compare("base", "tiny", runs))
    assert len(differences.data) == 4 and "minus" in differences.layout.title.text
    assert not any("var(" in each.to_json() for each in (figure, by_level, differences))


def test_a_ranking_without_siq_is_drawn_by_level_alone(runs):
    scoreboard = speechiq.rank(speechiq.read_systems(runs)[:2])
    with pytest.raises(speechiq.SpeechIQError, match=r"no SIQ.*draw speechiq.plot.levels"):
        speechiq.plot.scores(scoreboard)
    assert len(speechiq.plot.levels(scoreboard).data) == 3


def test_norms_and_weights_are_read_or_refused(runs, tmp_path):
    found = speechiq.read_systems(runs)
    path = tmp_path / "norms.json"
    siq("score", "runs", "--save-norms", str(path))
    ranked = speechiq.rank(found, norms=path, draws=0)
    assert ranked.to_frame()["siq"].to_dict() == speechiq.rank(found, draws=0).to_frame()["siq"].to_dict()
    assert speechiq.rank(found, norms=ranked.norms, draws=0).to_frame().equals(ranked.to_frame())
    with pytest.raises(speechiq.SpeechIQError, match="built with inverse-std; leave weights out"):
        speechiq.rank(found, norms=path, weights="equal")
    with pytest.raises(speechiq.SpeechIQError, match="unknown rule of level weights 'heavy'"):
        speechiq.rank(found, weights="heavy")
    with pytest.raises(speechiq.SpeechIQError, match=r"clip_weights equal and norms 'norms': .* built with variance"):
        speechiq.rank(found, norms=path, clip_weights="equal")


def test_what_was_read_and_what_is_still_a_folder_are_ranked_alike(runs):
    found = speechiq.read_systems(runs)
    assert [system.name for system in found] == sorted(SYSTEMS) and found.warnings == []
    for given in ("runs", [runs], map(str, runs.iterdir())):
        assert [system.name for system in speechiq.read_systems(given)] == sorted(SYSTEMS)
    frames = [speechiq.rank(given, draws=0).to_frame() for given in (found, "runs", runs, [runs], list(found))]
    assert all(frame.equals(frames[0]) for frame in frames)


def test_a_system_counts_once(runs, tmp_path):
    found = speechiq.read_systems(runs)
    write_run(tmp_path / "v2", levels(0.1, clips=6), name := found[0].name, date=5.0)
    twice = [*found, str(tmp_path / "v2")]
    for given in (twice, [*found, found[0]]):
        with pytest.raises(speechiq.SpeechIQError, match=f"{re.escape(repr(name))}: 2 of these runs have this name"):
            speechiq.rank(given)
        with pytest.raises(speechiq.SpeechIQError, match="only folders, of which the newest run counts"):
            speechiq.compare("tiny", "sphinx", given)
    newest = speechiq.rank([runs, tmp_path / "v2"], draws=0)
    assert sorted(newest.to_frame().index) == sorted(SYSTEMS)


def test_systems_that_were_read_are_compared_with_those_of_a_folder(runs, tmp_path):
    found = speechiq.read_systems(runs)
    write_run(tmp_path / "folder", levels(0.4, clips=6), "more")
    of_folder = speechiq.compare("base", "more", [*found, tmp_path / "folder"])
    of_all = speechiq.compare("base", "more", [runs, tmp_path / "folder"])
    assert of_folder.to_frame().equals(of_all.to_frame())


def test_the_module_of_charts_shows_its_charts():
    assert dir(speechiq.plot) == ["compare", "levels", "scores"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: speechiq.rank([]), "no runs to rank; give a folder of runs"),
        (lambda: speechiq.read_systems(""), "an empty path names no runs"),
        (lambda: speechiq.read_systems("nowhere"), "'nowhere': cannot be read"),
        (lambda: speechiq.read_systems("runs", levels="recall"), "unknown level 'recall'"),
        (lambda: speechiq.compare("base", "tiny"), "is not a folder or file"),
        (lambda: speechiq.compare("whisper", "tiny", "runs"), "is part of 2 names"),
        (lambda: speechiq.compare("base", "base", "runs"), "A and B are one run"),
        (lambda: speechiq.compare("base", "tiny", "runs", suite="other"), "suite 'other': both systems ran siq"),
    ],
)
def test_a_mistake_is_named_in_one_line(runs, call, message):
    with pytest.raises(speechiq.SpeechIQError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("documented", PUBLIC, ids=lambda of: of.__name__)
def test_the_example_of_a_docstring_runs(documented, scoreboard, runs, monkeypatch):
    monkeypatch.setattr("plotly.graph_objects.Figure.show", lambda figure: None)
    for system, folder in (("base", "demo:whisper-base"), ("tiny", "demo:whisper-tiny.en")):
        runs.joinpath(folder).rename(runs / system)
        runs.joinpath(f"whisper-{system}{'.en' * (system == 'tiny')}").symlink_to(system)
    (example,) = EXAMPLE.findall(inspect.getdoc(documented))
    exec(inspect.cleandoc(example), {"speechiq": speechiq, "scoreboard": scoreboard})
