"""Measure the cost of the suite beyond forward passes: `hf-audio` on the demo / a loop of transformers, same work.

    python benchmarks/suite_vs_limit.py [--clips 7] [--rounds 4]

Both ways alternate in this process, after a round of one clip that is not counted: the suite by
`lm_eval.simple_evaluate`, including scores; the loop with transformers alone, in batches of the same size, with the
same dtype and threads, and with one prefill per transcript for all its questions. Both load each model when they need
it, so loading counts in both. The benchmark checks that both did the same work: transcripts are equal,
log-probabilities and hidden states agree. The aim is at most 1.05.
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
    PreTrainedModel,
)

from speechiq.core.checkpoints.names import resolve
from speechiq.core.clip import SAMPLING_RATE, Clip, file_clip
from speechiq.engines._shared.checkpoint import CPU_BATCH
from speechiq.engines.asr.checkpoint import CheckpointASR
from speechiq.engines.text.hf import TransformersLLM
from speechiq.harness_patch.systems.answering import LIKELIHOOD_PROMPT
from speechiq.metrics import similarity
from speechiq.metrics.choice import NONE_OF_THE_ABOVE
from speechiq.metrics.similarity import PROMPTS
from speechiq.siq_tasks.loaders import bundled
from speechiq.siq_tasks.questions.file import read_questions

AIM, TOLERANCE = 1.05, 1e-3
WINDOW = 30.0


def batches(lengths: list[float], size: int) -> list[list[int]]:
    """Return indices of items in batches, the longest first."""
    order = sorted(range(len(lengths)), key=lambda i: lengths[i], reverse=True)
    return [order[start : start + size] for start in range(0, len(order), size)]


def run_loop(clips: list[dict], questions: list[dict]) -> None:
    """Do all forward passes of the three levels with transformers alone."""
    with torch.inference_mode():
        transcripts = transcribe([file_clip(clip) for clip in clips])
        loglikelihoods({clip["id"]: text for clip, text in zip(clips, transcripts, strict=True)}, questions)
        texts = sorted({*transcripts, *(clip["text"].strip() for clip in clips)})
        embed(sorted({prompt.format(text=text) for prompt in PROMPTS.values() for text in texts}))


def transcribe(clips: list[Clip]) -> list[str]:
    """Return the transcripts of Whisper."""
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
                tokens = model.generate(**features, do_sample=False, num_beams=1, return_timestamps=True)
                decoded = processor.batch_decode(tokens, skip_special_tokens=True)
                texts.update(zip(part, (text.strip() for text in decoded), strict=True))
    return [texts[i] for i in range(len(clips))]


def loglikelihoods(transcripts: dict[str, str], questions: list[dict]) -> list[list[float]]:
    """Return log-probabilities of each question's options after its transcript, then of all without a transcript."""
    tokenizer = AutoTokenizer.from_pretrained(resolve(LLM))
    model = AutoModelForCausalLM.from_pretrained(resolve(LLM), dtype=torch.float32).eval()
    before, after = LIKELIHOOD_PROMPT.split("{transcript}")

    def tokenize(row: dict, speech: str) -> list[list[int]]:
        context = before + speech + after.format(question=row["question"])
        return tokenizer([f"{context} {option}" for option in (*row["options"], NONE_OF_THE_ABOVE)]).input_ids

    with_speech, without = (
        [tokenize(row, texts.get(row["id"], "")) for row in questions] for texts in (transcripts, {})
    )
    scores: dict[int, list[float]] = {}
    for key, speech in transcripts.items():
        indices = [i for i, row in enumerate(questions) if row["id"] == key]
        prefix = tokenizer(before + speech).input_ids
        start = min(count_shared([prefix, with_speech[i][0]]) for i in indices)
        cache = model.model(torch.tensor([with_speech[indices[0]][0][:start]])).past_key_values
        scores.update(zip(indices, score_batch(model, [with_speech[i] for i in indices], cache), strict=True))
    for batch in batches([max(map(len, group)) for group in without], CPU_BATCH):
        of_batch = score_batch(model, [without[i] for i in batch], DynamicCache())
        scores.update(zip((len(with_speech) + i for i in batch), of_batch, strict=True))
    return [scores[i] for i in range(2 * len(questions))]


