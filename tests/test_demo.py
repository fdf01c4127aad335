"""The main job, as `make demo` does it: real models on real audio through lm-eval, then SIQ."""

import json
import os

import pytest

from speechiq.cli.demo import LLM, OPTIONS, SYSTEMS
from speechiq.reducer.output import terminal
from tests.commands import siq
from tests.conftest import run

BASE, TINY, SPHINX, GOLD, SILENCE = SYSTEMS
RESULTS = "*/results_*.json"


@pytest.fixture(scope="module")
def demo_run(demo_models, tmp_path_factory):
    output = tmp_path_factory.mktemp("demo")
    # Rows that `make demo` computed are not computed again.
    environment = {name: value for name, value in os.environ.items() if name != "SIQ_STORE"}
    done = run("siq", "demo", "run", "--output", str(output), env=environment)
    assert done.returncode == 0, done.stderr
    return output, done.stdout, done.stderr


@pytest.fixture(scope="module")
def metrics(demo_run):
    """Metrics of each system, all levels together, as lm-eval aggregated them."""
    found = {}
    for file in demo_run[0].glob(RESULTS):
        results = json.loads(file.read_text())
        values = found.setdefault(results["model_name"], {})
        for task in results["results"].values():
            values |= {name.partition(",")[0]: value for name, value in task.items()}
    assert set(found) == set(SYSTEMS)
    return found


@pytest.fixture(scope="module")
def scores(demo_run):
    return {row["system"]: row for row in json.loads((demo_run[0] / "siq.json").read_text())["systems"]}


def test_gold_is_perfect_where_perfection_is_defined(metrics):
    gold = metrics[GOLD]
    assert gold["wer"] == gold["wer_basic"] == gold["cer"] == gold["wer_corpus"] == 0
    assert gold["similarity"] == pytest.approx(1, abs=1e-6)


def test_silence_hears_nothing_and_its_answers_are_chance(metrics):
    silence = metrics[SILENCE]
    assert silence["wer"] == silence["deletions"] == 1
    assert silence["acc"] == pytest.approx(1 / 5, abs=0.15)


def test_recognizers_rank_as_they_should(metrics):
    assert metrics[BASE]["wer"] <= metrics[TINY]["wer"] < metrics[SPHINX]["wer"] < metrics[SILENCE]["wer"]
    similarity = {system: metrics[system]["similarity"] for system in SYSTEMS}
    assert similarity[GOLD] > max(similarity[BASE], similarity[TINY]) > similarity[SPHINX] > similarity[SILENCE]


def test_answers_with_the_reference_are_far_above_the_floor(metrics):
    assert metrics[GOLD]["acc"] > metrics[SILENCE]["acc"] + 0.4
    assert all(metrics[system]["unparsed"] == 0 for system in SYSTEMS)


def test_siq_puts_gold_first_and_silence_last(scores):
    assert set(scores) == set(SYSTEMS)
    by_score = sorted(scores, key=lambda system: -scores[system]["siq"])
    assert by_score[0] == GOLD and by_score[-1] == SILENCE
    assert {system: row["rank"] for system, row in scores.items()} == {
        BASE: 1, TINY: 2, SPHINX: 3, GOLD: None, SILENCE: None,
    }  # fmt: skip


def test_a_line_per_system_then_the_table_and_the_report(demo_run):
    output, printed, said = demo_run
    for number, system in enumerate(SYSTEMS, 1):
        assert f"siq: [{number}/{len(SYSTEMS)}] {system},{OPTIONS}: finished, " in said
    assert "siq: next:" not in said and "|acc" not in printed, "tables of lm-eval are in the logs"
    assert printed.lstrip().startswith("Speech IQ")
    assert all(f" {system.partition('+')[0]} " in printed for system in SYSTEMS) and f"+{LLM})" in printed
    assert "</html>" in (output / "report.html").read_text()


def test_results_say_what_ran(demo_run):
    results = json.loads(min(demo_run[0].glob(RESULTS)).read_text())
    assert results["config"]["siq"]["system"]["answering"]["prompt_version"]
    levels = {config["metadata"]["level"] for config in results["configs"].values()}
    assert levels == {"remember", "understand", "apply"}


def test_tables_fit_a_small_terminal(demo_run, monkeypatch):
    monkeypatch.setattr(terminal, "PIPE_WIDTH", 80)
    shown = siq("score", demo_run[0]).splitlines()
    assert max(map(len, shown)) <= 80 and not any("[1]" in line for line in shown), "one table"
    (last,) = (number for number, line in enumerate(shown) if "control: silence" in line)
    notes = [line for line in shown[last + 1 :] if line.strip()]
    assert notes[0].startswith("Small test set (14 clips): 95 % intervals of SIQ contained the truth in")
    assert len(notes) <= terminal.MOST_NOTES + 2 and notes[-1].endswith("--explain)"), "two of them have two lines"
    compared = siq("compare", "whisper-base", "whisper-tiny.en", demo_run[0]).splitlines()
    assert max(map(len, compared)) <= 80 and len(compared) <= 40


def test_lines_below_the_table_explain_what_looks_wrong(demo_run):
    shown = siq("score", demo_run[0], "--explain")
    assert "Understand: silence has 77.7 %; from there to gold, 98.6 % is 94 % of the way\n" in shown
    assert "Apply: gold is 1 of 42 questions below demo:whisper-base, which may be chance\n" in shown
    assert "Understand is 67 % of SIQ; WER predicts wrong answers better\n" in shown
    assert "AUC of wrong answers (0.5 is chance): sim. 0.611, WER 0.676;" in shown
    assert ": --explain)" not in shown
