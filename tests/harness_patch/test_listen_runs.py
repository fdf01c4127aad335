"""Runs with `listen`: what a system gets instead of the audio, and what is refused before any model runs."""

import pytest
import torch
from lm_eval.tasks import TaskManager

from speechiq.core.cache.stages import list_stages
from speechiq.core.errors import SpeechIQError
from speechiq.core.usage import usage
from speechiq.harness_patch.hf_audio import HFAudio
from tests import runs
from tests.commands import as_json
from tests.siq_tasks.questions.server import serving

pytestmark = pytest.mark.slow

DOCS, CLIPS = [0, 3, 4], 2


def evaluate(model, tasks=("siq_demo_apply",), **metadata):
    """Return the sample rows of some questions, and the metadata that they record."""
    chosen = dict.fromkeys(tasks, DOCS)
    results = runs.evaluate(model, tasks, metadata=metadata, samples=chosen, gen_kwargs="max_gen_toks=8")
    return results["samples"][tasks[0]], results["configs"][tasks[0]]["metadata"]


def answers(rows):
    return [row["resps"] for row in rows]


def count_rows(store, stage):
    return sum(found.rows for found in list_stages(store) if found.stage["stage"] == stage)


def test_a_cascade_with_the_text_answers_as_after_gold_and_transcribes_nothing(tiny_cascade, tmp_path):
    options = {"device": "cpu", "llm_answer": "likelihood", "store": str(tmp_path)}
    torch.manual_seed(1)
    gold, _ = evaluate(HFAudio(pretrained=f"gold+{tiny_cascade.llm}", **options))
    rows = count_rows(tmp_path, "text")
    torch.manual_seed(1)
    cascade = HFAudio(pretrained=tiny_cascade.spec, **options)
    written, recorded = evaluate(cascade, listen="text")
    assert answers(written) == answers(gold) and recorded["listen"] == "text"
    assert count_rows(tmp_path, "text") == rows > 0 and not count_rows(tmp_path, "asr")


def test_a_cascade_hears_silence_and_the_clips_of_other_questions(tiny_cascade, tmp_path):
    model = HFAudio(pretrained=tiny_cascade.spec, device="cpu", llm_answer="likelihood", store=str(tmp_path))
    evaluate(model)
    assert count_rows(tmp_path, "asr") == CLIPS
    muted, _ = evaluate(model, listen="muted")
    assert count_rows(tmp_path, "asr") == 2 * CLIPS
    assert all('"mute"' in row["doc"]["audio"]["transforms"] for row in muted)
    before = {row["doc"]["id"]: row["doc"]["audio"]["sha256"] for row in muted}
    swapped, _ = evaluate(model, listen="swapped")
    assert all(row["doc"]["audio"]["sha256"] != before[row["doc"]["id"]] for row in swapped)


@pytest.mark.parametrize(
    ("task", "variant"),
    [
        ("siq_demo_assistant_answer", "text"),
        ("siq_demo_reply_tc", "text"),
        ("audiobench_demo_choice", "muted"),
        ("audiobench_demo_gender", "swapped"),
        ("audiobench_demo_judged", "swapped"),
    ],
)
def test_questions_of_every_kind_are_asked_and_scored(tiny_cascade, speech_rater, task, variant):
    model = HFAudio(pretrained=tiny_cascade.spec, device="cpu", store="off")
    rows, recorded = evaluate(model, [task], listen=variant)
    assert recorded["listen"] == variant and recorded["measure"]["column"] in rows[0]
    assert all(row["doc"]["audio"]["listen"] == variant for row in rows)


def test_a_system_that_speaks_is_compared_with_itself_on_the_written_query(
    tiny_cascade, tiny_voice, endpoint_key, tmp_path, monkeypatch
):
    """What it said to the query is transcribed as one of two keywords, what it said to the text as both."""
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))
    written, store = tmp_path / "runs", str(tmp_path / "store")
    for variant, said in ((None, "moon"), ("text", "moon gravity")):
        model = HFAudio(pretrained=tiny_cascade.spec, speaks=f"hf:{tiny_voice}", device="cpu", store=store)
        with serving(lambda *_, said=said: said) as server:
            about = {"reply_asr": "openai:scribe", "reply_asr_base_url": server.url, "speech_quality": "off"}
            about |= {"listen": variant} if variant else {}
            chosen = {"siq_demo_reply_ii": [1, 2]}
            folder = written / (variant or "audio")
            runs.evaluate(model, chosen, output=folder, metadata=about, samples=chosen, gen_kwargs="max_gen_toks=8")
    (row,) = as_json("study", "listen", written, "--bootstrap", 0)["systems"]
    assert row["system"].endswith(f"speaks hf:{tiny_voice}") and row["category"] == "ii"
    assert row["audio"]["value"] < row["text"]["value"]
    assert row["speech_gap"]["value"] == pytest.approx(row["text"]["value"] - row["audio"]["value"])
    (wrote,) = as_json("study", "listen", written, "--bootstrap", 0, "--metrics", "ii=text_score")["systems"]
    assert wrote["unit"] == "text points 1-10" and wrote["text"]["value"] >= 1


@pytest.mark.parametrize("answer", ["generate", "likelihood"])
def test_an_audio_model_reads_the_same_prompt_without_audio(tiny_ear, answer):
    model = HFAudio(pretrained=tiny_ear, device="cpu", answer=answer, store="off")
    heard = usage["encoded_clips"]
    written, _ = evaluate(model, listen="text")
    assert usage["encoded_clips"] == heard
    muted, _ = evaluate(model, listen="muted")
    assert usage["encoded_clips"] > heard
    assert len(written) == len(muted) == len(DOCS)
    again, _ = evaluate(model, listen="text")
    assert answers(again) == answers(written)


def test_a_model_that_takes_no_text_alone_is_refused_before_it_is_loaded(tiny_ear, monkeypatch):
    model = HFAudio(pretrained=tiny_ear, device="cpu", store="off")
    ask = model.system.engine.engine.prompts._chat

    def refuse_text(parts):
        if all(isinstance(part, str) for part in parts):
            raise ValueError("no audio given")
        return ask(parts)

    monkeypatch.setattr(model.system.engine.engine.prompts, "_chat", refuse_text)
    monkeypatch.setattr(model.system.engine.engine, "_run", pytest.fail)
    with pytest.raises(SpeechIQError, match=r"takes no prompt without audio \(no audio given\); leave listen=text out"):
        evaluate(model, listen="text")


def test_a_task_without_a_question_is_refused_before_any_model_runs():
    with pytest.raises(SpeechIQError, match="listen=muted: task siq_demo_remember asks no question"):
        TaskManager(include_defaults=False, metadata={"listen": "muted"}).load(["siq_demo_remember"])


def test_a_model_type_that_gets_the_audio_is_refused_the_text():
    with pytest.raises(SpeechIQError, match=r"type DummyLM gets the audio of siq_demo_apply.*--model hf-audio"):
        evaluate("dummy", listen="text")
