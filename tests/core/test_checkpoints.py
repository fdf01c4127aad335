import json
import os

import pytest

from speechiq.core.checkpoints.names import DEMO_MODELS, read_config, resolve
from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.demo.fetch import MODELS, ON_REQUEST


def test_a_demo_model_that_was_not_fetched_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    with pytest.raises(SpeechIQError, match=rf"demo:whisper-base: .*{tmp_path}.*siq demo fetch"):
        resolve("demo:whisper-base")


def test_a_demo_model_of_a_name_that_is_nearly_right_is_suggested(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    with pytest.raises(
        SpeechIQError, match=r"demo:whisper-bse: .*; did you mean demo:whisper-base\? known are"
    ) as error:
        resolve("demo:whisper-bse")
    assert "fetch" not in str(error.value)


def test_the_models_that_can_be_fetched_are_known():
    assert {*DEMO_MODELS} == MODELS.keys() | ON_REQUEST.keys()


def test_a_demo_model_is_a_folder_of_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    folder = tmp_path / "models" / "tiny"
    folder.mkdir(parents=True)
    folder.joinpath("config.json").write_text("{}")
    assert resolve("demo:tiny") == str(folder)


def test_a_missing_folder_is_named():
    for name in ("./nowhere", "~nobody-of-this-name/model", "/" + "x" * 300):
        with pytest.raises(SpeechIQError, match=rf"^{name}: no folder with a config\.json"):
            resolve(name)


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
def test_a_name_that_no_model_can_have_is_refused(name, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(SpeechIQError, match="its config cannot be read"):
        read_config(name)


def test_a_pipe_in_a_checkpoint_is_named_and_not_waited_for(tmp_path):
    tmp_path.joinpath("config.json").write_text('{"model_type": "whisper"}')
    tmp_path.joinpath("gone.json").symlink_to("nowhere")
    assert read_config(str(tmp_path)).model_type == "whisper"
    for name in ("tokenizer.json", "model.safetensors"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(SpeechIQError, match=rf"its config cannot be read \({name} is a pipe or a device\); "):
            read_config(str(tmp_path))
        tmp_path.joinpath(name).unlink()


def test_a_hub_id_stays_as_it_is():
    assert resolve("Qwen/Qwen2-7B-Instruct") == "Qwen/Qwen2-7B-Instruct"


def test_a_config_of_no_known_kind_is_named_with_the_way_out(tmp_path):
    tmp_path.joinpath("config.json").write_text(json.dumps({"model_type": "abacus"}))
    with pytest.raises(SpeechIQError, match=r"cannot be read .*pretrained=demo"):
        read_config(str(tmp_path))
