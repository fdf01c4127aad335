import math
import pickle

import jiwer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speechiq.core.errors import SpeechIQError
from speechiq.core.response import CarryingText, Response
from speechiq.metrics.words.normalizer import normalize
from speechiq.metrics.words.wer import (
    ErrorRate,
    Errors,
    cer,
    pool,
    repetition,
    score,
    wer,
)

WORDS = ["the", "cod", "quota", "was", "cut", "by", "a", "third"]
texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
references = texts.filter(bool)


@given(references, texts)
def test_rates_equal_jiwer_on_the_same_normalized_texts(reference, hypothesis):
    scores = score({"text": reference}, [hypothesis])
    for metric, kind in (("wer", "english"), ("wer_basic", "basic")):
        pair = normalize(reference, kind), normalize(hypothesis, kind)
        assert scores[metric] == pytest.approx(jiwer.wer(*pair))
    assert scores["cer"] == pytest.approx(jiwer.cer(normalize(reference), normalize(hypothesis)))
    parts = scores["substitutions"] + scores["deletions"] + scores["insertions"]
    assert parts == pytest.approx(scores["wer"])


@given(st.lists(st.tuples(references, texts), min_size=1, max_size=5))
def test_pooled_rate_equals_jiwer_over_all_clips(pairs):
    rates = [score({"text": r}, [h])["wer_corpus"] for r, h in pairs]
    together = [[normalize(text) for text in side] for side in zip(*pairs, strict=True)]
    assert pool(rates) == pytest.approx(jiwer.wer(*together))


spoken = st.text("abc dé", min_size=1, max_size=20).map(lambda text: " ".join(text.split())).filter(bool)
written = st.text("abc dé", max_size=20).map(lambda text: " ".join(text.split()))


@pytest.mark.parametrize(("ours", "theirs"), [(wer, jiwer.wer), (cer, jiwer.cer)])
@given(st.lists(st.tuples(spoken, written), min_size=1, max_size=5))
def test_without_a_normalizer_the_rates_are_those_of_jiwer(ours, theirs, pairs):
    reference, hypothesis = (list(side) for side in zip(*pairs, strict=True))
    several = {"reference": reference, "hypothesis": hypothesis}
    assert ours(**several, normalizer=None) == pytest.approx(theirs(**several))
    one = {"reference": reference[0], "hypothesis": hypothesis[0]}
    assert ours(**one, normalizer=None) == pytest.approx(theirs(**one))


@pytest.mark.parametrize("rate", [wer, cer])
def test_a_rate_over_no_words_is_undefined_and_an_empty_hypothesis_has_rate_1(rate):
    for reference, hypothesis in [("", ""), ("", "a b"), ("uh, um", "a"), ([], []), (["", "!"], ["a", "b"])]:
        assert math.isnan(rate(reference, hypothesis))
    assert rate("so it goes", "") == rate(["so it", "goes"], ["", ""]) == 1.0
    assert rate(["so it goes", ""], ["so it goes", "on"]) > 0


@pytest.mark.parametrize("rate", [wer, cer])
def test_lists_of_different_lengths_and_unknown_normalizers_are_refused(rate):
    with pytest.raises(SpeechIQError, match=r"^references: 2 texts, hypotheses: 1; give one hypothesis per reference$"):
        rate(["so it goes", "yes"], ["so it goes"])
    with pytest.raises(SpeechIQError, match=r"^references: 1 text, hypotheses: 2; give"):
        rate("so it goes", ["so", "it"])
    line = r"^normalizer=leaderboard: unknown; known are english, whisper, basic, multilingual, openasr-LANGUAGE$"
    with pytest.raises(SpeechIQError, match=line):
        rate("so it goes", "so it goes", normalizer="leaderboard")


@pytest.mark.parametrize("hypothesis", ["", "a b"])
@pytest.mark.parametrize("reference", ["", "!", "uh, um"])
def test_a_reference_without_words_has_no_rate_where_jiwer_gives_a_count(reference, hypothesis):
    assert jiwer.wer("", "a b") == 2
    scores = score({"text": reference}, [hypothesis])
    assert math.isnan(scores["wer"]) and math.isnan(scores["wer_corpus"])
    assert scores["wer_corpus"].errors == Errors(insertions=len(hypothesis.split()))


def test_every_metric_is_a_float_that_survives_a_gather():
    scores = score({"text": "so it goes"}, ["so he goes"])
    assert all(isinstance(value, float) for value in scores.values())
    rate = pickle.loads(pickle.dumps(scores["wer_corpus"]))
    assert isinstance(rate, ErrorRate) and rate.errors == Errors(hits=2, substitutions=1)


def test_a_corrected_text_is_between_the_first_and_the_best_of_the_n_best_list():
    possible = ("so he goes", "so it goes", "or he goes")
    response = Response("or it goes", hypotheses=possible, provenance="trimmed")
    scores = score({"text": "so it goes"}, [CarryingText(response)])
    assert (scores["wer_first"], scores["wer_oracle"]) == (scores["wer"], 0) != (0, 0)
    assert (scores["corrector_trimmed"], scores["corrector_refused"]) == (1, 0)
    refused = CarryingText(Response("", hypotheses=("so",), provenance="refused"))
    assert score({"text": "so"}, [refused])["corrector_refused"] == 1


@pytest.mark.parametrize(
    "hypothesis", ["or it goes", *map(CarryingText, (Response("or it goes"), Response("", hypotheses=("",))))]
)
def test_a_system_without_alternatives_has_one_rate_for_all(hypothesis):
    scores = score({"text": "so it goes"}, [hypothesis])
    assert scores["wer"] == scores["wer_first"] == scores["wer_oracle"] > 0
    assert scores["corrector_trimmed"] == scores["corrector_refused"] == 0
    undefined = score({"text": "uh"}, [hypothesis])
    assert math.isnan(undefined["wer_first"]) and math.isnan(undefined["wer_oracle"])


def test_counts_cannot_be_negative():
    with pytest.raises(ValueError, match="cannot be negative"):
        Errors(hits=-1)


PHRASE = "and that is what we see in the market "


MANY = [PHRASE * 4, f"Good morning. {PHRASE * 9}Thank you.", "you " * 8, "I see. " * 4]
FEW = ["", "very, very, very good", "no no no no", PHRASE * 3, "two thousand 2000 2000", "la la land is a lala land"]


@pytest.mark.parametrize(("text", "repeats"), [(text, text in MANY) for text in MANY + FEW])
def test_a_phrase_many_times_in_a_row_is_repetition_and_what_people_say_thrice_is_none(text, repeats):
    assert repetition(text, "") == repeats


STAMMER = "we've, we've, we've, we've, we've had it"


@pytest.mark.parametrize(
    ("hypothesis", "reference", "expected"),
    [
        (STAMMER, STAMMER, 0),
        (STAMMER, "we've, we've, uh, we've, we've, [noise] we've had it", 0),
        (STAMMER, "we've had it", 1),
        (STAMMER, PHRASE * 5, 1),
        ("we've " * 40, STAMMER, 1),
        (PHRASE * 5, PHRASE * 4, 0),
        (PHRASE * 5, PHRASE, 1),
        (f"market {PHRASE * 5}", PHRASE * 4, 0),
    ],
)
def test_a_phrase_counts_as_often_as_the_speaker_does_not_repeat_it(hypothesis, reference, expected):
    assert repetition(hypothesis, reference) == expected


def test_an_empty_hypothesis_has_no_repetition_and_an_empty_reference_excuses_none():
    assert repetition("", PHRASE * 5) == 0 and repetition("", "") == 0 and repetition(PHRASE * 5, "") == 1
