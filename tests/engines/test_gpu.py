"""Test that models write the same on an accelerator as on the CPU; for machines that have one."""

import pytest
import torch

from speechiq.core.prompt import TextPrompt
from speechiq.engines.asr.whisper import WhisperASR
from speechiq.engines.text.hf import TransformersLLM
from tests.engines.opener import open_engine

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.accelerator.is_available(), reason="no accelerator on this machine"),
]


def test_an_accelerator_writes_down_what_the_cpu_writes_down(demo_models, demo_clips):
    place = torch.accelerator.current_accelerator()
    there, here = (
        open_engine(WhisperASR, "demo:whisper-tiny.en", device=device, batch_size=2, dtype="float32")
        for device in (str(place), "cpu")
    )
    texts = [[response.text for response in asr.transcribe(demo_clips[:2])] for asr in (there, here)]
    assert texts[0] == texts[1]


def test_an_accelerator_scores_texts_as_the_cpu_does(demo_models):
    place = torch.accelerator.current_accelerator()
    asked = [TextPrompt("One, two,")], [[" three", " four"]]
    there, here = (
        open_engine(TransformersLLM, "demo:SmolLM2-135M-Instruct", device=device, dtype="float32").loglikelihood(*asked)
        for device in (str(place), "cpu")
    )
    pairs = zip(there[0], here[0], strict=True)
    assert all(scored.logprob == pytest.approx(other.logprob, abs=1e-2) for scored, other in pairs)
