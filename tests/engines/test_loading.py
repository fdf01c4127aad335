"""Test the options by which a checkpoint is loaded, for audio models and text stages."""

import shutil
import weakref
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForMultimodalLM, AutoProcessor, Qwen2Config, Qwen2ForCausalLM

from speechiq.core.checkpoints.names import identity, resolve
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.folders import cache_dir
from speechiq.core.prompt import Prompt, TextPrompt
from speechiq.engines._shared import checkpoint as loading
from speechiq.engines._shared.checkpoint import Checkpoint, Loading
from speechiq.engines.asr.whisper import WhisperASR
from speechiq.engines.audio.hf import AudioLLM
from speechiq.engines.base import Setup
from speechiq.engines.text.hf import TransformersLLM
from tests.engines.opener import build, open_engine

pytestmark = pytest.mark.slow

SMOLLM = "demo:SmolLM2-135M-Instruct"


@pytest.fixture(scope="module")
def prompts(demo_clips):
    return [Prompt.about("<audio>\nWho speaks?", (clip.part(0.0, 2.0),)) for clip in demo_clips[:2]]


def answer(model, prompts):
    return model.generate(prompts, [[1, 2]] * len(prompts), {"do_sample": True, "max_gen_toks": 6})


def test_an_adapter_is_laid_over_the_model(tiny_ear, prompts, tmp_path):
    from peft import LoraConfig, get_peft_model

    adapted = get_peft_model(
        AutoModelForMultimodalLM.from_pretrained(tiny_ear),
        LoraConfig(target_modules=["q_proj", "v_proj"], init_lora_weights=False),
    )
    adapted.save_pretrained(tmp_path / "adapter")
    adapted.merge_and_unload().save_pretrained(tmp_path / "merged")
    AutoProcessor.from_pretrained(tiny_ear).save_pretrained(tmp_path / "merged")
    plain = open_engine(AudioLLM, tiny_ear, batch_size=2)
    merged = open_engine(AudioLLM, str(tmp_path / "merged"), batch_size=2)
    model = open_engine(AudioLLM, tiny_ear, batch_size=2, peft=str(tmp_path / "adapter"))
    assert answer(model, prompts) == answer(merged, prompts) != answer(plain, prompts)
    assert model.describe()["peft"] == str(tmp_path / "adapter")


@pytest.mark.parametrize("place", ["~/adapter", "./adapter"])
def test_an_adapter_is_identified_by_its_files_and_changes_answers(tiny_cascade, tmp_path, monkeypatch, place):
    from peft import LoraConfig, get_peft_model

    model = AutoModelForCausalLM.from_pretrained(tiny_cascade.llm)
    lora = LoraConfig(target_modules=["q_proj"], init_lora_weights=False, r=1)
    get_peft_model(model, lora).save_pretrained(tmp_path / "adapter")
    monkeypatch.setenv("SIQ_CACHE", str(cache_dir()))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    prompts = [Prompt.about("Name a colour.")]
    settings = {"do_sample": False, "max_gen_toks": 6}
    adapted = build(f"gold+{tiny_cascade.llm}", llm_peft=place)
    ((answer,),) = adapted.engine.generate(prompts, [[1]], settings)
    ((other,),) = build(f"gold+{tiny_cascade.llm}").engine.generate(prompts, [[1]], settings)
    assert answer != other
    adapter = identity(str(tmp_path / "adapter"), file="adapter_config.json")
    assert adapted.engine.llm.engine.identity()["adapter"] == adapter


def test_weights_go_to_an_accelerator_as_they_are_read():
    assert Loading().arguments(torch.device("cpu")) == {"dtype": "float32"}
    on_gpu = Loading().arguments(torch.device("cuda", 1))
    assert on_gpu == {"dtype": "auto", "device_map": {"": torch.device("cuda", 1)}}
    assert Loading(device_map="auto").arguments(torch.device("cuda", 1))["device_map"] == "auto"


def test_layers_may_be_spread_by_a_device_map_and_are_freed(tiny_ear, prompts):
    plain = open_engine(AudioLLM, tiny_ear, batch_size=2)
    spread = open_engine(AudioLLM, tiny_ear, batch_size=2, device_map="auto", attn_implementation="eager")
    with spread.checkpoint.loaded() as model:
        assert model.config._attn_implementation == "eager"
        assert answer(spread, prompts) == answer(plain, prompts)
        weight = weakref.ref(next(model.parameters()))
    assert weight() is None


def test_a_model_is_loaded_when_it_is_needed_and_stays_inside_a_block(tiny_ear):
    loads = []
    fits, equip = lambda config: True, lambda model: nullcontext(loads.append(model))
    checkpoint = Checkpoint(tiny_ear, AutoModelForMultimodalLM, fits, "it", Loading(), Setup(), equip=equip)
    with checkpoint.keep_loaded():
        assert not loads
        with checkpoint.loaded() as first:
            pass
        with checkpoint.loaded() as second:
            assert second is first
    assert loads == [first] and not vars(first)
    with checkpoint.loaded() as third:
        assert third is not first


