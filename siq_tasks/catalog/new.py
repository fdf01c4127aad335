"""Make three tasks of a user's clips and references, without Python code."""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_lines import as_lines
from speechiq.core.files.plain import exists
from speechiq.core.files.tables import check_columns, read_field, read_id, read_table, read_texts
from speechiq.core.recordings.audio_file import file_sha256
from speechiq.core.recordings.inspection import inspect
from speechiq.engines.languages import KEY, read_language
from speechiq.siq_tasks.catalog.folders import check_folder, complete_folder
from speechiq.siq_tasks.catalog.suite import HERE, LEVELS, data_sets
from speechiq.siq_tasks.catalog.task_files import IN_FOLDER, read_task, write_task
from speechiq.siq_tasks.loaders.clips import ENTITIES, list_warnings
from speechiq.siq_tasks.loaders.clusters import CLUSTER, COLUMN
from speechiq.siq_tasks.loaders.docs import refuse_taken
from speechiq.siq_tasks.loaders.row_choice import check_groups, read_group_columns, read_groups
from speechiq.siq_tasks.loaders.subset import counts

LONGEST_NAME = 64
#: Folder of the audio in a folder of tasks.
AUDIO = "audio"


class Created(NamedTuple):
    """Hold the names of new tasks, the ids of their clips, the ids of those without a word to score, and warnings."""

    tasks: list[str]
    ids: list[str]
    left_out: list[str]
    warnings: list[str]


def create(
    name: str,
    audio: Path,
    text: Path,
    folder: Path,
    embedder: str,
    assistant: str | None = None,
    group_by: Sequence[str] = (),
    language: str | None = None,
) -> Created:
    """Write the tasks `siq_<name>_<level>` with the tag `siq_<name>` and the audio into a new folder.

    No name in the folder, which must be empty or not exist, depends on its place, so it can be moved and shared. If a
    name, file or id is invalid, nothing is written.

    Args:
        text: `.csv`, `.tsv` or `.jsonl` with the columns `audio` (a file below `audio`), `text`, and optionally `id`;
            without it a clip is named after its file, `entities`, and `cluster`, such as the call or the speaker.
        assistant: Language model of semantic distances; if given, the task `siq_<name>_distance` is written too, which
            does not have the tag.
        group_by: Columns of `text` with groups of clips, such as the gender of the speaker.
        language: Code or English name of the language of the clips; None is English.
    """
    _check_name(name)
    code = read_language({KEY: language})
    check_folder(folder)
    if not audio.is_dir():
        raise SpeechIQError(f"--audio {audio}", "no such folder", "give the folder that the column audio starts from")
    rows = read_table(text)
    groups = read_group_columns([*group_by])
    refuse_taken(groups)
    check_columns(rows[0], ["audio", "text", *groups], text)
    places: dict[str, int] = {}
    clips: list[dict[str, Any]] = []
    checked: list[dict[str, Any]] = []
    for number, row in enumerate(tqdm(rows, desc=f"{name} clips", unit="clip"), 1):
        where = f"{text} row {number}"
        clip = _read_row(row, audio.resolve(), where) | read_groups(groups, row, where)
        if (first := places.setdefault(clip["id"], number)) != number:
            raise SpeechIQError(
                text,
                f"rows {first} and {number} have the same id, {clip['id']!r}",
                "give each row its own id in a column id",
            )
        file = Path(clip["audio"])
        warnings = inspect(file, f"{where}, {row['audio']}").warnings
        checked.append(clip | {"id": f"{name}/{clip['id']}", "sha256": file_sha256(file), "warnings": warnings})
        clips.append(clip)
    group_warnings = check_groups(clips, groups, str(text))
    ids = [clip["id"] for clip in checked]
    left_out = [clip["id"] for clip in checked if not counts(clip["text"])]
    tasks = _write(name, folder, audio.resolve(), clips, embedder, assistant, [*groups], code)
    return Created(tasks, ids, left_out, [*list_warnings(checked), *group_warnings])


