"""Compare ways of decoding the same Whisper by their word errors on the demo's clips, which are up to 37 s long.

    python benchmarks/decoding.py [--clips 14] [--joined 1] [--models demo:whisper-tiny.en demo:whisper-base]

The ways are that of this suite; those of the pipeline of transformers, window after window and in overlapping chunks of
30 s; and the first 30 s of a clip with and without timestamp tokens. The last one is what the Whisper of lmms-eval
(0.7.3, `models/simple/whisper.py`) requests from transformers. `--joined 4` makes recordings of four clips each. All
are greedy, so that a second run gives the same texts. The difference to this suite is paired by recording.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

import measure
import numpy as np
import torch
from transformers import AutoProcessor, WhisperForConditionalGeneration, pipeline

from speechiq.core.checkpoints.names import resolve
from speechiq.core.clip import SAMPLING_RATE, as_clip, file_clip
from speechiq.engines.base import Setup
from speechiq.engines.registry import build_engine
from speechiq.metrics.words.normalizer import normalize
from speechiq.metrics.words.wer import Errors, count_errors
from speechiq.reducer.stats.bootstrap import resample
from speechiq.siq_tasks.loaders.bundled import list_clips

WINDOW_S, DRAWS = 30, 1000
Transcribe = Callable[[np.ndarray], str]


class Whisper:
    """Hold a checkpoint with the ways in which transformers decodes it."""

    def __init__(self, name: str) -> None:
        folder = resolve(name)
        self.model = WhisperForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
        self.processor = AutoProcessor.from_pretrained(folder)
        multilingual = getattr(self.model.generation_config, "is_multilingual", False)
        self.settings = {"num_beams": 1} | ({"language": "en", "task": "transcribe"} if multilingual else {})
        self.pipeline = pipeline(
            "automatic-speech-recognition",
            model=self.model,
            tokenizer=self.processor.tokenizer,
            feature_extractor=self.processor.feature_extractor,
        )

    def run_pipeline(self, samples: np.ndarray, **options: Any) -> str:
        """Return what the pipeline of transformers writes."""
        audio = {"raw": samples, "sampling_rate": SAMPLING_RATE}
        return self.pipeline(audio, return_timestamps=True, generate_kwargs=dict(self.settings), **options)["text"]

    def decode_window(self, samples: np.ndarray, **options: Any) -> str:
        """Return the text of the first window, to which the processor truncates a clip by default."""
        features = self.processor(
            audio=samples, sampling_rate=SAMPLING_RATE, return_tensors="pt", return_attention_mask=True
        )
        with torch.inference_mode():
            tokens = self.model.generate(**features, **self.settings, **options)
        return self.processor.batch_decode(tokens, skip_special_tokens=True)[0]


def list_ways(model: str) -> dict[str, Transcribe]:
    """Return each way of transcribing samples, by its name in the table."""
    engine, whisper = build_engine("asr", model, {}, Setup(engine="hf")), Whisper(model)

    def run_suite(samples: np.ndarray) -> str:
        clip = as_clip({"array": samples, "sampling_rate": SAMPLING_RATE})
        return engine.transcribe([clip])[0].text

    return {
        "this suite": run_suite,
        "pipeline": whisper.run_pipeline,
        "pipeline, chunks of 30 s": lambda samples: whisper.run_pipeline(samples, chunk_length_s=WINDOW_S),
        "first 30 s": lambda samples: whisper.decode_window(samples, return_timestamps=True),
        "first 30 s, no timestamps": lambda samples: whisper.decode_window(samples, max_new_tokens=256),
    }


def list_recordings(clips: int, joined: int) -> list[tuple[str, np.ndarray]]:
    """Return the words and samples of each recording."""
    listed = list_clips()[:clips]
    parts = [listed[i : i + joined] for i in range(0, len(listed), joined)]
    return [
        (" ".join(clip["text"] for clip in part), np.concatenate([file_clip(clip).samples for clip in part]))
        for part in parts
    ]


def compare(model: str, recordings: list[tuple[str, np.ndarray]]) -> dict[str, dict[str, Any]]:
    """Return the texts of each way, their errors, and the difference of its rate to that of this suite, in percent."""
    ways = list_ways(model)
    texts = {name: [transcribe(samples) for _, samples in recordings] for name, transcribe in ways.items()}
    words = [normalize(text) for text, _ in recordings]
    counts = {
        name: [count_errors(*pair) for pair in zip(words, map(normalize, written), strict=True)]
        for name, written in texts.items()
    }
    totals = np.array([[errors.total for errors in row] for row in counts.values()]).T
    lengths = np.array([errors.reference_length for errors in next(iter(counts.values()))])
    drawn = resample(
        lambda items: 100 * (items @ totals) / (items @ lengths)[:, None], range(len(lengths)), draws=DRAWS
    )
    return {
        name: {"texts": texts[name], "errors": sum(row, Errors()), "difference": drawn.difference(i, 0)}
        for i, (name, row) in enumerate(counts.items())
    }


def report(model: str, rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Print a table of the ways."""
    print(f"{model:30} WER %   words   missing   wrong   added   WER % - that of this suite")
    for name, row in rows.items():
        errors, gap = row["errors"], row["difference"]
        count = errors.hits + errors.substitutions + errors.insertions
        difference = f"{gap.a - gap.b:+.2f} [{gap.low:+.2f}, {gap.high:+.2f}]" if gap.a != gap.b else ""
        print(
            f"{name:30} {100 * errors.per_unit(errors.total):5.2f} {count:7} {errors.deletions:9} "
            f"{errors.substitutions:7} {errors.insertions:7}   {difference}"
        )
    print(f"{errors.reference_length} words in the references", end="\n\n")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=14)
    parser.add_argument("--joined", type=int, default=1, help="clips in each recording")
    parser.add_argument("--models", nargs="+", default=[measure.ASR])
    args = parser.parse_args()
    recordings = list_recordings(args.clips, args.joined)
    measured = {}
    for model in args.models:
        rows = compare(model, recordings)
        report(model, rows)
        measured[model] = {
            name: {**row, "errors": vars(row["errors"]), "difference": row["difference"]._asdict()}
            for name, row in rows.items()
        }
    measure.write("decoding", {"joined": args.joined, "models": measured})


if __name__ == "__main__":
    main()
