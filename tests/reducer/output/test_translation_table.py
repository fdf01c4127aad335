"""Test the BLEU of translations beside the scores: of the corpus, by data set, with draws that are corpora too."""

import shutil

import numpy as np
import pytest
import sacrebleu

from speechiq.metrics.translation import count_ngrams, read_settings, score
from speechiq.reducer.output.side_tables import pooled_bleu
from speechiq.siq_tasks.index import TEMPLATES, read_task
from tests.commands import print_and_write, refusal, siq
from tests.reducer.conftest import levels, write_files, write_run

REFERENCES = [
    "The train leaves at eight in the morning.", "Please close the window, it is cold.",
    "Nobody knows where the keys are.", "My sister will call you tomorrow.", "The shop opens again after lunch.",
]  # fmt: skip
ANSWERS = {
    "good": [
        "The train leaves at eight in the morning.", "Please shut the window, it is cold.",
        "Nobody knows where the keys are now.", "My sister is going to call you tomorrow.",
        "The shop opens after lunch.",
    ],
    "poor": ["The train is at eight.", "Close it.", "", "Tomorrow my sister calls.", "The shop is open."],
}  # fmt: skip
ABOUT = {"version": 1, "language": "es"} | read_task(TEMPLATES / "_translate.yaml")["metadata"]


def describe(dataset, **changes):
    settings = read_settings(ABOUT | {"target_language": "en"} | changes)
    return ABOUT | {"suite": "travel", "category": "st", "dataset": dataset} | settings


def write_translations(folder, system, dataset="signs", **changes):
    about = describe(dataset, **changes)
    rows = []
    for number, (answer, reference) in enumerate(zip(ANSWERS[system], REFERENCES, strict=True)):
        doc = {"id": f"{dataset}/{number}", "question_id": f"{dataset}/{number}", "answer": reference} | about
        rows.append({"doc": doc, "filtered_resps": [answer], "resps": [[answer]]} | score(doc, [answer]))
    name = f"travel_{dataset}"
    configs = {name: {"task": name, "metadata": about}}
    return write_files(folder, system, 0.0, {name: rows}, configs=configs)


def expect(system):
    return sacrebleu.corpus_bleu(ANSWERS[system], [REFERENCES]).score / 100


@pytest.fixture
def runs(tmp_path):
    for system in ANSWERS:
        write_translations(tmp_path / "runs" / system, system)
    return tmp_path / "runs"


def test_each_system_has_the_bleu_of_the_corpus_with_an_interval(runs):
    text, content = print_and_write("score", runs)
    rows = {row["system"]: row for row in content["translations"]}
    assert [row["system"] for row in content["translations"]] == ["good", "poor"]
    for system, row in rows.items():
        assert row["bleu"] == pytest.approx(expect(system), abs=1e-12)
        assert row["bleu_low"] <= row["bleu"] <= row["bleu_high"]
        assert (row["dataset"], row["direction"], row["clips"]) == ("signs", "es to en", 5)
    assert "Translation: BLEU" in text and f"{100 * expect('good'):.2f}" in text and "tok:13a" in text
    means = {row["system"]: row["categories"]["st"]["score"] for row in content["suites"]["travel"]["systems"]}
    chrf = np.mean(
        [sacrebleu.sentence_chrf(*pair).score for pair in zip(ANSWERS["good"], zip(REFERENCES), strict=True)]
    )
    assert means["good"] == pytest.approx(chrf / 100)


def test_without_draws_there_is_no_interval(runs):
    text, content = print_and_write("score", runs, "--bootstrap", "0")
    assert content["translations"][0]["bleu"] == pytest.approx(expect("good"), abs=1e-12)
    assert "may be too narrow" not in text.partition("Translation: BLEU")[2]


def test_each_data_set_has_a_row_with_its_signature(runs):
    write_translations(runs / "more", "poor", "menus", bleu_tokenizer="char")
    write_translations(runs / "most", "good", "menus", bleu_tokenizer="char")
    _, content = print_and_write("score", runs, "--bootstrap", "0")
    assert [(row["dataset"], row["system"]) for row in content["translations"]] == [
        ("menus", "good"), ("menus", "poor"), ("signs", "good"), ("signs", "poor"),
    ]  # fmt: skip
    assert {"tok:char" in row["signature"] for row in content["translations"] if row["dataset"] == "menus"} == {True}


def test_a_draw_is_the_corpus_of_its_clips():
    counts = np.array([count_ngrams(*pair) for pair in zip(ANSWERS["good"], zip(REFERENCES), strict=True)])
    times = np.array([[2, 0, 1, 1, 1], [0, 0, 0, 5, 0]])
    for row, found in zip(times, pooled_bleu(counts)(times), strict=True):
        answers, references = np.repeat(ANSWERS["good"], row).tolist(), np.repeat(REFERENCES, row).tolist()
        assert found == pytest.approx(sacrebleu.corpus_bleu(answers, [references]).score / 100, abs=1e-12)


def test_runs_with_other_tokenizers_share_no_table(runs):
    shutil.rmtree(runs / "good")
    write_translations(runs / "other", "good", bleu_tokenizer="intl")
    assert "bleu_tokenizer" in refusal("score", runs)


def test_runs_without_translations_have_no_such_table(tmp_path):
    write_run(tmp_path, levels(0.5))
    assert "Translation" not in siq("score", tmp_path)


def test_the_report_has_the_table(runs, tmp_path):
    siq("score", runs, "-o", tmp_path / "report.html", "--bootstrap", "0")
    page = (tmp_path / "report.html").read_text()
    assert "Translation: BLEU" in page and "tok:13a" in page
