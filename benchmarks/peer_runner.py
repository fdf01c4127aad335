"""Run lmms-eval's command line with a timer around its Whisper; `peer.py` runs this in the peer's environment.

    python benchmarks/peer_runner.py FILE unchanged|for-the-cpu ARGUMENTS...

Seconds and transcripts of the one call that answers all requests are written into FILE.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

NAME = "lmms_eval.models.simple.whisper"


def import_whisper(for_the_cpu: bool) -> Any:
    """Return the peer's model type; if `for_the_cpu`, each `cuda` in its source is replaced by `cpu`."""
    spec = importlib.util.find_spec(NAME)
    source = Path(spec.origin).read_text()
    if for_the_cpu:
        source = re.sub(r'cuda(:\{[^}]*\})?"', 'cpu"', source)
    module = sys.modules[NAME] = importlib.util.module_from_spec(spec)
    exec(compile(source, spec.origin, "exec"), module.__dict__)
    return module.Whisper


def main() -> None:
    """Run lmms-eval; all arguments after the first two are its own."""
    path, mode, *sys.argv[1:] = sys.argv[1:]
    whisper = import_whisper(mode == "for-the-cpu")
    generate_until = whisper.generate_until

    def timed(self: Any, requests: list[Any]) -> list[str]:
        start = time.perf_counter()
        texts = generate_until(self, requests)
        seconds = time.perf_counter() - start
        by_doc = {request.args[3]: text for request, text in zip(requests, texts, strict=True)}
        Path(path).write_text(json.dumps({"seconds": seconds, "texts": [by_doc[i] for i in sorted(by_doc)]}))
        return texts

    whisper.generate_until = timed
    from lmms_eval.__main__ import cli_evaluate

    cli_evaluate()


if __name__ == "__main__":
    main()
