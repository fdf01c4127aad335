import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speechiq.core.errors import SpeechIQError
from speechiq.metrics import wer
from speechiq.metrics.normalizer import normalize
from speechiq.metrics.wer_audiobench import EMPTY, FILLERS, normalize_audiobench, score, wer_audiobench


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("It cost $2,000.", "it cost $two thousand"),
        ("the 274th time, 3.5 of 100%", "the two hundred seventy fourth time three point five of one hundred%"),
        ("He can't, he cannot; he won't.", "he can not he can not he will not"),
        ("I dunno, it's kinda odd", "i do not know it is kind of odd"),
        ("Uh, um, er, ah: the ermine", "the ermine"),
        ("(laughs) [music] so <unk> it goes", "so it goes"),
        ("year 2024, flight 370", "year two thousand twenty four flight three hundred seventy"),
        ("12345678901234567890", "one two three four five six seven eight nine zero " * 2),
        ("", EMPTY),
        ("...", EMPTY),
        ("uh-um", EMPTY),
    ],
)
def test_the_steps_of_the_normalization(text, normalized):
    assert normalize_audiobench(text) == normalized.strip()


@given(st.lists(st.sampled_from(["so", "It", "2,000", "can't", "uh", "(x)", "$5", "50%", "1st", "é", "-", "7.5"])))
def test_the_result_has_no_digit_bracket_or_filler_and_is_never_empty(words):
    found = normalize_audiobench(" ".join(words))
    assert found and not any(sign.isdigit() or sign in "[](){}<>" for sign in found)
    assert not FILLERS & set(found.split())


@given(st.lists(st.sampled_from(["so", "it", "goes", "on", "and", "never", "ends"]), min_size=1))
def test_plain_words_have_the_rate_of_our_normalizer(words):
    reference, hypothesis = " ".join(words), "so it goes"
    assert normalize_audiobench(reference) == normalize(reference)
    assert wer_audiobench(reference, hypothesis) == wer.wer(reference, hypothesis)


def test_numbers_are_compared_as_words_and_fillers_do_not_count():
    pair = "Um, we sold twenty one cars", "we sold 22 cars, ah"
    assert wer_audiobench(*pair) == 1 / 5
    assert wer.wer(*pair) != 1 / 5


def test_texts_without_words_have_a_rate():
    assert wer_audiobench("", "") == wer_audiobench("um", "[noise]") == 0.0
    assert wer_audiobench("", "so it goes") == 3.0
    assert wer_audiobench("so it goes", "") == 1.0
    assert math.isnan(wer_audiobench([], []))


def test_several_texts_are_pooled():
    assert wer_audiobench(["so it goes", "yes"], ["so he goes", "no"]) == 2 / 4
    with pytest.raises(SpeechIQError, match=r"^references: 2 texts, hypotheses: 1"):
        wer_audiobench(["so", "it"], ["so"])


def test_a_row_has_our_columns_and_theirs():
    doc, text = {"text": "Uh, it was 20."}, "it was twenty two"
    row = score(doc, [text])
    assert row["wer_audiobench"] == wer_audiobench(doc["text"], text) == 1 / 3
    assert {name: value for name, value in row.items() if name != "wer_audiobench"} == pytest.approx(
        wer.score(doc, [text]), nan_ok=True
    )
    assert wer.pool([row["wer_audiobench"]] * 2) == 1 / 3


@pytest.mark.slow
def test_the_library_of_number_words_is_loaded_only_when_it_is_needed():
    code = (
        "import sys; from speechiq.metrics.wer_audiobench import wer_audiobench; assert 'inflect' not in sys.modules;"
        "wer_audiobench('5', '5'); assert 'inflect' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
