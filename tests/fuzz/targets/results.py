"""Published results that somebody else hands in: their files, norms and rows, mostly with digests that fit."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from contextlib import suppress
from pathlib import Path

import msgspec

from speechiq.reducer.output.published.registry import check_results_folder
from tests.fuzz.judge import LONGEST_LINE, judge, run_siq
from tests.fuzz.targets.target import Target
from tests.reducer.output.published.test_hostile import APPLY, REGISTRY, SPHINX, forge, nothing, seal, store

#: The shares of the cases in which the digests are made anew, and of these, in which the scores are too.
SEALED, FORGED = 0.8, 0.5


def prepare(folder: Path) -> list[Path]:
    """Copy a result of the demo with its norms, and unpack its rows beside it."""
    for name in (SPHINX, "norms"):
        shutil.copytree(REGISTRY / "results" / name, folder / "results" / name)
    folder.joinpath("rows").mkdir()
    for packed in folder.glob("results/*/*/rows/*.gz"):
        folder.joinpath("rows", packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
    return sorted(path for path in folder.rglob("*") if path.is_file())


def use(folder: Path, rng: random.Random) -> str | None:
    """Check the results, or make something of them."""
    results, out = folder / "results", folder / "out"
    is_plain = all(path.is_file() or path.is_dir() for path in results.rglob("*"))
    if is_plain and rng.random() < SEALED:
        with suppress(Exception):  # What has no digests stays as it is.
            _seal(folder, forged=rng.random() < FORGED)
    commands = (["check", results, "-o", folder / "out.json"], ["site", results, "-o", out])
    if rng.random() < 0.5:
        return judge(lambda: _check_faults(results))
    return run_siq(["publish", *rng.choice(commands)], [folder / "out.json"])


def _seal(folder: Path, *, forged: bool) -> None:
    """Pack the rows, in their usual form if they have any, and give the result and the norms fitting digests."""
    for rows in filter(Path.is_file, sorted(folder.glob("rows/*.jsonl"))):
        lines = rows.read_bytes()
        with suppress(ValueError, RecursionError):
            content = [json.loads(line) for line in lines.splitlines()]
            lines = msgspec.json.Encoder(order="sorted").encode_lines(content)
        store(folder / "results", rows.stem, lines)
    for file in sorted((*folder.glob("results/*/*/result.json"), *folder.glob("results/norms/*.json"))):
        file.write_text(seal(json.loads(file.read_bytes())))
    if forged:
        forge(APPLY, nothing)(folder / "results")


def _check_faults(results: Path) -> None:
    for fault in check_results_folder(results).faults:
        assert fault.isprintable() and len(fault) < LONGEST_LINE, fault


RESULTS = Target(prepare, use, cases=30)
