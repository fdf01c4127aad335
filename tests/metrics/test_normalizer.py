import json
import subprocess
import sys
from pathlib import Path

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.words.normalizer import RULES, normalize, read_normalizer
from speechiq.metrics.words.wer import score, wer
from tests.metrics.whisper_texts import hash_outputs, write_texts

OPENAI = json.loads(Path(__file__).with_name("whisper_texts.json").read_text())


@pytest.mark.parametrize("kind", OPENAI)
def test_the_rules_equal_those_of_openais_own_code(kind):
    import speechiq.metrics.words.normalizer as ours

    assert [hash_outputs(texts, ours._normalizer(kind)) for texts in write_texts()] == OPENAI[kind]


def test_a_cause_is_not_a_because():
    assert wer("the cause of the pain", "the because of the pain") == pytest.approx(1 / 5)
    assert normalize("kinda dunno sorta") == "kinda dunno sorta"


def test_vowel_signs_count_in_the_multilingual_rules_alone():
    assert wer("कि", "की") == 0 == wer("कि", "की", "basic")
    assert wer("कि", "की", "multilingual") == 1
    assert normalize("Ça, c'est \uff2f\uff2b: Straße!", "multilingual") == "ça c est ok strasse"


def test_a_number_of_thousands_of_digits_is_normalized_too():
    assert normalize("1" * 9_000).replace(" ", "") == "1" * 9_000


def test_rates_follow_the_normalizer_of_the_doc():
    doc, text = {"text": "It cost two thousand dollars."}, "it cost $2000"
    english, basic = score(doc, [text]), score(doc | {"normalizer": "basic"}, [text])
    assert english["wer"] == 0 and basic["wer"] > 0
    assert basic["wer"] == basic["wer_basic"] == english["wer_basic"] == basic["wer_first"] == basic["wer_oracle"]
    assert basic["wer_corpus"] == basic["wer"] and basic["substitutions"] + basic["deletions"] > 0


@pytest.mark.parametrize("name", ["German", "", 3, ["english"]])
def test_an_unknown_normalizer_is_refused_with_the_known_ones(name):
    with pytest.raises(SpeechIQError, match="unknown; known are auto, english, basic, multilingual, openasr"):
        read_normalizer({"normalizer": name})


def test_the_version_of_the_rules_is_recorded():
    assert [read_normalizer({"normalizer": kind})["normalizer_version"] for kind in RULES] == list(RULES.values())


def test_normalizing_does_not_import_torch():
    code = (
        "import sys; from speechiq.metrics.words.normalizer import normalize; "
        "normalize('a'); print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() == ["False"]


def test_wer_takes_texts_and_lists():
    assert wer("a b c d", "a b c") == 0.25 == wer(["a b c d"], ["a b c"])
    assert wer(["a b c d", "e f"], ["a b c", "e f"]) == pytest.approx(1 / 6)
    with pytest.raises(SpeechIQError, match="give one hypothesis per reference"):
        wer(["a", "b"], ["a"])
