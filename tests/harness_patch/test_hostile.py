"""Checkpoints that are cut off, foreign or hostile: one line before or while they are opened, and no code of theirs."""

import json
import pickle
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from speechiq.core.clip import as_clip
from speechiq.core.errors import SpeechIQError, print_in_one_line
from speechiq.core.prompt import Prompt, TextPrompt
from speechiq.metrics.distance.readers import EMBEDDER as ROLE
from speechiq.metrics.distance.readers import LanguageModel
from speechiq.metrics.models import check_checkpoint
from tests.engines import tiny_recognizers
from tests.engines.opener import build
from tests.warm import run_warm

pytestmark = pytest.mark.slow

LLM = "demo:SmolLM2-135M-Instruct"


@pytest.fixture(scope="module")
def sound(demo_clips):
    return demo_clips[0].part(0.0, 1.0)


@pytest.fixture(scope="module")
def models(tiny_cascade, tiny_ear, tmp_path_factory):
    """A small model of each kind."""
    ctc = tiny_recognizers.save("wav2vec2", tmp_path_factory.mktemp("ctc"))
    return {"text": tiny_cascade.llm, "ctc": ctc, "audio": tiny_ear}


def text(folder, clip):
    build(f"gold+{folder}").engine.llm.generate([TextPrompt("Hello")], [[1]], {"max_gen_toks": 2, "do_sample": False})


def asr(folder, clip):
    build(f"{folder}+{LLM}").transcribe([Prompt.about("What?", [clip])])


def audio(folder, clip):
    build(folder).transcribe([Prompt.about("What?", [clip])])


def embed(folder, clip):
    check_checkpoint(ROLE, str(folder))
    LanguageModel(ROLE, str(folder)).read(["so it goes"], "last", lambda places, rows: None, {})


#: Beginning of a stage -> the small model in it.
STAGES = {text: "text", asr: "ctc", audio: "audio", embed: "text"}


def rewrite(name, change):
    def harm(folder):
        file = folder / name
        file.write_bytes(change(file.read_bytes()))

    return harm


def change_config(**changes):
    return rewrite("config.json", lambda content: json.dumps(json.loads(content) | changes).encode())


def shard(folder):
    """Two shards, of which one is lost."""
    weights = load_file(folder / "model.safetensors")
    folder.joinpath("model.safetensors").unlink()
    places = {name: f"model-0000{1 + i % 2}-of-00002.safetensors" for i, name in enumerate(weights)}
    index = {"metadata": {}, "weight_map": places}
    folder.joinpath("model.safetensors.index.json").write_text(json.dumps(index))
    first = {name: weight for name, weight in weights.items() if "00001-of" in places[name]}
    save_file(first, folder / "model-00001-of-00002.safetensors", {"format": "pt"})


class Bomb:
    def __reduce__(self):
        return Path.touch, (Path("executed"),)


def pickle_bomb(folder):
    folder.joinpath("model.safetensors").unlink()
    folder.joinpath("pytorch_model.bin").write_bytes(pickle.dumps(Bomb()))


def zipped_bomb(folder):
    folder.joinpath("model.safetensors").unlink()
    torch.save({"weight": Bomb()}, folder / "pytorch_model.bin")


def other_weights(folder):
    save_file({"bert.weight": torch.zeros(3, 3)}, folder / "model.safetensors", {"format": "pt"})


