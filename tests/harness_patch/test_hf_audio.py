"""`hf-audio` as lm-eval calls it, and what it refuses before any model is loaded."""

import json
import os
import re
from collections import Counter
from types import SimpleNamespace

import pytest
import torch
from huggingface_hub import constants
from lm_eval.api.instance import Instance

from speechiq.core.cache.stages import list_stages
from speechiq.core.errors import SpeechIQError
from speechiq.core.usage import usage
from speechiq.harness_patch.hf_audio import HFAudio, _choose_device
from speechiq.metrics.reply import Reply, read_settings
from tests import runs
from tests.records import items
from tests.warm import lm_eval, run_warm

pytestmark = pytest.mark.slow

#: With a model that follows an instruction.
GOLD = "gold+demo:SmolLM2-135M-Instruct"
OPTIONS = ["the quota", "the cake", "the rope", "a tree", "None of the above"]
QUESTION = {"question": "What was cut?", "options": OPTIONS}


def request(clip, text, prompt="<audio>\n", repeats=1, settings=None, kind="generate_until", **asked):
    arguments = (prompt, settings or {"until": []}, {"audio": [items(clip, **asked)]})
    return Instance(kind, {"text": text}, arguments, 0, (None, 0, repeats))


@pytest.fixture(scope="module")
def gold(tiny_cascade):
    """Return the spec of a control before a tiny language model."""
    return f"gold+{tiny_cascade.llm}"


@pytest.fixture(scope="module")
def evaluate(gold):
    """Return a function that runs a control on the demo set, and returns the results."""

    def evaluate(tasks=("siq_demo",), **options):
        return runs.evaluate(
            "hf-audio", tasks, **{"model_args": {"pretrained": gold, "llm_answer": "likelihood"}} | options
        )

    return evaluate


@pytest.fixture(scope="module")
def model(gold):
    return HFAudio(pretrained=gold, device="cpu", llm_answer="likelihood")


def test_answers_are_aligned_with_requests_in_any_order(model, demo_clips):
    first, second = demo_clips[:2]
    write = request(first, "one", purpose="transcribe")
    ask = request(second, "The quota was cut.", purpose="answer", repeats=5, **QUESTION)
    also = request(second, "The quota was cut.", purpose="transcribe")
    answers = model.generate_until([ask] * 3 + [write] + [ask] * 2 + [also])
    assert answers[3] == "one" and answers[6] == "The quota was cut."
    assert set(answers[:3] + answers[4:6]) <= set("ABCDE")


@pytest.fixture(scope="module")
def cascade(tiny_cascade):
    return HFAudio(pretrained=tiny_cascade.spec, device="cpu", store="off")


def test_a_run_records_its_device_and_the_speed_of_each_stage(cascade, demo_clips):
    prompt = "Speech: <audio>\n\nQuestion: Which animal is mentioned?\nAnswer:"
    cascade.loglikelihood([Instance("loglikelihood", {}, (prompt, " donkey", {"audio": [items(demo_clips[4])]}), 0)])
    recorded = cascade.get_model_info()["siq"]
    assert recorded["device"] == "cpu"
    assert {*recorded["speed"]} == {"transcribing", "answering by likelihood"}
    assert all(speed["rtfx"] > 0 for speed in recorded["speed"].values())


def test_replies_to_several_tasks_are_transcribed_together(
    tiny_cascade, tiny_voice, gold, demo_clips, tmp_path, monkeypatch
):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    model = HFAudio(pretrained=gold, device="cpu", speaks=f"hf:{tiny_voice}")
    settings = read_settings({"reply_asr": tiny_cascade.asr, "speech_quality": "off"})
    docs = [{"id": f"tc/{i}", "question": "Why?", "text": "Why is it late?", **settings} for i in range(2)]
    limit = {"until": [], "do_sample": False, "max_gen_toks": 4}
    asked = [
        Instance("generate_until", doc, ("<audio>", limit, {"audio": [items(clip, purpose="reply")]}), 0)
        for doc, clip in zip(docs, demo_clips, strict=False)
    ]
    before = usage["asr_clips"]
    answers = model.generate_until(asked)
    assert usage["asr_clips"] - before == 2
    for doc, answer in zip(docs, answers, strict=True):
        (item,) = Reply().apply([answer], [doc])
        assert item["written"] == answer and item["audio"]["duration"] > 0
    assert usage["asr_clips"] - before == 2


