"""Scores by language: units, the mean, the worst language, and the gap to English on the same passages."""

from __future__ import annotations

import numpy as np
import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer import read_systems
from tests.commands import as_json, print_and_write, refusal, siq
from tests.reducer.conftest import write_run
from tests.reducer.scores.test_by_dataset import renamed

SKILLS = {"one": 0.9, "two": 0.6, "three": 0.2}
CER = {"column": "cer", "direction": "lower", "unit": "CER %", "range": [0, 1000000]}


def passages(skill, shift, count=12):
    """Scores on passages; those of a language differ from the English ones by `shift` per passage."""
    noise = np.random.default_rng(0).normal(0, 0.05, count)
    errors = (1 - skill) / 2 + noise * skill + 0.2 + shift
    right = {f"demo/{i}": {f"demo/{i}#q": float(i / count < skill - shift)} for i in range(count)}
    return {
        "remember": {f"demo/{i}": float(error) for i, error in enumerate(errors)},
        "understand": {f"demo/{i}": float(1 - error / 2) for i, error in enumerate(errors)},
        "apply": right,
    }


@pytest.fixture
def runs(tmp_path):
    """Three systems in English, German (0.1 worse on each passage) and Chinese, whose errors are of characters."""
    for name, skill in SKILLS.items():
        for language, shift in (("en", 0.0), ("de", 0.1), ("zh", 0.0)):
            scores, metadata = renamed(passages(skill, shift), language), {}
            for level in scores:
                metadata[level] = {"dataset": language} | ({"language": language} if language != "en" else {})
            if language == "zh":
                metadata["remember"] |= {"measure": CER}
            write_run(tmp_path / "runs" / name / language, scores, name, tasks=language, metadata=metadata)
    for file in tmp_path.glob("runs/*/zh/samples_zh_0_*"):
        file.write_text(file.read_text().replace('"wer"', '"cer"'))
    return tmp_path / "runs"


def test_each_language_has_a_table_and_units_are_not_mixed(runs):
    text, tables = print_and_write("score", runs)
    for language in ("de", "en", "zh"):
        assert f"Speech IQ: {language}" in text
    assert set(tables["languages"]) == {
        f"{name} by language" for name in ("Speech IQ", "Remember", "Understand", "Apply")
    }
    remember = {row["system"]: row for row in tables["languages"]["Remember by language"]}
    assert {"de", "en"} <= remember["one"].keys() and "zh" not in remember["one"]
    assert "CER %" in text and "zh" in tables["languages"]["Apply by language"][0]
    for name in tables["languages"]:
        table = text.partition(f"\n{name}\n")[2].partition(" by language\n")[0]
        assert "Small test set (" in table and ("intervals of SIQ" in table) is (name == "Speech IQ by language")


def test_the_gap_to_english_is_paired_by_passage(runs):
    content = as_json("score", runs)["languages"]
    for row in content["Remember by language"]:
        assert row["de_gap"] == pytest.approx(0.1) and row["de_gap_low"] == pytest.approx(0.1)
        assert row["de_p"] < 0.01 and row["worst"] == "worst: de"
        assert row["mean"] == pytest.approx((row["de"] + row["en"]) / 2)
    # The passages vary, so that an unpaired interval would be wider than that of the pairs.
    assert all(row["en_high"] - row["en_low"] > 0.005 for row in content["Remember by language"])
    assert all("mean" not in row and "de_gap" not in row for row in content["Understand by language"])
    assert [row["system"] for row in content["Apply by language"]] == ["one", "two", "three"]


def test_the_page_has_a_section_for_each_table(runs, tmp_path):
    siq("score", runs, "--bootstrap", "0", "--output", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Remember by language" in page and "Speech IQ by language" in page


def test_clips_of_other_passages_have_no_gap(runs):
    for file in runs.glob("*/de/samples_*"):
        file.write_text(file.read_text().replace('"de/', '"de/other-'))
    text = siq("score", runs, "--explain")
    assert "de shares no passage with en" in text and "minus en: the mean over the clips" in text


def test_one_language_is_scored_as_before(runs):
    alone, content = print_and_write("score", *sorted(runs.glob("*/de")))
    assert "Speech IQ by" not in alone and "languages" not in content


def test_languages_have_no_common_scale(runs, tmp_path):
    line = refusal("score", runs, "--norms", "demo")
    assert "--norms demo: siq.de, siq.en, siq.zh have no common scale; give the runs of one language" in line
    with pytest.raises(SpeechIQError, match=r"3 languages \(siq.de, siq.en, siq.zh\): they have no common scale"):
        read_systems([runs])


def test_languages_need_no_option(runs):
    assert "--group-by language: each language is scored by itself without it" in refusal(
        "score", runs, "--group-by", "language"
    )


def test_systems_are_compared_by_language(runs):
    text = siq("compare", "one", "three", runs)
    assert text.count("A: one") >= 1