def test_options_apply_to_every_stage_and_are_recorded(demo_models):
    described = build(
        f"demo:whisper-tiny.en+{SMOLLM}", asr_attn_implementation="eager", llm_dtype="bfloat16", llm_device_map="auto"
    ).describe()
    assert described["asr"]["attn_implementation"] == "eager" and described["asr"]["dtype"] == "float32"
    assert (described["llm"]["dtype"], described["llm"]["device_map"]) == ("bfloat16", "auto")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"llm_dtype": "bf16"}, "^llm_dtype=bf16: torch has no such dtype"),
        (
            {"llm_device_map": "autoo"},
            "^llm_device_map=autoo: no such device map; give auto, balanced, balanced_low_0, ",
        ),
        ({"llm_quantization": "3bit"}, "^llm_quantization=3bit: unknown; give 4bit or 8bit"),
        ({"llm_peft": "./nowhere"}, "^llm_peft=./nowhere: no adapter is there"),
        ({"llm_attn_implementation": "flash_attention_2"}, "=flash_attention_2: needs the package flash_attn or kern"),
        ({"llm_lora": "x"}, "^llm_lora: no such option of the hf engine; it has .*llm_device_map, .*llm_revision"),
    ],
)
def test_an_option_that_cannot_work_is_named_before_anything_is_loaded(demo_models, options, message):
    with pytest.raises(SpeechIQError, match=message):
        build(f"gold+{SMOLLM}", **options)


@pytest.mark.parametrize(("bits", "smaller"), [("8bit", 2.4), ("4bit", 3.2)])
def test_a_quantised_model_answers_from_less_memory_and_is_freed(demo_models, bits, smaller):
    whole, model = (open_engine(TransformersLLM, SMOLLM, batch_size=1, **how) for how in ({}, {"quantization": bits}))
    with whole.checkpoint.loaded() as loaded:
        memory = loaded.get_memory_footprint()
    with model.checkpoint.loaded() as loaded:
        assert loaded.get_memory_footprint() < memory / smaller
        ((text,),) = model.generate([TextPrompt("What is the capital of France?")], [[1]], {"max_gen_toks": 12})
        assert "Paris" in text
        weight = weakref.ref(next(loaded.parameters()))
    assert weight() is None


def test_quantization_names_its_missing_package(demo_models, monkeypatch):
    monkeypatch.setattr(loading, "find_spec", {}.get)
    line = r"quantization=8bit: .* not installed; `pip install bitsandbytes`, or in a clone `pip install .\.\[q"
    with pytest.raises(SpeechIQError, match=line):
        open_engine(TransformersLLM, SMOLLM, device="cuda", quantization="8bit")


def test_a_refusal_of_transformers_is_one_line(tiny_ear, prompts):
    model = open_engine(AudioLLM, tiny_ear, batch_size=2, attn_implementation="bogus")
    with pytest.raises(SpeechIQError, match=r"cannot be loaded with attn_implementation=bogus \(.*bogus"):
        answer(model, prompts)


def test_a_text_stage_without_a_tokenizer_is_refused_before_anything_is_loaded(demo_models, tmp_path):
    for name in ("config.json", "model.safetensors"):
        tmp_path.joinpath(name).symlink_to(Path(resolve(SMOLLM), name))
    with pytest.raises(SpeechIQError, match=f"^{tmp_path}: its tokenizer cannot be loaded .*save the tokenizer of"):
        build(f"gold+{tmp_path}")


@pytest.mark.parametrize("kind", ["Whisper", "Qwen2", "Qwen2-Audio"])
def test_a_checkpoint_whose_tokenizer_files_are_missing_is_refused(tiny_cascade, tiny_ear, tmp_path, kind):
    """Leave out the files without which transformers makes an empty tokenizer for these kinds."""
    folder, no_tokenizer = str(tmp_path / "bare"), shutil.ignore_patterns("tokenizer*")
    if kind == "Qwen2":
        sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
        Qwen2ForCausalLM(Qwen2Config(vocab_size=9, num_key_value_heads=2, **sizes)).save_pretrained(folder)
    else:
        shutil.copytree(tiny_cascade.asr if kind == "Whisper" else tiny_ear, folder, ignore=no_tokenizer)
    engine = {"Whisper": WhisperASR, "Qwen2": TransformersLLM, "Qwen2-Audio": AudioLLM}[kind]
    with pytest.raises(SpeechIQError, match=rf"^{folder}: its \w+ cannot be loaded \(no vocabulary: a file of its"):
        open_engine(engine, folder)


def test_a_model_too_large_for_memory_names_the_ways_out(demo_models, monkeypatch):
    def from_pretrained(*args, **options):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", from_pretrained)
    with pytest.raises(SpeechIQError, match=r"does not fit into memory; .* llm_dtype=bfloat16, llm_quantization=4bit,"):
        open_engine(TransformersLLM, SMOLLM, batch_size=1, prefix="llm_").loglikelihood([TextPrompt("a")], [["b"]])


def test_a_checkpoint_without_weights_is_refused_before_it_is_loaded(tiny_ear, tmp_path):
    shutil.copytree(tiny_ear, tmp_path / "cut", ignore=shutil.ignore_patterns("*.safetensors"))
    with pytest.raises(SpeechIQError, match=rf"^{tmp_path}/cut: has no weights, neither \*\.safetensors nor \*\.bin"):
        open_engine(AudioLLM, str(tmp_path / "cut"))
