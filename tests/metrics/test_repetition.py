import pytest

from speechiq.metrics.words.repetition import repeats_itself, repetition

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


def test_a_speaker_who_repeats_a_phrase_excuses_the_hypothesis():
    assert repetition(PHRASE * 5, PHRASE * 4) == 0 and repetition(PHRASE * 5, PHRASE) == 1


def test_an_empty_hypothesis_has_no_repetition_and_an_empty_reference_excuses_none():
    assert repetition("", PHRASE * 5) == 0 and repetition("", "") == 0 and repetition(PHRASE * 5, "") == 1
