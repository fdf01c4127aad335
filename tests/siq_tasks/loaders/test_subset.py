import pytest
from hypothesis import given
from hypothesis import strategies as st

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.settings import read_record
from speechiq.siq_tasks.loaders.row_choice import ChoiceSettings, choose_longest, ids_sha256

lengths = st.dictionaries(st.text(min_size=1, max_size=3), st.floats(0, 3).map(lambda x: round(x, 1)), min_size=1)


@given(lengths, st.randoms())
def test_the_choice_does_not_depend_on_the_order_of_rows(clips, random):
    shuffled = list(clips.items())
    random.shuffle(shuffled)
    assert choose_longest(clips, "all") == choose_longest(dict(shuffled), "all")
    assert choose_longest(dict(shuffled), 1) == choose_longest(clips, "all")[:1]


@given(lengths)
def test_the_longest_are_chosen(clips):
    size = (len(clips) + 1) // 2
    chosen = choose_longest(clips, size)
    rest = clips.keys() - set(chosen)
    assert min(clips[key] for key in chosen) >= max((clips[key] for key in rest), default=0)


def test_the_sha256_of_subsets_differs():
    assert ids_sha256(["a", "b"]) == ids_sha256(["b", "a"]) != ids_sha256(["ab"])


@pytest.mark.parametrize("size", [0, -1, "many", 2.5, True])
def test_a_size_that_is_none_is_named(size):
    with pytest.raises(SpeechIQError, match=rf"subset={size}: unknown; give all or a whole number of 1 or more"):
        read_record(ChoiceSettings, {"subset": size})


def test_a_size_that_is_too_large_is_named():
    with pytest.raises(SpeechIQError, match="subset=9: only 2 clips can be scored; give a lower number, or all"):
        choose_longest({"a": 1.0, "b": 2.0}, 9)
