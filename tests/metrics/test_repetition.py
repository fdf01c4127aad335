import pytest

from speechiq.metrics.words.wer import repeats_itself, repetition

PHRASE = "and that is what we see in the market "


@pytest.mark.parametrize("text", [PHRASE * 4, f"Good morning. {PHRASE * 9}Thank you.", "you " * 8, "I see. " * 4])
def test_a_phrase_many_times_in_a_row_is_repetition_wherever_it_occurs(text):
    assert repeats_itself(text)


@pytest.mark.parametrize(
    "text",
    ["", "very, very, very good", "no no no no", PHRASE * 3, "two thousand 2000 2000", "la la land is a lala land"],
)
def test_what_people_say_twice_or_thrice_is_none(text):
    assert not repeats_itself(text)


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
