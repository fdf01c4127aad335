"""Text stages run by lm-eval's model types and by endpoints: real models, real HTTP, no answer made up."""

import json
import math
import re
from functools import partial
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from lm_eval import simple_evaluate
from lm_eval.api.instance import Instance
from lm_eval.api.registry import get_model
from lm_eval.tasks import TaskManager
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from speechiq.core.checkpoints import resolve
from speechiq.core.context import count_by_bytes
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import TextPrompt
from speechiq.engines._shared import sampling
from speechiq.engines._shared.independence import PROBE
from speechiq.engines._shared.sampling import DEFAULTS
from speechiq.engines.asr.controls import Gold
from speechiq.engines.text import lm_eval_kinds
from speechiq.engines.text.hf import TransformersLLM
from speechiq.engines.text.lm_eval_kinds import lm_eval_text
from speechiq.engines.text.openai import OpenAIText
from speechiq.harness_patch.kept import Kept
from speechiq.harness_patch.systems.build import build_system
from speechiq.harness_patch.systems.corrected import BESIDE, SLACK, Corrected
from tests.records import named
from tests.served import transformers_serve
from tests.siq_tasks.questions.server import Handler, completion, serving

LLM = "demo:SmolLM2-135M-Instruct"
PROMPTS = ["Name a colour.", "Write one short sentence about the sea and the fishing boats."]
ASKED = list(map(TextPrompt, PROMPTS))
GREEDY = {"max_gen_toks": 8, "do_sample": False, "until": []}
SAMPLED = {"max_gen_toks": 8, "do_sample": True, "until": []}
SEEDS = [[11, 12, 13], [21, 22, 2**64 - 1]]
KEY = "sk-never-shown-4711"
SOON = {"Retry-After": "0.01"}
CHAT = "local-chat-completions"


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def build(spelling, **options):
    return build_system(spelling, options, device="cpu", batch_size="auto", seed=1)


def varied(script):
    """A server with that script whose model samples: it never says the same of the question that tests this."""
    turns = count(1)
    return serving(lambda prompt, n: f"words {n}" if prompt == PROBE else script(prompt, next(turns)))


def ask(script, engine=CHAT, settings=SAMPLED, **options):
    """The answers to two prompts, or the one line; what the server was sent."""
    with varied(script) as server:
        try:
            llm = lm_eval_text(engine, "m", device="cpu", batch_size="auto", **open_at(server) | options)
            said = llm.generate(ASKED, SEEDS, settings)
        except SpeechIQError as error:
            said = str(error)
        return said, [asked for asked in server.requests if asked["messages"][0]["content"] != PROBE]


def open_at(server):
    return {"base_url": server.url, "max_retries": 3}


def copy_checkpoint(folder, **settings):
    """The language model with these settings of its own."""
    folder.mkdir()
    for file in Path(resolve(LLM)).iterdir():
        folder.joinpath(file.name).symlink_to(file)
    folder.joinpath("generation_config.json").unlink()
    GenerationConfig(**settings, eos_token_id=2, pad_token_id=2).save_pretrained(folder)
    return folder


def told(engine, **options):
    """The one line of an engine that cannot be built."""
    with pytest.raises(SpeechIQError) as caught:
        lm_eval_text(engine, options.pop("model", "m"), device="cpu", batch_size=1, **options)
    return str(caught.value)


@pytest.fixture(scope="module")
def harness(demo_models):
    return lm_eval_text("huggingface", LLM, device="cpu", batch_size="auto", dtype="float32")


def test_lm_evals_own_transformers_say_and_weigh_the_same_as_ours(harness):
    ours = TransformersLLM(LLM, device="cpu", batch_size=2)
    said = harness.generate(ASKED, SEEDS, GREEDY)
    assert said == ours.generate(ASKED, SEEDS, GREEDY) and all(len(set(row)) == 1 for row in said)
    contexts, continuations = (
        ["One, two,", "The sea", "One, two,"],
        [[" three", " cheese"], [" is"], [" three", " cheese"]],
    )
    mine, theirs = (llm.loglikelihood(list(map(TextPrompt, contexts)), continuations) for llm in (ours, harness))
    for one, other in zip(chain(*mine), chain(*theirs), strict=True):
        assert one.logprob == pytest.approx(other.logprob, abs=1e-3) and one.is_greedy == other.is_greedy
    assert theirs[0] == theirs[2]


