"""Test engines that speak: real programs where they are installed, a tiny real model, any sound, and their cache."""

import shutil
import stat
import sys

import numpy as np
import pytest
import soundfile
from transformers import Wav2Vec2Config

from speechiq.core.cache.stages import list_stages
from speechiq.core.clip import file_clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.recordings.audio_file import save_samples
from speechiq.core.usage import usage
from speechiq.engines._shared.speech import LONGEST_S, SHORTEST_S, as_speech
from speechiq.engines.cached import CachedEngine
from speechiq.engines.speech import program
from speechiq.engines.speech.hf import TransformersSpeech
from speechiq.engines.speech.program import Espeak, Flite, Piper
from tests.core.recordings import in_clip_folder
from tests.engines.opener import open_engine

TEXTS = ["What is the capital of Peru?", "...", "One\ntwo \x1b[2J three.", "-h --help <speak> [[h@l'oU]] & 'quotes'"]
PROGRAMS = {"espeak-ng": (Espeak, "en-gb"), "flite": (Flite, "slt")}
INSTALLED = [name for name in PROGRAMS if shutil.which(name)]
#: A program in Python that is called like flite, lists one voice, and does what a test wants when it should speak.
SCRIPT = """#!{python}
import sys, time
if "-lv" in sys.argv:
    print("Voices available: mine")
elif "--version" in sys.argv:
    print("flite-0")
else:
    wav = sys.argv[sys.argv.index("-o") + 1]
    text = open(sys.argv[sys.argv.index("-f") + 1]).read()
    {work}
"""


def make_program(folder, work):
    file = folder / "my-flite"
    file.write_text(SCRIPT.format(python=sys.executable, work=work))
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(file)


def sounds(clips):
    return [clip.key for clip in clips]


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 48_000])
def test_speech_of_any_rate_and_any_channels_is_mono_at_16_khz_and_lossless_in_a_file(rate, tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    tone = 0.5 * np.sin(2 * np.pi * 440 * np.arange(2 * rate) / rate)
    clip = as_speech(np.stack([tone, tone]), rate, "a")
    assert clip.samples.dtype == np.float32 and clip.duration == pytest.approx(2, abs=0.001)
    spectrum = np.abs(np.fft.rfft(clip.samples))
    assert np.argmax(spectrum) / clip.duration == pytest.approx(440, abs=1)
    stored = file_clip(save_samples(clip.samples, "a"))
    np.testing.assert_array_equal(stored.samples, clip.samples)


def test_samples_that_are_no_sound_become_silence_and_loud_ones_are_clipped():
    np.testing.assert_array_equal(as_speech([np.nan, np.inf, -np.inf, 0.25], 16_000, "a").samples, [0, 0, 0, 0.25])
    assert as_speech(np.zeros(0), 16_000, "a").duration == SHORTEST_S
    assert np.abs(as_speech([3.0, -3.0], 16_000, "a").samples).max() <= 1


def test_speech_longer_than_ten_minutes_is_cut_and_said(caplog):
    clip = as_speech(np.ones(601 * 100, np.float32), 100, "slow voice")
    assert clip.duration == LONGEST_S and "slow voice: spoke 601 s" in caplog.text


@pytest.mark.parametrize("name", INSTALLED)
def test_a_program_speaks_each_text_alone_and_the_same_every_time(name):
    engine, model = PROGRAMS[name]
    voice, before = open_engine(engine, model), usage["spoken_texts"]
    done = {}
    clips = voice.speak(TEXTS, range(4), lambda places, found: done.update(zip(places, found, strict=True)))
    assert usage["spoken_texts"] == before + 4 and [done[place] for place in range(4)] == clips
    assert sounds(clips[::-1]) == sounds(voice.speak(TEXTS[::-1], [9] * 4))
    seconds = [clip.duration for clip in clips]
    assert 1 < seconds[0] < 4 and seconds[1] == SHORTEST_S and not clips[1].samples.any() and seconds[3] > 1
    assert model in voice.list_voices()


@pytest.mark.skipif("espeak-ng" not in INSTALLED, reason="espeak-ng is not installed")
def test_options_change_the_speech_and_the_identity_of_the_cache():
    plain, slow = (open_engine(Espeak, "en-us+f3", speed=speed) for speed in (175, 90))
    (short,), (long,) = (voice.speak(["Good morning."], [0]) for voice in (plain, slow))
    assert long.duration > 1.5 * short.duration
    assert plain.identity() != slow.identity() and slow.describe()["speed"] == 90
    assert open_engine(Espeak, "en-us+f3", program=shutil.which("espeak-ng")).identity() == plain.identity()


def test_a_program_that_fails_is_one_line_with_its_own_words(tmp_path, monkeypatch):
    soundfile.write(tmp_path / "one.wav", np.zeros(800), 8_000)
    work = f"sys.exit('no lungs') if 'bad' in text else __import__('shutil').copy({str(tmp_path / 'one.wav')!r}, wav)"
    voice = open_engine(Flite, "mine", program=make_program(tmp_path, work))
    with pytest.raises(SpeechIQError, match=r"^flite:mine: cannot speak 'bad' \(no lungs\); try another voice"):
        voice.speak(["good", "bad"], [0, 0])
    with pytest.raises(SpeechIQError, match=r"cannot speak 'one' \(it wrote no audio\)"):
        open_engine(Flite, "mine", program=make_program(tmp_path, "pass"))
    monkeypatch.setattr(program, "PATIENCE_S", 0.2)
    with pytest.raises(SpeechIQError, match=r"flite:mine: no speech in 0\.2 s"):
        open_engine(Flite, "mine", program=make_program(tmp_path, "time.sleep(5)"))


@pytest.mark.parametrize(
    ("engine", "model", "message"),
    [
        (Flite, "", "flite: no voice; write flite:VOICE"),
        (Flite, "sly", "flite:sly: no such voice; did you mean slt"),
        (Flite, "http://127.0.0.1:9/a.flitevox", "no such voice"),
        (Espeak, "xx", r"espeak-ng:xx: cannot speak 'one' \(.*does not exist.*siq list systems espeak-ng"),
        (Espeak, "en+nobody", "espeak-ng:en[+]nobody: no variant 'nobody'"),
    ],
)
def test_a_voice_that_is_missing_is_refused_before_a_run(engine, model, message):
    if engine.program not in INSTALLED:
        pytest.skip(f"{engine.program} is not installed")
    with pytest.raises(SpeechIQError, match=message) as caught:
        open_engine(engine, model)
    assert "\n" not in str(caught.value)


def test_a_program_or_a_voice_file_that_is_missing_is_named_with_what_brings_it(tmp_path):
    with pytest.raises(SpeechIQError, match=r"piper: no program 'no-piper'; `pip install piper-tts`, or .*program=PA"):
        open_engine(Piper, "voice.onnx", program="no-piper")
    with pytest.raises(SpeechIQError, match=r"piper:voice\.onnx: no file voice\.onnx; write piper:VOICE"):
        open_engine(Piper, "voice.onnx", program=make_program(tmp_path, "pass"))


def test_a_model_speaks_by_its_seed_whatever_else_is_in_the_batch(tiny_voice):
    voice = open_engine(TransformersSpeech, tiny_voice)
    first, silence, second, again = voice.speak(["good morning", "?!", "one two three", "good morning"], [7, 7, 8, 9])
    assert sounds(voice.speak(["good morning"], [7])) == [first.key] != [again.key]
    assert second.duration > 0.1 and not silence.samples.any()
    identity = voice.identity()
    assert identity["stage"] == "speech" and len(identity["files"]) == 64
    assert open_engine(TransformersSpeech, tiny_voice, settings={"speaker_id": 0}).identity() != identity


def test_a_model_that_does_not_speak_and_a_setting_that_it_does_not_have_are_refused(tiny_voice, tmp_path):
    Wav2Vec2Config().save_pretrained(tmp_path)
    with pytest.raises(SpeechIQError, match="a wav2vec2 checkpoint is not a voice; give a model that"):
        open_engine(TransformersSpeech, str(tmp_path))
    tmp_path.joinpath("config.json").write_text("{")
    with pytest.raises(SpeechIQError, match=r"its config cannot be read .*or name the voice of a program"):
        open_engine(TransformersSpeech, str(tmp_path))
    with pytest.raises(SpeechIQError, match=r"speaks_settings: .* has no setting 'mood'; it has .*speaker_id"):
        open_engine(TransformersSpeech, tiny_voice, prefix="speaks_", settings={"mood": 1}).speak(["one"], [0])


SPOKEN, SEEDS = ["one", "two", "three", "one", "one"], [1, 1, 1, 1, 2]


@pytest.fixture
def open_voice(tiny_voice, tmp_path, monkeypatch):
    """Return a function that opens the voice as a new process does, with a cache folder of its own."""
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))

    def open_cached(store=tmp_path / "store"):
        return CachedEngine(open_engine(TransformersSpeech, tiny_voice), store)

    return open_cached