def test_five_answers_stay_the_same_five_when_a_request_is_padded_or_run_again(model, demo_clips):
    ask = request(demo_clips[2], "", purpose="answer", repeats=5, **QUESTION)
    five = model.generate_until([ask] * 5)
    assert model.generate_until([ask] * 10) == five * 2
    assert len(set(five)) > 1


def test_one_recording_with_two_references_is_two_clips_to_gold(model, demo_clips):
    both = [request(demo_clips[8], text, purpose="transcribe") for text in ("one", "two")]
    for each in both:
        each.doc["id"] = each.doc["text"]
    assert model.generate_until(both) == ["one", "two"]


def test_stop_strings_end_an_answer(model, demo_clips):
    write = request(demo_clips[3], "one two three", purpose="transcribe", settings={"until": [" two", "x"]})
    assert model.generate_until([write]) == ["one"]


def test_a_prompt_is_answered_in_free_text_with_the_transcript_in_place_of_the_audio(demo_models, demo_clips):
    model = HFAudio(pretrained=GOLD, device="cpu")
    settings = {"until": [], "do_sample": False, "max_gen_toks": 12}
    ask = request(demo_clips[5], "banana banana banana", "Repeat these words: <audio>", settings=settings)
    assert "banana" in model.generate_until([ask])[0].lower()


def test_a_prompt_with_more_marks_than_clips_is_named_before_any_compute(model, demo_clips):
    two = request(demo_clips[5], "", "<audio> or <audio>?")
    two.doc["id"] = "demo/two"
    with pytest.raises(SpeechIQError, match=r"^demo/two: its prompt '<audio> or <audio>\?' has more <audio> \(2\) "):
        model.generate_until([two])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_beams": 4}, "^--gen_kwargs num_beams=4: the hf engine does not know it; leave it out"),
        ({"do_sample": True, "temperature": 0}, "cannot sample 5 answers"),
        ({"do_sample": True, "top_p": 7}, "^--gen_kwargs top_p=7: .*; give another value"),
        ({"do_sample": True, "min_p": 7}, "^--gen_kwargs min_p=7: "),
        ({"repetition_penalty": -1}, "^--gen_kwargs repetition_penalty=-1: "),
        ({"max_gen_toks": 8, "max_tokens": 9}, "^--gen_kwargs max_tokens=9: max_gen_toks=8 is given too"),
        ({"max_tokens": "many"}, "^--gen_kwargs max_tokens=many: .*; give numbers"),
        ({"max_tokens": 0}, "^--gen_kwargs max_gen_toks=0: allows no token"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_any_clip_is_processed(cascade, demo_clips, settings, message):
    write, before = request(demo_clips[0], "", purpose="transcribe"), Counter(usage)
    ask = request(demo_clips[1], "", repeats=5, settings=settings)
    with pytest.raises(SpeechIQError, match=message):
        cascade.generate_until([write, ask])
    assert usage == before


def test_a_likelihood_without_options_is_refused_before_any_clip_is_processed(demo_models, demo_clips):
    model, before = HFAudio(pretrained="demo", device="cpu"), Counter(usage)
    with pytest.raises(SpeechIQError, match=r"^llm_answer=likelihood: .*has no options .*; use llm_answer=generate"):
        model.generate_until([request(demo_clips[0], "", purpose="transcribe"), request(demo_clips[6], "")])
    assert usage == before


def test_lm_evals_other_names_of_a_setting_mean_the_same(gold, demo_clips):
    model = HFAudio(pretrained=gold, device="cpu")

    def ask(**settings):
        one = request(demo_clips[5], "banana", "Tell a story about <audio>", repeats=2, settings=settings)
        return model.generate_until([one] * 2)

    first = ask(max_new_tokens=4, temperature=3)
    assert first == ask(max_gen_toks=4, temperature=3.0, do_sample=True, until=None) and len(set(first)) == 2
    whole = ask(max_gen_toks=4)
    letter = whole[0][2]
    assert ask(max_tokens=4, until=letter) == [text.partition(letter)[0] for text in whole] != whole


def test_gold_needs_a_reference(model, demo_clips):
    with pytest.raises(SpeechIQError, match=r"gold.*without a reference text"):
        model.generate_until([request(demo_clips[7], None, purpose="transcribe")])


def test_lm_evals_chat_template_flag_leaves_prompts_as_they_are(model, gold):
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "<audio>\nWhat?"}]
    assert model.apply_chat_template(chat) == "Be brief.\n\n<audio>\nWhat?" and model.tokenizer_name == gold


