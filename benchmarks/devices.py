"""Measure what an accelerator saves: the suite on the processor / the same on the accelerator.

    python benchmarks/devices.py [--clips 14] [--rounds 2] [--devices cpu cuda]

The demo's cascade and embedder, in float32 on both, with loading and without stored results; a process for each device,
which runs once before it is timed. The script prints seconds by stage, and how many texts are equal on both.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import measure
from measure import STAGES

SETTINGS = {"max_gen_toks": 16}


def run(device: str, clips: str, rounds: str) -> None:
    """Print the seconds of the suite on a device, by stage and altogether, and its transcripts and answers."""
    from speechiq.engines.asr.checkpoint import CheckpointASR
    from speechiq.engines.text.hf import TransformersLLM
    from speechiq.metrics import similarity

    timed = ((CheckpointASR, "transcribe"), (TransformersLLM, "generate"), (similarity, "embed"))

    def suite() -> dict[str, Any]:
        options = {"asr_dtype": "float32", "llm_dtype": "float32"}
        return measure.run_suite(int(clips), SETTINGS, device, **options)["samples"]

    suite()
    start = time.perf_counter()
    with measure.Clock(dict(zip(STAGES, timed, strict=True))) as clock:
        for _ in range(int(rounds)):
            samples = suite()
    seconds = {stage: clock.mean(stage, int(rounds)) for stage in STAGES}
    seconds["all"] = (time.perf_counter() - start) / int(rounds)
    texts = {
        level: [str(text) for row in samples[f"siq_demo_{level}"] for text in row["resps"][0]]
        for level in ("remember", "apply")
    }
    print(json.dumps({"seconds": seconds, "texts": texts}))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=14)
    parser.add_argument("--devices", nargs=2, default=["cpu", "cuda"])
    measure.rounds_option(parser, 2)
    args = parser.parse_args()
    found = []
    for device in args.devices:
        child = measure.run_child(measure.calling("devices.run", device, str(args.clips), str(args.rounds)))
        found.append(json.loads(child.output.splitlines()[-1]))
    slow, fast = (each["seconds"] for each in found)
    print(f"seconds        {args.devices[0]:>8} {args.devices[1]:>8}  times faster")
    for stage in slow:
        print(f"{stage:14} {slow[stage]:8.2f} {fast[stage]:8.2f} {slow[stage] / fast[stage]:12.1f}")
    equal = {}
    for level, texts in found[0]["texts"].items():
        pairs = list(zip(texts, found[1]["texts"][level], strict=True))
        equal[level] = sum(one == other for one, other in pairs)
        print(f"equal texts of {level}: {equal[level]} of {len(pairs)}")
    measure.write("devices", {"seconds": dict(zip(args.devices, (slow, fast), strict=True)), "equal": equal})


if __name__ == "__main__":
    main()
