import json

import pytest

from speechiq.core.checkpoints import read_config, resolve
from speechiq.core.errors import SpeechIQError


def test_a_demo_model_that_was_not_fetched_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    with pytest.raises(SpeechIQError, match=rf"demo:whisper-base: .*{tmp_path}.*siq demo fetch"):
        resolve("demo:whisper-base")


def test_a_demo_model_of_a_name_that_is_nearly_right_is_suggested(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    for name in ("whisper-base", "SmolLM2"):
        tmp_path.joinpath("models", name).mkdir(parents=True)
        tmp_path.joinpath("models", name, "config.json").write_text("{}")
    with pytest.raises(SpeechIQError, match=r"demo:whisper-bse: .*; write demo:whisper-base, or run `siq demo fetch`"):
        resolve("demo:whisper-bse")


def test_a_demo_model_is_a_folder_of_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    folder = tmp_path / "models" / "tiny"
    folder.mkdir(parents=True)
    folder.joinpath("config.json").write_text("{}")
    assert resolve("demo:tiny") == str(folder)


def test_a_missing_folder_is_named():
    with pytest.raises(SpeechIQError, match=r"\./nowhere: no folder with a config\.json"):
        resolve("./nowhere")


def test_a_hub_id_stays_as_it_is():
    assert resolve("Qwen/Qwen2-7B-Instruct") == "Qwen/Qwen2-7B-Instruct"


def test_a_config_of_no_known_kind_is_named_with_the_way_out(tmp_path):
    tmp_path.joinpath("config.json").write_text(json.dumps({"model_type": "abacus"}))
    with pytest.raises(SpeechIQError, match=r"cannot be read .*pretrained=demo"):
        read_config(str(tmp_path))
