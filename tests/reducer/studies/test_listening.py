"""Whether systems listen: planted models, the test of a zero gap, and runs that cannot be compared."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from benchmarks.planted import CATEGORY, LEVEL, PLANTED, plant
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.scores.suites import ScoringOptions, find_suites
from speechiq.reducer.studies.listening import compare_listening, needs_audio, study_listening
from tests.commands import refusal, siq, succeed
from tests.reducer.conftest import levels, write_run

DRAWS = 40
#: Share of right questions in each run of a system that listens.
SKILLS = {"": 0.9, "text": 0.95, "muted": 0.2, "swapped": 0.1}


def write_listening(folder, skills=SKILLS, system="ears", clips=12, date=1.0, **metadata):
    """Write the runs of a system, each variant with the skill given; the one with its audio has all levels."""
    for number, (variant, skill) in enumerate(skills.items()):
        scores = levels(skill, clips, questions=10)
        listen = {"listen": variant, "content_sha256": variant} if variant else {}
        kept = {level: of for level, of in scores.items() if level == "apply" or not variant}
        about = dict.fromkeys(kept, listen | metadata)
        write_run(folder / system / (variant or "audio"), kept, system, date + number, metadata=about)
    return folder


def read(folder):
    return study_listening(find_suites([folder], False, ScoringOptions()), DRAWS)


def planted(model, clusters=20, seed=0):
    return compare_listening(model, CATEGORY, plant(model, clusters, np.random.default_rng(seed)), 200, seed)


@pytest.mark.parametrize("model", PLANTED)
def test_a_planted_model_is_recovered(model):
    rows = [planted(model, seed=seed) for seed in range(10)]
    for name, truth in PLANTED[model].items():
        assert np.mean([row[name].value for row in rows]) == pytest.approx(100 * truth, abs=8)
    gap = 100 * (PLANTED[model]["text"] - PLANTED[model]["audio"])
    assert np.mean([row["speech_gap"].value for row in rows]) == pytest.approx(gap, abs=8)
    found = sum(row["speech_gap"].low <= gap <= row["speech_gap"].high for row in rows)
    assert found >= 7
    verdicts = [needs_audio(row) for row in rows]
    assert all(verdicts) if PLANTED[model]["audio"] > PLANTED[model]["muted"] else sum(verdicts) <= 1


def test_the_test_of_a_zero_gap_rejects_one_in_twenty_null_runs():
    """Answers of a run on one cluster agree: single clips would reject far more often."""
    p = [planted("from both alike", 10, seed)["speech_gap_p"] for seed in range(200)]
    assert 0.02 <= np.mean(np.array(p) < 0.05) <= 0.08


def test_the_share_right_blind_counts_items_that_are_right_in_every_blind_run():
    runs = plant("from the question", 5, np.random.default_rng(0))
    blind = [runs[name].scores[LEVEL] for name in ("muted", "swapped")]
    both = [blind[0][item] * blind[1][item] for item in blind[0]]
    row = compare_listening("q", CATEGORY, runs, DRAWS, 0)
    assert row["right_blind"].value == pytest.approx(100 * np.mean(both)) and row["right_blind"].clusters == 5
    alone = compare_listening("q", CATEGORY, {name: runs[name] for name in ("audio", "muted")}, DRAWS, 0)
    assert alone["right_blind"].value == pytest.approx(alone["muted"].value)
    assert "speech_gap" not in alone and "gain_over_swapped" not in alone and "gain_over_muted" in alone


def test_runs_are_paired_by_system_and_condition(tmp_path):
    write_listening(tmp_path)
    write_listening(tmp_path / "noisy", {"": 0.5, "muted": 0.2}, condition="white@10dB")
    clean, noisy = read(tmp_path).content["systems"]
    assert (clean["system"], noisy["system"]) == ("ears", "ears [white@10dB]")
    assert {"audio", "text", "muted", "swapped"} <= {*clean}
    assert {"audio", "muted"} <= {*noisy} and {"text", "swapped"}.isdisjoint(noisy)
    assert (clean["items"], clean["clips"], clean["clusters"]) == (120, 12, 12)
    assert needs_audio(clean) and clean["speech_gap_p"] > 0.0


def test_the_grid_has_what_was_run_and_a_verdict(tmp_path):
    write_listening(tmp_path, {"": 0.5, "muted": 0.5}, system="deaf")
    (grid,) = read(tmp_path).grids
    assert [column.heading.split("\n")[0] for column in grid.shown] == ["System", "Audio", "Silence", "Right blind"]
    assert grid.notes[0] == "no evidence that deaf needs the audio: +0.0 over silence (p 1.0000)"


def test_score_leaves_listen_runs_out_beside_the_audio_and_scores_them_alone(tmp_path):
    write_listening(tmp_path, {"": 0.9, "text": 0.95})
    write_run(tmp_path / "other", levels(0.4, 12, questions=10), system="other")
    printed = siq("score", tmp_path, "--bootstrap", "0")
    assert "listen=" not in printed and "ears" in printed and "other" in printed
    assert "ears [listen=text]" in siq("score", tmp_path / "ears" / "text", "--bootstrap", "0")


def test_the_report_has_a_section_of_the_same_grid(tmp_path):
    write_listening(tmp_path / "runs", {"": 0.9, "muted": 0.2})
    write_run(tmp_path / "runs" / "other", levels(0.4, 12, questions=10), system="other")
    siq("score", tmp_path / "runs", "--bootstrap", DRAWS, "--output", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    section = page.partition('<section id="listen-0"')[2].partition("</section>")[0]
    assert "Did they listen? Apply" in section and "he audio is needed by ears: +" in section
    assert 'href="#listen-0"' in page


def test_runs_without_their_audio_leave_the_report_without_the_section_and_say_so(tmp_path):
    write_listening(tmp_path / "runs", {"muted": 0.2})
    write_run(tmp_path / "runs" / "other", levels(0.4, 12, questions=10), system="other")
    done = succeed("score", tmp_path / "runs", "--output", tmp_path / "page.html", "--bootstrap", DRAWS)
    assert "does not show whether systems listened: system 'ears' has no apply scores" in " ".join(done.stderr.split())
    assert 'id="listen-0"' not in (tmp_path / "page.html").read_text()


def test_variants_are_not_scored_in_one_table(tmp_path):
    write_listening(tmp_path, {"text": 0.9, "muted": 0.5})
    message = refusal("score", tmp_path, "--bootstrap", "0")
    assert "listen is " in message and "compare them by siq study listen" in message


def test_the_command_writes_what_it_prints(tmp_path):
    write_listening(tmp_path / "runs")
    files = [tmp_path / f"listen.{ending}" for ending in ("json", "csv", "md")]
    options = [option for file in files for option in ("--output", file)]
    write_listening(tmp_path / "runs" / "older", {"muted": 0.3}, date=0.5)
    done = succeed("study", "listen", tmp_path / "runs", "--bootstrap", DRAWS, "--explain", *options)
    printed = done.stdout
    assert "has several runs of demo_0: taking the newest" in " ".join(done.stderr.split())
    assert "left out" not in done.stderr
    assert "the audio is needed by ears: +" in printed and "guessing scores 20 acc. %" in printed
    (record,) = json.loads(files[0].read_text())["systems"]
    (row,) = csv.DictReader(files[1].read_text().splitlines())
    assert (
        record["speech_gap"]["value"]
        == float(row["speech_gap"])
        == pytest.approx(record["text"]["value"] - record["audio"]["value"])
    )
    assert float(row["gain_over_swapped_p"]) == record["gain_over_swapped_p"] < 0.01
    assert "<br>speech gap<br>" in files[2].read_text()


@pytest.mark.parametrize(
    ("skills", "message"),
    [
        ({"": 0.9}, "no run with listen=; run the same tasks with and without --metadata listen=muted"),
        ({"muted": 0.9}, "system 'ears' has no apply scores with its audio; run the same tasks with and without"),
    ],
)
def test_runs_that_lack_a_side_are_one_line(tmp_path, skills, message):
    assert message in refusal("study", "listen", write_listening(tmp_path, skills))


def test_runs_of_other_versions_are_refused(tmp_path):
    write_listening(tmp_path, {"": 0.9})
    write_listening(tmp_path / "later", {"muted": 0.2}, prompt_version=9)
    with pytest.raises(SpeechIQError, match="prompt_version is") as caught:
        read(tmp_path)
    assert "--allow-mismatch" not in str(caught.value)
