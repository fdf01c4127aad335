"""Sets of one's own: tables of clips with their audio, the folders of tasks made of them, and `--metadata`."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import soundfile

from speechiq.siq_tasks.index import LEVELS, read_task
from speechiq.siq_tasks.loaders.clips import load
from speechiq.siq_tasks.loaders.rows import RowSource
from speechiq.siq_tasks.settings import TASK_TYPES
from tests.core.recordings import by_ffmpeg
from tests.fuzz.judge import judge, judge_own_frames, run_siq
from tests.fuzz.mutations import PLACES, VALUES
from tests.fuzz.targets import questions
from tests.fuzz.targets.target import Target
from tests.siq_tasks.conftest import write_lines

SAID = "The town council approved the new bridge on Tuesday evening."
CLIPS = {"a": "wav", "b": "wav", "c": "m4a"}
EMBEDDER = "demo:SmolLM2-135M-Instruct"


def prepare_table(folder: Path) -> list[Path]:
    """Write audio and its table, as JSON lines and as CSV."""
    audio = folder / "audio"
    audio.mkdir()
    for number, (name, ending) in enumerate(CLIPS.items(), 9):
        file = audio / f"{name}.{ending}"
        if ending == "wav":
            soundfile.write(file, np.sin(np.arange(8000) / number), 16_000)
        else:
            file.write_bytes(by_ffmpeg("ipod", "aac", seconds=1.0))
    rows = [{"id": name, "audio": f"{name}.{ending}", "text": SAID} for name, ending in CLIPS.items()]
    write_lines(folder / "calls.jsonl", *rows)
    lines = ["id,audio,text", *(",".join(row.values()) for row in rows)]
    folder.joinpath("calls.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [folder / "calls.jsonl", folder / "calls.csv", *sorted(audio.iterdir())]


def make_tasks(folder: Path, rng: random.Random) -> str | None:
    """Make a folder of tasks."""
    text = folder / rng.choice(("calls.jsonl", "calls.csv"))
    command = ["data", "new", "calls", "--audio", folder / "audio", "--text", text, "--embedder", EMBEDDER]
    return run_siq([*command, "--output", folder / "made"])


def prepare_tasks(folder: Path) -> list[Path]:
    """Make a folder of tasks with its questions."""
    prepare_table(folder)
    assert make_tasks(folder, random.Random(0)) is None
    questions.prepare(folder / "made", tuple(CLIPS))
    return sorted(folder.glob("made/*"))


def ask_for_clips(folder: Path, rng: random.Random) -> str | None:
    """Ask for the clips of the set; `--dry-run` reads its tasks and clips, and asks nobody."""
    author = "openai:model,base_url=http://127.0.0.1:9/v1"
    command = ["data", "questions", "--dataset", folder / "made", "--writer", author, "--checker", author]
    return run_siq([*command, "--output", folder / "new.jsonl", "--dry-run"])


def load_by_harness(folder: Path, rng: random.Random) -> str | None:
    """Load a task of the folder as lm-eval does; an error that lm-eval itself raises is its own affair."""
    from lm_eval.tasks import TaskManager

    if not all(path.is_file() for path in folder.glob("made/*")):
        return None  # lm-eval waits for pipes
    task = f"siq_calls_{rng.choice(sorted(LEVELS))}"

    def work() -> None:
        manager = TaskManager(include_path=str(folder / "made"), include_defaults=False)
        for loaded in manager.load([task])["tasks"].values():
            list(loaded.eval_docs)

    return judge_own_frames(work)


def use_tasks(folder: Path, rng: random.Random) -> str | None:
    """Use the folder in one of the two ways."""
    return rng.choice((ask_for_clips, load_by_harness))(folder, rng)


def load_with_metadata(folder: Path, rng: random.Random) -> str | None:
    """Load a level with one or two hostile values, as `--metadata key=value` hands them over."""
    level = rng.choice(sorted(LEVELS))
    told = dict(read_task(folder / "made" / f"siq_calls_{level}.yaml")["metadata"])
    keys = {"dataset", "level", "subset", "selection", "questions"}
    keys.update(RowSource.__struct_fields__, TASK_TYPES[level].keys)
    values = [*VALUES, *PLACES, folder / "made", str(folder), str(folder / "audio" / "a.wav"), 2, "2"]
    for key in rng.sample(sorted(keys), rng.choice((1, 1, 2))):
        told[key] = rng.choice(values)
    return judge(lambda: list(load(**told).docs))


TABLES = Target(prepare_table, make_tasks, cases=60)
TASKS = Target(prepare_tasks, use_tasks, cases=15)
METADATA = Target(lambda folder: prepare_tasks(folder)[:0], load_with_metadata, cases=80, refuses=True)
