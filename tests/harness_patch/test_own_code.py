"""Checkpoints that bring their own Python code, as recognizer and as language model."""

import json
import shutil

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt, TextPrompt
from speechiq.engines.asr.hf import CTCASR
from tests.engines.opener import build
from tests.engines.tiny_recognizers import save

pytestmark = pytest.mark.slow

CODE = """
from transformers import {config}, {model}
class OwnConfig({config}):
    model_type = "own-{name}"
class OwnModel({model}):
    config_class = OwnConfig
"""


def bring_code(folder, auto: str, config: str, model: str):
    """The checkpoint in `folder`, its classes known to itself alone."""
    name = folder.name
    folder.joinpath(f"modeling_{name}.py").write_text(CODE.format(name=name, config=config, model=model))
    config = json.loads(folder.joinpath("config.json").read_text()) | {"model_type": f"own-{name}"}
    config["auto_map"] = {"AutoConfig": f"modeling_{name}.OwnConfig", auto: f"modeling_{name}.OwnModel"}
    folder.joinpath("config.json").write_text(json.dumps(config))
    return str(folder)


@pytest.fixture(scope="module")
def ear(demo_models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("own") / "ear"
    folder.mkdir()
    return bring_code(save("wav2vec2", folder), "AutoModelForCTC", "Wav2Vec2Config", "Wav2Vec2ForCTC")


@pytest.fixture(scope="module")
def writer(tiny_cascade, tmp_path_factory):
    folder = shutil.copytree(tiny_cascade.llm, tmp_path_factory.mktemp("own") / "writer")
    return bring_code(folder, "AutoModelForCausalLM", "LlamaConfig", "LlamaForCausalLM")


def test_code_that_is_trusted_runs_in_its_stage(ear, writer, demo_clips):
    system = build(f"{ear}+{writer}", asr_trust_remote_code=True, llm_trust_remote_code=True, asr_window_s=20)
    asr, llm = system.engine.asr.engine, system.engine.llm
    assert isinstance(asr, CTCASR)
    assert system.transcribe([Prompt.about("", [demo_clips[0].part(0.0, 2.0)])])[0].text
    assert llm.generate([TextPrompt("Hi")], [[1]], {"max_gen_toks": 3})
    for checkpoint in (asr.checkpoint, llm.engine.checkpoint):
        with checkpoint.loaded() as model:
            assert type(model).__name__ == "OwnModel"


@pytest.mark.parametrize("trusted", ["asr", "llm"])
def test_code_that_is_not_trusted_is_named_with_the_option(ear, writer, trusted):
    with pytest.raises(SpeechIQError, match=r"own.*: comes with Python code of its own; give trust_remote_code=True"):
        build(f"{ear}+{writer}", **{f"{trusted}_trust_remote_code": True})