CUT = "model.safetensors is cut off or damaged"
HARMS = {
    "cut weights": (rewrite("model.safetensors", lambda b: b[: len(b) // 2]), CUT),
    "empty weights": (rewrite("model.safetensors", lambda b: b""), CUT),
    "garbage weights": (rewrite("model.safetensors", lambda b: b"\xff" * 99), CUT),
    "a lost shard": (shard, "model.safetensors.index.json misses 1 file that it lists, first model-00002"),
    "a pickle bomb": (pickle_bomb, "pytorch_model.bin is damaged, or contains more than weights; it was not executed"),
    "a zipped bomb": (zipped_bomb, "pytorch_model.bin is damaged, or contains more than weights; it was not executed"),
    "other weights": (
        other_weights,
        "weights that its config.json describes are missing, .* give the weights that belong to that config",
    ),
    "nested config": (
        rewrite("config.json", lambda b: b'{"a":' * 99_999 + b"1" + b"}" * 99_999),
        "config.json cannot be read|config.json is not valid JSON",
    ),
    "garbage config": (rewrite("config.json", lambda b: b"\x00\xff"), "config.json is not valid JSON"),
    "config of a list": (rewrite("config.json", lambda b: b"[1]"), "config.json contains a list, not a JSON object"),
    "words for numbers": (change_config(hidden_size="many", d_model="many", text_config="x"), "config"),
    "broken generation config": (
        lambda folder: folder.joinpath("generation_config.json").write_text("{"),
        "generation_config.json is not valid JSON",
    ),
}  # fmt: skip
TOKENIZER_HARMS = {
    "garbage": (b"{", "tokenizer.json is not valid JSON"),
    "foreign": (b'{"version": "1.0", "model": {"type": "Abacus"}}', "cannot be loaded"),
}
#: Harms that all checkpoints of systems are refused for by the same code, which `text` runs, as `embed` runs its own.
ALIKE = {"empty weights", "garbage weights", "a pickle bomb", "garbage config", "config of a list"}
CASES = [(stage, name) for name in HARMS for stage in STAGES if stage in (text, embed) or name not in ALIKE]
CASES = [case for case in CASES if case not in {(asr, "broken generation config"), (embed, "broken generation config")}]


def harmed(models, tmp_path, kind, harm):
    folder = tmp_path / "m"
    shutil.copytree(models[kind], folder)
    harm(folder)
    return folder


@pytest.mark.parametrize(("open_stage", "name"), CASES)
def test_a_harmed_checkpoint_is_one_line_that_names_the_file(models, sound, tmp_path, monkeypatch, open_stage, name):
    monkeypatch.chdir(tmp_path)
    harm, message = HARMS[name]
    folder = harmed(models, tmp_path, STAGES[open_stage], harm)
    with pytest.raises(SpeechIQError, match=rf"{folder}.*({message})"):
        open_stage(folder, sound)
    assert not Path("executed").exists()


@pytest.mark.parametrize("open_stage", [text, audio, embed])
@pytest.mark.parametrize("name", TOKENIZER_HARMS)
def test_a_broken_tokenizer_is_one_line(models, sound, tmp_path, open_stage, name):
    content, message = TOKENIZER_HARMS[name]
    folder = harmed(models, tmp_path, STAGES[open_stage], rewrite("tokenizer.json", lambda _: content))
    with pytest.raises(SpeechIQError, match=rf"{folder}.*{message}"):
        open_stage(folder, sound)


def test_a_broken_chat_template_is_one_line(models, sound, tmp_path):
    folder = harmed(models, tmp_path, "text", lambda folder: folder.joinpath("chat_template.jinja").write_text("{% if"))
    with pytest.raises(SpeechIQError, match="its chat template does not work"):
        text(folder, sound)


def test_a_tokenizer_of_another_model_is_refused_before_the_model_reads(models, sound, tmp_path):
    folder = harmed(models, tmp_path, "text", change_config(vocab_size=100))
    with pytest.raises(SpeechIQError, match=r"its tokenizer makes token \d+, but the model knows 100"):
        text(folder, sound)


CODE = """
from pathlib import Path
Path({marker!r}).touch()
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, ProcessorMixin
class Config(LlamaConfig):
    model_type = "own"
class Model(LlamaForCausalLM):
    config_class = Config
class Tokenizer(PreTrainedTokenizerFast):
    pass
class Processor(ProcessorMixin):
    pass
def generate(*args, **kwargs):
    pass
"""


def open_named_stage():
    """Open the stage that is named first, from the folder that is named second, as a process of its own."""
    print_in_one_line()
    globals()[sys.argv[1]](sys.argv[2], as_clip({"array": np.zeros(16_000, np.float32), "sampling_rate": 16_000}))


def bring_code(folder, marker, known):
    """Code for everything for which a checkpoint can bring code; of a kind that transformers knows, or of its own."""
    folder.joinpath("own.py").write_text(CODE.format(marker=str(marker)))
    folder.joinpath("custom_generate").mkdir()
    folder.joinpath("custom_generate", "generate.py").write_text(CODE.format(marker=str(marker)))
    own = {
        "AutoConfig": "own.Config",
        "AutoProcessor": "own.Processor",
        "AutoTokenizer": ["own.Tokenizer", "own.Tokenizer"],
        **dict.fromkeys(f"AutoModel{head}" for head in ("", "ForCausalLM", "ForCTC", "ForMultimodalLM")),
    }
    own = {name: made or "own.Model" for name, made in own.items()}
    for name in ("config.json", "tokenizer_config.json", "processor_config.json", "preprocessor_config.json"):
        file = folder / name
        settings = json.loads(file.read_text()) if file.is_file() else {}
        settings["auto_map"] = own
        if not known:
            settings |= {"model_type": "own"} if name == "config.json" else {}
            settings |= {"tokenizer_class": "OwnTokenizer"} if name == "tokenizer_config.json" else {}
            settings |= {"processor_class": "OwnProcessor"} if name == "processor_config.json" else {}
        if file.is_file() or not known:
            file.write_text(json.dumps(settings))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("stage", STAGES)
def test_code_of_a_checkpoint_never_runs_with_any_stdin(models, tmp_path, stage, known):
    marker = tmp_path / "marker"
    folder = harmed(models, tmp_path, STAGES[stage], lambda folder: bring_code(folder, marker, known))
    done = run_warm(open_named_stage, stage.__name__, str(folder), stdin="y\n" * 50)
    assert not marker.exists()
    assert "Traceback" not in done.stderr and "[y/N]" not in done.stdout + done.stderr
    if not known:
        assert f"{folder}: " in done.stderr and "comes with Python code of its own" in done.stderr


def test_the_tokenizer_of_an_embedder_runs_no_code(models, tmp_path):
    """Its config is known, its tokenizer is not."""
    marker = tmp_path / "marker"

    def harm(folder):
        bring_code(folder, marker, known=False)
        shutil.copy(Path(models["text"], "config.json"), folder)

    folder = harmed(models, tmp_path, "text", harm)
    done = run_warm(open_named_stage, "embed", str(folder), stdin="y\n" * 50)
    assert not marker.exists() and "Traceback" not in done.stderr and "[y/N]" not in done.stdout + done.stderr
