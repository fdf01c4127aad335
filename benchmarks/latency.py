"""Compare the measured times of streamed answers with those that a server on this machine plants.

    python benchmarks/latency.py [--answers N] [--at-once N ...]

The server is a process of its own. It streams a spoken reply to each prompt: its text after one delay, its audio after
a second one, and its end after a third, which are planted. The engine of spoken replies asks it, one prompt after the
other and several at once. Compared are p50 and p95 of the planted times, of those when the server sent each part, and
of the measured ones; the aim is 5 ms at p50. On a machine with other work the server sends late, which is why both are
given. The times of the warm-up are left out everywhere.
"""

from __future__ import annotations

import argparse
import base64
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from typing import ClassVar
from urllib.request import urlopen

import measure
import numpy as np

from speechiq.core.prompt import Prompt
from speechiq.core.usage import recording
from speechiq.engines.audio.openai import EndpointReply
from speechiq.engines.base import Setup
from speechiq.engines.options import read_options
from speechiq.reducer.output.side_tables import quantiles

TIMES = "first_token", "first_audio", "total"
SHARES = 0.5, 0.95
AIM_MS = 5
#: Half a second of silence, as 16-bit samples.
AUDIO = base64.b64encode(bytes(24_000)).decode()


def draw_delays(answers: int) -> np.ndarray:
    """Return the seconds until the text, the audio and the end of each answer, shape (answers, 3)."""
    delays = np.random.default_rng(0).lognormal(np.log([0.06, 0.08, 0.04]), 0.5, (answers, 3))
    return np.cumsum(delays, axis=1)


class Handler(BaseHTTPRequestHandler):
    """Stream an answer to a prompt, which is the number of its delays."""

    delays: np.ndarray
    sent: ClassVar[dict[int, list[float]]] = {}

    def do_GET(self) -> None:
        """Return when each part of the answers was sent; an engine calls this once to check the server."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(self.sent).encode())

    def do_POST(self) -> None:
        """Send the parts of an answer, each at its time."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        start = time.perf_counter()
        number = int(asked["messages"][0]["content"][0]["text"])
        deltas = {"audio": {"id": "a", "transcript": "Good."}}, {"audio": {"data": AUDIO}}, {}
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        times = self.sent[number] = []
        for place, (delta, due) in enumerate(zip(deltas, self.delays[number], strict=True)):
            time.sleep(max(0.0, start + due - time.perf_counter()))
            times.append(time.perf_counter() - start)
            choice = {"index": 0, "delta": delta, "finish_reason": "stop" if place == 2 else None}
            self.wfile.write(f"data: {json.dumps({'choices': [choice]})}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def serve(answers: int, port: Connection) -> None:
    """Serve until the process is ended, and send the port."""
    Handler.delays = draw_delays(answers)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port.send(server.server_port)
    server.serve_forever()


@contextmanager
def serving(answers: int) -> Iterator[str]:
    """Yield the address of the server, a process of its own."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(answers, there), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}/v1"
    finally:
        process.terminate()
        process.join()


def compare(url: str, answers: int, at_once: int) -> dict[str, dict[str, list[float]]]:
    """Return p50 and p95 of each kind of time, and median and largest error since parts were sent, in ms."""
    options = {"base_url": url, "response_format": "pcm16", "num_concurrent": at_once}
    engine = EndpointReply("m", read_options(EndpointReply.record, options, engine="openai", prefix=""), Setup())
    with recording() as recorder:
        engine.reply([Prompt.about(str(number)) for number in range(answers)], [[n] for n in range(answers)], {})
    timed = sorted(seed for seed, times in recorder.latencies.items() if not times.is_warm_up)
    with urlopen(f"{url}/sent") as reply:
        sent = json.load(reply)
    rows = {
        "planted": draw_delays(answers)[timed],
        "sent": np.array([sent[str(seed)] for seed in timed]),
        "measured": np.array([[getattr(recorder.latencies[seed], name) for name in TIMES] for seed in timed]),
    }
    found = {}
    for place, name in enumerate(TIMES):
        columns = {kind: 1000 * values[:, place] for kind, values in rows.items()}
        counts = np.ones((1, len(timed)))
        found[name] = {kind: quantiles(values, SHARES)(counts)[0].tolist() for kind, values in columns.items()}
        errors = columns["measured"] - columns["sent"]
        found[name]["error"] = [float(np.median(errors)), float(np.abs(errors).max())]
    return found


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=200)
    parser.add_argument("--at-once", type=int, nargs="+", default=[1, 8])
    given = parser.parse_args()
    os.environ.setdefault("OPENAI_API_KEY", "none-needed")
    results = {}
    with serving(given.answers) as url:
        for at_once in given.at_once:
            results[at_once] = compare(url, given.answers, at_once)
    print(f"{'ms':23}  p50: planted, sent, measured  p95: planted, sent, measured  error: median, largest")
    for at_once, found in results.items():
        for name in TIMES:
            pairs = zip(*(found[name][kind] for kind in ("planted", "sent", "measured")), strict=True)
            cells = [" ".join(f"{value:9.1f}" for value in pair) for pair in pairs]
            errors = " ".join(f"{value:10.2f}" for value in found[name]["error"])
            print(f"{at_once} at once, {name:12}", *cells, errors)
    within = {
        kind: max(abs(row["measured"][0] - row[kind][0]) for found in results.values() for row in found.values())
        for kind in ("planted", "sent")
    }
    print(f"p50 within {within['sent']:.2f} ms of what was sent, {within['planted']:.2f} ms of what was planted")
    print(f"aim: {AIM_MS} ms on a machine without other work")
    measure.write("latency", {"ms": results, "p50_within_ms": within})


if __name__ == "__main__":
    sys.exit(main())
