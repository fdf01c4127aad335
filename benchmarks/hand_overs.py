"""Count the files entered and the calls made from the request for a transcript to the transcript.

    python benchmarks/hand_overs.py

A newly built system transcribes one clip of the demo, level Remember, with whisper-tiny.en, in a process that did the
same once before, so that imports do not count. The counts are the files of speechiq that are entered and the calls of
one function of speechiq by another; a comprehension, generator expression or lambda belongs to the function in which it
is written.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType

import measure

PACKAGE = Path(__file__).resolve().parents[1]
OUTSIDE = ("benchmarks", "tests", "tools", ".venv")
AIM = {"files": 20, "hand_overs": 120}


@cache
def find_file(name: str) -> str | None:
    """Return a file of speechiq relative to the package; None for a file outside of it."""
    file = Path(name)
    inside = file.resolve().relative_to(PACKAGE) if file.is_absolute() and PACKAGE in file.resolve().parents else None
    return str(inside) if inside and inside.parts[0] not in OUTSIDE else None


def count(work: Callable[[], object]) -> Counter[tuple[str, str]]:
    """Return how often each function of speechiq, as (file, name), was called by another one while `work` ran."""
    calls: Counter[tuple[str, str]] = Counter()

    def watch(frame: FrameType, event: str, _: object) -> None:
        code, caller = frame.f_code, frame.f_back
        file = find_file(code.co_filename) if event == "call" else None
        if file and not code.co_name.startswith("<"):
            calls[file, code.co_qualname] += bool(caller and find_file(caller.f_code.co_filename))

    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print each function and how often it was called")
    args = parser.parse_args()
    os.environ.update(measure.QUIET, SIQ_STORE="off", SIQ_TASKS="only")
    from lm_eval.tasks import TaskManager

    from speechiq.harness_patch.hf_audio import HFAudio

    task = TaskManager(include_defaults=False).load(["siq_demo_remember"])["tasks"]["siq_demo_remember"]
    models: list[HFAudio] = []

    def build() -> None:
        models.append(HFAudio(f"{measure.ASR}+{measure.LLM}", device="cpu"))

    def transcribe() -> None:
        task.build_all_requests(limit=1)
        models[-1].generate_until(task.instances)

    build()
    transcribe()
    counted = {"building the system": count(build), "request to transcript": count(transcribe)}
    counted["both"] = counted["building the system"] + counted["request to transcript"]
    rows = {
        name: {"files": len({file for file, _ in calls}), "hand_overs": calls.total()}
        for name, calls in counted.items()
    }
    print("                        files  hand-overs")
    for name, row in rows.items():
        print(f"{name:22} {row['files']:6} {row['hand_overs']:11}")
    if args.list:
        for (file, name), times in sorted(counted["both"].items()):
            print(f"{times:5}  {file}  {name}")
    measure.write("hand_overs", {"aim": AIM, "counted": rows})


if __name__ == "__main__":
    main()
