"""Test a run of spoken replies with real models: judged by likelihood, and judged again from its stored rows alone."""

import json
import math
import shutil

import pytest

from speechiq.core.usage import since, snapshot
from speechiq.harness_patch.hf_audio import HFAudio
from speechiq.metrics.judge.rubric import read_rubric
from speechiq.reducer.runs.judged import read_item
from tests.commands import siq
from tests.runs import evaluate, read_rows

pytestmark = pytest.mark.skipif(not shutil.which("flite"), reason="flite is not installed")

TASK = "siq_demo_reply_oe"
#: A query by a person.
QUERIES = {5: "demo_reply/kennedy"}
JUDGE = {"judge": "hf:demo:SmolLM2-135M-Instruct", "judge_by": "likelihood"}
#: What is done to replies when a system runs, and never when a stored run is judged.
WORK = {"spoken_texts", "asr_clips", "speech_ratings", "generated_tokens"}


def by_query(folder):
    return {row["doc"]["id"]: row for row in read_rows(folder)}


@pytest.fixture(scope="module")
def run(demo_models, speech_rater, tmp_path_factory):
    """Return the folder of a run, its rows by the id of the query, and the work that it took."""
    folder, before = tmp_path_factory.mktemp("runs"), snapshot()
    system, store = "gold+demo:SmolLM2-135M-Instruct", str(tmp_path_factory.mktemp("store"))
    model = HFAudio(pretrained=system, speaks="flite:slt", device="cpu", store=store)
    chosen = {TASK: list(QUERIES)}
    evaluate(model, [TASK], output=folder, metadata=JUDGE, samples=chosen, gen_kwargs={"max_gen_toks": 16})
    return folder, by_query(folder), since(before).usage


def test_what_was_spoken_and_what_was_written_are_judged_by_likelihood(run):
    _, rows, work = run
    assert set(rows) == set(QUERIES.values())
    assert work["spoken_texts"] == work["speech_ratings"] == work["asr_clips"] == 1
    rubric = read_rubric("points_1_10")
    lowest, highest = rubric.scale
    for row in rows.values():
        item = read_item(row["filtered_resps"])
        for text, points in ((item["texts"], "judge_points"), (item["texts_written"], "text_score")):
            shares = json.loads(text[0])
            assert list(shares) == list(rubric.labels) and sum(shares.values()) == pytest.approx(1, abs=1e-4)
            expected = sum(score * shares[label] for label, score in rubric.labels.items())
            assert row[points] == pytest.approx(expected, abs=1e-3) and lowest < row[points] < highest
        assert row["judge"] == pytest.approx((row["judge_points"] - lowest) / (highest - lowest))
        assert row["speech_gap"] == pytest.approx(row["judge_points"] - row["text_score"])
        assert row["spoken"] == 1 and row["unjudged"] == 0 and math.isnan(row["judge_agreement"])
        assert 0 <= row["speech_text_wer"] < 0.5 and 2 < row["speech_quality"] < 5


def test_a_stored_run_is_judged_again_without_speaking_transcribing_or_rating(run, tmp_path, monkeypatch):
    folder, rows, work = run
    assert work.keys() >= WORK
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))
    before = snapshot()
    siq("judge", "run", folder, "--judge", "exact_match", "-o", tmp_path / "exact_match")
    assert not since(before).usage
    likelihood = "--judge", JUDGE["judge"], "--judge-option", f"by={JUDGE['judge_by']}"
    siq("judge", "run", folder, *likelihood, "-o", tmp_path / "again")
    again = since(before).usage
    assert again["judgments"] == 2 and not again.keys() & WORK
    for of, changed in (("exact_match", True), ("again", False)):
        for name, row in by_query(tmp_path / of).items():
            kept = ("speech_text_wer", "speech_quality", "response_seconds", "answer_words")
            assert {column: row[column] for column in kept} == {column: rows[name][column] for column in kept}
            assert (row["judge_points"] != pytest.approx(rows[name]["judge_points"], abs=1e-4)) == changed
