"""Test text stages that lm-eval's model types run."""

import math
import shutil
from functools import partial
from itertools import chain
from types import SimpleNamespace

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import TextPrompt
from speechiq.engines._shared import sampling
from speechiq.engines._shared.sampling import DEFAULTS
from speechiq.engines.asr.controls import Gold
from speechiq.engines.base import Setup
from speechiq.engines.cached import CachedEngine
from speechiq.engines.registry import build_engine
from speechiq.engines.text import lm_eval as lm_eval_model
from speechiq.engines.text.hf import TransformersLLM
from speechiq.harness_patch.systems.cascade import EXTRA, SLACK, CorrectedRecognizer
from tests.engines.opener import build, open_engine
from tests.records import named

PROMPTS = ["Name a colour.", "Write one short sentence about the sea and the fishing boats."]
ASKED = list(map(TextPrompt, PROMPTS))
GREEDY = {"max_gen_toks": 8, "do_sample": False, "until": []}
SAMPLED = {"max_gen_toks": 8, "do_sample": True, "until": []}
SEEDS = [[11, 12, 13], [21, 22, 2**64 - 1]]


def copy_checkpoint(model, folder, **settings):
    """Return a copy of a language model with these generation settings of its own."""
    shutil.copytree(model, folder)
    GenerationConfig(**settings, eos_token_id=2, pad_token_id=2).save_pretrained(folder)
    return folder


def lm_eval_text(engine, model, *, device, batch_size, **options):
    """Return a text stage of a model type of lm-eval."""
    return build_engine("text", model, options, Setup(engine=engine, device=device, batch_size=batch_size))


def refusal(engine, **options):
    """Return the error of an engine that cannot be built."""
    with pytest.raises(SpeechIQError) as caught:
        lm_eval_text(engine, options.pop("model", "m"), device="cpu", batch_size=1, **options)
    return str(caught.value)


@pytest.fixture(scope="module")
def model(tiny_cascade):
    return tiny_cascade.llm


@pytest.fixture(scope="module")
def harness(model):
    return lm_eval_text("huggingface", model, device="cpu", batch_size="auto", dtype="float32")


def test_lm_evals_own_transformers_write_and_score_the_same_as_ours(harness, model):
    ours = open_engine(TransformersLLM, model, batch_size=2)
    answers = harness.generate(ASKED, SEEDS, GREEDY)
    assert answers == ours.generate(ASKED, SEEDS, GREEDY) and all(len(set(row)) == 1 for row in answers)
    contexts = list(map(TextPrompt, ("One, two,", "The sea", "One, two,")))
    continuations = [[" three", " cheese"], [" is"], [" three", " cheese"]]
    mine, theirs = (llm.loglikelihood(contexts, continuations) for llm in (ours, harness))
    for one, other in zip(chain(*mine), chain(*theirs), strict=True):
        assert one.logprob == pytest.approx(other.logprob, abs=1e-3) and one.is_greedy == other.is_greedy
    assert theirs[0] == theirs[2]


def test_sampled_answers_of_lm_evals_transformers_differ_and_are_repeatable_in_other_batches(harness):
    first, second = harness.generate(ASKED, SEEDS, SAMPLED)
    assert len(set(first)) == len(set(second)) == 3
    assert harness.generate(ASKED[1:], SEEDS[1:], SAMPLED) == [second]
    assert harness.sampling(SAMPLED) == {"do_sample": True, "temperature": 1.0, "top_k": DEFAULTS["top_k"]}
    assert harness.sampling(GREEDY | {"temperature": 0.3}) == {"do_sample": False, "temperature": 0.0}


def test_lm_evals_transformers_sample_as_generate_does_without_settings(harness, model):
    tokenizer, plain = (auto.from_pretrained(model) for auto in (AutoTokenizer, AutoModelForCausalLM))
    messages = [{"role": "user", "content": PROMPTS[1]}]
    asked = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True, return_tensors="pt")
    torch.manual_seed(5)
    answer = plain.generate(**asked, do_sample=True, max_new_tokens=32)[0, asked["input_ids"].shape[1] :]
    settings = SAMPLED | {"max_gen_toks": 32}
    assert harness.generate(ASKED[1:], [[5]], settings) == [[tokenizer.decode(answer, skip_special_tokens=True)]]
    few, all_tokens = (harness.generate(ASKED[1:], [[5]], settings | {"top_k": top_k}) for top_k in (2, 0))
    assert few != all_tokens


def test_answers_lm_eval_sampled_by_other_defaults_are_not_taken_from_the_store(model, tmp_path, monkeypatch):
    build = partial(lm_eval_text, "huggingface", model, device="cpu", batch_size=1)
    first = CachedEngine(build(), tmp_path)
    first.generate(ASKED, SEEDS, SAMPLED)
    first.generate(ASKED, SEEDS, GREEDY)
    monkeypatch.setitem(sampling.DEFAULTS, "top_k", 3)
    second = CachedEngine(build(), tmp_path)
    computed = []
    ask = second.engine.generate
    monkeypatch.setattr(second.engine, "generate", lambda *asked, **how: computed.append(asked) or ask(*asked, **how))
    second.generate(ASKED, SEEDS, GREEDY)
    assert not computed
    second.generate(ASKED, SEEDS, SAMPLED)
    assert len(computed) == 1 and second.describe()["sampling"]["top_k"] == 3


