"""Transforms of a clip: each does to the sound what its name and its strength say."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from scipy.signal import correlate, welch

from speechiq.core.clip import SAMPLING_RATE, Clip, Samples, file_clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.recordings.audio_file import decode, encode_audio
from speechiq.core.transforms import (
    Band,
    Clipping,
    Codec,
    Gain,
    Noise,
    Recordings,
    Reverb,
    Span,
    Speed,
    measure_rms,
    read_transforms,
    write_transforms,
)
from speechiq.siq_tasks.loaders import bundled

ALL = [
    Noise("pink", 5.0, 1),
    Recordings((Span("demo/clips/kennedy.ogg", "0a", 0.0, 11.0),), 5.0, 1),
    Band(300.0, 3400.0),
    Reverb(0.6, 1),
    Codec("opus", 12.0),
    Gain(-20.0),
    Clipping(6.0),
    Speed(1.25),
]


@pytest.fixture(scope="module")
def speech() -> np.ndarray:
    return file_clip(bundled.list_clips()[0]).samples[: 8 * SAMPLING_RATE]


def decibels(signal: np.ndarray, noise: np.ndarray) -> float:
    return 20 * np.log10(measure_rms(signal) / measure_rms(noise))


@pytest.mark.parametrize("color", ["white", "pink", "hum"])
@pytest.mark.parametrize("snr_db", [20.0, 0.0, -5.0])
def test_the_snr_asked_for_is_the_snr_measured(speech, color, snr_db):
    changed = Noise(color, snr_db, seed=3).apply(speech)
    assert changed.dtype == np.float32 and len(changed) == len(speech)
    assert decibels(speech, changed - speech) == pytest.approx(snr_db, abs=0.1)


def test_recordings_are_mixed_at_the_snr_and_repeated_to_the_length(speech):
    spans = (Span("demo/clips/kennedy.ogg", "", 0.0, 2.0), Span("demo/clips/kennedy.ogg", "", 4.0, 3.0))
    changed = Recordings(spans, 6.0, seed=1).apply(speech)
    assert decibels(speech, changed - speech) == pytest.approx(6.0, abs=0.1)
    last = (changed - speech)[-SAMPLING_RATE:]
    assert measure_rms(last) > 0.01 * measure_rms(speech)


def test_white_noise_is_flat_and_pink_noise_falls_by_3_db_per_octave(speech):
    def power(color: str, low: float) -> float:
        noise = Noise(color, 0.0, seed=5).apply(speech) - speech
        frequencies, density = welch(noise, SAMPLING_RATE, nperseg=4096)
        return 10 * np.log10(density[(frequencies >= low) & (frequencies < 1.2 * low)].mean())

    assert power("white", 500) == pytest.approx(power("white", 4000), abs=1)
    assert power("pink", 500) - power("pink", 4000) == pytest.approx(9, abs=1)


def test_a_seed_makes_the_same_noise_at_any_strength(speech):
    soft, loud = (Noise("white", snr, seed=7).apply(speech) - speech for snr in (20.0, 0.0))
    assert np.corrcoef(soft, loud)[0, 1] == pytest.approx(1, abs=1e-3)
    other = Noise("white", 0.0, seed=8).apply(speech) - speech
    assert abs(np.corrcoef(other, loud)[0, 1]) < 0.02


def test_silence_stays_silent():
    silence = np.zeros(SAMPLING_RATE, np.float32)
    for transform in (Noise("white", 0.0, 1), Reverb(0.6, 1), Clipping(6.0), Codec("mulaw"), Codec("opus", 12.0)):
        assert measure_rms(transform.apply(silence)) < 1e-3
    assert Noise("white", 0.0, 1).apply(silence[:0]).size == 0


def above(samples: np.ndarray, limit: float) -> float:
    """Return the share of the energy above a frequency."""
    frequencies, density = welch(samples, SAMPLING_RATE, nperseg=2048)
    return density[frequencies > limit].sum() / density.sum()


@pytest.mark.parametrize(
    "codec, limit",
    [(Codec("gsm"), 4000), (Codec("mulaw"), 4000), (Codec("opus", 8.0), 6000), (Codec("mp3", 8.0), 6000)],
)
def test_a_codec_limits_the_band_and_neither_moves_nor_shortens_the_sound(speech, codec, limit):
    noisy = Noise("white", 0.0, seed=2).apply(speech)
    changed = codec.apply(noisy)
    assert len(changed) == len(noisy)
    assert above(changed, limit) < 0.05 * above(noisy, limit)
    assert abs(int(np.argmax(correlate(changed, noisy, method="fft"))) - (len(noisy) - 1)) <= 16


def test_a_codec_of_a_higher_rate_is_nearer_to_the_sound(speech):
    distances = [measure_rms(Codec("opus", kbps).apply(speech) - speech) for kbps in (8.0, 24.0, 64.0)]
    assert distances == sorted(distances, reverse=True)


def test_a_band_is_passed_and_the_rest_is_not(speech):
    noisy = Noise("white", -20.0, seed=2).apply(speech)
    changed = Band(300.0, 3400.0).apply(noisy)
    frequencies, before = welch(noisy, SAMPLING_RATE)
    gain = welch(changed, SAMPLING_RATE)[1] / before
    inside = gain[(frequencies > 450) & (frequencies < 3000)]
    assert 10 * np.log10(inside.min()) > -1 and 10 * np.log10(gain[frequencies > 4500].max()) < -40


def test_reverberation_decays_by_60_db_in_its_time():
    click = np.zeros(2 * SAMPLING_RATE, np.float32)
    click[0] = 1
    room = Reverb(0.5, seed=4).apply(click)
    energy = np.cumsum(room[::-1].astype(np.float64) ** 2)[::-1]
    level = 10 * np.log10(energy[1:] / energy[1])
    reached = {limit: int(np.argmax(level < limit)) / SAMPLING_RATE for limit in (-5, -25)}
    assert 3 * (reached[-25] - reached[-5]) == pytest.approx(0.5, rel=0.15)
    assert measure_rms(room) == pytest.approx(measure_rms(click), rel=1e-5)


def test_a_room_of_less_than_a_sample_gives_finite_sound(speech):
    changed = Reverb(1e-6, seed=1).apply(speech)
    assert np.isfinite(changed).all() and measure_rms(changed) == pytest.approx(measure_rms(speech), rel=1e-5)


def test_levels(speech):
    assert decibels(Gain(-20.0).apply(speech), speech) == pytest.approx(-20, abs=1e-3)
    clipped = Clipping(6.0).apply(speech)
    assert np.abs(clipped).max() == pytest.approx(np.abs(speech).max() / 10 ** (6 / 20), rel=1e-4)


def test_every_system_gets_what_fits_into_full_scale(speech, caplog):
    loud = Clip(Samples("0a", speech), 0.0, 8.0, (Gain(20.0),))
    encoded = decode(encode_audio(loud.blocks(), "FLAC"), 0.0, 8.0)
    assert np.abs(Gain(20.0).apply(speech)).max() > 2 and np.abs(loud.samples - encoded).max() <= 2**-15
    assert [record.getMessage() for record in caplog.records] == [
        "condition: a sound of it is doubtful: more than 0.1 % of its samples are beyond full scale and cut off, for "
        "every system (logged once)"
    ]


def test_speed_changes_the_length_and_not_the_pitch():
    time = np.arange(2 * SAMPLING_RATE) / SAMPLING_RATE
    tone = np.sin(2 * np.pi * 440 * time).astype(np.float32)
    fast = Clip(Samples("0a", tone), 0.0, 2.0, (Speed(1.25),))
    assert fast.duration == pytest.approx(1.6) and len(fast.samples) == round(1.6 * SAMPLING_RATE)
    frequencies, density = welch(fast.samples, SAMPLING_RATE, nperseg=4096)
    assert frequencies[np.argmax(density)] == pytest.approx(440, abs=8)


def band_levels(samples: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return the levels of 16 bands at some times (s), in frames of 32 ms."""
    frames = np.stack([samples[start : start + 512] for start in (times * SAMPLING_RATE).astype(int)])
    power = np.abs(np.fft.rfft(frames * np.hanning(512))[:, 1:]) ** 2
    return 10 * np.log10(power.reshape(len(times), 16, 16).sum(axis=2) + 1e-5)