def test_sampled_answers_of_lm_evals_transformers_differ_and_come_again_whatever_is_asked_beside(harness):
    first, second = harness.generate(ASKED, SEEDS, SAMPLED)
    assert len(set(first)) == len(set(second)) == 3
    assert harness.generate(ASKED[1:], SEEDS[1:], SAMPLED) == [second]
    assert harness.sampling(SAMPLED) == {"do_sample": True, "temperature": 1.0, "top_k": DEFAULTS["top_k"]}
    assert harness.sampling(GREEDY | {"temperature": 0.3}) == {"do_sample": False, "temperature": 0.0}


def test_lm_evals_transformers_sample_as_generate_does_where_nothing_is_said(harness):
    tokenizer, model = (auto.from_pretrained(resolve(LLM)) for auto in (AutoTokenizer, AutoModelForCausalLM))
    said = [{"role": "user", "content": PROMPTS[1]}]
    asked = tokenizer.apply_chat_template(said, add_generation_prompt=True, return_dict=True, return_tensors="pt")
    torch.manual_seed(5)
    answer = model.generate(**asked, do_sample=True, max_new_tokens=32)[0, asked["input_ids"].shape[1] :]
    settings = SAMPLED | {"max_gen_toks": 32}
    assert harness.generate(ASKED[1:], [[5]], settings) == [[tokenizer.decode(answer, skip_special_tokens=True)]]
    assert harness.generate(ASKED[1:], [[5]], settings | {"top_k": 2}) != harness.generate(
        ASKED[1:], [[5]], settings | {"top_k": 0}
    )


def test_answers_lm_eval_sampled_by_other_defaults_are_not_taken_from_the_store(demo_models, tmp_path, monkeypatch):
    build = partial(lm_eval_text, "huggingface", LLM, device="cpu", batch_size=1)
    first = Kept(build(), tmp_path)
    first.generate(ASKED, SEEDS, SAMPLED)
    first.generate(ASKED, SEEDS, GREEDY)
    monkeypatch.setitem(sampling.DEFAULTS, "top_k", 3)
    second = Kept(build(), tmp_path)
    computed = []
    ask = second.engine.generate
    monkeypatch.setattr(second.engine, "generate", lambda *asked, **how: computed.append(asked) or ask(*asked, **how))
    second.generate(ASKED, SEEDS, GREEDY)
    assert not computed
    second.generate(ASKED, SEEDS, SAMPLED)
    assert len(computed) == 1 and second.describe()["sampling"]["top_k"] == 3


def test_the_model_is_loaded_once_for_all_calls_inside_at_work(demo_models, monkeypatch):
    llm = lm_eval_text("huggingface", LLM, device="cpu", batch_size=2)
    created = []
    create = llm._create
    monkeypatch.setattr(llm, "_create", lambda: created.append(create()) or created[-1])
    with llm.at_work():
        assert llm._lm is None
        llm.generate(ASKED, SEEDS, GREEDY)
        llm.loglikelihood([TextPrompt("One, two,")], [[" three"]])
        assert llm._lm is created[0]
    assert llm._lm is None and len(created) == 1
    llm.loglikelihood([TextPrompt("One, two,")], [[" three"]])
    assert llm._lm is None and len(created) == 2


def test_a_correctors_limits_come_from_its_tokenizer_and_its_model_is_loaded_once(demo_models, monkeypatch):
    engine = lm_eval_text("huggingface", LLM, device="cpu", batch_size=2)
    texts = ["The sea is warm today.", "So " * 100 + "it goes."]
    counts = [len(AutoTokenizer.from_pretrained(resolve(LLM))(text).input_ids) for text in texts]
    assert list(map(engine.count, texts)) == counts
    limits, created, create, generate = [], [], engine._create, engine.generate

    def ask(prompts, seeds, settings, **more):
        limits.append(settings["max_gen_toks"])
        return generate(prompts, seeds, settings | {"max_gen_toks": 4}, **more)

    monkeypatch.setattr(engine, "_create", lambda: created.append(True) or create())
    monkeypatch.setattr(engine, "generate", ask)
    clips = [named(str(i)) for i in range(2)]
    gold = Gold("", device="cpu", batch_size=1)
    gold.references = dict(zip(clips, texts, strict=True))
    assert len(Corrected(gold, Kept(engine, None)).transcribe(clips)) == 2
    assert limits == [2 ** math.ceil(math.log2(BESIDE + SLACK * count)) for count in counts]
    assert len(created) == 1 and engine._lm is None


