"""Test chunks of a long clip: nothing lost, nothing repeated, no chunk too long, no word cut."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from speechiq.core.clip import SAMPLING_RATE
from speechiq.engines._shared.chunking import SEARCHED_S, split_at_pauses


@given(samples=st.integers(0, 3_000_000), longest=st.floats(1, 40))
def test_the_chunks_cover_the_clip_and_none_is_longer_than_the_limit(samples, longest):
    chunks = split_at_pauses(np.zeros(samples, np.float32), longest)
    assert [stop for _, stop in chunks[:-1]] == [start for start, _ in chunks[1:]]
    assert (chunks[0][0], chunks[-1][1]) == (0, samples)
    assert max(stop - start for start, stop in chunks) <= longest * SAMPLING_RATE


def test_a_clip_is_split_at_its_pauses():
    rng = np.random.default_rng(0)
    speech = rng.normal(0, 0.1, 100 * SAMPLING_RATE).astype(np.float32)
    found = [cut for cut, _ in split_at_pauses(speech, 30)[1:]]
    pauses = [cut / SAMPLING_RATE + side * SEARCHED_S / 4 for cut, side in zip(found, (1, -1, 1), strict=True)]
    for pause in pauses:
        speech[int((pause - 0.1) * SAMPLING_RATE) : int((pause + 0.1) * SAMPLING_RATE)] *= 0.01
    again = [cut for cut, _ in split_at_pauses(speech, 30)[1:]]
    assert again != found
    assert all(speech[cut - 600 : cut + 600].std() < 0.01 for cut in again)


def test_real_speech_is_not_cut_within_a_word(demo_clips):
    longest = max(demo_clips, key=lambda clip: clip.duration)
    samples = longest.samples
    for cut, _ in split_at_pauses(samples, 10)[1:]:
        around = samples[cut - SAMPLING_RATE // 20 : cut + SAMPLING_RATE // 20]
        assert around.std() < 0.35 * samples.std()
