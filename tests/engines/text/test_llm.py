import shutil
from itertools import chain

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, Qwen2Config

from speechiq.core import batches
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import TextPrompt
from speechiq.core.response import CutText
from speechiq.core.usage import usage
from speechiq.engines._shared import sampling
from speechiq.engines._shared.checkpoint_writer import prefill_text, write_answers
from speechiq.engines._shared.sampling import processors, sampling_settings
from speechiq.engines.cached import CachedEngine
from speechiq.engines.text.hf import TransformersLLM
from tests.engines.opener import open_engine

DEMO = "demo:SmolLM2-135M-Instruct"
PROMPTS = ["Name a colour.", "Write one short sentence about the sea and the fishing boats.", "Hi"]
CONTEXTS = [
    "Speech: The sea is warm.\n\nQuestion: What is warm?\nAnswer:",
    "Question: Who?\nAnswer:",
    "One, two,",
]
ASKED, GIVEN = list(map(TextPrompt, PROMPTS)), list(map(TextPrompt, CONTEXTS))
CONTINUATIONS = [[" the sea", " the land of the north"], [" him", " nobody at all"], [" three", " thr"]]


@pytest.fixture(scope="module")
def name(tiny_cascade, tmp_path_factory):
    """Return the folder of a model of which many tokens end a text, so that texts of many lengths are in one batch."""
    folder = shutil.copytree(tiny_cascade.llm, tmp_path_factory.mktemp("text") / "llm")
    ends = [2, *range(13, 49_000, 30)]
    GenerationConfig(bos_token_id=1, eos_token_id=ends, pad_token_id=2).save_pretrained(folder)
    return str(folder)


def load_plain(folder):
    """Load a checkpoint by transformers alone."""
    return AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()


@pytest.fixture(scope="module")
def plain(name):
    return load_plain(name)


@pytest.fixture(scope="module")
def llm(name):
    return open_engine(TransformersLLM, name, batch_size=3)


def seeds(n):
    return [[10 * i + j for j in range(n)] for i in range(len(PROMPTS))]


def encode_chat(tokenizer, prompt):
    chat = [{"role": "user", "content": prompt}]
    return tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True, return_tensors="pt")


@torch.inference_mode()
def answer_alone(plain, prompt, **settings):
    """Answer a prompt by `generate` of transformers."""
    tokenizer, model = plain
    inputs = encode_chat(tokenizer, prompt)
    output = model.generate(**inputs, max_new_tokens=12, do_sample=False, **settings)
    return tokenizer.decode(output[0, inputs.input_ids.shape[1] :], skip_special_tokens=True)


def test_greedy_text_equals_transformers_generate_one_by_one(llm, plain):
    found = llm.generate(ASKED, seeds(1), {"max_gen_toks": 12, "do_sample": False})
    assert found == [[answer_alone(plain, prompt)] for prompt in PROMPTS]


def test_the_demos_model_writes_what_transformers_generate_does(demo_models):
    (folder,) = [folder for folder in demo_models if folder.name in DEMO]
    found = open_engine(TransformersLLM, DEMO, batch_size=2).generate(ASKED[:2], seeds(1)[:2], {"max_gen_toks": 12})
    assert found == [[answer_alone(load_plain(folder), prompt)] for prompt in PROMPTS[:2]]


def test_sampled_answers_depend_on_their_seed_not_on_the_batch(llm, name):
    settings = {"max_gen_toks": 8, "do_sample": True, "temperature": 1.0}
    together = llm.generate(ASKED, seeds(5), settings)
    one_by_one = open_engine(TransformersLLM, name, batch_size=1).generate(ASKED, seeds(5), settings)
    assert together == one_by_one
    assert all(len(answers) == 5 for answers in together)
    assert len(set(together[1])) > 1