def score_batch(model: PreTrainedModel, groups: list[list[list[int]]], prefix: DynamicCache) -> list[list[float]]:
    """Return log-probabilities of the options of one batch, whose prompts all begin with the cached prefix."""
    done, options = prefix.get_seq_length(), len(groups[0])
    starts = [count_shared(group) - 1 for group in groups]
    ids, mask = pad([group[0][done:start] for group, start in zip(groups, starts, strict=True)], "left")
    mask = torch.cat([torch.ones(len(groups), done, dtype=torch.long), mask], 1)
    positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, done:]
    if done:
        prefix.batch_repeat_interleave(len(groups))
    cache = model.model(ids, attention_mask=mask, position_ids=positions, past_key_values=prefix).past_key_values
    cache.batch_repeat_interleave(options)
    tails, wanted = pad([row[start:] for group, start in zip(groups, starts, strict=True) for row in group], "right")
    mask = torch.cat([mask.repeat_interleave(options, 0), wanted], 1)
    positions = (mask.cumsum(-1) - 1)[:, -tails.shape[1] :]
    logits = model(input_ids=tails, attention_mask=mask, position_ids=positions, past_key_values=cache).logits
    of_token = logits[:, :-1].log_softmax(-1).gather(-1, tails[:, 1:, None]).squeeze(-1)
    return of_token.masked_fill(wanted[:, 1:] == 0, 0).double().sum(-1).unflatten(0, (-1, options)).tolist()


def count_shared(rows: list[list[int]]) -> int:
    """Return how many first tokens all rows have in common."""
    columns = enumerate(zip(*rows, strict=False))
    return next((i for i, column in columns if len(set(column)) > 1), min(map(len, rows)))


def embed(texts: list[str]) -> np.ndarray:
    """Return the last hidden state of the last token of each text, shape (texts, channels)."""
    tokenizer = AutoTokenizer.from_pretrained(resolve(LLM))
    model = AutoModel.from_pretrained(resolve(LLM), dtype=torch.float32).eval()
    rows = (torch.tensor([ids]) for ids in tokenizer(texts).input_ids)
    return np.stack([model(input_ids=ids, use_cache=False).last_hidden_state[0, -1].numpy() for ids in rows])


def pad(rows: list[list[int]], side: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return token ids and mask, padded on the given side."""
    ids, mask = (
        pad_sequence([make(row) for row in rows], batch_first=True, padding_side=side)
        for make in (torch.tensor, lambda row: torch.ones(len(row), dtype=torch.long))
    )
    return ids, mask


def compare(suite: dict[str, Any], loop: dict[str, Any]) -> dict[str, float]:
    """Return the differences of the two ways: transcripts that differ, and the largest differences of numbers."""
    texts = [response.text for response in suite["transcribing"]]
    scores = [[scored.logprob for scored in group] for group in suite["answering"]]
    return {
        "transcripts": sum(a != b for a, b in zip(texts, loop["transcribing"], strict=True)),
        "log_probabilities": float(np.abs(np.subtract(scores, loop["answering"])).max()),
        "states": float(np.abs(suite["embedding"] - loop["embedding"]).max()),
    }


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=7)
    measure.rounds_option(parser, 4)
    args = parser.parse_args()
    clips = bundled.list_clips()[: args.clips]
    questions = read_questions(bundled.DEMO / "questions.jsonl")[: measure.ROWS["apply"] * args.clips]
    ways = {
        "suite": lambda: measure.run_suite(args.clips, llm_answer="likelihood"),
        "loop": lambda: run_loop(clips, questions),
    }
    here = sys.modules[__name__]
    stages = {
        "suite": ((CheckpointASR, "transcribe"), (TransformersLLM, "loglikelihood"), (similarity, "embed")),
        "loop": ((here, "transcribe"), (here, "loglikelihoods"), (here, "embed")),
    }
    warm_up = {
        "suite": lambda: measure.run_suite(1, llm_answer="likelihood"),
        "loop": lambda: run_loop(clips[:1], questions[: measure.ROWS["apply"]]),
    }
    measure.in_turn(warm_up, 1)
    clocks = {way: measure.Clock(dict(zip(STAGES, stages[way], strict=True))) for way in ways}
    with clocks["suite"], clocks["loop"]:
        costs = measure.in_turn(ways, args.rounds)
    rows = measure.by_stage(clocks, costs)
    ratio = measure.ratio(costs["suite"], costs["loop"])
    differences = compare(clocks["suite"].results, clocks["loop"].results)
    print("seconds           suite     loop")
    for name, row in rows.items():
        print(f"{name:14} {row['suite']:8.2f} {row['loop']:8.2f}")
    print(
        f"ratio: wall {ratio['wall']}, processor {ratio['processor']} (aim {AIM}); "
        f"{args.clips} clips, {args.rounds} rounds"
    )
    print(f"differences: {differences}")
    measure.write("suite_vs_limit", {"aim": AIM, "ratio": ratio, "seconds": rows, "differences": differences})
    if max(differences.values()) > TOLERANCE:
        sys.exit("the two ways did not do the same work")


if __name__ == "__main__":
    main()
