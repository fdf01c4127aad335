"""Measure what sharing and batching save: the suite / the same requests one by one, each from its audio.

    python benchmarks/suite_vs_request_at_a_time.py [--clips 2] [--rounds 2] [--device cpu]

A plain wrapper of the harness and the paper's scripts work one by one: every request transcribes its clip, at Remember,
at Understand, and for each of the five sampled answers to a question; every text is embedded alone. The models are
loaded once and all stay in memory. The requests are lm-eval's own, and answers are drawn with the suite's random
numbers, so that both ways should give the same answers. Loading counts in both. The aim is that the suite is at least 8
times faster.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import measure
import numpy as np
import torch
from measure import ASR, LLM, STAGES
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSpeechSeq2Seq,
    AutoProcessor,
    AutoTokenizer,
    LogitsProcessorList,
)

from speechiq.core.checkpoints.names import resolve
from speechiq.core.clip import SAMPLING_RATE, Clip, file_clip
from speechiq.core.prompt import AUDIO, Prompt
from speechiq.engines._shared.checkpoint_writer import greedy_config
from speechiq.engines._shared.sampling import SeededSampling, processors, sampling_settings
from speechiq.engines.asr.checkpoint import CheckpointASR
from speechiq.engines.text.hf import TransformersLLM
from speechiq.harness_patch.systems.answering import Question
from speechiq.metrics import similarity
from speechiq.metrics.similarity import PROMPTS, cosine

AIM = 8
SEED, ANSWERS = 1234, 5
SETTINGS = {"max_gen_toks": 16}
WINDOW = 30.0


class Models:
    """Load recognizer, language model and embedder; all stay in memory."""

    def __init__(self, device: str) -> None:
        options = {"dtype": torch.float32, "device_map": device}
        self.processor = AutoProcessor.from_pretrained(resolve(ASR))
        self.asr = AutoModelForSpeechSeq2Seq.from_pretrained(resolve(ASR), **options).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(resolve(LLM))
        self.llm = AutoModelForCausalLM.from_pretrained(resolve(LLM), **options).eval()
        self.embedder = AutoModel.from_pretrained(resolve(LLM), **options).eval()


def transcribe(models: Models, clip: Clip) -> str:
    """Return the transcript of Whisper."""
    features = models.processor(
        audio=clip.samples, sampling_rate=SAMPLING_RATE, return_tensors="pt", truncation=False,
        padding="longest" if clip.duration > WINDOW else "max_length", return_attention_mask=True,
    ).to(models.asr.device)  # fmt: skip
    tokens = models.asr.generate(**features, do_sample=False, num_beams=1, return_timestamps=True)
    return models.processor.batch_decode(tokens, skip_special_tokens=True)[0].strip()


def answer(models: Models, prompt: str, settings: Mapping[str, Any], seed: int) -> str:
    """Return one sampled answer."""
    messages = [{"role": "user", "content": prompt}]
    inputs = models.tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, return_dict=True, return_tensors="pt"
    ).to(models.llm.device)
    used = sampling_settings(settings, models.llm.generation_config)
    used.pop("do_sample")
    output = models.llm.generate(
        **inputs,
        generation_config=greedy_config(models.llm),
        max_new_tokens=settings["max_gen_toks"],
        logits_processor=LogitsProcessorList([*processors(used, models.llm.device), SeededSampling([seed])]),
    )
    return models.tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)


def embed(models: Models, text: str) -> np.ndarray:
    """Return the last hidden state of the last token, shape (1, channels)."""
    inputs = models.tokenizer(text, return_tensors="pt").to(models.embedder.device)
    return models.embedder(**inputs, use_cache=False).last_hidden_state[:, -1].cpu().numpy()


def run_one_by_one(samples: Mapping[str, Sequence[Mapping]], device: str) -> list[str]:
    """Repeat all requests of the logged samples; return the answers to questions, five per question."""
    models, answers = Models(device), []
    with torch.inference_mode():
        for row in samples["siq_demo_remember"]:
            transcribe(models, clip_of(row))
        for row in samples["siq_demo_understand"]:
            texts = transcribe(models, clip_of(row)), row["doc"]["text"]
            for prompt in PROMPTS.values():
                cosine(*(embed(models, prompt.format(text=text.strip())) for text in texts))
        for row in samples["siq_demo_apply"]:
            words, settings, _ = row["arguments"][0]
            for seed in Question(Prompt.about(words, [clip_of(row)]), settings).seeds(SEED, ANSWERS):
                transcript = transcribe(models, clip_of(row))
                answers.append(answer(models, words.replace(AUDIO, transcript), settings, seed))
    return answers


def clip_of(row: Mapping) -> Clip:
    """Return the clip of a logged sample's request."""
    return file_clip(row["arguments"][0][2]["audio"][0])


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=2)
    measure.rounds_option(parser, 2)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    results: dict[str, Any] = {}

    def ways(clips: int) -> dict[str, Callable[[], None]]:
        def suite() -> None:
            results["suite"] = measure.run_suite(clips, SETTINGS, args.device)["samples"]

        def one_by_one() -> None:
            results["one by one"] = run_one_by_one(results["suite"], args.device)

        return {"suite": suite, "one by one": one_by_one}

    measure.in_turn({"warming up": ways(1)["suite"]}, 1)
    here = sys.modules[__name__]
    stages = {
        "suite": ((CheckpointASR, "transcribe"), (TransformersLLM, "generate"), (similarity, "embed")),
        "one by one": ((here, "transcribe"), (here, "answer"), (here, "embed")),
    }
    clocks = {way: measure.Clock(dict(zip(STAGES, stages[way], strict=True))) for way in stages}
    with clocks["suite"], clocks["one by one"]:
        costs = measure.in_turn(ways(args.clips), args.rounds)
    rows = measure.by_stage(clocks, costs)
    faster = measure.ratio(costs["one by one"], costs["suite"])
    same = [a == b for a, b in zip(answers_of(results["suite"]), results["one by one"], strict=True)]
    print("seconds           suite  one by one  times faster")
    for name, row in rows.items():
        print(f"{name:14} {row['suite']:8.2f} {row['one by one']:11.2f} {row['one by one'] / row['suite']:13.1f}")
    print(f"times faster: wall {faster['wall']}, processor {faster['processor']} (aim {AIM}); {args.clips} clips")
    print(f"equal answers: {sum(same)} of {len(same)}")
    measured = {"aim": AIM, "times_faster": faster, "seconds": rows, "equal": sum(same) / len(same)}
    measure.write("suite_vs_request_at_a_time", measured)


def answers_of(samples: Mapping[str, Sequence[Mapping]]) -> list[str]:
    """Return the answers of the suite, five per question."""
    return [str(text) for row in samples["siq_demo_apply"] for text in row["resps"][0]]


if __name__ == "__main__":
    main()
