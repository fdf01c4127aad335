"""What the suite costs beyond its forward passes: `hf-audio` on the demo / the bare transformers loop, same work.

    python benchmarks/suite_vs_limit.py [--clips 14] [--rounds 3]

Both ways run in this process, in turn, after a round of one clip that is not counted: the suite through
`lm_eval.simple_evaluate`, scores and all; the loop by what transformers alone offers, in the same batches, dtype and
threads, each prompt read once. Either loads each model when it is needed, so loading counts in both. That both did the
same work is checked: the transcripts are equal, the log-probabilities and states agree. The aim is at most 1.05.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import measure
import numpy as np
import torch
from measure import ASR, LLM, STAGES
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForSpeechSeq2Seq, AutoProcessor, AutoTokenizer

from speechiq.core.checkpoints import resolve
from speechiq.harness_patch.engines.checkpoint import CPU_BATCH
from speechiq.harness_patch.engines.recogniser import Recogniser
from speechiq.harness_patch.engines.transformers_llm import TransformersLLM
from speechiq.harness_patch.systems.answering import LIKELIHOOD_PROMPT
from speechiq.metrics import similarity
from speechiq.metrics.choice import NONE_OF_THE_ABOVE
from speechiq.metrics.similarity import PROMPTS
from speechiq.siq_tasks.audio import SAMPLING_RATE, AudioClip
from speechiq.siq_tasks.demo import demo
from speechiq.siq_tasks.questions.file import read_questions

AIM, TOLERANCE = 1.05, 1e-3
WINDOW = 30.0


def batches(lengths: list[float], size: int) -> list[list[int]]:
    """Numbers of items, the longest first."""
    order = sorted(range(len(lengths)), key=lambda i: lengths[i], reverse=True)
    return [order[start : start + size] for start in range(0, len(order), size)]


def run_loop(clips: list[dict], questions: list[dict]) -> None:
    """All forward passes of the three levels, by transformers alone."""
    with torch.inference_mode():
        transcripts = transcribe([AudioClip(clip) for clip in clips])
        heard = {clip["id"]: text for clip, text in zip(clips, transcripts, strict=True)}
        options = [[f" {option}" for option in (*row["options"], NONE_OF_THE_ABOVE)] for row in questions]
        contexts = [
            LIKELIHOOD_PROMPT.format(transcript=known[row["id"]], question=row["question"])
            for known in (heard, dict.fromkeys(heard, ""))
            for row in questions
        ]
        weigh(contexts, options * 2)
        told = sorted({*transcripts, *(clip["text"].strip() for clip in clips)})
        embed(sorted({prompt.format(text=text) for prompt in PROMPTS.values() for text in told}))


def transcribe(clips: list[AudioClip]) -> list[str]:
    processor = AutoProcessor.from_pretrained(resolve(ASR))
    model = AutoModelForSpeechSeq2Seq.from_pretrained(resolve(ASR), dtype=torch.float32).eval()
    texts = {}
    for batch in batches([clip["duration"] for clip in clips], CPU_BATCH):
        for padding, part in (
            ("longest", [i for i in batch if clips[i]["duration"] > WINDOW]),
            ("max_length", [i for i in batch if clips[i]["duration"] <= WINDOW]),
        ):
            if part:
                features = processor(
                    audio=[clips[i]["array"] for i in part], sampling_rate=SAMPLING_RATE, return_tensors="pt",
                    padding=padding, truncation=False, return_attention_mask=True,
                )  # fmt: skip
                found = model.generate(**features, do_sample=False, num_beams=1, return_timestamps=True)
                said = processor.batch_decode(found, skip_special_tokens=True)
                texts.update(zip(part, (text.strip() for text in said), strict=True))
    return [texts[i] for i in range(len(clips))]


def weigh(contexts: list[str], options: list[list[str]]) -> list[list[float]]:
    tokenizer = AutoTokenizer.from_pretrained(resolve(LLM))
    model = AutoModelForCausalLM.from_pretrained(resolve(LLM), dtype=torch.float32).eval()
    rows = [
        tokenizer([context + text for text in group]).input_ids
        for context, group in zip(contexts, options, strict=True)
    ]
    weights = {}
    for batch in batches([max(map(len, group)) for group in rows], CPU_BATCH):
        starts = [count_shared(rows[i]) - 1 for i in batch]
        ids, mask = pad([rows[i][0][:start] for i, start in zip(batch, starts, strict=True)], "left")
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        cache = model.model(input_ids=ids, attention_mask=mask, position_ids=positions).past_key_values
        group = len(options[0])
        cache.batch_repeat_interleave(group)
        tails, wanted = pad([row[start:] for i, start in zip(batch, starts, strict=True) for row in rows[i]], "right")
        whole = torch.cat([mask.repeat_interleave(group, 0), wanted], 1)
        positions = (whole.cumsum(-1) - 1)[:, -tails.shape[1] :]
        logits = model(input_ids=tails, attention_mask=whole, position_ids=positions, past_key_values=cache).logits
        of_token = logits[:, :-1].log_softmax(-1).gather(-1, tails[:, 1:, None]).squeeze(-1)
        totals = of_token.masked_fill(wanted[:, 1:] == 0, 0).double().sum(-1)
        weights.update(zip(batch, totals.unflatten(0, (-1, group)).tolist(), strict=True))
    return [weights[i] for i in range(len(rows))]


def count_shared(rows: list[list[int]]) -> int:
    """How many tokens rows have in common before they part."""
    return next(i for i, column in enumerate(zip(*rows, strict=False)) if len(set(column)) > 1)


def embed(texts: list[str]) -> np.ndarray:
    tokenizer = AutoTokenizer.from_pretrained(resolve(LLM))
    model = AutoModel.from_pretrained(resolve(LLM), dtype=torch.float32).eval()
    rows = (torch.tensor([ids]) for ids in tokenizer(texts).input_ids)
    return np.stack([model(input_ids=ids, use_cache=False).last_hidden_state[0, -1].numpy() for ids in rows])


def pad(rows: list[list[int]], side: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and mask."""
    ids, mask = (
        pad_sequence([make(row) for row in rows], batch_first=True, padding_side=side)
        for make in (torch.tensor, lambda row: torch.ones(len(row), dtype=torch.long))
    )
    return ids, mask


