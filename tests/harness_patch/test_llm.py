from itertools import chain

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen2Config

from speechiq.core.checkpoints import resolve
from speechiq.core.errors import SpeechIQError
from speechiq.core.passes import passes
from speechiq.harness_patch.engines.transformers_llm import TransformersLLM
from speechiq.harness_patch.systems.system import Words

NAME = "demo:SmolLM2-135M-Instruct"
PROMPTS = ["Name a colour.", "Write one short sentence about the sea and the fishing boats.", "Hi"]
CONTEXTS = [
    "Speech: The sea is warm.\n\nQuestion: What is warm?\nAnswer:",
    "Question: Who?\nAnswer:",
    "One, two,",
]
CONTINUATIONS = [[" the sea", " the land of the north"], [" him", " nobody at all"], [" three", " thr"]]


@pytest.fixture(scope="module")
def plain(demo_models):
    """The checkpoint as transformers itself loads it."""
    (folder,) = [folder for folder in demo_models if folder.name in NAME]
    return AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()


@pytest.fixture(scope="module")
def llm(demo_models):
    return TransformersLLM(NAME, device="cpu", batch_size=3)


def seeds(n):
    return [[10 * i + j for j in range(n)] for i in range(len(PROMPTS))]


@torch.inference_mode()
def test_greedy_text_equals_transformers_generate_one_by_one(llm, plain):
    tokenizer, model = plain
    found = llm.generate(PROMPTS, seeds(1), {"max_gen_toks": 12, "do_sample": False})
    for prompt, (text,) in zip(PROMPTS, found, strict=True):
        chat = [{"role": "user", "content": prompt}]
        inputs = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True, return_tensors="pt")
        output = model.generate(**inputs, max_new_tokens=12, do_sample=False)
        assert text == tokenizer.decode(output[0, inputs.input_ids.shape[1] :], skip_special_tokens=True)


def test_sampled_answers_depend_on_their_seed_not_on_the_batch(llm, demo_models):
    settings = {"max_gen_toks": 8, "do_sample": True, "temperature": 1.0}
    together = llm.generate(PROMPTS, seeds(5), settings)
    one_by_one = TransformersLLM(NAME, device="cpu", batch_size=1).generate(PROMPTS, seeds(5), settings)
    assert together == one_by_one
    assert all(len(answers) == 5 for answers in together)
    assert len(set(together[1])) > 1


def test_gen_kwargs_go_before_the_models_own_defaults(llm):
    cold = llm.generate(PROMPTS, seeds(5), {"max_gen_toks": 4, "do_sample": True, "top_k": 1})
    greedy = llm.generate(PROMPTS, seeds(1), {"max_gen_toks": 4, "do_sample": False})
    assert [set(answers) for answers in cold] == [set(answers) for answers in greedy]


@torch.inference_mode()
def test_penalties_are_those_of_transformers_and_are_told(llm, plain):
    tokenizer, model = plain
    settings = {"max_gen_toks": 12, "do_sample": False, "repetition_penalty": 1.8}
    assert llm.sampling(settings) == {"do_sample": False, "repetition_penalty": 1.8}
    for prompt, (text,) in zip(PROMPTS, llm.generate(PROMPTS, seeds(1), settings), strict=True):
        chat = [{"role": "user", "content": prompt}]
        inputs = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True, return_tensors="pt")
        output = model.generate(**inputs, max_new_tokens=12, do_sample=False, repetition_penalty=1.8)
        assert text == tokenizer.decode(output[0, inputs.input_ids.shape[1] :], skip_special_tokens=True)
    sharp = {"max_gen_toks": 4, "do_sample": True, "temperature": 1, "min_p": 1.0}
    greedy = llm.generate(PROMPTS, seeds(1), {"max_gen_toks": 4, "do_sample": False})
    assert [set(answers) for answers in llm.generate(PROMPTS, seeds(3), sharp)] == list(map(set, greedy))
    assert llm.sampling(sharp)["min_p"] == 1.0


