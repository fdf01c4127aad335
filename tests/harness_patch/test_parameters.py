"""Test the parameters of systems: counted without loading a weight, summed over stages, and recorded by runs."""

from __future__ import annotations

import pytest
from transformers import AutoModelForCausalLM, AutoModelForSpeechSeq2Seq

from speechiq.engines.base import Setup
from speechiq.engines.registry import build_engine
from tests.engines.opener import build
from tests.runs import evaluate


def count(model) -> int:
    return sum(weights.numel() for weights in model.parameters())


@pytest.fixture(scope="module")
def parts(tiny_cascade) -> tuple[int, int]:
    """Return the number of parameters of the tiny recognizer and of the tiny language model, loaded."""
    recognizer = AutoModelForSpeechSeq2Seq.from_pretrained(tiny_cascade.asr)
    return count(recognizer), count(AutoModelForCausalLM.from_pretrained(tiny_cascade.llm))


def test_the_parameters_of_a_system_are_those_of_its_stages(tiny_cascade, parts):
    asr, llm = parts
    assert build(tiny_cascade.asr).count_parameters() == asr, "a recognizer alone"
    assert build(tiny_cascade.spec).count_parameters() == asr + llm
    assert build(f"{tiny_cascade.spec}+{tiny_cascade.llm}").count_parameters() == asr + 2 * llm, "with a corrector"
    assert build(tiny_cascade.spec, asr_nbest=2).count_parameters() == asr + llm, "a class with beams"
    assert build(f"gold+{tiny_cascade.llm}").count_parameters() == llm
    assert build("letter:B").count_parameters() == 0


def test_one_stage_of_unknown_size_makes_the_system_one(tiny_cascade):
    assert build(f"pocketsphinx:en-us+{tiny_cascade.llm}").count_parameters() is None


def test_an_audio_model_counts_as_it_is_loaded(tiny_ear):
    engine = build_engine("audio", tiny_ear, {}, Setup(engine="hf"))
    with engine.checkpoint.loaded() as model:
        assert engine.count_parameters() == count(model)


def test_a_model_that_cannot_be_built_without_weights_has_no_count(tiny_cascade):
    engine = build_engine("text", tiny_cascade.llm, {}, Setup(engine="hf"))

    def refuse(config):
        raise NotImplementedError("no weights, no model")

    engine.checkpoint.model_class = refuse
    assert engine.count_parameters() is None


def test_a_run_records_the_parameters_and_describes_the_system_as_before(tiny_cascade, parts):
    results = evaluate("hf-audio", {"siq_demo_remember": [0]}, model_args={"pretrained": tiny_cascade.spec})
    recorded = results["config"]["siq"]
    assert recorded["parameters"] == sum(parts) and "parameters" not in recorded["system"]
