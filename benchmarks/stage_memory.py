"""Compare the peak memory of a cascade with that of each of its models: it should not exceed that of the largest.

    python benchmarks/stage_memory.py [--clips 4] [--rounds 1]

Each row is a process of its own that does a part of the demo's work: one stage alone, the whole suite, and, for
comparison, all stages with all models loaded from the start. `weights` is the most tensor memory at a time, measured
after each load; `peak` is the peak memory of the process, with packages and activations.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import measure

PARTS = {
    "nothing": "no model, packages only",
    "recognizer": f"{measure.ASR} alone",
    "answerer": f"{measure.LLM}, answering alone",
    "embedder": f"{measure.LLM}, embedding alone",
    "suite": "the suite, stage by stage",
    "together": "all three loaded together",
}
ALONE = ("recognizer", "answerer", "embedder")


def count_weights() -> float:
    """Return the MB of all tensors in memory, with each storage counted once."""
    import torch

    gc.collect()
    tensors = (item for item in gc.get_objects() if isinstance(item, torch.Tensor) and item.device.type == "cpu")
    storages = (tensor.untyped_storage() for tensor in tensors)
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values()) / 2**20


def work(part: str, clips: str) -> None:
    """Do one part in this process; print the most MB of weights at a time."""
    from speechiq.core.clip import file_clip
    from speechiq.core.prompt import TextPrompt
    from speechiq.engines._shared.checkpoint import Checkpoint
    from speechiq.engines.base import Setup
    from speechiq.engines.registry import build_engine
    from speechiq.metrics.distance import readers
    from speechiq.metrics.models import TextModel, load_model
    from speechiq.metrics.similarity import PROMPTS
    from speechiq.siq_tasks.loaders.bundled import DEMO, list_clips

    weights = [0.0]

    def watched(load: Callable) -> Callable:
        @wraps(load)
        def loading(*args: Any, **kwargs: Any) -> Any:
            loaded = load(*args, **kwargs)
            weights.append(count_weights())
            return loaded

        return loading

    Checkpoint._load, TextModel.load = map(watched, (Checkpoint._load, TextModel.load))
    measure.tasks()
    listed = {clip["id"]: clip for clip in list_clips()[: int(clips)]}
    questions = [json.loads(line) for line in DEMO.joinpath("questions.jsonl").read_text(encoding="utf-8").splitlines()]
    questions = [row for row in questions if row["id"] in listed]
    asr = build_engine("asr", measure.ASR, {}, Setup(engine="hf"))
    llm = build_engine("text", measure.LLM, {}, Setup(engine="hf"))

    def transcribe() -> None:
        asr.transcribe([file_clip(clip) for clip in listed.values()])

    def answer() -> None:
        texts = [f"Speech: {listed[row['id']]['text']}\n\nQuestion: {row['question']}\nAnswer:" for row in questions]
        prompts = list(map(TextPrompt, texts))
        llm.loglikelihood(prompts, [[f" {option}" for option in [*row["options"], "None"]] for row in questions])

    def embed() -> None:
        texts = [prompt.format(text=clip["text"]) for prompt in PROMPTS.values() for clip in listed.values()]
        readers.embed(texts, measure.LLM)

    def together() -> None:
        load_model(readers.LanguageModel, readers.EMBEDDER, measure.LLM, "float32").load()
        with asr.checkpoint.loaded(), llm.checkpoint.loaded():
            for stage in (transcribe, answer, embed):
                stage()

    def suite() -> None:
        measure.run_suite(int(clips), llm_answer="likelihood")

    parts = {"recognizer": transcribe, "answerer": answer, "embedder": embed, "suite": suite, "together": together}
    parts.get(part, lambda: None)()
    print(max(weights))


def run(part: str, clips: int) -> dict[str, float]:
    """Return the MB of one part, in a process of its own."""
    child = measure.run_child(measure.calling("stage_memory.work", part, str(clips)), SIQ_STORE="off")
    return {"weights_mb": float(child.output.splitlines()[-1]), "peak_mb": child.peak_mb}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=4)
    measure.rounds_option(parser, 1)
    args = parser.parse_args()
    ways = {part: partial(run, part, args.clips) for part in PARTS}
    rows = measure.by_size(measure.alternate(ways, args.rounds), ())
    print(f"{'':45} weights MB   peak MB")
    for part, row in rows.items():
        print(f"{PARTS[part]:45} {row['weights_mb']:10.0f} {row['peak_mb']:9.0f}")
    ratios = {
        kind: {part: rows[part][kind] / max(rows[one][kind] for one in ALONE) for part in ("suite", "together")}
        for kind in ("weights_mb", "peak_mb")
    }
    for part in ("suite", "together"):
        weights, peak = (ratios[kind][part] for kind in ("weights_mb", "peak_mb"))
        print(f"{part} / largest model alone: weights {weights:.2f}, peak {peak:.2f}")
    measure.write("stage_memory", {"parts": rows, "ratios": ratios})


if __name__ == "__main__":
    main()