def test_the_model_is_loaded_once_for_all_calls_inside_at_work(model, monkeypatch):
    llm = lm_eval_text("huggingface", model, device="cpu", batch_size=2)
    created = []
    create = llm._create
    monkeypatch.setattr(llm, "_create", lambda: created.append(create()) or created[-1])
    with llm.keep_loaded():
        assert "_lm" not in vars(llm)
        llm.generate(ASKED, SEEDS, GREEDY)
        llm.loglikelihood([TextPrompt("One, two,")], [[" three"]])
        assert llm._lm is created[0]
    assert "_lm" not in vars(llm) and len(created) == 1
    llm.loglikelihood([TextPrompt("One, two,")], [[" three"]])
    assert "_lm" not in vars(llm) and len(created) == 2


def test_a_correctors_limits_come_from_its_tokenizer_and_its_model_is_loaded_once(model, monkeypatch):
    engine = lm_eval_text("huggingface", model, device="cpu", batch_size=2)
    texts = ["The sea is warm today.", "So " * 100 + "it goes."]
    counts = [len(AutoTokenizer.from_pretrained(model)(text).input_ids) for text in texts]
    assert list(map(engine.count, texts)) == counts
    limits, created, create, generate = [], [], engine._create, engine.generate

    def ask(prompts, seeds, settings, **more):
        limits.append(settings["max_gen_toks"])
        return generate(prompts, seeds, settings | {"max_gen_toks": 4}, **more)

    monkeypatch.setattr(engine, "_create", lambda: created.append(True) or create())
    monkeypatch.setattr(engine, "generate", ask)
    clips = [named(str(i)) for i in range(2)]
    gold = open_engine(Gold, "", batch_size=1)
    gold.references = dict(zip(clips, texts, strict=True))
    assert len(CorrectedRecognizer(gold, CachedEngine(engine, None)).transcribe(clips)) == 2
    assert limits == [2 ** math.ceil(math.log2(EXTRA + SLACK * count)) for count in counts]
    assert len(created) == 1 and "_lm" not in vars(engine)


def test_a_prompt_that_lm_eval_would_shorten_is_refused(model):
    llm = lm_eval_text("huggingface", model, device="cpu", batch_size=1, max_length=64)
    assert llm.loglikelihood([TextPrompt("One, two,")], [[" three"]])
    with pytest.raises(SpeechIQError, match=r"a prompt has \d+ tokens and 60 for the answer, but the model takes 64;"):
        llm.generate(ASKED, SEEDS, GREEDY | {"max_gen_toks": 60})
    with pytest.raises(SpeechIQError, match=r"a prompt has \d+ tokens, but the model takes 64; give a larger"):
        llm.loglikelihood([TextPrompt("One, two, three. " * 20)], [[" four"]])


def test_a_checkpoints_own_sampling_settings_are_used_and_recorded(model, tmp_path):
    folder = copy_checkpoint(model, tmp_path / "model", do_sample=True, temperature=0.7, top_p=0.8)
    folder.joinpath("model.safetensors").unlink()
    llm = lm_eval_text("huggingface", str(folder), device="cpu", batch_size=1)
    assert llm.sampling(SAMPLED) == {"do_sample": True, "temperature": 0.7, "top_k": DEFAULTS["top_k"], "top_p": 0.8}
    assert llm.sampling(SAMPLED | {"temperature": 2, "top_p": 1})["temperature"] == 2
    with pytest.raises(SpeechIQError, match="cannot be loaded"):
        llm.generate(ASKED, SEEDS, SAMPLED)


def test_what_cannot_work_is_refused_before_anything_is_loaded(demo_models):
    assert refusal("hf-audio").endswith("is a speech system, not a text model; choose another engine")
    assert refusal("vllm").startswith("vllm:m: the package vllm is missing; install")
    assert "whisper checkpoint is not a language model" in refusal("huggingface", model="demo:whisper-base")
    assert "no such demo model" in refusal("huggingface", model="demo:nothing")


@pytest.mark.parametrize("engine", ["local-chat-completions", "anthropic-chat", "litellm", "sglang-generate"])
def test_a_model_type_that_calls_an_endpoint_is_refused_with_the_engine_that_does(engine):
    line = rf"^{engine}:m: lm-eval treats a reply without an answer as an empty answer; write openai:m with "
    line += "llm_base_url=%s "
    for given, address in ((None, "http://HOST:8000/v1"), ("http://gpu:81/v1/chat/completions", "http://gpu:81/v1")):
        options = {"llm_base_url": given} if given else {}
        with pytest.raises(SpeechIQError, match=line % address + r"\(llm_key_variable=NAME if .*OPENAI_API_KEY\)$"):
            build(f"gold+{engine}:m", **options)
    secret = refusal(engine, base_url="http://me:secret@127.0.0.1/v1")
    assert "base_url: the address contains a user or password" in secret
    assert "auth_token would be written into the results" in refusal(engine, auth_token="x")


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_an_engine_that_fills_the_accelerators_runs_in_one_process(engine, monkeypatch):
    monkeypatch.setattr(lm_eval_model, "PartialState", lambda: SimpleNamespace(num_processes=8))
    assert refusal(engine).startswith(f"{engine}:m: 8 processes would each fill the same accelerators; run one and")


def test_an_option_that_the_model_type_does_not_have_is_one_line_when_it_is_loaded(model):
    llm = lm_eval_text("huggingface", model, device="cpu", batch_size=1, bogus=1)
    with pytest.raises(SpeechIQError, match=f"^huggingface:{model}: cannot be loaded .*bogus.*; check name"):
        llm.generate(ASKED, SEEDS, GREEDY)
