"""A case: one kind of input, valid, then damaged by what its number draws."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from speechiq.core.files.folders import cache_dir
from speechiq.core.recordings.audio_file import CLIPS
from tests.fuzz.mutations import displace, mutate, rearrange, retype
from tests.fuzz.targets.archives import ARCHIVES
from tests.fuzz.targets.audio import AUDIO
from tests.fuzz.targets.checkpoints import HEARER, RECOGNISER, WRITER
from tests.fuzz.targets.checksummed import NORMS, SETS
from tests.fuzz.targets.clip_sets import METADATA, TABLES, TASKS
from tests.fuzz.targets.published_rows import PUBLISHED_ROWS
from tests.fuzz.targets.questions import QUESTIONS
from tests.fuzz.targets.replies import REPLIES
from tests.fuzz.targets.results import RESULTS
from tests.fuzz.targets.runs import RUNS
from tests.fuzz.targets.studies import CONDITIONS, JUDGED, LABELS

TARGETS = {
    "runs": RUNS, "labels": LABELS, "judged": JUDGED, "conditions": CONDITIONS, "norms": NORMS, "sets": SETS,
    "questions": QUESTIONS, "tables": TABLES, "task-folder": TASKS, "metadata": METADATA,
    "rows of published sets": PUBLISHED_ROWS, "results": RESULTS, "archives": ARCHIVES, "audio": AUDIO,
    "replies": REPLIES, "recognizer": RECOGNISER, "audio_model": HEARER, "writer": WRITER,
}  # fmt: skip
#: Of the damage, the shares in which a file is replaced by something that is no file, changes place with others, or has
#: one field of another type.
DISPLACED, REARRANGED, RETYPED = 0.04, 0.12, 0.3


def damage(files: list[Path], rng: random.Random) -> None:
    """Damage one of the files, sometimes two."""
    for path in rng.sample(files, min(len(files), rng.choice((1, 1, 1, 2)))):
        way = rng.random()
        if not path.is_file():
            continue
        if way < DISPLACED:
            displace(path, rng)
        elif way < DISPLACED + REARRANGED:
            rearrange(path, [other for other in files if other.is_file()], rng)
        elif way < DISPLACED + REARRANGED + RETYPED:
            path.write_bytes(retype(path.read_bytes(), rng))
        else:
            path.write_bytes(mutate(path.read_bytes(), rng))


def prepare(name: str, valid: Path, folder: Path) -> list[Path]:
    """Make the valid files of a target, and return those that may be damaged, below `folder`.

    Args:
        name: Of the target.
        valid: Where the valid files are kept.
        folder: Where they are made and where each case is run, since some files name others by their place.
    """
    folder.mkdir()
    files = TARGETS[name].prepare(folder)
    folder.rename(valid)
    return files


def run_case(name: str, number: int, valid: Path, files: list[Path], folder: Path) -> str | None:
    """Run one case, which leaves nothing behind, and return what is wrong, or None.

    Args:
        number: Decides everything.
        name, valid, folder: See `prepare`.
        files: As `prepare` returned them; with none, nothing is damaged.
    """
    rng = random.Random(f"{name} {number}")
    shutil.copytree(valid, folder)
    try:
        damage(files, rng)
        return TARGETS[name].run(folder, rng)
    finally:
        shutil.rmtree(folder)
        shutil.rmtree(cache_dir(CLIPS), ignore_errors=True)