@pytest.mark.parametrize("size", ["0", "-3", "many", 2.5])
def test_a_batch_size_that_is_none_is_refused(size):
    with pytest.raises(SpeechIQError, match=f"--batch_size {size}: neither"):
        HFAudio(pretrained=GOLD, device="cpu", batch_size=size)


@pytest.mark.parametrize(
    ("asked", "here", "processes", "chosen"),
    [
        ("cuda:1", "cuda:0", 1, "cuda:1"),
        ("cuda:0", "cuda:3", 8, "cuda:3"),
        (None, "cpu", 1, "cpu"),
        (None, "mps", 1, "mps"),
        ("cpu", "cpu", 1, "cpu"),
        ("cpu", "cuda:0", 1, "cpu"),
    ],
)
def test_the_device_is_the_one_asked_for_or_this_process_has_its_own(asked, here, processes, chosen):
    state = SimpleNamespace(device=torch.device(here), num_processes=processes)
    assert _choose_device(asked, state, count=8) == torch.device(chosen)


@pytest.mark.parametrize(
    ("asked", "here", "message"),
    [
        ("cuda", "cpu", "^--device cuda: this machine has cpu only; give --device cpu, or leave it out"),
        ("cuda:0", "mps", "^--device cuda:0: this machine has mps:0 to mps:7 only; give --device mps"),
        ("cuda:9", "cuda:0", "^--device cuda:9: this machine has cuda:0 to cuda:7 only"),
        ("nonsense", "cpu", "^--device nonsense: not a kind of device; give cpu, cuda"),
    ],
)
def test_a_device_that_is_not_on_this_machine_is_refused(asked, here, message):
    state = SimpleNamespace(device=torch.device(here), num_processes=1)
    with pytest.raises(SpeechIQError, match=message):
        _choose_device(asked, state, count=8)


def test_rolling_likelihood_is_refused(model):
    with pytest.raises(SpeechIQError, match="not defined for a speech system"):
        model.loglikelihood_rolling([])


def test_an_output_path_that_cannot_be_written_is_refused_before_any_compute(evaluate, tmp_path):
    tmp_path.joinpath("file").write_text("in the way")
    with pytest.raises(SpeechIQError, match=rf"'{tmp_path}/file/runs': Not a directory; .*--output_path"):
        evaluate(output=tmp_path / "file" / "runs")


def test_an_instruction_that_no_prompt_holds_is_refused(evaluate):
    with pytest.raises(SpeechIQError, match=r"^--system_instruction 'Be brief\.': llm_answer=likelihood uses a prompt"):
        evaluate(limit=2, system_instruction="Be brief.")


def test_a_store_of_ones_own_takes_all_stages_and_leaves_the_environment(evaluate, tiny_cascade, tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "unused"))
    options = {"pretrained": f"gold+{tiny_cascade.llm}", "llm_answer": "likelihood", "store": str(tmp_path / "mine")}
    about = {"embedder": tiny_cascade.llm}
    evaluate(["siq_demo_understand", "siq_demo_apply"], limit=1, model_args=options, metadata=about)
    assert {stage.stage["stage"] for stage in list_stages(tmp_path / "mine")} == {"text", "embedder"}
    assert os.environ["SIQ_STORE"] == str(tmp_path / "unused") and not (tmp_path / "unused").exists()


def test_a_system_is_described_in_the_results_and_nan_free(evaluate, tiny_cascade):
    results = evaluate(limit=2, metadata={"embedder": tiny_cascade.llm})
    system = results["config"]["siq"]["system"]
    assert system["asr"] == {"control": "gold"} and system["answering"]["way"] == "likelihood"
    for samples in results["samples"].values():
        for row in samples:
            assert "array" not in row["doc"]["audio"]
            assert all(isinstance(row[metric], float) for metric in row["metrics"])
            assert "array" not in json.dumps(row["arguments"])
    assert results["results"]["siq_demo_remember"]["wer,transcript"] == 0.0


def lm_eval_offline():
    """Enter lm-eval with the offline mode of the hub."""
    constants.HF_HUB_OFFLINE = True
    lm_eval()


def test_the_command_line_ends_with_one_line_and_a_code(tmp_path):
    done = run_warm(lm_eval_offline, "--model", "hf-audio", "--tasks", "siq_demo", cwd=tmp_path)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert re.match(r"siq: error: openai/whisper-large-v2: .*pretrained=demo", done.stderr.splitlines()[-1])