@torch.inference_mode()
def test_loglikelihood_equals_a_plain_forward_pass(llm, plain):
    tokenizer, model = plain
    found = llm.loglikelihood(CONTEXTS, CONTINUATIONS)
    for context, group, scores in zip(CONTEXTS, CONTINUATIONS, found, strict=True):
        for continuation, score in zip(group, scores, strict=True):
            ids = tokenizer(context + continuation, return_tensors="pt").input_ids
            start = len(tokenizer(context).input_ids)
            logprobs = model(ids).logits[0, :-1].log_softmax(-1)
            steps = torch.arange(start - 1, ids.shape[1] - 1)
            assert score.logprob == pytest.approx(logprobs[steps, ids[0, 1:][steps]].sum().item(), abs=1e-3)
            assert score.is_greedy == torch.equal(logprobs[steps].argmax(-1), ids[0, 1:][steps])


SPEECH = "Speech: The sea is warm and the boats come home late.\n\n"
HEARD = [Words(f"{SPEECH}Question: {ask}?\nAnswer:", len(SPEECH) - 2) for ask in ("What is warm", "Who is late, then")]


@pytest.mark.parametrize("batch_size", [1, 4])
def test_what_was_heard_is_read_once_for_all_questions_about_it(llm, plain, batch_size):
    several = TransformersLLM(NAME, device="cpu", batch_size=batch_size)
    passes.clear()
    found = several.loglikelihood([*HEARD, CONTEXTS[1]], [CONTINUATIONS[0]] * 3)
    assert passes["prefills"] == 2
    expected = llm.loglikelihood([*map(str, HEARD), CONTEXTS[1]], [CONTINUATIONS[0]] * 3)
    for ours, theirs in zip(chain(*found), chain(*expected), strict=True):
        assert ours.logprob == pytest.approx(theirs.logprob, abs=1e-3) and ours.is_greedy == theirs.is_greedy
    settings = {"max_gen_toks": 8, "do_sample": True, "temperature": 1.0}
    passes.clear()
    said = several.generate([*HEARD, PROMPTS[0]], seeds(3), settings)
    assert passes["prefills"] == 2
    assert said == llm.generate([*map(str, HEARD), PROMPTS[0]], seeds(3), settings)


def test_a_model_that_forgets_reads_each_prompt_whole(demo_models, tmp_path):
    sizes = {"num_hidden_layers": 2, "hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2}
    tokenizer = AutoTokenizer.from_pretrained(resolve(NAME))
    config = Qwen2Config(vocab_size=len(tokenizer), num_key_value_heads=2, use_sliding_window=True, sliding_window=8,
                         max_window_layers=1, **sizes)  # fmt: skip
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    forgetful = TransformersLLM(str(tmp_path), device="cpu", batch_size=2)
    passes.clear()
    found = forgetful.loglikelihood(HEARD, [CONTINUATIONS[0]] * 2)
    assert passes["prefills"] == 2 and found == forgetful.loglikelihood(list(map(str, HEARD)), [CONTINUATIONS[0]] * 2)


def test_nan_in_any_logit_is_refused_when_continuations_are_weighed(demo_models, tmp_path):
    model = AutoModelForCausalLM.from_pretrained(resolve(NAME))
    model.get_output_embeddings().weight.data[-1] = torch.nan
    model.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(resolve(NAME)).save_pretrained(tmp_path)
    broken = TransformersLLM(str(tmp_path), device="cpu", batch_size=1)
    with pytest.raises(SpeechIQError, match=r"computes NaN in float32; give its stage dtype="):
        broken.loglikelihood(["One, two,"], [[" three", " thr"]])


def test_an_empty_context_is_the_start_of_a_text(llm):
    (((logprob, _),),) = llm.loglikelihood([""], [["The"]])
    assert -30 < logprob < 0
