"""Bring your own set: three tasks over a user's clips and references, without writing Python."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from speechiq.core.errors import SpeechIQError
from speechiq.core.json_lines import as_lines
from speechiq.siq_tasks.rows import Source, read_file
from speechiq.siq_tasks.store import inspect
from speechiq.siq_tasks.suite import HERE, data_sets
from speechiq.siq_tasks.templates import Function, read_task, write_task

LEVELS = ("remember", "understand", "apply")
LOADER = Function("speechiq.siq_tasks.loading.load")


def create(name: str, audio: Path, text: Path, folder: Path, embedder: str) -> list[str]:
    """Write the tasks `siq_<name>_<level>` and their group into a new folder.

    Args:
        name: of the set; lower-case letters and digits.
        audio: folder of audio files, any format that libsndfile reads.
        text: `.csv`, `.tsv` or `.jsonl` with the columns `audio` (a file below `audio`), `text`, and `id` if
            rows shall have names of their own.
        folder: where the tasks go; it must not hold any yet.
        embedder: the language model that the level Understand reads.

    Returns:
        Names of the tasks.

    Raises:
        SpeechIQError: a name that cannot be, a file that is missing or no audio; nothing is written then.
    """
    _check_name(name)
    rows = list(read_file(text))
    clips = [_check_row(number, row, audio.resolve(), text) for number, row in enumerate(rows, 1)]
    if not clips:
        raise SpeechIQError(f"{text}: holds no rows; give it a line a clip")
    if folder.exists() and any(folder.iterdir()):
        raise SpeechIQError(f"{folder}: holds files already; choose another folder with --output")
    folder.mkdir(parents=True, exist_ok=True)
    listed = folder.resolve() / "clips.jsonl"
    listed.write_bytes(as_lines(clips))
    source = Source(str(listed), id_column="id" if "id" in clips[0] else None)
    tasks = [f"siq_{name}_{level}" for level in LEVELS]
    for task, level in zip(tasks, LEVELS, strict=True):
        template = read_task(HERE / f"_{level}.yaml")
        about = {"version": 1.0, "level": level, "dataset": name, "prompt_version": _prompt_version(level)}
        about |= {"dataset_path": source.dataset_path, "subset": "all"}
        about |= {"id_column": "id"} if source.id_column else {}
        about |= {"questions": str(folder.resolve() / "questions.jsonl")}
        about |= {"embedder": embedder} if level == "understand" else {}
        about |= {"normaliser": "english"} if level == "remember" else {}
        write_task(folder / f"{task}.yaml", {"task": task, "custom_dataset": LOADER} | template | {"metadata": about})
    write_task(folder / f"siq_{name}.yaml", {"group": f"siq_{name}", "task": tasks, "metadata": {"version": 1.0}})
    return tasks


def _prompt_version(level: str) -> int:
    return read_task(HERE / "demo" / f"siq_demo_{level}.yaml")["metadata"]["prompt_version"]


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9]*", name):
        raise SpeechIQError(f"{name!r}: not a name for a set; use lower-case letters and digits, such as calls2026")
    if name in {*data_sets(), "all", *LEVELS}:
        raise SpeechIQError(f"{name}: the suite has a set or group of that name; choose another")


def _check_row(number: int, row: Mapping, audio: Path, text: Path) -> dict:
    where = f"{text} row {number}"
    for column in ("audio", "text"):
        if not row.get(column):
            raise SpeechIQError(f"{where}: no {column!r}; every row needs the columns audio and text")
    file = audio / row["audio"]
    if not file.is_file():
        raise SpeechIQError(f"{where}: no file {file}; correct the row or --audio")
    inspect(file.read_bytes(), f"{where}, {file.name}")
    return {key: row[key] for key in ("id", "text") if row.get(key)} | {"audio": str(file)}
