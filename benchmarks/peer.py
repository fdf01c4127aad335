"""Compare transcription with peers: the same Whisper on the demo's clips by this suite, a pipeline and lmms-eval.

    python benchmarks/peer.py [--rounds 3] [--clips 14]

The pipeline is that of transformers. lmms-eval gets an environment of its own in the cache folder, made on first use,
with this environment's versions of torch and transformers. Its Whisper runs only on CUDA; its error on this machine is
recorded. The timed runs use its own file with `cuda` replaced by `cpu`, and a copy of the checkpoint with the table of
spellings of OpenAI, without which its `generate_until` raises inside a `try` and answers "" to every clip. The pipeline
cannot put clips of more than 30 s into one batch; it runs clip by clip, and in batches of chunks, which its page calls
experimental. Each run is a process of its own, and the ways alternate. The time is that of the call that transcribes
the clips, with audio decoding, without imports and loading. Word errors are counted over all clips, by the metric of
this suite.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import measure

from speechiq.core.cache.folder import cache_dir
from speechiq.core.checkpoints.names import resolve
from speechiq.metrics.words.normalizer import normalize
from speechiq.metrics.words.wer import Errors, count_errors
from speechiq.siq_tasks.loaders.bundled import DEMO, list_clips

PEER = "lmms-eval==0.7.3"
TASK = """task: siq_demo_asr
dataset_path: json
dataset_kwargs: {data_files: {test: CLIPS}}
test_split: test
output_type: generate_until
doc_to_visual: !function clips.read
doc_to_text: !function clips.ask
doc_to_target: text
generation_kwargs: {max_new_tokens: 256, temperature: 0, num_beams: 1, do_sample: false}
process_results: !function clips.score
metric_list:
  - {metric: done, aggregation: mean, higher_is_better: true}
"""
FUNCTIONS = """import soundfile

def read(doc):
    samples, rate = soundfile.read(doc["path"], dtype="float32")
    return [{"array": samples, "sampling_rate": rate}]

def ask(doc, lmms_eval_specific_kwargs=None):
    return "Transcribe the speech."

def score(doc, results):
    return {"done": 1.0}
