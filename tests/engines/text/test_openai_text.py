"""Test the text stage behind an endpoint: real HTTP, and models that answer there."""

import json
from itertools import chain, count

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import TextPrompt
from speechiq.engines._shared.remote import PROBE
from speechiq.engines.text.hf import TransformersLLM
from speechiq.engines.text.openai import OpenAIText
from tests import runs
from tests.engines.opener import build, open_engine
from tests.engines.text.test_lm_eval_text import ASKED, GREEDY
from tests.siq_tasks.questions.server import completion, serving

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("endpoint_key")]

#: Log-probabilities of what a server wrote, without those of the prompt.
WRITTEN = {"tokens": ["A", "B"], "token_logprobs": [-1, -2], "top_logprobs": [{"A": -1}, {"B": -2}]}


def open_llm(model, url, **options):
    return open_engine(OpenAIText, model, batch_size=1, base_url=url, **options)


def varied(script):
    """Serve a script whose model samples: its answers to the probe always differ."""
    turns = count(1)
    return serving(lambda prompt, n: f"words {n}" if prompt == PROBE else script(prompt, next(turns)))


def evaluate(server, limit, **options):
    """Run the harness with a cascade that ends at the server."""
    system = {"pretrained": "gold+openai:m", "llm_base_url": server.url}
    return runs.evaluate("hf-audio", ["siq_demo_apply"], model_args=system, limit=limit, **options)


def test_errors_name_options_with_the_prefix_of_their_stage(tiny_cascade):
    spec = f"gold+openai:m+{tiny_cascade.llm}"
    with serving(lambda *_: (200, {}, completion([None], "length"))) as server:
        ger = build(spec, ger_base_url=server.url).engine.asr.ger
        llm = build("gold+openai:m", llm_base_url=server.url).engine.llm
        for text, wanted in ((ger, "ger_max_gen_toks"), (llm, "--gen_kwargs max_gen_toks")):
            with pytest.raises(SpeechIQError, match=f"needs .*{wanted}"):
                text.generate(ASKED, [[1], [2]], GREEDY)
        down = server.url
    with pytest.raises(SpeechIQError, match="no connection; check ger_base_url"):
        build(spec, ger_base_url=down, ger_max_retries=0)


def test_a_cascade_with_an_endpoint_answers_in_lm_eval():
    with varied(lambda *_: "The answer is (B).") as server:
        results = evaluate(server, 3)
    described = results["config"]["siq"]["system"]["llm"]
    assert described["engine"] == "openai" and described["model"] == "m"
    assert results["results"]["siq_demo_apply"]["agreement,vote"] == 1
    assert "Reply with the letter" in str(server.requests[-1]["messages"])


def test_five_samples_at_temperature_0_are_refused():
    with serving(lambda *_: "B") as server, pytest.raises(SpeechIQError, match="cannot sample 5 answers to a question"):
        evaluate(server, 1, gen_kwargs={"temperature": 0})


class Completions:
    """Serve the language model at `/completions`, with log-probabilities of the prompt and of its own tokens."""

    def __init__(self, model):
        self.tokenizer = AutoTokenizer.from_pretrained(model)
        self.model = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval()

    @torch.inference_mode()
    def __call__(self, prompt, _number):
        ids = self.tokenizer(prompt, return_tensors="pt").input_ids
        found = self.model(ids).logits[0].log_softmax(-1)
        written = [*ids[0, 1:].tolist(), int(found[-1].argmax())]
        tokens = self.tokenizer.convert_ids_to_tokens([int(ids[0, 0]), *written])
        logprobs = [None, *(float(row[token]) for row, token in zip(found, written, strict=True))]
        best = [{tokens[i + 1]: logprobs[i + 1], "best": float(row.max())} for i, row in enumerate(found)]
        echo = {"tokens": tokens, "token_logprobs": logprobs, "top_logprobs": [None, *best]}
        return 200, {}, json.dumps({"choices": [{"index": 0, "text": prompt, "logprobs": echo}]})


def test_a_server_that_echoes_its_prompt_scores_as_the_model_itself_does(tiny_cascade):
    contexts = [TextPrompt(text) for text in ("One, two,", "The sea is", "One, two,")]
    continuations = [[" three", " cheese"], [" blue", " bluer", " a"], [" three"]]
    ours = open_engine(TransformersLLM, tiny_cascade.llm, batch_size=2).loglikelihood(contexts, continuations)
    with serving(Completions(tiny_cascade.llm)) as server:
        llm = build("gold+openai:m", llm_base_url=server.url, llm_answer="likelihood").engine.llm
        theirs = llm.loglikelihood(contexts, continuations)
        assert {asked["max_tokens"] for asked in server.requests} == {1} and all(a["echo"] for a in server.requests)
    for one, other in zip(chain(*ours), chain(*theirs), strict=True):
        assert one.logprob == pytest.approx(other.logprob, abs=1e-3) and one.is_greedy == other.is_greedy


@pytest.mark.parametrize(
    "reply",
    [
        (404, {}, "{}"),
        (200, {}, completion("A")),
        (200, {}, '{"choices": [{"index": 0, "text": ""}]}'),
        (200, {}, json.dumps({"choices": [{"logprobs": WRITTEN}]})),
        (200, {}, '{"choices": [{"logprobs": NaN}]}'),
    ],
    ids=["no completions", "chat", "no log-probabilities", "no echo", "NaN"],
)
def test_a_server_without_log_probabilities_of_prompts_is_refused_where_answers_are_chosen_by_them(reply):
    with serving(lambda *_: reply) as server:
        line = "llm_answer=likelihood: openai:m has no log-likelihoods; use llm_answer=gen"
        with pytest.raises(SpeechIQError, match=line):
            build("gold+openai:m", llm_base_url=server.url, llm_answer="likelihood")
        with pytest.raises(SpeechIQError, match=r"openai:m.*(answered 404|no log-probabilities of the prompt; use)"):
            open_llm("m", server.url).loglikelihood([TextPrompt("a")], [[" b"]])