def test_an_endpoint_counts_by_its_tokenizer_if_it_has_one(demo_models):
    text = "The sea is warm today."
    with serving(lambda *_: "x") as server:
        chat = lm_eval_text(CHAT, "m", device="cpu", batch_size=1, base_url=server.url)
        assert chat.count(text) == count_by_bytes(text)
        assert open_completions(server).count(text) == TransformersLLM(LLM, device="cpu", batch_size=1).count(text)


def test_a_prompt_that_lm_eval_would_shorten_is_refused(demo_models):
    llm = lm_eval_text("huggingface", LLM, device="cpu", batch_size=1, max_length=64)
    assert llm.loglikelihood([TextPrompt("One, two,")], [[" three"]])
    with pytest.raises(SpeechIQError, match=r"a prompt of \d+ tokens and 60 for the answer exceed the 64"):
        llm.generate(ASKED, SEEDS, GREEDY | {"max_gen_toks": 60})
    with pytest.raises(SpeechIQError, match=r"a prompt of \d+ tokens and 0 for the answer exceed the 64"):
        llm.loglikelihood([TextPrompt("One, two, three. " * 20)], [[" four"]])


def test_a_checkpoints_own_sampling_settings_are_used_and_recorded(demo_models, tmp_path):
    folder = copy_checkpoint(tmp_path / "model", do_sample=True, temperature=0.7, top_p=0.8)
    folder.joinpath("model.safetensors").unlink()
    llm = lm_eval_text("huggingface", str(folder), device="cpu", batch_size=1, top_p=0.5)
    assert llm.sampling(SAMPLED) == {"do_sample": True, "temperature": 0.7, "top_k": DEFAULTS["top_k"], "top_p": 0.5}
    assert llm.sampling(SAMPLED | {"temperature": 2, "top_p": 1})["temperature"] == 2
    with pytest.raises(SpeechIQError, match="cannot be loaded"):
        llm.generate(ASKED, SEEDS, SAMPLED)


def test_an_endpoint_is_asked_once_an_answer_each_with_its_seed_and_side_by_side():
    said, requests = ask(lambda prompt, _: f"re: {prompt}", temperature=0.5, num_concurrent=3)
    assert said == [[f"re: {prompt}"] * 3 for prompt in PROMPTS]
    sent = {(asked["messages"][0]["content"], asked["seed"]) for asked in requests}
    assert sent == {(prompt, seed % 2**31) for prompt, seeds in zip(PROMPTS, SEEDS, strict=True) for seed in seeds}
    assert all((asked["temperature"], asked["max_tokens"], asked["stop"]) == (0.5, 8, None) for asked in requests)


def test_greedy_answers_of_an_endpoint_are_asked_for_once_and_copied():
    said, requests = ask(lambda prompt, _: prompt, settings=GREEDY | {"until": ["\n"]})
    assert said == [[prompt] * 3 for prompt in PROMPTS] and len(requests) == 2
    assert all((asked["temperature"], asked["stop"]) == (0, ["\n"]) for asked in requests)


def test_what_is_really_sent_is_recorded_and_never_a_key():
    with serving(lambda *_: "x") as server:
        llm, knows_better = (
            lm_eval_text("openai-chat-completions", name, device="cpu", batch_size=1, base_url=server.url, top_p=0.9)
            for name in ("m", "o3")
        )
    assert llm.sampling(GREEDY) == {"do_sample": False, "temperature": 0}
    assert llm.sampling(SAMPLED) == {"do_sample": True, "temperature": 1.0, "top_p": 0.9}
    assert knows_better.sampling(GREEDY) == {"do_sample": False, "temperature": 1}
    assert llm.describe()["options"]["base_url"] == f"{server.url}/chat/completions"
    assert KEY not in str(llm.describe()) + str(llm.identity())