"""


def make_environment() -> Path:
    """Return the peer's interpreter; make its environment if there is none."""
    pins = [f"{name}=={version(name).partition('+')[0]}" for name in ("torch", "transformers")]
    folder = cache_dir("benchmarks", "-".join([PEER, *pins]).replace("==", "-"))
    python = folder / "bin" / "python"
    if not folder.joinpath("ready").is_file():
        print(f"making {folder}", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip"]
        # A torchvision built for another torch breaks the import of transformers; Whisper needs none.
        subprocess.run([*pip, "install", "-qq", *pins, PEER, "librosa", "soundfile"], check=True)
        subprocess.run([*pip, "uninstall", "-qq", "--yes", "torchvision"], check=True)
        folder.joinpath("ready").touch()
    return python


def write_task(folder: Path, clips: list[dict]) -> None:
    """Write the clips as a task of the peer."""
    rows = [{"path": str(DEMO / clip["file"]), "text": clip["text"]} for clip in clips]
    folder.joinpath("clips.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    folder.joinpath("siq_demo_asr.yaml").write_text(TASK.replace("CLIPS", str(folder / "clips.jsonl")))
    folder.joinpath("clips.py").write_text(FUNCTIONS)


def write_checkpoint(folder: Path) -> None:
    """Link the checkpoint, with the table of spellings that OpenAI's own has and the demo's conversion leaves out."""
    for file in Path(resolve(measure.ASR)).iterdir():
        folder.joinpath(file.name).symlink_to(file)
    folder.joinpath("normalizer.json").symlink_to(DEMO.parents[1] / "metrics" / "whisper_spelling.json")


def run_suite(path: str, clips: str) -> None:
    """Run this suite's recognizer."""
    from speechiq.core.clip import file_clip
    from speechiq.engines.base import Setup
    from speechiq.engines.registry import build

    engine = build("asr", measure.ASR, {}, Setup(engine="hf"))
    listed = [file_clip(clip) for clip in list_clips()[: int(clips)]]
    with engine.checkpoint.loaded():
        start = time.perf_counter()
        texts = engine.transcribe(listed)
        save(path, time.perf_counter() - start, [response.text for response in texts])


def run_pipeline(path: str, clips: str, chunked: str) -> None:
    """Run the pipeline of transformers, greedy like the others, clip by clip or in batches of chunks."""
    import torch
    from transformers import pipeline

    from speechiq.core.clip import SAMPLING_RATE, file_clip
    from speechiq.engines._shared.checkpoint import CPU_BATCH

    way = {"batch_size": CPU_BATCH, "chunk_length_s": 30} if chunked else {"batch_size": 1}
    folder = resolve(measure.ASR)
    recognizer = pipeline("automatic-speech-recognition", folder, dtype=torch.float32, device="cpu", **way)
    listed = list_clips()[: int(clips)]
    start = time.perf_counter()
    audio = [{"raw": file_clip(clip).samples, "sampling_rate": SAMPLING_RATE} for clip in listed]
    outputs = recognizer(audio, return_timestamps=True, generate_kwargs={"num_beams": 1})
    save(path, time.perf_counter() - start, [output["text"] for output in outputs])


def save(path: str, seconds: float, texts: Sequence[str]) -> None:
    """Write the time and the transcripts of a run into the file that its parent reads."""
    Path(path).write_text(json.dumps({"seconds": seconds, "texts": list(map(str, texts))}))


class Peer(NamedTuple):
    """lmms-eval, ready to run.

    Attributes:
        python: its interpreter.
        folder: the folder of its task, its checkpoint and its output.
    """

    python: Path
    folder: Path

    def command(self, path: str, mode: str, device_map: str, batch_size: int) -> list[str]:
        """Return the command that runs it; it writes time and transcripts into the file at `path`."""
        model = f"pretrained={self.folder / 'checkpoint'},device=cpu,device_map={device_map}"
        return [
            str(self.python), str(Path(__file__).with_name("peer_runner.py")), path, mode,
            "--model", "whisper", "--model_args", model, "--batch_size", str(batch_size),
            "--tasks", "siq_demo_asr", "--include_path", str(self.folder / "task"),
            "--output_path", str(self.folder / "out"),
        ]  # fmt: skip

    def run(self, path: str, batch_size: int) -> None:
        """Run it on the CPU."""
        measure.run_child(self.command(path, "for-the-cpu", "cpu", batch_size), HF_HOME=str(self.folder / "home"))

    def fail(self, path: str, device_map: str) -> str:
        """Run it unchanged and return its error, with the file and line."""
        environment = {**os.environ, **measure.QUIET, "HF_HOME": str(self.folder / "home")}
        command = self.command(path, "unchanged", device_map, 1)
        output = subprocess.run(command, env=environment, capture_output=True, text=True).stderr
        frames = re.findall(r'File "\S*(lmms_eval/models/\S+)", line (\d+)', output)
        errors = re.findall(r"^\w*Error: .*", output, re.MULTILINE)
        return f"{errors[-1]} ({':'.join(frames[-1])})" if errors and frames else "no error"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measure.rounds_option(parser, 3)
    parser.add_argument("--clips", type=int, default=14)
    args = parser.parse_args()
    clips, number = list_clips()[: args.clips], str(args.clips)
    with tempfile.TemporaryDirectory() as folder:
        peer, path = Peer(make_environment(), Path(folder)), str(Path(folder, "run.json"))
        for name in ("task", "checkpoint"):
            Path(folder, name).mkdir()
        write_task(Path(folder, "task"), clips)
        write_checkpoint(Path(folder, "checkpoint"))
        fails = {f"device_map={device_map}": peer.fail(path, device_map) for device_map in ("auto", "cpu")}
        seconds: dict[str, list[float]] = {}
        texts: dict[str, list[str]] = {}

        def recorded(name: str, run: Callable[[], object]) -> Callable[[], None]:
            def way() -> None:
                run()
                written = json.loads(Path(path).read_text())
                seconds.setdefault(name, []).append(written["seconds"])
                texts[name] = written["texts"]

            return way

        ways = {
            "this suite": lambda: measure.run_child(measure.calling("peer.run_suite", path, number)),
            "pipeline, clip by clip": lambda: measure.run_child(measure.calling("peer.run_pipeline", path, number, "")),
            "pipeline, chunks": lambda: measure.run_child(
                measure.calling("peer.run_pipeline", path, number, "chunked")
            ),
            "lmms-eval, batch 1": lambda: peer.run(path, 1),
            "lmms-eval, batch 8": lambda: peer.run(path, 8),
        }
        measure.in_turn({name: recorded(name, run) for name, run in ways.items()}, args.rounds)
    report(clips, seconds, texts, fails)


def report(clips: list[dict], seconds: Mapping, texts: Mapping, fails: Mapping) -> None:
    """Print the table and write the JSON file."""
    rows = {}
    print("                              s             relative   words   ms per word   word errors")
    for name, took in seconds.items():
        pairs = zip((clip["text"] for clip in clips), texts[name], strict=True)
        errors = sum((count_errors(*map(normalize, pair)) for pair in pairs), Errors())
        row = {
            "seconds": took,
            "relative": measure.Spread.ratio(took, seconds["this suite"]),
            "words": errors.hits + errors.substitutions + errors.insertions,
            "wer": errors.per_unit(errors.total),
        }
        rows[name], middle = row, statistics.median(took)
        print(
            f"{name:24} {middle:6.2f} {row['relative']!s:>20} {row['words']:7} {1000 * middle / row['words']:11.1f} "
            f"{row['wer']:13.3f}"
        )
    print(f"of {errors.reference_length} words in the references")
    for setting, error in fails.items():
        print(f"lmms-eval unchanged, {setting}: {error}")
    measure.write("peer", {"ways": rows, "as_it_is": fails, "texts": texts, "peer": PEER})


if __name__ == "__main__":
    main()
