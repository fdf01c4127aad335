"""Test translations: chrF and BLEU against sacrebleu's own, counts that can be pooled, and refused settings."""

import math
import pickle
import sys

import numpy as np
import pytest
import sacrebleu

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.columns import columns_of
from speechiq.metrics.translation import COUNTS, TOKENIZER, count_ngrams, fill_instruction, pool, read_settings, score

#: Answer | reference.
PAIRS = [
    ("The cat sat on the mat.", "The cat is sitting on the mat."),
    ("Please hold the line, all agents are busy.", "All our agents are busy; please hold the line."),
    ("no", "Your call will be answered in the order in which it was received."),
    ("", "To mute yourself, press one."),
    ("Please hold the line.", "Please hold the line."),
]
CHINESE = [("我不知道这件事情。", "我不知道这件事。"), ("今天天气很好", "今天的天气很好。")]


def rows_of(pairs, tokenizer="13a"):
    return [score({"answer": reference, TOKENIZER: tokenizer}, [answer]) for answer, reference in pairs]


@pytest.mark.parametrize(
    ("pairs", "tokenizer"), [(PAIRS, "13a"), (PAIRS, "char"), (CHINESE, "zh"), (PAIRS[2:3], "13a")]
)
def test_pooled_counts_are_the_bleu_of_the_corpus(pairs, tokenizer):
    answers, references = map(list, zip(*pairs, strict=True))
    expected = sacrebleu.corpus_bleu(answers, [references], tokenize=tokenizer).score / 100
    assert pool(row["bleu_corpus"] for row in rows_of(pairs, tokenizer)) == pytest.approx(expected, abs=1e-12)


def test_any_selection_of_clips_has_its_bleu():
    rows = rows_of(PAIRS)
    for draw in ([0, 0, 1], [4, 2, 2, 1], [1, 3]):
        answers, references = [PAIRS[i][0] for i in draw], [PAIRS[i][1] for i in draw]
        expected = sacrebleu.corpus_bleu(answers, [references]).score / 100
        assert pool(rows[i]["bleu_corpus"] for i in draw) == pytest.approx(expected, abs=1e-12)


def test_a_clip_has_the_chrf_and_bleu_of_its_sentence():
    for (answer, reference), row in zip(PAIRS, rows_of(PAIRS), strict=True):
        assert row["chrf"] == pytest.approx(sacrebleu.sentence_chrf(answer, [reference]).score / 100)
        assert row["bleu_corpus"] == pytest.approx(sacrebleu.sentence_bleu(answer, [reference]).score / 100)
        assert row["empty_answer"] == float(not answer) and math.isnan(row["audio_coverage"])


def test_the_best_of_several_references_counts():
    doc = {"answer": "All agents are busy.", "accepted": ["Every line is in use."]}
    row = score(doc, ["Every line is in use."])
    assert row["chrf"] == row["bleu_corpus"] == 1.0
    expected = sacrebleu.corpus_bleu(["Every agent is busy"], [["All agents are busy."], ["Every line is in use."]])
    assert list(count_ngrams("Every agent is busy", [doc["answer"], *doc["accepted"]])) == [
        *expected.counts, expected.sys_len, expected.ref_len,
    ]  # fmt: skip


def test_the_columns_are_declared_and_a_score_survives_another_process():
    row = rows_of(PAIRS)[0]
    assert {column.name for column in columns_of(score)} == {*row, "instruction_spread"}
    assert {*COUNTS} <= {*row}
    again = pickle.loads(pickle.dumps(row["bleu_corpus"]))
    assert again == row["bleu_corpus"] and again.parts == row["bleu_corpus"].parts
    assert math.isnan(pool([])) and np.isnan(pool([]))


@pytest.mark.parametrize(
    ("target", "tokenizer", "used"),
    [("zh", None, "zh"), ("id", None, "13a"), ("ta", "intl", "intl"), ("de", None, "13a")],
)
def test_the_tokenizer_is_that_of_the_target_language_and_recorded(target, tokenizer, used):
    settings = read_settings({"language": "en", "target_language": target, "bleu_tokenizer": tokenizer})
    assert settings["bleu_tokenizer"] == used and f"|tok:{used}|" in settings["bleu_signature"]
    assert settings["bleu_signature"].endswith(f"version:{sacrebleu.__version__}")
    assert settings["chrf_signature"].startswith("case:mixed|eff:yes|nc:6|nw:0")


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({}, "metadata.target_language: missing, and translations need it; write one such as de"),
        (
            {"target_language": "Germn"},
            "metadata.target_language: 'Germn' is not the code of a language; did you mean de",
        ),
        ({"target_language": "en"}, "metadata.target_language: en is also metadata.language, that of the speech"),
        ({"target_language": "de", "bleu_tokenizer": "14a"}, "bleu_tokenizer=14a: unknown; give 13a or char"),
    ],
)
def test_settings_that_cannot_work_are_refused(metadata, message):
    with pytest.raises(SpeechIQError) as refused:
        read_settings({"language": "en"} | metadata)
    assert message in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("target", "tokenizer", "module", "fix"),
    [
        ("ja", None, "MeCab", r"pip install 'sacrebleu\[ja\]', or give --metadata bleu_tokenizer=char"),
        ("ko", None, "mecab_ko", r"pip install 'sacrebleu\[ko\]', or give --metadata bleu_tokenizer=char"),
        ("de", "flores200", "sentencepiece", "pip install 'sentencepiece', or give --metadata bleu_tokenizer=13a"),
    ],
)
def test_a_tokenizer_whose_package_is_missing_is_refused_with_the_fix(target, tokenizer, module, fix, monkeypatch):
    from speechiq.metrics.translation import open_bleu

    open_bleu.cache_clear()
    for name in [name for name in sys.modules if name.startswith("sacrebleu.tokenizers.tokenizer_")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SpeechIQError, match=rf"bleu_tokenizer=.*: a package is missing; {fix}"):
        read_settings({"language": "en", "target_language": target, "bleu_tokenizer": tokenizer})


def test_a_model_of_a_tokenizer_that_cannot_be_fetched_is_refused(monkeypatch):
    from sacrebleu.metrics import bleu

    from speechiq.metrics.translation import open_bleu

    def fail(**options):
        raise OSError("no\nnetwork")

    open_bleu.cache_clear()
    monkeypatch.setattr(bleu, "BLEU", fail)
    with pytest.raises(SpeechIQError, match=r"flores101: its model cannot be fetched \(no network\); .*=13a"):
        open_bleu("flores101")
    open_bleu.cache_clear()


def test_a_wording_names_the_language():
    assert fill_instruction("Into {language}, please.", {"target_language": "zh"}) == "Into Chinese, please."
    assert fill_instruction("Write it down.", {}) == "Write it down."
    with pytest.raises(SpeechIQError, match="dz has no English name here; ask with a question_column"):
        fill_instruction("Into {language}.", {"target_language": "dz"})