@pytest.mark.parametrize("factor", [0.8, 1.02, 1.5])
def test_speech_at_another_speed_is_as_loud_and_as_clear(speech, factor):
    """Tell speech from what a phase vocoder with windows too long for it makes, which is 6 to 8 dB away."""
    changed, times = Speed(factor).apply(speech), np.arange(0, 7.5, 0.01)
    assert decibels(changed, speech) == pytest.approx(0, abs=0.5)
    assert np.abs(band_levels(changed, times / factor) - band_levels(speech, times)).mean() < 4


@pytest.mark.parametrize("factor", [0.25, 0.5, 1.02, 4.0])
@pytest.mark.parametrize("length", [0, 1, 300, SAMPLING_RATE + 1])
def test_the_length_at_another_speed_is_exact(speech, factor, length):
    changed = Speed(factor).apply(speech[:length])
    assert len(changed) == round(length / factor) and np.isfinite(changed).all() and changed.dtype == np.float32


def test_every_transform_is_read_as_it_was_written():
    assert read_transforms(write_transforms(ALL)) == tuple(ALL)
    assert len({transform.key for transform in ALL}) == len(ALL)
    assert all(hash(transform) == hash(msgspec.structs.replace(transform)) for transform in ALL)
    with pytest.raises(SpeechIQError, match=r"transforms of a clip.*prepare the task again"):
        read_transforms('[{"kind": "telepathy"}]')


def test_the_key_of_a_speed_names_its_filter():
    """Keep apart from transcripts of sound that another filter stretched, which are cached under the record alone."""
    assert Speed(1.25).key == "atempo(1.25)"


def test_the_key_of_recordings_names_their_content_and_not_their_place():
    here, there = (Recordings((Span(path, "0a", 0.0, 1.0),), 5.0, 1) for path in ("clips/a.wav", "demo/a.wav"))
    assert here.key == there.key != Recordings((Span("clips/a.wav", "0b", 0.0, 1.0),), 5.0, 1).key
