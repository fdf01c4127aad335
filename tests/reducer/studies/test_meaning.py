"""`siq judge run RUNS --judge-option rubric=meaning`: transcripts that differ from their reference are judged."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path

import pytest

from speechiq.metrics.judge.judging import Case, judge_cases
from speechiq.metrics.judge.meaning import score, show_differences
from speechiq.metrics.judge.rubric import read_reply, read_rubric
from speechiq.metrics.judge.settings import read_judging
from speechiq.metrics.words import wer
from speechiq.siq_tasks.index import read_task
from tests.commands import as_json, call, refusal, siq, succeed
from tests.reducer.conftest import change_results, write_files
from tests.siq_tasks.questions.server import serving

TEMPLATE = Path(read_rubric.__code__.co_filename).parents[2] / "siq_tasks/templates/_remember.yaml"
#: Clip -> what was said.
SAID = {
    "toy/0": "Call my sister at six.",
    "toy/1": "Pay fifty dollars to Ana.",
    "toy/2": "Turn the light off. Then lock the door.",
    "toy/3": "I'd like some tea, please.",
}
#: System -> its transcripts.
WRITTEN = {
    "one": ["call my sister at six", "pay fifteen dollars to ana", "turn the light of then lock the door", "some tea"],
    "two": ["call my sister at six", "pay fifty dollars to ana", "", "i would like some tea please"],
}


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch, endpoint_key):
    """Use a response cache of its own."""
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))


def grade(prompt: str, _number: int = 0) -> str:
    """Grade the transcript between the tags."""
    shown = re.search(r"<transcript>\n(.*?)\n</transcript>", prompt, re.DOTALL)[1]
    if "fifteen" in shown:
        return "Another sum.\nScore: 0"
    return "A spelling.\nScore: 3" if "[of]" in shown else "I cannot say."


@pytest.fixture
def transcribed(tmp_path: Path) -> Path:
    """Return the runs of two systems, each with four transcripts."""
    metadata = read_task(TEMPLATE)["metadata"] | {"dataset": "toy", "normalizer": "english", "version": 1}
    for system, texts in WRITTEN.items():
        rows = []
        for (clip, said), text in zip(SAID.items(), texts, strict=True):
            doc = {"id": clip, "text": said, "normalizer": "english", "audio": {"path": "/none.wav"}}
            columns = wer.score(doc, [text])
            row = {"doc_id": 0, "doc": doc, "target": said, "arguments": {}, "resps": [[text]]}
            row |= {"filtered_resps": [text], "filter": "transcript", "doc_hash": "0"} | columns
            rows.append(row)
        configs = {"toy_remember": {"task": "toy_remember", "metadata": metadata}}
        scores = {"toy_remember": {"alias": "toy_remember", "wer,transcript": 0.5}}
        write_files(tmp_path / "runs" / system, system, 1.0, {"toy_remember": rows}, configs=configs, results=scores)
    return tmp_path / "runs"


def run(runs: Path, server, *options):
    judge = ("--judge", "openai:m", "--judge-option", "rubric=meaning", "--judge-option", f"base_url={server.url}")
    return call("judge", "run", runs, *judge, *options)


def add_system(runs: Path) -> None:
    """Add a third system with the judged transcripts of the first."""
    shutil.copytree(runs / "one", runs / "three")
    (results,) = (runs / "three").glob("results_*")
    change_results(results, lambda content: content | {"model_name": "three"})


def rows_of(folder: Path, system: str) -> list[dict]:
    (path,) = (folder / system).glob("samples_*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_only_transcripts_with_an_error_are_judged_and_only_once(transcribed):
    before = {path: path.read_bytes() for path in transcribed.rglob("*.json*")}
    new = transcribed.with_name("runs-judged-by-openai__m")
    with serving(grade) as server:
        done = run(transcribed, server)
        assert done.exit_code == 0, done.output
        asked = len(server.requests)
        again = run(transcribed, server)
        assert len(server.requests) == asked == 3
    assert "8 answers of 2 systems judged by openai:m, 1 unjudged; wrote 2 runs" in done.stderr
    assert "wrote 0 runs, 2 unchanged" in again.stderr and "nothing to ask" in again.stderr
    assert {path: path.read_bytes() for path in before} == before
    one, two = rows_of(new, "one"), rows_of(new, "two")
    assert [row["meaning_points"] for row in one[:3]] == [3, 0, 3] and math.isnan(one[3]["meaning"])
    assert [row["unjudged"] for row in one] == [0, 0, 0, 1] and math.isnan(one[3]["meaning_lost"])
    assert [row["transcript_error"] for row in one] == [0, 1, 1, 1]
    assert [row["meaning"] for row in two] == [1, 1, 0, 1] and [row["meaning_lost"] for row in two] == [0, 0, 1, 0]
    assert [row["empty_answer"] for row in two] == [0, 0, 1, 0]
    old = rows_of(transcribed, "one")
    assert all(row[name] == was[name] for row, was in zip(one, old, strict=True) for name in ("wer", "cer", "resps"))
    results = json.loads(next((new / "one").glob("results_*")).read_text())["results"]["toy_remember"]
    assert results["meaning,transcript"] == pytest.approx(2 / 3) and results["unjudged,transcript"] == 0.25
    assert results["meaning_lost,transcript"] == pytest.approx(1 / 3) and results["transcript_error,transcript"] == 0.75


def test_the_table_shows_wer_beside_the_errors_that_matter(transcribed):
    with serving(grade) as server:
        run(transcribed, server)
    new = transcribed.with_name("runs-judged-by-openai__m")
    found = {row["system"]: row["derived"] for row in as_json("score", new, "--bootstrap", 100)["systems"]}
    assert found["one"]["meaning"]["score"] == pytest.approx(2 / 3)
    assert found["one"]["transcript_error"]["score"] == pytest.approx(0.75)
    assert found["one"]["meaning_lost"]["score"] == pytest.approx(1 / 3) and found["one"]["meaning"]["undefined"] == 1
    assert found["two"]["meaning"]["score"] == pytest.approx(0.75)
    assert found["two"]["meaning_lost"]["interval"] is not None
    table = siq("score", new, "--metrics", "remember=meaning", "--bootstrap", 0)
    assert "1 of 4 unjudged" in table and "75.00" in table
    siq("compare", "one", "two", new, "--metrics", "remember=meaning", "--bootstrap", 100)


def test_two_judges_are_compared_and_a_person_checks_one(transcribed, tmp_path):
    with serving(grade) as server:
        run(transcribed, server, "--output", tmp_path / "a")
        server.script = lambda *_: "The same.\nScore: 3"
        run(transcribed, server, "--judge-option", "seed=2", "--output", tmp_path / "b")
    whole = as_json("judge", "agree", tmp_path / "a", tmp_path / "b")["agreements"][0]
    assert (whole["answers"], whole["unjudged_a"], whole["unjudged_b"]) == (7, 1, 0)
    assert whole["mean_a"] == pytest.approx(5 / 7) and whole["mean_b"] == pytest.approx(6 / 7)
    add_system(tmp_path / "a")
    page = tmp_path / "check.html"
    done = succeed("judge", "check", tmp_path / "a", "-n", 10, "--output", page)
    assert "10 of 10 judged answers" in done.stderr and page.is_file()


def test_meaning_is_correlated_with_ranks_beside_wer(transcribed, tmp_path):
    with serving(grade) as server:
        run(transcribed, server, "--output", tmp_path / "new")
    add_system(tmp_path / "new")
    (tmp_path / "people.csv").write_text("system,people\none,2\ntwo,1\nthree,3\n")
    found = as_json("paper", "correlate", tmp_path / "new", "--ranks", tmp_path / "people.csv")
    metrics = {row["metric"]: row for row in found["correlations"]}
    assert {"remember wer", "meaning", "transcript_error", "meaning_lost"} <= metrics.keys()
    # One of three systems has another mean: (1, 0, 0) against the places (3, 2, 1).
    assert metrics["meaning"]["pearson"]["value"] == pytest.approx(3**0.5 / 2)


def test_what_cannot_be_judged_is_refused_in_one_line(transcribed, judged_runs):
    option = ("--judge-option", "rubric=meaning")
    assert "a rule cannot judge whether" in refusal("judge", "run", transcribed, "--judge", "exact_match", *option)
    assert "no transcripts in" in refusal("judge", "run", judged_runs / "good", "--judge", "exact_match", *option)


def test_transcripts_are_judged_only_if_the_rubric_says_so(transcribed):
    assert "no judged task in" in refusal("judge", "run", transcribed, "--judge", "openai:m")


@pytest.mark.parametrize(
    ("said", "written", "shown"),
    [
        ("Hello. Pay fifty now. Bye.", "hello pay nine now bye", ("Pay [fifty] now.", "pay [nine] now")),
        ("I did not go.", "I did go", ("I did [not] go.", "I did [] go")),
        ("I did go.", "I did not go", ("I did [] go.", "I did [not] go")),
        ("One. Stay. Two.", "Ten stay to", ("[One.]\n[Two.]", "[Ten]\n[to]")),
        ("go", "", ("go", "")),
    ],
)
def test_a_judge_sees_the_sentences_that_differ(said, written, shown):
    assert show_differences(said, written) == shown


def test_long_texts_without_sentences_show_the_words_around_a_difference():
    words = [f"word{number}" for number in range(100)]
    said, written = show_differences(" ".join(words), " ".join([*words[:50], "other", *words[51:]]))
    assert said.split() == [*words[30:50], "[word50]", *words[51:71]] and "[other]" in written.split()


def test_equal_answers_are_not_sent_and_have_one_score():
    with serving(lambda _prompt, number: f"Score: {number % 2}") as server:
        given = {"judge": "openai:m", "judge_draws": 3, "judge_base_url": server.url}
        judging = read_judging(given, "meaning")
        asked = len(server.requests)
        judgments = judge_cases([Case("", "a", "A", is_equal=True)], judging)
        assert len(server.requests) == asked
    assert judgments[0].scores == (3.0,)


@pytest.mark.parametrize(("points", "lost"), [(1.0, 1.0), (2.0, 0.0), (3.0, 0.0)])
def test_meaning_is_lost_below_two_points(points, lost):
    doc = {"text": "Go.", "judging": {"scale": [0, 3]}}
    row = score(doc, [{"answer": "no", "scores": [points], "texts": [""]}])
    assert row["meaning_lost"] == lost and row["meaning"] == pytest.approx(points / 3)


def test_the_rubric_asks_for_the_form_that_is_read():
    rubric = read_rubric("meaning")
    assert rubric.scale == (0, 3) and read_reply("A detail.\nScore: 2", rubric).score == 2


def test_the_column_of_a_judge_that_was_not_asked_is_refused_with_its_command(transcribed):
    refused = refusal("score", transcribed, "--metrics", "remember=meaning")
    assert "siq judge run RUNS --judge ENGINE:MODEL --judge-option rubric=meaning" in refused
