"""Measure how a run grows with its clips: seconds per clip and peak memory at 1, 2 and 4 times the demo's size.

    python benchmarks/growth.py [--clips 4] [--times 1 2 4] [--rounds 1]

Copy k of a clip is its second half and the first half of the clip k places later: as much audio and as many words as
in the demo, and no copy can use the results of another. The questions are those of the demo, with the number of the
copy. Each size is a set made by `siq data new`, in a process of its own with an empty cache; start-up is not included
in the seconds. The last columns are relative to the first size: 1 means that the cost per clip does not grow.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import measure
import numpy as np
import soundfile

from speechiq.core.files.folders import cache_dir
from speechiq.siq_tasks.loaders.bundled import DEMO, list_clips

NAME = "growth"


def evaluate(folder: str) -> None:
    """Run the demo's cascade on the tasks in `folder`; print the seconds."""
    from lm_eval import simple_evaluate
    from lm_eval.tasks import TaskManager

    tasks = TaskManager(include_path=folder, include_defaults=False)
    start = time.perf_counter()
    simple_evaluate(
        model="hf-audio",
        model_args={"pretrained": f"{measure.ASR}+{measure.LLM}", "llm_answer": "likelihood"},
        tasks=[f"siq_{NAME}"],
        task_manager=tasks,
        batch_size="auto",
        device="cpu",
    )
    print(time.perf_counter() - start)


def halves(clip: dict) -> tuple[list[np.ndarray], list[str]]:
    """Return the two halves of a clip's samples and of its words."""
    samples, words = soundfile.read(DEMO / clip["file"], dtype="float32")[0], clip["text"].split()
    return np.array_split(samples, 2), [" ".join(part) for part in np.array_split(words, 2)]


def write_set(folder: Path, clips: list[dict], times: int) -> Path:
    """Write a set of `times` copies of each clip, with questions; return the folder of its tasks."""
    audio, tasks = folder / "audio", folder / "tasks"
    audio.mkdir()
    parts = [halves(clip) for clip in clips]
    originals = [json.loads(line) for line in DEMO.joinpath("questions.jsonl").read_text(encoding="utf-8").splitlines()]
    rows, questions = [], []
    for copy in range(times):
        for i, clip in enumerate(clips):
            (_, samples), (_, words) = parts[i]
            (first, _), (opening, _) = parts[(i + copy) % len(clips)]
            key = f"{clip['id'].rpartition('/')[2]}-{copy}"
            soundfile.write(audio / f"{key}.flac", np.concatenate([samples, first]), clip["sampling_rate"])
            rows.append({"id": key, "audio": f"{key}.flac", "text": f"{words} {opening}"})
            for row in originals:
                if row["id"] == clip["id"]:
                    ids = {"id": f"{NAME}/{key}", "question_id": f"{row['question_id']}-{copy}"}
                    questions.append(row | ids | {"question": f"{copy}. {row['question']}"})
    listed = folder / "clips.jsonl"
    listed.write_text("".join(json.dumps(row) + "\n" for row in rows))
    siq = str(Path(sys.executable).with_name("siq"))
    paths = ["--audio", str(audio), "--text", str(listed), "--output", str(tasks)]
    measure.run_child([siq, "data", "new", NAME, *paths, "--embedder", measure.LLM])
    tasks.joinpath("questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in questions))
    return tasks


def run(clips: list[dict], times: int) -> dict[str, float]:
    """Return the measurements of one size."""
    with tempfile.TemporaryDirectory() as folder:
        tasks, cache = write_set(Path(folder), clips, times), Path(folder, "cache")
        cache.mkdir()
        cache.joinpath("models").symlink_to(cache_dir("models"), target_is_directory=True)
        child = measure.run_child(measure.calling("growth.evaluate", str(tasks)), SIQ_CACHE=str(cache), SIQ_STORE="off")
    seconds, number = float(child.output.splitlines()[-1]), times * len(clips)
    return {"clips": number, "seconds": seconds, "a_clip": seconds / number, "peak_mb": child.peak_mb}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=4, help="number of clips of the demo")
    parser.add_argument("--times", type=int, nargs="+", default=[1, 2, 4])
    measure.rounds_option(parser, 1)
    args = parser.parse_args()
    ways = {times: partial(run, list_clips()[: args.clips], times) for times in args.times}
    sizes = measure.by_size(measure.alternate(ways, args.rounds), ("a_clip", "peak_mb"))
    print(" clips        s   s/clip   peak MB   time per clip, relative       peak, relative")
    for row in sizes.values():
        print(
            f"{row['clips']:6} {row['seconds']:8.1f} {row['a_clip']:8.2f} {row['peak_mb']:9.0f} "
            f"{row['a_clip_relative']!s:>25} {row['peak_mb_relative']!s:>20}"
        )
    measure.write("growth", {"sizes": sizes})


if __name__ == "__main__":
    main()