def test_answers_that_end_at_the_limit_are_marked_also_from_the_cache(llm, tmp_path):
    greedy = {"do_sample": False}
    whole = llm.generate(ASKED, seeds(1), greedy | {"max_gen_toks": 64})
    answers = CachedEngine(llm, tmp_path).generate(ASKED, seeds(1), greedy | {"max_gen_toks": 12})
    cut = [answer != full for answer, full in zip(answers, whole, strict=True)]
    assert 0 < sum(cut) < len(ASKED)
    again = CachedEngine(llm, tmp_path).generate(ASKED, seeds(1), greedy | {"max_gen_toks": 12})
    for found in (answers, again):
        assert [isinstance(answer, CutText) for (answer,) in found] == cut


def test_penalties_are_those_of_transformers_and_are_recorded(llm, plain):
    settings = {"max_gen_toks": 12, "do_sample": False, "repetition_penalty": 1.8}
    assert llm.sampling(settings) == {"do_sample": False, "repetition_penalty": 1.8}
    expected = [[answer_alone(plain, prompt, repetition_penalty=1.8)] for prompt in PROMPTS]
    assert llm.generate(ASKED, seeds(1), settings) == expected
    greedy = llm.generate(ASKED, seeds(1), {"max_gen_toks": 4, "do_sample": False})
    for sharp in ({"temperature": 1, "min_p": 1.0}, {"top_k": 1}):
        settings = {"max_gen_toks": 4, "do_sample": True, **sharp}
        assert list(map(set, llm.generate(ASKED, seeds(3), settings))) == list(map(set, greedy))
        assert llm.sampling(settings).items() >= sharp.items()


@torch.inference_mode()
def test_loglikelihood_equals_a_plain_forward_pass(llm, plain):
    tokenizer, model = plain
    found = llm.loglikelihood(GIVEN, CONTINUATIONS)
    for context, group, scores in zip(CONTEXTS, CONTINUATIONS, found, strict=True):
        for continuation, score in zip(group, scores, strict=True):
            ids = tokenizer(context + continuation, return_tensors="pt").input_ids
            start = len(tokenizer(context).input_ids)
            logprobs = model(ids).logits[0, :-1].log_softmax(-1)
            steps = torch.arange(start - 1, ids.shape[1] - 1)
            assert score.logprob == pytest.approx(logprobs[steps, ids[0, 1:][steps]].sum().item(), abs=1e-3)
            assert score.is_greedy == torch.equal(logprobs[steps].argmax(-1), ids[0, 1:][steps])


SPEECH = "Speech: The sea is warm and the boats come home late.\n\n"
SHARED = [
    TextPrompt(f"{SPEECH}Question: {ask}?\nAnswer:", len(SPEECH) - 2) for ask in ("What is warm", "Who is late, then")
]
ALONE = [TextPrompt(prompt.text) for prompt in SHARED]


@pytest.mark.parametrize("batch_size", [1, 4])
def test_a_shared_transcript_is_prefilled_once_for_all_its_questions(llm, name, batch_size):
    several = open_engine(TransformersLLM, name, batch_size=batch_size)
    usage.clear()
    found = several.loglikelihood([*SHARED, GIVEN[1]], [CONTINUATIONS[0]] * 3)
    assert usage["prefills"] == 2
    expected = llm.loglikelihood([*ALONE, GIVEN[1]], [CONTINUATIONS[0]] * 3)
    for ours, theirs in zip(chain(*found), chain(*expected), strict=True):
        assert ours.logprob == pytest.approx(theirs.logprob, abs=1e-3) and ours.is_greedy == theirs.is_greedy
    settings = {"max_gen_toks": 8, "do_sample": True, "temperature": 1.0}
    usage.clear()
    answers = several.generate([*SHARED, ASKED[0]], seeds(3), settings)
    assert usage["prefills"] == 2
    assert answers == llm.generate([*ALONE, ASKED[0]], seeds(3), settings)


