"""Test omni models that answer aloud: a tiny one of a real architecture, as a user runs it and against transformers."""

import math
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from speechiq.core.clip import file_clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt
from speechiq.core.usage import recording, usage
from speechiq.engines._shared.speech import SHORTEST_S, as_speech
from speechiq.engines.audio.omni import OmniReply
from speechiq.harness_patch.systems.answering import REPLY, Question
from speechiq.siq_tasks.loaders.bundled import list_clips
from tests.core.recordings import in_clip_folder
from tests.engines import tiny
from tests.engines.opener import build, open_engine
from tests.runs import evaluate

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("torchvision") is None, reason="run by test_audio_llm_omni.py"),
]
#: The token that ends the speech of the tiny model is not that of the large one.
SPEECH = {"talker_max_new_tokens": 30, "talker_eos_token_id": [tiny.CODES + 2]}
SHORT = {"max_gen_toks": 8}


@pytest.fixture(scope="module")
def talking(tmp_path_factory, demo_models):
    return tiny.make("qwen2_5_omni_with_talker", tmp_path_factory.mktemp("omni"))


def load(folder, **options):
    return open_engine(OmniReply, folder, prefix="speaks_", **{"settings": SPEECH} | options)


def queries(number):
    return [Prompt.about("<audio>", [file_clip(clip)]) for clip in list_clips("wildspeech/demo")[:number]]


def read_by_transformers(folder, system, query):
    """Return a model and its processor without an engine, and their inputs for a system turn and a query."""
    from transformers import AutoProcessor, Qwen2_5OmniForConditionalGeneration

    processor = AutoProcessor.from_pretrained(folder)
    turns = {"system": {"type": "text", "text": system}, "user": query}
    inputs = processor.apply_chat_template(
        [{"role": role, "content": [part]} for role, part in turns.items()],
        add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt",
    )  # fmt: skip
    return Qwen2_5OmniForConditionalGeneration.from_pretrained(folder).eval(), processor, inputs


def test_a_timed_reply_is_the_same_and_its_audio_comes_after_its_text(talking):
    engine, prompts = load(talking), queries(2)
    plain = engine.reply(prompts, [[7], [8]], SHORT)
    with recording() as recorder:
        assert engine.reply(prompts, [[7], [8]], SHORT) == plain
    first, second = (recorder.latencies[seed] for seed in (7, 8))
    assert 0 < second.first_token < second.first_audio <= second.total
    assert first.is_warm_up != second.is_warm_up