def test_a_server_that_does_not_sample_is_refused_before_it_gives_one_answer_five_times():
    line = "gives the same answer whatever the seed, so its answers to a question would be one; have its server sample"
    with serving(lambda *_: "B") as server:
        for llm in (
            lm_eval_text(CHAT, "m", device="cpu", batch_size=1, **open_at(server)),
            OpenAIText("m", device="cpu", batch_size=1, **open_at(server)),
        ):
            with pytest.raises(SpeechIQError, match=line):
                llm.generate(ASKED, SEEDS, SAMPLED)
            assert llm.generate(ASKED, SEEDS, SAMPLED | {"temperature": 0.1}) == [["B"] * 3] * 2
            assert llm.generate(ASKED, [[1], [2]], SAMPLED) == [["B"]] * 2


@pytest.mark.parametrize("fault", [(429, SOON, "{}"), (503, SOON, "busy")])
def test_a_passing_fault_is_tried_again(fault):
    said, requests = ask(lambda _, number: fault if number < 3 else "fine")
    assert said == [["fine"] * 3] * 2 and len(requests) == 8


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ((500, SOON, "out of memory"), "answered 500, out of memory; correct what it names"),
        ((400, {}, '{"error": "no temperature"}'), "answered 400, no temperature; correct what it names"),
        (
            (401, {}, "no such key: {key}"),
            r"answered 401, no such key: Bearer \*\*\*; check the key in the environment",
        ),
        ((404, {}, ""), "answered 404, ; check base_url and the model's name"),
        ((200, {}, "<html>"), r"sent no answer \(.*\); check base_url, the whole address that is posted to"),
        ((200, {}, "[]"), "sent no answer"),
        ((200, SOON, '{"choices": []}'), r"sent no chat completion \(no choices\)"),
        ((200, {}, '{"choices": [{}]}'), "sent no answer"),
        ((200, {}, '{"error": {"message": "overloaded"}}'), "sent no answer"),
        ((200, SOON, completion([None], "tool_calls")), r"sent a reply without text \(it ended by tool_calls\)"),
    ],
)
def test_a_reply_that_is_no_answer_stops_the_run_with_one_line(reply, message, caplog):
    said, requests = ask(lambda *_: reply, num_concurrent=1)
    assert re.match(rf"{CHAT}:m at 127\.0\.0\.1: {message}", said) and "\n" not in said
    assert len(requests) == (4 if reply[1] is SOON else 1)
    assert KEY not in said + caplog.text


def test_a_thought_without_an_answer_is_none_and_a_refusal_is_one():
    said, _ = ask(lambda *_: (200, {}, completion([None], "length")))
    assert said.startswith(f"{CHAT}:m: a reply ended at the token limit before it said anything") and "=4096" in said
    said, _ = ask(lambda *_: (200, {}, completion([None], refusal="I must not.")))
    assert said == [["I must not."] * 3] * 2
    assert ask(lambda *_: "")[0] == [[""] * 3] * 2


def test_what_cannot_work_is_told_before_anything_is_loaded(demo_models, monkeypatch):
    with serving(lambda *_: "x") as server:
        down = server.url
    line = rf"{CHAT}:m at 127.0.0.1: cannot be reached; check base_url and that the endpoint is up"
    assert told(CHAT, base_url=down) == line
    assert "no address; give base_url=http" in told(CHAT)
    assert "base_url: the address holds a user or password" in told(CHAT, base_url="http://me:secret@127.0.0.1/v1")
    assert "would be written into the results" in told(CHAT, base_url=down, auth_token="x")
    assert "no such option: num_concurent; it has temperature, " in told(CHAT, num_concurent=2)
    assert "temperature=0: answers would all be one" in told(CHAT, base_url=down, temperature=0)
    assert told("hf-audio").endswith("is a speech system, not a text model; choose another engine")
    assert told("vllm").startswith("vllm:m: the package vllm is missing; install")
    assert "whisper checkpoint cannot stand where a language" in told("huggingface", model="demo:whisper-base")
    assert "no such model in" in told("huggingface", model="demo:nothing")
    monkeypatch.delenv("OPENAI_API_KEY")
    line = "openai-chat-completions:m: API key not found. Please set the `OPENAI_API_KEY` environment variable"
    assert told("openai-chat-completions") == line
    with pytest.raises(SpeechIQError, match=r"^openai:gpt-4o: no key; set the environment variable OPENAI_API_KEY"):
        build(f"gold+openai:gpt-4o+{LLM}")