def _write(
    name: str,
    folder: Path,
    audio: Path,
    clips: list[dict[str, Any]],
    embedder: str,
    assistant: str | None,
    group_by: list[str],
    language: str | None,
) -> list[str]:
    """Write the table, the audio below `AUDIO` and the tasks; all names in them are relative to the folder."""
    shared = {"version": 1.0, "dataset": name, "dataset_path": f"{IN_FOLDER}clips.jsonl", "subset": "all"}
    shared |= {"id_column": "id"} | ({COLUMN: CLUSTER} if CLUSTER in clips[0] else {})
    shared |= ({"group_columns": group_by} if group_by else {}) | ({KEY: language} if language else {})
    own = {"understand": {"embedder": embedder}}
    tasks = [f"siq_{name}_{level}" for level in LEVELS]
    with complete_folder(Path(os.path.realpath(folder))) as draft:
        for clip in clips:
            copied = Path(AUDIO, Path(clip["audio"]).relative_to(audio))
            _copy(Path(clip["audio"]), draft / copied)
            clip["audio"] = copied.as_posix()
        draft.joinpath("clips.jsonl").write_bytes(as_lines(clips))
        for task, level in zip(tasks, LEVELS, strict=True):
            about = shared | {"questions": f"{IN_FOLDER}questions.jsonl"} | own.get(level, {})
            _write_task(draft, task, HERE / "templates" / f"_{level}.yaml", about, tag=f"siq_{name}")
        if assistant is not None:
            tasks.append(f"siq_{name}_distance")
            about = shared | {"assistant": assistant}
            _write_task(draft, tasks[-1], HERE / "assistant" / "_distance.yaml", about)
    return tasks


def _copy(source: Path, target: Path) -> None:
    """Put a file at another place too; on the same disk as a hard link, which takes no space."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():  # several rows may have the same audio
        return
    try:
        target.hardlink_to(os.path.realpath(source))
    except OSError:
        shutil.copy2(source, target)


def _write_task(folder: Path, task: str, template: Path, about: dict[str, Any], **keys: str) -> None:
    """Write a task whose metadata are those of a template and of the data set."""
    merged = read_task(template)
    write_task(folder / f"{task}.yaml", {"task": task, **keys} | merged | {"metadata": merged["metadata"] | about})


def _check_name(name: str) -> None:
    if not re.fullmatch(rf"[a-z][a-z0-9]{{0,{LONGEST_NAME - 1}}}", name):
        raise SpeechIQError(
            f"{name!r:.80}",
            "not a name for a data set",
            f"use at most {LONGEST_NAME} lower-case letters and digits, such as calls2026",
        )
    if name in {*data_sets(), "all", *LEVELS}:
        raise SpeechIQError(name, "the suite has a data set or group of that name", "choose another name")


def _read_row(row: Mapping[str, Any], audio: Path, where: str) -> dict[str, Any]:
    """Return the `id`, `text` and `audio` of a row, and its `entities` and `cluster` if the table has them."""
    name, text = read_field(row, "audio", where), read_field(row, "text", where)
    file = Path(os.path.normpath(audio / name))
    if not file.is_relative_to(audio):
        raise SpeechIQError(where, f"{name!r:.80} is not below --audio {audio}", "name a folder that has all files")
    if not exists(file) or not file.is_file():
        raise SpeechIQError(where, f"no file {file}", "correct the row or --audio")
    key = file.stem if row.get("id") in (None, "") else read_id(row, "id", where)
    entities = {ENTITIES: read_texts(row[ENTITIES], f"{where}: {ENTITIES}")} if ENTITIES in row else {}
    cluster = {CLUSTER: read_id(row, CLUSTER, where)} if CLUSTER in row else {}
    return {"id": key, "text": text, "audio": str(file), **entities, **cluster}
