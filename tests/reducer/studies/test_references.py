"""How much of an error rate the references cause, and which of their words systems write."""

from __future__ import annotations

import random

import numpy as np
import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.systems import System
from speechiq.reducer.studies.references import compare_references, count_places
from tests.commands import as_json, refusal, siq
from tests.records import edit_rows, judge_transcripts
from tests.reducer.conftest import write_run

WORDS = ["river", "market", "session", "budget", "harbor", "copper", "member", "winter", "question", "report"]


def system(name, original, cleaned, sets=("vox", "vox_cleaned")):
    scores, datasets = {}, {}
    for dataset, rates in zip(sets, (original, cleaned), strict=True):
        for clip, rate in rates.items():
            scores[(f"{dataset}/{clip}",)] = -rate
            datasets[f"{dataset}/{clip}"] = dataset
    return System.of_scores(name, {"remember": scores}, datasets=datasets)


def compare(system, **options):
    """Return the row of one system."""
    (row,) = compare_references([system], "WER %", **options).grids[0].rows
    return row


def test_rates_are_compared_on_the_clips_of_both_versions():
    one = system("a", {"1": 0.2, "2": 0.4, "3": 0.9}, {"1": 0.1, "2": 0.4, "9": 0.0})
    row = compare(one)
    assert tuple(row[name] for name in ("dataset", "system", "clips", "changed")) == ("vox", "a", 2, 1)
    assert (row["original"], row["cleaned"], row["difference"].value) == pytest.approx((0.3, 0.25, 0.05))
    assert row["share"] == pytest.approx(1 / 6)
    assert row["difference"].low <= row["difference"].value <= row["difference"].high


def test_intervals_cover_the_difference_that_the_clips_come_from():
    rng, inside = np.random.default_rng(5), 0
    for _ in range(200):
        before = rng.uniform(0.1, 0.5, 100)
        after = before - rng.exponential(0.05, 100)
        rates = [{str(i): value for i, value in enumerate(of)} for of in (before, after)]
        row = compare(system("a", *rates), draws=400)
        inside += row["difference"].low <= 0.05 <= row["difference"].high
    assert 0.90 <= inside / 200 <= 0.99


def test_systems_without_both_versions_and_versions_without_shared_clips_are_one_line():
    with pytest.raises(SpeechIQError, match=r"no system ran a set and its cleaned version \(sets: vox, yes\)"):
        compare(system("a", {"1": 0.2}, {"1": 0.1}, sets=("vox", "yes")))
    with pytest.raises(SpeechIQError, match="'a': vox and vox_cleaned share no clip ids"):
        compare(system("a", {"1": 0.2}, {"2": 0.1}))


@pytest.mark.parametrize(
    ("original", "corrected", "transcript", "counted"),
    [
        ("a b c", "a b c", "a b c", (0, 0, 0)),
        ("a x c", "a b c", "a x c", (1, 1, 0)),
        ("a x c", "a b c", "a b c", (1, 0, 1)),
        ("a x c", "a b c", "a y c", (1, 0, 0)),
        ("a c", "a b c", "a c", (1, 1, 0)),
        ("a b b c", "a b c", "a b b c", (1, 1, 0)),
        ("x a b", "a b", "x a b", (1, 1, 0)),
        ("a b x", "a b", "a b", (1, 0, 1)),
        ("one x y two z", "one p two q", "one x y two q", (2, 1, 1)),
        ("a", "b", "", (1, 0, 0)),
        ("", "b", "b", (1, 0, 1)),
    ],
)
def test_places_are_counted_by_the_nearer_words(original, corrected, transcript, counted):
    assert count_places(original.split(), corrected.split(), transcript.split()) == counted


def write(folder, memory=(0.0, 0.0, 0.6), clips=60):
    """Write runs on a set and its cleaned version: each system has the original's words at a share of the places."""
    draw = random.Random(1)
    corrected = {f"c{i:02}": draw.choices(WORDS, k=20) for i in range(clips)}
    originals = {clip: list(words) for clip, words in corrected.items()}
    for words in originals.values():
        for place in (4, 12):
            words[place] = "wrong" if place == 4 else ""
    for number, share in enumerate(memory):
        said = {}
        for clip, words in corrected.items():
            heard = [word if draw.random() > 0.1 else "noise" for word in words]
            said[clip] = [
                a if b == c or draw.random() >= share else b
                for a, b, c in zip(heard, originals[clip], words, strict=True)
            ]
        for set_name, references in (("vox", originals), ("vox_cleaned", corrected)):
            scores = {"remember": {f"{set_name}/{clip}": 0.2 for clip in corrected}}
            metadata = {"remember": {"dataset": set_name}}
            place = folder / f"s{number}" / set_name
            write_run(place, scores, f"s{number}", metadata=metadata, tasks=set_name)

            def tell(row, references=references, said=said):
                clip = row["doc"]["id"].split("/")[1]
                row["doc"] |= {"text": " ".join(filter(None, references[clip])), "normalizer": "basic"}
                row["filtered_resps"] = [" ".join(filter(None, said[clip]))]

            edit_rows(place, tell)
    return folder


def test_a_planted_memory_is_above_the_clean_systems(tmp_path):
    content = as_json("paper", "references", write(tmp_path / "runs"), "--clean", "s0")
    rows = {row["system"]: row for row in content["references"]}
    assert rows["s2"]["places"] == 120 and rows["s2"]["written"]["low"] < 0.6 < rows["s2"]["written"]["high"]
    assert (
        rows["s2"]["above_clean"]["low"] > 0.3
        and rows["s1"]["above_clean"]["low"] is None
        and not rows["s0"]["above_clean"]
    )
    assert rows["s0"]["written"]["value"] < 0.05 and rows["s0"]["corrected"] > 0.8


def test_without_clean_systems_there_is_the_rate_alone(tmp_path):
    runs = write(tmp_path / "runs")
    shown = " ".join(siq("paper", "references", runs).split())
    assert "Original's words" in shown and "Above clean" not in shown


def test_a_clean_system_that_is_not_there_is_refused(tmp_path):
    message = refusal("paper", "references", write(tmp_path / "runs"), "--clean", "s9")
    assert message.startswith("--clean s9: no system of these runs has this name; known are s0, s1, s2")


def test_transcripts_whose_meaning_was_judged_have_the_same_words(tmp_path):
    def lengthen(row):
        if row["doc"]["id"].startswith("vox/"):
            row["doc"]["text"] += " 1 0"  # the last words of what a judge leaves, as text

    runs = write(tmp_path / "runs", clips=10)
    edit_rows(runs, lengthen)
    before = as_json("paper", "references", runs)["references"]
    judge_transcripts(runs)
    assert as_json("paper", "references", runs)["references"] == before
