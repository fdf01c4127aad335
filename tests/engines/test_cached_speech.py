"""Test the cache of what voices speak, with a tiny real model: nothing is spoken twice, and nothing is lost."""

import pytest

from speechiq.core.cache.stages import list_stages
from speechiq.core.recordings.audio_file import AudioFile
from speechiq.core.usage import usage
from speechiq.engines.cached import CachedEngine
from speechiq.engines.speech.hf import TransformersSpeech
from tests.engines.opener import open_engine
from tests.engines.speech.tiny_voice import make_voice

TEXTS, SEEDS = ["one", "two", "three", "one", "one"], [1, 1, 1, 1, 2]


@pytest.fixture
def open_voice(tmp_path, monkeypatch):
    """Return a function that opens the voice as a new process does, with a cache folder of its own."""
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))
    folder = make_voice(tmp_path / "voice")

    def open_cached(store=tmp_path / "store"):
        return CachedEngine(open_engine(TransformersSpeech, folder), store)

    return open_cached


def spoken(work):
    before = usage["spoken_texts"]
    return work(), usage["spoken_texts"] - before


def test_equal_texts_of_one_seed_are_spoken_once_and_stored_by_content(open_voice):
    clips, count = spoken(lambda: open_voice().speak(TEXTS, SEEDS))
    assert count == 4 and clips[0] == clips[3] != clips[4]
    assert all(isinstance(clip.source, AudioFile) and clip.source.in_clip_folder for clip in clips)
    for clip in clips:
        clip.source.check(clip.offset, clip.length)
    again, count = spoken(lambda: open_voice().speak(TEXTS, SEEDS))
    assert count == 0 and again == clips
    (direct,) = open_voice().engine.speak(["two"], [1])
    assert (direct.samples == clips[1].samples).all()


def test_a_run_that_dies_continues_and_ends_with_the_same_clips(open_voice, monkeypatch):
    whole = open_voice(store=None).speak(TEXTS, SEEDS)
    voice, heard = open_voice(), []
    speak = voice.engine._speak

    def die_after_two(*arguments):
        if len(heard) == 2:
            raise KeyboardInterrupt
        heard.append(speak(*arguments))
        return heard[-1]

    monkeypatch.setattr(voice.engine, "_speak", die_after_two)
    with pytest.raises(KeyboardInterrupt):
        voice.speak(TEXTS, SEEDS)
    clips, count = spoken(lambda: open_voice().speak(TEXTS, SEEDS))
    assert count == 2 and clips == whole


def test_a_clip_whose_file_was_removed_is_spoken_again(open_voice, tmp_path):
    clips = open_voice().speak(TEXTS, SEEDS)
    clips[1].source.file.unlink()
    again, count = spoken(lambda: open_voice().speak(TEXTS, SEEDS))
    assert count == 1 and again == clips and clips[1].samples.size
    (stage,) = list_stages(tmp_path / "store")
    assert stage.stage["stage"] == "speech"
