import pytest

from speechiq.metrics.repetition import loop, loops

PHRASE = "and that is what we see in the market "


@pytest.mark.parametrize("text", [PHRASE * 4, f"Good morning. {PHRASE * 9}Thank you.", "you " * 8, "I see. " * 4])
def test_a_phrase_over_and_over_is_a_loop_wherever_it_stands(text):
    assert loops(text)


@pytest.mark.parametrize(
    "text",
    ["", "very, very, very good", "no no no no", PHRASE * 3, "two thousand 2000 2000", "la la land is a lala land"],
)
def test_what_people_say_twice_or_thrice_is_none(text):
    assert not loops(text)


def test_a_speaker_who_repeats_himself_excuses_the_hypothesis():
    assert loop(PHRASE * 5, PHRASE * 4) == 0 and loop(PHRASE * 5, PHRASE) == 1