def compare(suite: dict[str, Any], loop: dict[str, Any]) -> dict[str, float]:
    """How far the two ways are apart: transcripts that differ, and the largest differences of numbers."""
    weights = [[scored.logprob for scored in group] for group in suite["answering"]]
    return {
        "transcripts": sum(a != b for a, b in zip(suite["transcribing"], loop["transcribing"], strict=True)),
        "log_probabilities": float(np.abs(np.subtract(weights, loop["answering"])).max()),
        "states": float(np.abs(suite["embedding"] - loop["embedding"]).max()),
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=14)
    parser.add_argument("--rounds", type=int, default=3)
    told = parser.parse_args()
    clips = demo.list_clips()[: told.clips]
    questions = read_questions(demo.HERE / "questions.jsonl")[: measure.ROWS["apply"] * told.clips]
    ways = {
        "suite": lambda: measure.run_suite(told.clips, llm_answer="likelihood"),
        "loop": lambda: run_loop(clips, questions),
    }
    here = sys.modules[__name__]
    stages = {
        "suite": ((Recogniser, "transcribe"), (TransformersLLM, "loglikelihood"), (similarity, "embed")),
        "loop": ((here, "transcribe"), (here, "weigh"), (here, "embed")),
    }
    warm_up = {
        "suite": lambda: measure.run_suite(1, llm_answer="likelihood"),
        "loop": lambda: run_loop(clips[:1], questions[: measure.ROWS["apply"]]),
    }
    measure.in_turn(warm_up, 1)
    clocks = {way: measure.Clock(dict(zip(STAGES, stages[way], strict=True))) for way in ways}
    with clocks["suite"], clocks["loop"]:
        costs = measure.in_turn(ways, told.rounds)
    rows = measure.by_stage(clocks, costs)
    ratio = measure.ratio(costs["suite"], costs["loop"])
    apart = compare(clocks["suite"].given, clocks["loop"].given)
    print("seconds           suite     loop")
    for name, row in rows.items():
        print(f"{name:14} {row['suite']:8.2f} {row['loop']:8.2f}")
    print(f"ratio: wall {ratio.wall:.3f}, processor {ratio.processor:.3f} (aim {AIM}); {told.clips} clips")
    print(f"apart: {apart}")
    measure.write("suite_vs_limit", {"aim": AIM, "ratio": ratio._asdict(), "seconds": rows, "apart": apart})
    if max(apart.values()) > TOLERANCE:
        sys.exit("the two ways did not do the same work")


if __name__ == "__main__":
    main()