def spoken(work):
    before = usage["spoken_texts"]
    return work(), usage["spoken_texts"] - before


def test_equal_texts_of_one_seed_are_spoken_once_and_stored_by_content(open_voice):
    clips, count = spoken(lambda: open_voice().speak(SPOKEN, SEEDS))
    assert count == 4 and clips[0] == clips[3] != clips[4]
    assert all(in_clip_folder(clip.source) for clip in clips)
    for clip in clips:
        clip.source.check()
    again, count = spoken(lambda: open_voice().speak(SPOKEN, SEEDS))
    assert count == 0 and again == clips
    (direct,) = open_voice().engine.speak(["two"], [1])
    assert (direct.samples == clips[1].samples).all()


def test_a_run_that_dies_continues_and_ends_with_the_same_clips(open_voice, monkeypatch):
    whole = open_voice(store=None).speak(SPOKEN, SEEDS)
    voice, heard = open_voice(), []
    speak = voice.engine._speak

    def die_after_two(*arguments):
        if len(heard) == 2:
            raise KeyboardInterrupt
        heard.append(speak(*arguments))
        return heard[-1]

    monkeypatch.setattr(voice.engine, "_speak", die_after_two)
    with pytest.raises(KeyboardInterrupt):
        voice.speak(SPOKEN, SEEDS)
    clips, count = spoken(lambda: open_voice().speak(SPOKEN, SEEDS))
    assert count == 2 and clips == whole


def test_a_clip_whose_file_was_removed_is_spoken_again(open_voice, tmp_path):
    clips = open_voice().speak(SPOKEN, SEEDS)
    clips[1].source.file.unlink()
    again, count = spoken(lambda: open_voice().speak(SPOKEN, SEEDS))
    assert count == 1 and again == clips and clips[1].samples.size
    (stage,) = list_stages(tmp_path / "store")
    assert stage.stage["stage"] == "speech"