def test_a_model_that_forgets_reads_each_prompt_whole(name, tmp_path):
    sizes = {"num_hidden_layers": 2, "hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2}
    tokenizer = AutoTokenizer.from_pretrained(name)
    config = Qwen2Config(vocab_size=len(tokenizer), num_key_value_heads=2, use_sliding_window=True, sliding_window=8,
                         max_window_layers=1, **sizes)  # fmt: skip
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    forgetful = open_engine(TransformersLLM, str(tmp_path), batch_size=2)
    usage.clear()
    found = forgetful.loglikelihood(SHARED, [CONTINUATIONS[0]] * 2)
    assert usage["prefills"] == 2 and found == forgetful.loglikelihood(ALONE, [CONTINUATIONS[0]] * 2)


def test_nan_in_any_logit_is_refused_when_continuations_are_scored(name, tmp_path):
    model = AutoModelForCausalLM.from_pretrained(name)
    model.get_output_embeddings().weight.data[-1] = torch.nan
    model.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(name).save_pretrained(tmp_path)
    broken = open_engine(TransformersLLM, str(tmp_path), batch_size=1)
    with pytest.raises(SpeechIQError, match=r"computes NaN in float32; give its stage dtype="):
        broken.loglikelihood([TextPrompt("One, two,")], [[" three", " thr"]])


def test_an_empty_context_is_the_start_of_a_text(llm):
    (((logprob, _),),) = llm.loglikelihood([TextPrompt("")], [["The"]])
    assert -30 < logprob < 0


def test_without_settings_answers_are_sampled_by_the_defaults_of_transformers(llm, plain):
    _, model = plain
    config, _ = model._prepare_generation_config(None, do_sample=True)
    found = {name: getattr(config, name) for name in ("do_sample", "temperature", "top_k")}
    assert llm.sampling({"do_sample": True, "max_gen_toks": 4}) == found
    assert "top_k" not in llm.sampling({"do_sample": True, "top_k": 0})


@torch.inference_mode()
def test_a_thousand_first_tokens_are_those_of_plain_generate(llm, plain):
    tokenizer, model = plain
    n = 1000
    inputs = encode_chat(tokenizer, PROMPTS[1])
    given = model.generate(
        **inputs, do_sample=True, max_new_tokens=1, output_scores=True, return_dict_in_generate=True
    ).scores[0][0]
    with llm.checkpoint.loaded() as loaded:
        prefill = prefill_text(loaded, [inputs["input_ids"][0].tolist()])
        settings = {"do_sample": True, "max_gen_toks": 1}
        drawn = write_answers(loaded, prefill, [list(range(n))], settings, tokenizer.pad_token_id).flatten()
    possible = given.isfinite()
    assert possible.sum() == 50 and possible[drawn].all()
    expected = given.softmax(-1)[possible].double().numpy()
    counts = np.bincount(drawn, minlength=len(given))[possible.numpy()]
    often = expected > np.quantile(expected, 0.2)  # the others are counted together
    pooled = [np.append(values[often], values[~often].sum()) for values in (counts, expected / expected.sum() * n)]
    assert chisquare(*pooled).pvalue > 1e-3


def test_each_warper_that_a_checkpoint_asks_for_is_applied_and_recorded(llm, plain, monkeypatch):
    _, model = plain
    own = {"top_h": 0.5, "typical_p": 0.9, "min_p": 0.1, "epsilon_cutoff": 3e-4, "eta_cutoff": 3e-4, "top_k": 20}
    config = GenerationConfig(**own)
    found = sampling_settings({"do_sample": True}, config)
    assert found == {"do_sample": True, "temperature": 1.0, **own}
    config, _ = model._prepare_generation_config(config, do_sample=True)
    model._prepare_special_tokens(config, device="cpu")
    theirs = [type(one) for one in model._get_logits_processor(config)]
    found.pop("do_sample")
    assert [type(one) for one in processors(found, "cpu")][1:] == theirs


def test_answers_sampled_by_other_defaults_are_not_taken_from_the_store(llm, tmp_path, monkeypatch):
    settings = {"max_gen_toks": 2, "do_sample": True}
    CachedEngine(llm, tmp_path).generate(ASKED, seeds(1), settings)
    usage.clear()
    CachedEngine(llm, tmp_path).generate(ASKED, seeds(1), settings)
    assert not usage["prefills"]
    monkeypatch.setitem(sampling.DEFAULTS, "top_k", 3)
    CachedEngine(llm, tmp_path).generate(ASKED, seeds(1), settings)
    assert usage["prefills"] == len(PROMPTS)
    greedy = {"max_gen_toks": 2, "do_sample": False}
    assert llm.effective(greedy) == greedy


def test_a_prompt_beyond_the_context_is_refused_by_its_clip_before_the_model_is_loaded(llm, monkeypatch):
    monkeypatch.setattr(llm.checkpoint, "_load", lambda: pytest.fail("loaded"))
    long = TextPrompt("so it goes " * 4000, about="demo/a")
    with pytest.raises(SpeechIQError, match=r"about demo/a has [\d,]{6} tokens and 9 for the answer, but .* 2,048"):
        llm.generate([long], [[1]], {"max_gen_toks": 9})
    with pytest.raises(SpeechIQError, match=r"the prompt about demo/a has [\d,]{6} tokens, but the model takes 2,048"):
        llm.loglikelihood([long], [[" so"]])
    with pytest.raises(SpeechIQError, match=r"the prompt 'Hi' has \d+ tokens and 2,048 for the answer"):
        llm.generate([TextPrompt("Hi")], [[1]], {"max_gen_toks": 2048})


def test_the_bar_advances_by_one_answer_as_soon_as_it_ends(llm):
    steps = []
    prompts = llm.tokenizer.apply_chat_template(
        [[{"role": "user", "content": f"Say {word} and nothing else."}] for word in ("yes", "a very long word")],
        add_generation_prompt=True,
    )["input_ids"]
    with llm.checkpoint.loaded() as model:
        rows = write_answers(model, prefill_text(model, prompts), [[0], [0]], {"max_gen_toks": 40}, 2, steps.append)
        ends = torch.tensor(model.generation_config.eos_token_id)
    ended = torch.isin(rows, ends).any(1)
    assert sum(steps) == ended.sum() > 0 and len(steps) == rows.shape[1] and max(steps) == 1


def test_a_bar_counts_answers(llm, monkeypatch):
    made = []
    bar = batches.progress_bar

    def remember(**label):
        made.append(bar(**label))
        return made[-1]

    monkeypatch.setattr(batches, "progress_bar", remember)
    llm.generate(ASKED, seeds(5), {"max_gen_toks": 3, "do_sample": True})
    assert (made[0].n, made[0].total, made[0].unit) == (15, 15, "answer")


def test_a_system_turn_precedes_the_prompt_and_is_part_of_the_key(tiny_cascade):
    tokenizer = AutoTokenizer.from_pretrained(tiny_cascade.llm)
    model = AutoModelForCausalLM.from_pretrained(tiny_cascade.llm).eval()
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    chat = tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=True, return_tensors="pt")
    written = model.generate(**chat, max_new_tokens=4, do_sample=False)[0, chat["input_ids"].shape[1] :]
    told, plain = (open_engine(TransformersLLM, tiny_cascade.llm, system=text) for text in ("Be brief.", None))
    answers = told.generate([TextPrompt("Hi")], [[0]], {"do_sample": False, "max_gen_toks": 4})
    assert answers == [[tokenizer.decode(written, skip_special_tokens=True)]]
    assert told.identity() == plain.identity() | {"system": "Be brief."} and "system" not in plain.describe()


@pytest.mark.parametrize(
    ("template", "fault"),
    [
        ("{% for turn in messages if turn.role == 'user' %}{{ turn.content }}{% endfor %}", "has no place for llm_sys"),
        ("{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}Hi", "takes no llm_system"),
        (None, "has no place for llm_system"),
    ],
)
def test_a_chat_template_without_system_turns_refuses_one(tiny_cascade, tmp_path, template, fault):
    folder = shutil.copytree(tiny_cascade.llm, tmp_path / "llm")
    folder.joinpath("chat_template.jinja").unlink()
    if template:
        folder.joinpath("chat_template.jinja").write_text(template)
    open_engine(TransformersLLM, str(folder), prefix="llm_")
    with pytest.raises(SpeechIQError, match=f"its chat template {fault}"):
        open_engine(TransformersLLM, str(folder), prefix="llm_", system="Be brief.")
