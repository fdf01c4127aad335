"""`transformers serve`: a real OpenAI-compatible server with real models."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def transformers_serve(log: Path, *arguments: str) -> Iterator[str]:
    """Its address, up while the block runs; without a model among the arguments it loads what it is asked for."""
    port = free_port()
    program = Path(sys.executable).with_name("transformers")
    with log.open("w") as lines:
        process = subprocess.Popen(
            [program, "serve", *arguments, "--device", "cpu", "--host", "127.0.0.1", "--port", str(port)],
            stdout=lines, stderr=lines,
        )  # fmt: skip
    try:
        for _ in range(1800):
            assert process.poll() is None, log.read_text()
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()
