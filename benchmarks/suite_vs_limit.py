"""What the suite costs beyond its forward passes: `hf-audio` on the demo / the bare transformers loop, same work.

    python benchmarks/suite_vs_limit.py [--clips 14] [--rounds 3]

Both ways run in this process, in turn, after a round of one clip that is not counted: the suite through
`lm_eval.simple_evaluate`, scores and all; the loop by what transformers alone offers, in batches of the same size, the
same dtype and threads, each transcript read once for its questions. Either loads each model when it is needed, so
loading counts in both. That both did the same work is checked: the transcripts are equal, the log-probabilities and
states agree. The aim is at most 1.05.
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
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSpeechSeq2Seq,
    AutoProcessor,
    AutoTokenizer,
    DynamicCache,
)

from speechiq.core.checkpoints import resolve
from speechiq.core.clip import SAMPLING_RATE, Clip, file_clip
from speechiq.engines._shared.checkpoint import CPU_BATCH
from speechiq.engines.asr.checkpoint import Recognizer
from speechiq.engines.text.hf import TransformersLLM
from speechiq.harness_patch.systems.answering import LIKELIHOOD_PROMPT
from speechiq.metrics import similarity
from speechiq.metrics.choice import NONE_OF_THE_ABOVE
from speechiq.metrics.similarity import PROMPTS
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
        transcripts = transcribe([file_clip(clip) for clip in clips])
        heard = {clip["id"]: text for clip, text in zip(clips, transcripts, strict=True)}
        weigh(heard, questions)
        told = sorted({*transcripts, *(clip["text"].strip() for clip in clips)})
        embed(sorted({prompt.format(text=text) for prompt in PROMPTS.values() for text in told}))


def transcribe(clips: list[Clip]) -> list[str]:
    processor = AutoProcessor.from_pretrained(resolve(ASR))
    model = AutoModelForSpeechSeq2Seq.from_pretrained(resolve(ASR), dtype=torch.float32).eval()
    texts = {}
    for batch in batches([clip.duration for clip in clips], CPU_BATCH):
        for padding, part in (
            ("longest", [i for i in batch if clips[i].duration > WINDOW]),
            ("max_length", [i for i in batch if clips[i].duration <= WINDOW]),
        ):
            if part:
                features = processor(
                    audio=[clips[i].samples for i in part], sampling_rate=SAMPLING_RATE, return_tensors="pt",
                    padding=padding, truncation=False, return_attention_mask=True,
                )  # fmt: skip
                found = model.generate(**features, do_sample=False, num_beams=1, return_timestamps=True)
                said = processor.batch_decode(found, skip_special_tokens=True)
                texts.update(zip(part, (text.strip() for text in said), strict=True))
    return [texts[i] for i in range(len(clips))]


def weigh(heard: dict[str, str], questions: list[dict]) -> list[list[float]]:
    """Log-probabilities of each question's options after its transcript, then of all without one."""
    tokenizer = AutoTokenizer.from_pretrained(resolve(LLM))
    model = AutoModelForCausalLM.from_pretrained(resolve(LLM), dtype=torch.float32).eval()
    before, after = LIKELIHOOD_PROMPT.split("{transcript}")

    def tokenise(row: dict, speech: str) -> list[list[int]]:
        context = before + speech + after.format(question=row["question"])
        return tokenizer([f"{context} {option}" for option in (*row["options"], NONE_OF_THE_ABOVE)]).input_ids

    told, deaf = ([tokenise(row, known.get(row["id"], "")) for row in questions] for known in (heard, {}))
    weights: dict[int, list[float]] = {}
    for key, speech in heard.items():
        asked = [i for i, row in enumerate(questions) if row["id"] == key]
        spoken = tokenizer(before + speech).input_ids
        start = min(count_shared([spoken, told[i][0]]) for i in asked)
        begun = model.model(torch.tensor([told[asked[0]][0][:start]])).past_key_values
        weights.update(zip(asked, weigh_batch(model, [told[i] for i in asked], begun), strict=True))
    for batch in batches([max(map(len, group)) for group in deaf], CPU_BATCH):
        weighed = weigh_batch(model, [deaf[i] for i in batch], DynamicCache())
        weights.update(zip((len(told) + i for i in batch), weighed, strict=True))
    return [weights[i] for i in range(2 * len(questions))]


def weigh_batch(model, groups: list[list[list[int]]], begun: DynamicCache) -> list[list[float]]:
    """The same of one batch, whose prompts all begin with what is in the cache."""
    done, options = begun.get_seq_length(), len(groups[0])
    starts = [count_shared(group) - 1 for group in groups]
    ids, mask = pad([group[0][done:start] for group, start in zip(groups, starts, strict=True)], "left")
    mask = torch.cat([torch.ones(len(groups), done, dtype=torch.long), mask], 1)
    positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, done:]
    if done:
        begun.batch_repeat_interleave(len(groups))
    cache = model.model(ids, attention_mask=mask, position_ids=positions, past_key_values=begun).past_key_values
    cache.batch_repeat_interleave(options)
    tails, wanted = pad([row[start:] for group, start in zip(groups, starts, strict=True) for row in group], "right")
    whole = torch.cat([mask.repeat_interleave(options, 0), wanted], 1)
    positions = (whole.cumsum(-1) - 1)[:, -tails.shape[1] :]
    logits = model(input_ids=tails, attention_mask=whole, position_ids=positions, past_key_values=cache).logits
    of_token = logits[:, :-1].log_softmax(-1).gather(-1, tails[:, 1:, None]).squeeze(-1)
    return of_token.masked_fill(wanted[:, 1:] == 0, 0).double().sum(-1).unflatten(0, (-1, options)).tolist()


def count_shared(rows: list[list[int]]) -> int:
    """How many tokens rows have in common before they part."""
    columns = enumerate(zip(*rows, strict=False))
    return next((i for i, column in columns if len(set(column)) > 1), min(map(len, rows)))


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
        "suite": ((Recognizer, "transcribe"), (TransformersLLM, "loglikelihood"), (similarity, "embed")),
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
        print(f"{name:14} {row['suite']:8.2f} {row['repetition']:8.2f}")
    print(f"ratio: wall {ratio.wall:.3f}, processor {ratio.processor:.3f} (aim {AIM}); {told.clips} clips")
    print(f"apart: {apart}")
    measure.write("suite_vs_limit", {"aim": AIM, "ratio": ratio._asdict(), "seconds": rows, "apart": apart})
    if max(apart.values()) > TOLERANCE:
        sys.exit("the two ways did not do the same work")


if __name__ == "__main__":
    main()
