import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from speechiq.harness_patch.engines.transformers_llm import TransformersLLM

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


def test_an_empty_context_is_the_start_of_a_text(llm):
    (((logprob, _),),) = llm.loglikelihood([""], [["The"]])
    assert -30 < logprob < 0
