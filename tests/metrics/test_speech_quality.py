"""Opinion scores of speech: the published networks' numbers, the order of voices, and which weights are refused."""

import zlib
from functools import partial

import numpy as np
import pytest
import torch

from speechiq.core.clip import SAMPLING_RATE, file_clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.usage import usage
from speechiq.engines._shared import opinion_scores
from speechiq.engines._shared.opinion_scores import HOP, WINDOW, cut_windows
from speechiq.metrics.reply import rate, rater_of, read_rater, read_settings, speech_quality
from speechiq.siq_tasks.loaders import bundled

#: Clip and seconds of its beginning -> the score by the code of the package `distillmos` 0.9.1.
PUBLISHED = {("demo/earnings-1", 3): 4.30853, ("demo/parliament-1", 20): 3.12813}


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
    found = {(name, seconds): rate(first(clips[name], seconds), model) for name, seconds in PUBLISHED}
    assert found == pytest.approx(PUBLISHED, abs=1e-4)


def test_voices_have_the_order_that_people_hear(rater, model, monkeypatch, tmp_path):
    clean = [clip for clip in bundled.list_clips() if not clip.get("noise")]
    by_engine = {
        engine: [rate(first(clip, 7), model) for clip in clean if str(clip["voice"]).startswith(engine)][:3]
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


#: Clip and number of its first samples -> the score by the published code (torch.hub, `tarepan/SpeechMOS:v1.2.0`,
#: `UTMOS22Strong`) with the weights of `draw`. The first three have an odd, an even and an odd number of frames; that
#: code pads odd numbers.
PUBLISHED_UTMOS = {
    ("demo/earnings-1", 32_000): 3.256021,
    ("demo/parliament-4", 32_320): 3.114262,
    ("demo/medical-1", 80_000): 3.252546,
    ("demo/austen", 1_600): 3.410142,
}


def draw(name, shape):
    """Return a weight that depends on its published name alone, scaled so that the layers keep the size of signals."""
    noise = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(shape, np.float32)
    scaled = name.endswith("weight") + noise / 10 if len(shape) == 1 else noise / np.sqrt(np.prod(shape[1:]))
    return torch.from_numpy(scaled.astype(np.float32))


@pytest.fixture(scope="module")
def shapes():
    """Return the shape of each weight by its published name."""
    with torch.device("meta"):
        network = opinion_scores.UTMOS()
    return {opinion_scores.publish_name(name): tuple(weight.shape) for name, weight in network.state_dict().items()}


@pytest.fixture
def write(shapes, tmp_path):
    """Write weights of one value, a few kB because each repeats one number in memory."""

    def write(value=0.01, name="opinion_scores.pt", **changes):
        weights = {name: torch.tensor(value).expand(shape) for name, shape in shapes.items()}
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        torch.save({name: weight for name, weight in (weights | changes).items() if weight is not None}, file)
        return file

    return write


@pytest.fixture(scope="module")
def clips():
    return {clip["id"]: file_clip(clip) for clip in bundled.list_clips()}


@pytest.mark.slow
def test_scores_of_utmos_are_those_of_the_published_code(shapes, clips, tmp_path):
    file = tmp_path / "weights.pt"
    torch.save({name: draw(name, shape) for name, shape in shapes.items()}, file)
    network = opinion_scores.load_utmos(file)
    found = {(name, count): rate(clips[name].samples[:count], network) for name, count in PUBLISHED_UTMOS}
    assert found == pytest.approx(PUBLISHED_UTMOS, abs=1e-5)


def read(file, **metadata):
    return read_settings({"reply_asr": "pocketsphinx:en-us", "speech_quality": f"utmos:{file}"} | metadata)


@pytest.mark.slow
def test_scores_are_shared_by_the_content_of_the_weights_not_by_their_place(write, clips, tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))
    one, moved, other = (read(write(value, name)) for value, name in ((0.01, "a.pt"), (0.01, "b/a.pt"), (0.02, "c.pt")))
    clip = file_clip({**bundled.list_clips()[0], "duration": 1.0})
    before = usage["speech_ratings"]
    (first,), (again,), (different,) = (speech_quality([clip], rater_of(doc)) for doc in (one, moved, other))
    assert first == again != different and usage["speech_ratings"] - before == 2
    recorded = [{key: doc[key] for key in doc.keys() - {"reply"}} for doc in (one, moved, other)]
    assert recorded[0] == recorded[1] != recorded[2] and one["speech_quality"] == "utmos"
    assert one["speech_quality_sha256"] != other["speech_quality_sha256"]


def test_weights_that_change_during_a_run_are_refused(write):
    doc = read(write())
    write(0.02)
    with pytest.raises(SpeechIQError, match=r"^speech_quality=utmos:.*: the file was changed during the run; run it"):
        rater_of(doc)


def test_weights_that_are_not_numbers_give_no_score(write, clips):
    assert rate(clips["demo/earnings-1"].samples[:16_000], opinion_scores.load_utmos(write(float("nan")))) is None


BAD = {
    "lacks a weight": ({"judge_emb": None}, "another network: it misses judge_emb; give the published file of utmos"),
    "lacks two": ({"judge_emb": None, "domain_emb": None}, "it misses domain_emb and 1 more;"),
    "has another weight": ({"phoneme_emb": torch.zeros(1)}, "it has the unknown phoneme_emb;"),
    "another shape": ({"judge_emb": torch.zeros(1, 64)}, "it has another shape of judge_emb;"),
    "no tensor": ({"judge_emb": 3}, "it has another shape of judge_emb;"),
    "more than weights": ({"judge_emb": np.random.default_rng()}, "contains more than weights; it was not executed"),
}


@pytest.mark.parametrize(("changes", "message"), BAD.values(), ids=BAD)
def test_other_weights_are_refused_before_any_system_runs(write, changes, message):
    file = write(**changes)
    with pytest.raises(SpeechIQError) as refused:
        read(file)
    assert str(refused.value).startswith(f"UTMOS weights {file}: ") and message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda file: None, r"cannot be read \(No such file or directory\); correct the path"),
        (lambda file: file.write_bytes(b"RIFF"), "is damaged, or contains more than weights; it was not executed; d"),
        (partial(torch.save, [torch.zeros(1)]), "the weights of another network: it misses blstm.bias_hh_l0 and 224"),
    ],
)
def test_a_file_without_weights_is_refused(tmp_path, write, message):
    write(tmp_path / "weights.pt")
    with pytest.raises(SpeechIQError, match=rf"^UTMOS weights {tmp_path}/weights\.pt: {message}"):
        read(tmp_path / "weights.pt")