@pytest.mark.parametrize("package", lm_eval_kinds.CALLERS)
def test_a_package_that_calls_is_named_if_it_is_missing(package, monkeypatch):
    monkeypatch.setattr(lm_eval_kinds, "find_spec", lambda name: None if name == package else find_spec(name))
    line = (
        f"the package {package} is not installed; `pip install {package}`, or in a clone `pip install '.[endpoints]'`"
    )
    assert told(CHAT, base_url="http://127.0.0.1:9/v1") == f"{CHAT}:m: {line}"


def test_errors_name_options_as_their_stage_spells_them(demo_models):
    with serving(lambda *_: (200, {}, completion([None], "length"))) as server:
        for stage, spelling in (("ger", f"gold+{{}}:m+{LLM}"), ("llm", "gold+{}:m")):
            for engine in (CHAT, "openai"):
                options = {f"{stage}_base_url": server.url}
                hearer = build(spelling.format(engine), **options).hearer
                text = hearer.asr.ger if stage == "ger" else hearer.llm
                wanted = "--gen_kwargs" if (stage, engine) == ("llm", "openai") else f"{stage}_max_gen_toks"
                with pytest.raises(SpeechIQError, match=f"needs .*{wanted}"):
                    text.generate(ASKED, [[1], [2]], GREEDY)
        down = server.url
    for engine in (CHAT, "openai"):
        with pytest.raises(SpeechIQError, match="cannot be reached; check ger_base_url"):
            build(f"gold+{engine}:m+{LLM}", ger_base_url=down, ger_max_retries=0)
    with pytest.raises(SpeechIQError, match=f"^{CHAT}:m: no address; give llm_base_url=http"):
        build(f"gold+{CHAT}:m")


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_an_engine_that_fills_the_accelerators_runs_in_one_process(engine, monkeypatch):
    monkeypatch.setattr(lm_eval_kinds, "PartialState", lambda: SimpleNamespace(num_processes=8))
    assert told(engine).startswith(f"{engine}:m: 8 processes would each fill the same accelerators; run one and")


def test_an_option_that_the_model_type_does_not_have_is_one_line_when_it_is_loaded(demo_models):
    llm = lm_eval_text("huggingface", LLM, device="cpu", batch_size=1, bogus=1)
    with pytest.raises(SpeechIQError, match=f"^huggingface:{LLM}: cannot be loaded .*bogus.*; check name and options"):
        llm.generate(ASKED, SEEDS, GREEDY)


def test_an_endpoint_that_weighs_no_texts_is_refused_where_texts_must_be_weighed():
    with serving(lambda *_: "A") as server:
        with pytest.raises(SpeechIQError, match=rf"llm_answer=likelihood: {CHAT}:m weighs no .*llm_answer=generate"):
            build(f"gold+{CHAT}:m", llm_base_url=server.url, llm_answer="likelihood")
        llm = lm_eval_text(CHAT, "m", device="cpu", batch_size=1, base_url=server.url)
        with pytest.raises(SpeechIQError, match=f"^{CHAT}:m: weighs no texts; use llm_answer=generate"):
            llm.loglikelihood([TextPrompt("a")], [["b"]])


def echo(tokens, _number):
    """A completion that echoes its prompt: token t has log-probability -t / 1000; the last was written, not read."""
    (read,) = tokens
    logprobs = [None, *(-token / 1000 for token in read[1:]), -9.0]
    top = [None, *({"best": logprob} for logprob in logprobs[1:])]
    choice = {"index": 0, "text": "", "logprobs": {"token_logprobs": logprobs, "top_logprobs": top}}
    return 200, {}, json.dumps({"choices": [choice]})


def open_completions(server, **options):
    place = resolve(LLM)
    options = {
        "tokenizer": place,
        "tokenizer_backend": "huggingface",
        "base_url": f"{server.url}/completions",
        **options,
    }
    return lm_eval_text("local-completions", "m", device="cpu", batch_size=1, **options)


def test_texts_are_weighed_by_a_call_each_as_lm_eval_itself_does(demo_models):
    contexts, continuations = ["One, two,", "", "The sea"], [[" three", " four"], ["One"], [" is blue"]]
    busy = [(503, SOON, "busy"), (429, SOON, "{}")]
    with serving(lambda tokens, number: busy.pop() if number in (2, 3) else echo(tokens, number)) as server:
        llm = open_completions(server, num_concurrent=3)
        found = llm.loglikelihood(list(map(TextPrompt, contexts)), continuations)
        pairs = [(context, text) for context, group in zip(contexts, continuations, strict=True) for text in group]
        kind = get_model("local-completions")
        theirs = kind(model="m", base_url=f"{server.url}/completions", tokenizer=resolve(LLM)).loglikelihood(
            [Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(pairs)]
        )
    assert [tuple(scored) for row in found for scored in row] == theirs and len(server.requests) == 4 + 2 + 4


