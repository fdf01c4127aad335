import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.words import wer
from speechiq.metrics.words.normalizer import normalize
from speechiq.metrics.words.wer_audiobench import NUMBERS, normalize_audiobench, score, wer_audiobench

#: Texts of our own | what AudioBench's code made of them.
NORMALIZED = """
It cost $2,000. | it cost $2000
Sold for £20, or €7.50 each | sold for £twenty or €sevenfifty each
twenty dollars and fifty cents | $twentyfifty
It is five euros and 21 cents | it is €five21
the 274th time, 3.5 of 100% | the 274th time threefive of 100
21% of 20% of 0.5% | 21 of twenty of zerofive
fifty-fifty, or 60-40 | 5050 or sixty forty
year 2024, flight 412 | year 2024 flight 412
the 1990s, her 20s, his 5th, the twenty-first | the 1990s her 20s his 5th the 21st
minus five and plus ten degrees | five and +ten degrees
10:30 or 7pm on 3/4 | ten thirty or seven pm on three four
007 and 05 | seven and five
12345678901234567890 | 12345678901234567890
He can't, he cannot; he won't. | he can not he cannot he will not
I dunno, gimme it, it's kinda odd | i dunno gimme it it is kinda odd
I'm sure they've gone; she'd know | i am sure they have gone she would know
Let's go, y'all, I wanna see Mr. Gray | let us go you all i want to see mister gray
Uh, um, umm, er, ah: the ermine | the ermine
Hmm, mm-hmm, umbrella, error, ahead | umbrella error ahead
(laughs) [music] so <unk> it {really} goes | so it really goes
The colour of the theatre's grey catalogue | the color of the theater is gray catalog
a well-known ten-year-old co-operates by e-mail | a well known ten year old co operates by e mail
naïve café, Straße, œuvre | naive cafe strasse oeuvre
don\u2019t, it\u2019s “fine” — really… | don t it s fine really
... | empty
uh-um | empty
$ | $
""".strip().splitlines()


@pytest.mark.parametrize("line", [*NORMALIZED, " | empty"])
def test_texts_are_written_as_audiobench_writes_them(line):
    text, _, normalized = line.partition(" | ")
    assert normalize_audiobench(text) == normalized


@given(st.lists(st.sampled_from(["so", "It", "2,000", "can't", "umm", "(x)", "5", "50%", "1st", "é", "-", "7.5"])))
def test_the_result_has_no_small_number_punctuation_or_filler_and_is_never_empty(words):
    normalized = normalize_audiobench(" ".join(words))
    assert normalized and not any(unicodedata.category(sign).startswith("P") for sign in normalized)
    assert not {*NUMBERS, "uh", "um", "umm", "er", "ah"} & set(normalized.split())


@given(st.lists(st.sampled_from(["so", "it", "goes", "on", "and", "never", "ends"]), min_size=1))
def test_plain_words_have_the_rate_of_our_normalizer(words):
    reference, hypothesis = " ".join(words), "so it goes"
    assert normalize_audiobench(reference) == normalize(reference)
    assert wer_audiobench(reference, hypothesis) == wer.wer(reference, hypothesis)


@pytest.mark.parametrize(
    ("reference", "hypothesis", "errors", "words"),
    [
        ("Um, we sold twenty one cars", "we sold 22 cars, ah", 1, 4),
        ("Umm, I bought 20 apples", "I bought twenty apples", 0, 4),
        ("He paid 3.5 percent on $412.", "he paid three and a half percent on four hundred dollars", 1, 5),
        ("You cannot park here", "you can't park here", 2, 4),
        ("The twenty-first theatre (closed)", "the 21st theater", 0, 3),
    ],
)
def test_errors_are_counted_as_audiobench_counts_them(reference, hypothesis, errors, words):
    assert wer_audiobench(reference, hypothesis) == errors / words


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
    theirs = row.pop("wer_audiobench")
    assert theirs == wer_audiobench(doc["text"], text) == wer.pool([theirs] * 2) == 1 / 3
    assert row == pytest.approx(wer.score(doc, [text]), nan_ok=True)


def test_speech_that_switches_between_chinese_and_english_counts_characters():
    doc = {"text": "我今天 very happy 他 来 了", "unit": "mixed", "normalizer": "multilingual", "language": "zh"}
    rates = score(doc, ["我今日 very happy 他来了"])
    assert rates["wer_audiobench"] == pytest.approx(1 / 8) == rates["mer"]
