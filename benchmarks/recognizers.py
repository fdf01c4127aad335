"""Compare ways to run one Whisper on a CPU: transformers, faster-whisper, and an endpoint on this machine.

    python benchmarks/recognizers.py [--clips 14] [--rounds 2]

All transcribe the demo's clips with the same weights, greedily. faster-whisper reads them converted to CTranslate2's
format. The endpoint is a small server of its own process that takes `/v1/audio/transcriptions` and answers by
faster-whisper, so that its difference to that is the price of sending audio. Models are loaded before. Agreement is
1 - WER of the transcripts against those of the first way.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from email import message_from_bytes
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from statistics import median

import measure

from speechiq.core.checkpoints.names import resolve
from speechiq.core.clip import Clip, file_clip
from speechiq.engines.base import ASREngine, Setup
from speechiq.engines.registry import build_engine
from speechiq.metrics.words.wer import wer
from speechiq.siq_tasks.loaders.bundled import list_clips


class Server(BaseHTTPRequestHandler):
    """Answer requests for transcriptions; `model` is set by `serve`."""

    def do_POST(self) -> None:
        """Transcribe the file of a request."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        form = message_from_bytes(b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n" + body)
        (audio,) = [part.get_payload(decode=True) for part in form.walk() if part.get_filename()]
        segments, _ = self.model.transcribe(io.BytesIO(audio), beam_size=1, temperature=0, language="en")
        text = " ".join(segment.text.strip() for segment in segments)
        reply = json.dumps({"text": text}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def serve(folder: str) -> None:
    """Serve the model in a folder on a free port, which is printed."""
    from faster_whisper import WhisperModel

    Server.model = WhisperModel(folder, device="cpu", compute_type="float32")
    server = HTTPServer(("127.0.0.1", 0), Server)
    print(server.server_port, flush=True)
    server.serve_forever()


@contextmanager
def serving(folder: str) -> Iterator[str]:
    """Yield the address of a server of the model in a folder."""
    with subprocess.Popen(measure.calling("recognizers.serve", folder), stdout=subprocess.PIPE, text=True) as server:
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        finally:
            server.kill()


def convert(folder: Path) -> str:
    """Return the folder of the benchmark's Whisper in CTranslate2's format."""
    from ctranslate2.converters import TransformersConverter

    files = ["tokenizer.json", "preprocessor_config.json"]
    source = resolve(measure.ASR)
    copied = [file for file in files if Path(source, file).is_file()]
    return TransformersConverter(str(source), copy_files=copied).convert(str(folder / "converted"))


def transcribe(engine: ASREngine, clips: Sequence[Clip], texts: list[str]) -> measure.Cost:
    """Return the cost of transcribing clips, and put their transcripts into `texts`."""

    def work() -> None:
        texts[:] = [response.text for response in engine.transcribe(clips)]

    return measure.cost(work)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=14)
    measure.rounds_option(parser, 2)
    args = parser.parse_args()
    listed = list_clips()[: args.clips]
    clips, references = [file_clip(clip) for clip in listed], [clip["text"] for clip in listed]
    with tempfile.TemporaryDirectory() as folder:
        converted = convert(Path(folder))
        with serving(converted) as address:
            endpoint = {"base_url": address, "num_concurrent": 1}
            engines = {
                "hf": build_engine("asr", measure.ASR, {}, Setup(engine="hf")),
                "faster-whisper": build_engine("asr", converted, {}, Setup(engine="faster-whisper")),
                "openai, a local server": build_engine("asr", "whisper", endpoint, Setup(engine="openai")),
            }
            texts: dict[str, list[str]] = {name: [] for name in engines}
            ways = {name: partial(transcribe, engine, clips, texts[name]) for name, engine in engines.items()}
            for way in ways.values():
                way()
            costs = measure.alternate(ways, args.rounds)
    hours = sum(clip.duration for clip in clips) / 3600
    first = next(iter(texts))
    rows = []
    print(
        f"{'way':26}{'s':>8}{'clips per hour':>16}{'words per minute':>18}{'WER %':>8}{'agreement %':>13}{'ratio':>30}"
    )
    for name, of_way in costs.items():
        seconds = median(cost.wall for cost in of_way)
        row = {
            "way": name,
            "seconds": seconds,
            "clips_per_hour": 3600 * len(clips) / seconds,
            "words_per_minute": 60 * sum(len(text.split()) for text in texts[name]) / seconds,
            "audio_per_second": 3600 * hours / seconds,
            "wer": 100 * wer(references, texts[name]),
            "agreement": 100 - 100 * wer(texts[first], texts[name]),
            "ratio": str(measure.ratio(of_way, costs[first])["wall"]),
        }
        rows.append(row)
        print(
            f"{name:26}{seconds:8.1f}{row['clips_per_hour']:16.0f}{row['words_per_minute']:18.0f}{row['wer']:8.2f}"
            f"{row['agreement']:13.2f}{row['ratio']:>30}"
        )
    measure.write("recognizers", {"clips": len(clips), "hours": hours, "ways": rows})


if __name__ == "__main__":
    main()
