"""That a cascade needs no more memory than the largest of its models: the peak of the suite / that of each model alone.

    python benchmarks/stage_memory.py [--clips 8]

Each row is a process of its own that does a part of the demo's work: one stage alone, the whole suite, and for
comparison all stages with all models loaded from the start. What Python and the packages take is shown apart.
"""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack

import measure

ALONE = ("recogniser", "answerer", "embedder")
PARTS = {
    "nothing": "packages imported, no model",
    "recogniser": f"{measure.ASR} alone",
    "answerer": f"{measure.LLM} answering alone",
    "embedder": f"{measure.LLM} embedding alone",
    "suite": "the suite, stage by stage",
    "together": "all three loaded together",
}


def work(part: str, clips: str) -> None:
    """One part, in a process of its own."""
    from speechiq.harness_patch.engines.transformers_llm import TransformersLLM
    from speechiq.harness_patch.engines.whisper_asr import WhisperASR
    from speechiq.metrics import embedder
    from speechiq.metrics.similarity import PROMPTS
    from speechiq.siq_tasks.audio import AudioClip
    from speechiq.siq_tasks.demo.demo import HERE, list_clips

    measure.tasks()
    listed = list_clips()[: int(clips)]
    texts = {clip["id"]: clip["text"] for clip in listed}
    asked = [json.loads(line) for line in HERE.joinpath("questions.jsonl").read_text(encoding="utf-8").splitlines()]
    asked = [row for row in asked if row["id"] in texts]
    asr, llm = (
        engine(model, device="cpu", batch_size="auto")
        for engine, model in ((WhisperASR, measure.ASR), (TransformersLLM, measure.LLM))
    )

    def hear() -> None:
        asr.transcribe([AudioClip(clip) for clip in listed])

    def answer() -> None:
        contexts = [f"Speech: {texts[row['id']]}\n\nQuestion: {row['question']}\nAnswer:" for row in asked]
        llm.loglikelihood(contexts, [[f" {option}" for option in [*row["options"], "None"]] for row in asked])

    def embed() -> None:
        embedder.embed(
            [prompt.format(text=text) for prompt in PROMPTS.values() for text in texts.values()], measure.LLM
        )

    def together() -> None:
        with ExitStack() as stack:
            stack.enter_context(asr.checkpoint.loaded())
            stack.enter_context(llm.checkpoint.loaded())
            embedder.load_embedder(measure.LLM)
            for stage in (hear, answer, embed):
                stage()

    def suite() -> None:
        measure.run_suite(int(clips), llm_answer="likelihood")

    parts = {"recogniser": hear, "answerer": answer, "embedder": embed, "suite": suite, "together": together}
    parts.get(part, lambda: None)()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=8)
    clips = str(parser.parse_args().clips)
    peaks = {part: measure.call_child("stage_memory.work", part, clips, SIQ_STORE="off").peak_mb for part in PARTS}
    print(f"{'':45} peak MB   above nothing")
    for part, peak in peaks.items():
        print(f"{PARTS[part]:45} {peak:7.0f} {peak - peaks['nothing']:15.0f}")
    ratio = peaks["suite"] / max(peaks[part] for part in ALONE)
    print(
        f"suite / the largest model alone: {ratio:.2f}; together / that: {peaks['together'] / max(peaks[part] for part in ALONE):.2f}"
    )
    measure.write("stage_memory", {"peak_mb": peaks, "ratio": ratio})


if __name__ == "__main__":
    main()
