"""ASR + GER: what a corrector is asked, what is made of its answer, and what the three levels see of it."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speechiq.core.errors import SpeechIQError
from speechiq.core.response import CORRECTIONS, response_of
from speechiq.engines.asr.controls import Gold, Silence, TranscriptFile
from speechiq.engines.text.openai import OpenAIText
from speechiq.harness_patch.systems.cascade import CorrectedRecognizer
from speechiq.harness_patch.systems.correction import PROMPT_VERSION, correction_prompt, read_correction
from tests.engines.opener import build, open_engine
from tests.records import named, texts
from tests.runs import evaluate
from tests.siq_tasks.questions.server import serving

LLM = "demo:SmolLM2-135M-Instruct"
NBEST_LIST = [
    "here is the card quarter was cut by a third this year and the boats stay in the harbour",
    "the cod quarter was cut by a third this year and the boats stay in the harbour",
]
RIGHT = "The cod quota was cut by a third this year, and the boats stay in the harbour."
WORDS = ["sure", "here", "is", "the", "corrected", "transcript:", "1.", '"cod"', "quota", "was", "cut", "Answer:"]


def test_the_corrector_is_shown_what_was_held_possible_best_first():
    assert "\n1. one\n2. other\n" in correction_prompt(["one", " ", "other"])


@pytest.mark.parametrize(
    "answer",
    [
        f"Sure, here is the corrected transcript:\n\n{RIGHT}",
        f"Here is the corrected transcript: {RIGHT}",
        f"Sure! I'd be happy to help.\n\n{RIGHT}\nLet me know if you need anything else.",
        f"**Corrected transcript:** {RIGHT}",
        f"The most likely transcript is:\n\n> {RIGHT}",
        f"Transcription: \u201c{RIGHT}\u201d",
        f'"{RIGHT}"',
        f"```\n{RIGHT}\n```",
        f"```text\n{RIGHT}\n```\nI hope that this helps.",
        f"<think>A card, or cod? It is about fish.</think>\n{RIGHT}",
        f"{RIGHT}\n\nExplanation: I wrote cod, since the text is about fishing.",
        f"{RIGHT}\n\nCorrected words: card, quarter",
        f"1. {RIGHT}\n2. {NBEST_LIST[1]}",
        f"Original: {NBEST_LIST[0]}\nCorrected: {RIGHT}",
        f"Changes:\n- card -> cod\n- quarter -> quota\n\nFinal transcript:\n{RIGHT}",
    ],
)
def test_chatter_is_cut_off_the_transcript(answer):
    assert read_correction(answer, NBEST_LIST) == (RIGHT, "trimmed")


@pytest.mark.parametrize(
    "answer",
    [
        "",
        " \n",
        "...",
        "I'm sorry, but I can't assist with that request.",
        "Please give me the recording, and I will write down what is said in it.",
        "<think>The card, or the cod? It was cut by a third this year",
        "Yes.",
        f"{RIGHT} " * 6,
    ],
)
def test_an_answer_that_is_no_transcript_leaves_the_recognizers_first_text(answer):
    assert read_correction(answer, NBEST_LIST) == (NBEST_LIST[0], "refused")


@pytest.mark.parametrize(
    "answer",
    [
        RIGHT,
        f"  {RIGHT}\n",
        RIGHT.replace("year, ", "year,\n"),
        "The cod quota was cut by a third: the boats stay in the harbour all year, says the minister.",
        "Here is the thing: the cod quarter was cut by a third this year and boats stay in the harbour.",
    ],
)
def test_a_text_that_is_plausible_is_taken_as_it_is_right_or_wrong(answer):
    assert read_correction(answer, NBEST_LIST) == (" ".join(answer.split()), "clean")


def test_words_of_a_hypothesis_are_not_a_label():
    spoken = "so the corrected transcript is this one"
    assert read_correction("So, the corrected transcript: is this one.", [spoken])[1] == "clean"


@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join), min_size=1), st.data())
def test_a_hypothesis_is_never_changed(hypotheses, data):
    chosen = data.draw(st.sampled_from(hypotheses))
    assert read_correction(chosen, hypotheses) == (chosen, "clean")


@given(st.text(), st.lists(st.text().filter(lambda text: any(map(str.isalnum, text))), min_size=1, max_size=3))
def test_every_answer_is_read_as_one_of_the_known_corrections(answer, hypotheses):
    text, correction = read_correction(answer, hypotheses)
    assert correction in CORRECTIONS and (correction != "refused" or text == hypotheses[0])


def correct(asr, clips, script, **options):
    with serving(script) as server:
        ger = open_engine(OpenAIText, "c", batch_size=1, base_url=server.url)
        corrected = CorrectedRecognizer(asr, ger, **options)
        return corrected.transcribe(clips), server.requests, corrected.describe()


def gold(references):
    engine = open_engine(Gold, "", batch_size=1)
    engine.references = references
    return engine


@pytest.fixture
def nbest(tmp_path):
    file = tmp_path / "nbest.jsonl"
    lines = [{"id": "a", "nbest": [*NBEST_LIST, NBEST_LIST[0]]}, {"id": "b", "text": "the sea is warm today"}]
    file.write_text("\n".join(map(json.dumps, lines)))
    return open_engine(TranscriptFile, str(file), batch_size=1)


def test_a_corrected_transcript_keeps_what_the_recognizer_held_possible(nbest):
    replies = {NBEST_LIST[1]: f"Sure: {RIGHT}", "the sea is warm today": "No."}
    clips = [named("b"), named("a")]
    script = lambda prompt, _: next(answer for text, answer in replies.items() if text in prompt)  # noqa: E731
    (sea, cod), requests, description = correct(nbest, clips, script, max_gen_toks=99)
    warm = "the sea is warm today"
    assert (sea.text, sea.provenance, sea.hypotheses) == (warm, "refused", (warm,))
    assert (cod.text, cod.provenance, cod.hypotheses) == (RIGHT, "trimmed", tuple(NBEST_LIST))
    assert all(asked["temperature"] == 0 and asked["max_completion_tokens"] == 99 for asked in requests)
    assert description["transcripts"] == "nbest.jsonl" and description["corrector"]["prompt_version"] == PROMPT_VERSION


def test_without_words_the_corrector_is_not_called():
    clips = [named("a"), named("b")]
    for asr in (open_engine(Silence, "", batch_size=1), gold(dict.fromkeys(clips, ""))):
        found, requests, _ = correct(asr, clips, lambda *_: "I have a lot.")
        assert texts(found) == ["", ""] and found[0].provenance == "skipped" and not requests


def test_a_single_text_is_corrected_and_the_coverage_stays():
    clip = named("x")
    (found,), (asked,), _ = correct(gold({clip: RIGHT}), [clip], lambda *_: NBEST_LIST[1])
    assert found.text == NBEST_LIST[1] and found.provenance == "clean" and found.coverage == 1.0
    assert f"1. {RIGHT}\n\n" in asked["messages"][0]["content"]


def test_a_transcript_that_would_be_cut_off_is_an_error_before_the_corrector_is_asked():
    long = named("x")
    with pytest.raises(SpeechIQError, match=r"^ger_max_gen_toks=64: the correction of x, a transcript of 300 char"):
        correct(gold({long: "so " * 100}), [long], lambda *_: "", max_gen_toks=64)


def test_an_answer_may_be_as_long_as_its_transcript_asks(nbest):
    clips = [named("a"), named("b"), named("a")]
    found, requests, description = correct(nbest, clips, lambda *_: RIGHT)
    tokens = [len(text) // 2 for text in (max(NBEST_LIST, key=len), "the sea is warm today")]
    limits = {asked["max_completion_tokens"] for asked in requests}
    assert limits == {2 ** math.ceil(math.log2(64 + 1.5 * count)) for count in tokens} and max(limits) < 2048
    assert texts(found) == [RIGHT, "the sea is warm today", RIGHT]
    assert (description["corrector"]["tokens_beside"], description["corrector"]["tokens_per_token"]) == (64, 1.5)


@pytest.mark.parametrize("limit", [0, "many", 2.5])
def test_a_limit_that_is_none_is_refused_before_anything_is_loaded(demo_models, limit):
    with pytest.raises(SpeechIQError, match=f"^ger_max_gen_toks={limit}: not a whole number"):
        build(f"gold+{LLM}+{LLM}", ger_max_gen_toks=limit)


def test_a_correctors_options_are_those_of_its_engine(demo_models):
    with pytest.raises(SpeechIQError, match=r"^ger_num_beams: no such option of the hf engine; it has .*ger_dtype"):
        build(f"gold+{LLM}+{LLM}", ger_num_beams=2)
    with pytest.raises(SpeechIQError, match=r"^ger_max_gen_toks: no such model argument"):
        build(f"gold+{LLM}", ger_max_gen_toks=2)


def chatter(prompt, _number):
    """Correct a transcript to its second hypothesis, in a sentence; refuse one that has none."""
    _, _, second = prompt.partition("\n2. ")
    if not second:
        return "I'm sorry, but I can't assist with that request."
    return f"Sure, here is the corrected transcript:\n\n{second.splitlines()[0]}"


def test_whisper_and_a_corrector_that_chatters_run_all_levels_in_lm_eval(tiny_cascade):
    docs = {"siq_demo_remember": [12, 13], "siq_demo_apply": [36, 39]}
    with serving(chatter) as server:
        system = {"pretrained": f"{tiny_cascade.asr}+openai:c+{tiny_cascade.llm}", "ger_base_url": server.url}
        options = {"llm_answer": "likelihood", "ger_max_gen_toks": 190, "ger_max_retries": 0}
        results = evaluate("hf-audio", docs, model_args=system | options, samples=docs)
    assert len(server.requests) == 2, "a transcript is corrected once for all levels"
    described = results["config"]["siq"]["system"]["asr"]
    assert described["corrector"]["model"] == "c" and described["model"] == tiny_cascade.asr
    rows = results["samples"]["siq_demo_remember"]
    responses = [response_of(row["filtered_resps"][0]) for row in rows]
    assert sorted(response.provenance for response in responses) == ["refused", "trimmed"]
    for row, response in zip(rows, responses, strict=True):
        refused = response.provenance == "refused"
        assert row["wer_oracle"] <= row["wer_first"] and row["corrector_refused"] == refused
        assert response.text == response.hypotheses[0 if refused else 1]
        assert not refused or row["wer"] == row["wer_first"]
    assert results["config"]["siq"]["usage"]["asr_clips"] == len(results["samples"]["siq_demo_apply"]) == 2
