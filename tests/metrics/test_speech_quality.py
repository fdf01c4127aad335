"""The opinion score of speech: the published network's numbers, and the order of voices."""

import numpy as np
import pytest

from speechiq.core.clip import SAMPLING_RATE, file_clip
from speechiq.core.usage import usage
from speechiq.engines._shared.opinion_scores import HOP, WINDOW, cut_windows
from speechiq.metrics.reply import rate, read_rater, speech_quality
from speechiq.siq_tasks.loaders import bundled

#: Scores of the first 20 s of clips by the code of the package `distillmos` 0.9.1.
PUBLISHED = {
    "demo/earnings-1": 4.53727,
    "demo/parliament-1": 3.12813,
}
FIRST_3_S = 4.30853


@pytest.fixture(scope="module")
def rater(speech_rater):
    return read_rater(speech_rater)


@pytest.fixture(scope="module")
def model(rater):
    return rater.load()


def first(clip, seconds):
    return file_clip(clip).samples[: seconds * SAMPLING_RATE]


def test_scores_are_those_of_the_published_code(model):
    clips = {clip["id"]: clip for clip in bundled.list_clips()}
    found = {name: rate(first(clips[name], 20), model) for name in PUBLISHED}
    assert found == pytest.approx(PUBLISHED, abs=1e-4)
    assert rate(first(clips["demo/earnings-1"], 3), model) == pytest.approx(FIRST_3_S, abs=1e-4)


def test_voices_have_the_order_that_people_hear(rater, model, monkeypatch, tmp_path):
    clean = [clip for clip in bundled.list_clips() if not clip.get("noise")]
    by_engine = {
        engine: [rate(first(clip, 8), model) for clip in clean if str(clip["voice"]).startswith(engine)][:3]
        for engine in ("piper", "flite", "espeak-ng")
    }
    piper, flite, espeak = map(np.mean, by_engine.values())
    assert piper > flite + 0.5 > espeak + 1.0
    monkeypatch.setenv("SIQ_STORE", str(tmp_path))
    clip = file_clip({**clean[0], "duration": 2.0})
    before = usage["speech_ratings"]
    assert speech_quality([clip], rater) == speech_quality([clip], rater) and usage["speech_ratings"] - before == 1


@pytest.mark.parametrize(("seconds", "count"), [(1, 1), (7.68, 1), (7.69, 2), (20, 14)])
def test_windows_cover_a_sound_evenly(seconds, count):
    samples = np.arange(round(seconds * SAMPLING_RATE), dtype=np.float32) + 1
    windows = cut_windows(samples).numpy()
    assert windows.shape == (count, WINDOW) and windows[0, 0] == 1
    if count > 1:
        assert windows[-1, -1] == len(samples)
        assert np.diff(windows[:, 0]).max() <= HOP