def test_text_and_speech_are_those_of_transformers(talking):
    engine, (prompt,) = load(talking, speaker="Ethan"), queries(1)
    ((reply,),) = engine.reply([prompt], [[7]], SHORT)
    query = {"type": "audio", "audio": prompt.clip.samples}
    model, processor, inputs = read_by_transformers(talking, engine.describe()["system"], query)
    torch.manual_seed(7)
    ids, wave = model.generate(
        **inputs, generation_mode="audio", speaker="Ethan", thinker_max_new_tokens=8, thinker_do_sample=False, **SPEECH
    )
    (text,) = processor.batch_decode(ids[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    assert reply.text == text.strip() and reply.coverage == 1.0
    assert reply.audio == as_speech(wave.numpy(), 24_000, "omni") and np.abs(reply.audio.samples).max() > 0.01


def test_a_reply_depends_on_its_prompt_and_its_seed_alone(talking):
    prompts, seen = queries(2), []
    both = load(talking).reply(prompts, [[1, 2], [3, 4]], SHORT, lambda places, rows: seen.extend(places))
    assert load(talking).reply(prompts[1:], [[3, 4]], SHORT) == both[1:]
    assert both[0][0].audio != both[0][1].audio and both[0][0].text == both[0][1].text
    assert sorted(seen) == [0, 1]


def test_another_type_of_model_speaks_too(tmp_path, demo_models):
    folder = tiny.make("qwen3_omni_moe_with_talker", tmp_path)
    settings = {"talker_max_new_tokens": 20, "thinker_eos_token_id": 2}
    engine, prompts = load(folder, settings=settings, speaker="ethan"), queries(2)
    (first,), (second,) = engine.reply(prompts, [[1], [2]], SHORT)
    assert first.text and first.text != second.text and first.audio != second.audio
    assert all(np.abs(reply.audio.samples).max() > 0.01 for reply in (first, second))
    assert engine.reply(prompts[1:], [[2]], SHORT) == [[second]] and engine.describe()["system"] == ""
    with pytest.raises(SpeechIQError, match="no such speaker; did you mean chelsie"):
        load(folder, speaker="chelsea").reply(prompts, [[1], [2]], SHORT)


def test_a_model_that_writes_nothing_says_nothing(talking):
    ((reply,),) = load(talking).reply(queries(1), [[1]], {"max_gen_toks": 1})
    assert reply.audio.duration == SHORTEST_S and not reply.audio.samples.any()


def test_what_the_model_does_not_have_is_one_line(talking):
    with pytest.raises(SpeechIQError, match=r"^speaks_speaker=Chelsea: .* did you mean Chelsie\? known are Chelsie"):
        load(talking, speaker="Chelsea").reply(queries(1), [[1]], SHORT)
    with pytest.raises(SpeechIQError, match=r"cannot speak what it wrote .*lungs.*; change the option speaks_settings"):
        load(talking, settings={"talker_lungs": 2}).reply(queries(1), [[1]], SHORT)
    with pytest.raises(SpeechIQError, match=r"beam"):
        load(talking).reply(queries(1), [[1]], {"beam": 2})


def test_a_rerun_of_a_system_speaks_nothing_and_writes_no_other_level_aloud(talking, tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))
    first, second = queries(2)
    questions = [Question(first, SHORT, purpose=REPLY), Question(second, SHORT, purpose="answer")]
    answers = []
    for _ in range(2):
        before = usage["spoken_texts"]
        system = build(talking, speaks="own", speaks_settings=SPEECH, dtype="float32")
        answers.append((system.answer(questions, 1), usage["spoken_texts"] - before))
    ((reply,), (silent,)), spoken = answers[0]
    assert spoken == 1 and answers[1] == (answers[0][0], 0)
    assert in_clip_folder(reply.audio.source) and silent.audio is None
    assert system.describe()["speaks"]["dtype"] == "float32"


def test_a_model_answers_a_written_query_aloud(talking):
    system = build(talking, speaks="own", speaks_settings=SPEECH)
    (heard,) = queries(1)
    question = Question(heard, SHORT, purpose=REPLY, transcript="Why do we have leap years?")
    system.check([question], 1)
    before = usage["encoded_clips"]
    ((reply,),) = system.answer([question], 1)
    assert usage["encoded_clips"] == before and np.abs(reply.audio.samples).max() > 0.01
    query = {"type": "text", "text": question.transcript}
    model, processor, inputs = read_by_transformers(talking, system.describe()["speaks"]["system"], query)
    ids = model.generate(**inputs, generation_mode="text", thinker_max_new_tokens=8, thinker_do_sample=False)
    (text,) = processor.batch_decode(ids[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    assert reply.text == text.strip() and reply.text


def test_a_checkpoint_without_the_part_that_speaks_is_refused(tmp_path, demo_models):
    folder = tiny.make("qwen2_5_omni", tmp_path)
    with pytest.raises(SpeechIQError, match=r"a qwen2_5_omni checkpoint is not a model that speaks .*speaks=ENGINE"):
        build(folder, speaks="own")


def test_the_harness_runs_an_omni_model_that_speaks(talking, speech_rater, tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))
    system = {"pretrained": talking, "speaks": "own", "speaks_settings": SPEECH}
    ran = evaluate("hf-audio", ["siq_demo_reply_ii"], model_args=system, limit=1, gen_kwargs="max_gen_toks=8")
    about = ran["config"]["siq"]
    assert about["pretrained"] == f"{talking} speaks own" and about["usage"]["spoken_texts"] == 1
    (row,) = ran["samples"]["siq_demo_reply_ii"]
    assert row["spoken"] == 1 and math.isfinite(row["judge_points"]) and row["response_seconds"] == pytest.approx(0.6)
