"""Run by `peer.py` in the peer's environment: lmms-eval's command line, its Whisper timed and, where told, on the CPU.

    python benchmarks/peer_runner.py PLACE as-it-is|for-the-cpu ARGUMENTS...

Seconds and texts of the one call that answers all requests go to PLACE.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import time
from pathlib import Path

NAME = "lmms_eval.models.simple.whisper"


def import_whisper(for_the_cpu: bool):
    """The peer's model type, each `cuda` in its source read as `cpu` where told."""
    spec = importlib.util.find_spec(NAME)
    source = Path(spec.origin).read_text()
    if for_the_cpu:
        source = re.sub(r'cuda(:\{[^}]*\})?"', 'cpu"', source)
    module = sys.modules[NAME] = importlib.util.module_from_spec(spec)
    exec(compile(source, spec.origin, "exec"), module.__dict__)
    return module.Whisper


def main() -> None:
    """Everything after the first two arguments is lmms-eval's."""
    place, how, *sys.argv[1:] = sys.argv[1:]
    whisper = import_whisper(how == "for-the-cpu")
    generate_until = whisper.generate_until

    def timed(self, requests):
        start = time.perf_counter()
        texts = generate_until(self, requests)
        seconds = time.perf_counter() - start
        by_doc = {request.args[3]: text for request, text in zip(requests, texts, strict=True)}
        Path(place).write_text(json.dumps({"seconds": seconds, "texts": [by_doc[i] for i in sorted(by_doc)]}))
        return texts

    whisper.generate_until = timed
    from lmms_eval.__main__ import cli_evaluate

    cli_evaluate()


if __name__ == "__main__":
    main()
