"""Levels scored by other columns."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer import LEVELS, rank, read_systems
from speechiq.reducer.scores import norms
from speechiq.reducer.scores.levels import choose_levels
from tests.commands import as_json, refusal, siq, succeed
from tests.records import change_rows, edit_rows
from tests.reducer.conftest import levels, write_run

TASKS = Path(__file__).parents[3] / "siq_tasks"
OTHERS = {"remember": {"cer": 0.25, "wer_basic": 0.5}, "apply": {"acc_strict": 1.0}}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for number, skill in enumerate((0.9, 0.6, 0.1)):
        columns = OTHERS | {"understand": {"similarity_summary": skill}}
        scores = levels(skill, clips=6)
        path = write_run(tmp_path / f"s{number}", scores, system=f"s{number}", columns=columns)
        samples = path.with_name(path.name.replace("results", "samples_demo_0").replace(".json", ".jsonl"))
        change_rows(samples, lambda row: row | {"cer": row["wer"] / 2})
    return tmp_path


def test_the_chance_of_five_guesses_is_that_of_their_rule():
    rights = np.random.default_rng(0).binomial(5, 1 / 5, 100_000)
    chances = {"acc_strict": np.mean(rights >= 3), "acc_all": np.mean(rights == 5), "acc_any": np.mean(rights > 0)}
    alternatives = LEVELS["apply"].measure.alternatives
    assert {column: other.chance for column, other in alternatives.items()} == pytest.approx(chances, abs=0.003)


def test_another_column_is_scored_and_recorded(runs):
    out = runs / "siq.json"
    asked = ["--metrics", "remember=cer,understand=similarity_summary"]
    result = succeed("score", runs, *asked, "-o", out, "-o", runs / "harness", "--explain")
    assert all(word in result.stdout for word in ("CER %", "summary", "sim. %"))
    assert "measures: remember=cer, understand=similarity_summary" in result.stdout
    data = json.loads(out.read_text())
    assert {level: of["column"] for level, of in data["measures"].items()} == {
        "remember": "cer",
        "understand": "similarity_summary",
        "apply": "acc",
    }
    usual = rank(read_systems([runs]))
    for row in data["systems"]:
        j = usual.pool.systems.index(row["system"])
        assert row["categories"]["remember"]["score"] == pytest.approx(-usual.means["remember"][j] / 2)
    (written,) = (runs / "harness" / "s0").glob("results*")
    harness = json.loads(written.read_text())
    assert "cer,none" in harness["results"]["siq_remember"] and "wer,none" not in harness["results"]["siq_remember"]
    assert harness["higher_is_better"]["siq_remember"]["cer"] is False


def test_chance_is_that_of_the_column(runs):
    write_run(runs / "s9", levels(0.4, clips=6), system="s9", columns={"apply": {"acc_strict": 0.0}})
    shown = siq("score", runs, "--metrics", "apply=acc_strict", "--explain")
    assert "strict acc. %" in shown and "Apply by chance: 6 %" in shown


def give_letters(row: dict) -> dict:
    """Give a row five answers, all of them right for the first question of a clip, three for the others."""
    letters = "AAAAA" if row["doc"]["question_id"].endswith("#0") else "AAABB" if row["acc"] else "BBBBA"
    return row | {"filtered_resps": [[letters[0], [*letters]]]}


def test_stored_answers_are_scored_by_all_and_by_any_right_answer(runs):
    edit_rows(runs, give_letters, "samples_demo_2_*.jsonl")
    shares = {}
    for column in ("acc_all", "acc_any"):
        found = as_json("score", runs, "--metrics", f"apply={column}")["systems"]
        shares[column] = [row["categories"]["apply"]["score"] for row in found]
    assert shares == {"acc_all": pytest.approx([1 / 3] * 3), "acc_any": [1.0] * 3}


def test_a_row_without_letters_cannot_be_scored_by_them(runs):
    refused = refusal("score", runs, "--metrics", "apply=acc_all")
    assert "samples_demo_2" in refused and "line 1 needs doc.answer and the letters in filtered_resps" in refused


def test_norms_keep_to_their_measure(runs):
    file = runs / "norms.json"
    succeed("score", runs, "--save-norms", file, "--metrics", "remember=cer")
    assert norms.read_norms(file).levels["remember"].metric == "cer"
    assert "CER %" in siq("score", runs / "s0", "--norms", file)
    refused = refusal("score", runs / "s0", "--norms", file, "--metrics", "remember=wer")
    assert refused == (
        "norms 'norms' score remember by 'cer' and these runs are scored by 'wer': "
        "give --metrics remember=cer, or build norms with --metrics remember=wer"
    )
    with pytest.raises(SpeechIQError, match="score remember by 'cer'"):
        rank(read_systems([runs / "s0"]), norms=norms.read_norms(file), allow_mismatch=True)


@pytest.mark.parametrize(
    ("measures", "asked", "message"),
    [
        (["remember=wer_basc"], None, "unknown column 'wer_basc'; did you mean wer_basic? known are wer, wer_basic"),
        (["rember=wer"], None, "unknown level 'rember'; did you mean remember?"),
        (["apply"], None, "no LEVEL=COLUMN; write one such as apply=acc"),
        (["acc_strict"], None, "no LEVEL=COLUMN; write one such as apply=acc_strict"),
        (["apply=acc", "apply=acc_strict"], None, "--metrics names acc and acc_strict for level apply: choose one"),
        (["apply=acc"], "remember", "level apply is not among --levels remember"),
        ([], "", "unknown level ''; known are remember, understand, apply"),
    ],
)
def test_what_is_unknown_is_refused(measures, asked, message):
    with pytest.raises(SpeechIQError) as refused:
        choose_levels(measures, asked)
    assert message in str(refused.value)


def test_a_column_that_rows_lack_is_refused_by_file(tmp_path):
    write_run(tmp_path, levels(0.5), system="s")
    refused = refusal("score", tmp_path, "--metrics", "remember=wer_oracle")
    assert "line 1 needs doc.id and the number 'wer_oracle'" in refused