@pytest.mark.parametrize("choice", ['{"index": 0, "text": ""}', '{"index": 0, "logprobs": null}', '{"logprobs": NaN}'])
def test_replies_without_log_probabilities_are_one_line(choice, demo_models):
    line = "its replies hold no log-probabilities of the prompt; take a server"
    script = lambda *_: (200, {}, f'{{"choices": [{choice}]}}')  # noqa: E731
    with serving(script) as server, pytest.raises(SpeechIQError, match=line):
        open_completions(server).loglikelihood([TextPrompt("One,")], [[" two"]])


@pytest.mark.parametrize("choices", ["", '{"index": 0, "text": null}'])
def test_a_completion_without_text_is_a_failed_call(choices, demo_models):
    with serving(lambda *_: (200, SOON, f'{{"choices": [{choices}]}}')) as server:
        with pytest.raises(SpeechIQError, match="sent a reply without text"):
            open_completions(server, max_retries=1).generate([TextPrompt("One,")], [[1]], GREEDY)
        assert len(server.requests) == 2


def test_a_key_that_is_refused_is_told_before_anything_runs(monkeypatch):
    refuse = 401, {}, '{"error": {"message": "not {key}"}}'
    monkeypatch.setattr(Handler, "do_GET", lambda handler: handler._send(*refuse))
    with serving(lambda *_: "B") as server:
        line = told(CHAT, base_url=server.url)
    assert "answered 401, not Bearer ***; check the key in the environment" in line and not server.requests


@pytest.mark.parametrize("engine", [CHAT, "openai"])
def test_a_cascade_with_an_endpoint_answers_in_lm_eval(engine):
    with varied(lambda *_: "The answer is (B).") as server:
        results = simple_evaluate(
            model="hf-audio",
            model_args={"pretrained": f"gold+{engine}:m", "llm_base_url": server.url},
            tasks=["siq_demo_apply"],
            task_manager=TaskManager(include_defaults=False),
            device="cpu",
            limit=3,
            bootstrap_iters=0,
        )
    told = results["config"]["siq"]["system"]["llm"]
    assert told["engine"] == engine and told["model"] == "m"
    assert results["results"]["siq_demo_apply"]["agreement,vote"] == 1
    assert "Reply with the letter" in str(server.requests[-1]["messages"])


@pytest.mark.parametrize("gen_kwargs", [{"temperature": 0}, {"temperature": 0.0, "do_sample": True}])
def test_five_samples_at_temperature_0_are_refused(gen_kwargs):
    with serving(lambda *_: "B") as server, pytest.raises(SpeechIQError, match="cannot sample 5 answers to a question"):
        simple_evaluate(
            model="hf-audio",
            model_args={"pretrained": f"gold+{CHAT}:m", "llm_base_url": server.url},
            tasks=["siq_demo_apply"],
            task_manager=TaskManager(include_defaults=False),
            gen_kwargs=gen_kwargs,
            device="cpu",
            limit=1,
            bootstrap_iters=0,
        )


def test_a_real_server_answers_both_clients_as_the_model_itself_does_and_samples_if_its_model_does(
    demo_models, tmp_path
):
    asked = ASKED[1:], [[1, 2]]
    ours = TransformersLLM(LLM, device="cpu", batch_size=2).generate(*asked, GREEDY)
    plain, sampler = resolve(LLM), str(copy_checkpoint(tmp_path / "sampler", do_sample=True))
    with transformers_serve(tmp_path / "log", "--dtype", "float32") as url:
        for client in (partial(lm_eval_text, CHAT), OpenAIText):
            llm = client(plain, device="cpu", batch_size=1, base_url=url)
            ((text, _),) = llm.generate(*asked, GREEDY)
            assert text.strip() == ours[0][0]
            ((one, other),) = client(sampler, device="cpu", batch_size=1, base_url=url).generate(*asked, SAMPLED)
            assert one != other
        with pytest.raises(SpeechIQError, match="gives the same answer whatever the seed"):
            llm.generate(*asked, SAMPLED)
