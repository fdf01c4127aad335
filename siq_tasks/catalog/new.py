"""Make three tasks of a user's clips and references, without Python code."""

import os
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from speechiq.core.console import progress_bar
from speechiq.core.errors import RowError, SpeechIQError
from speechiq.core.files.json_text import as_lines
from speechiq.core.files.plain import exists, find_on_disk, is_file
from speechiq.core.files.tables import check_columns, read_clip_texts, read_field, read_id, read_name
from speechiq.core.ids import compose
from speechiq.core.recordings.audio_file import file_sha256, inspect
from speechiq.engines.languages import KEY, read_language
from speechiq.metrics.settings import read_record
from speechiq.metrics.words.normalizer import read_normalizer
from speechiq.siq_tasks.catalog.folders import complete_folder, refuse_content
from speechiq.siq_tasks.index import (
    HERE,
    IN_FOLDER,
    LEVELS,
    TEMPLATES,
    UNDERSTAND,
    Function,
    data_sets,
    list_names,
    read_task,
)
from speechiq.siq_tasks.loaders.clips import list_warnings
from speechiq.siq_tasks.loaders.docs import refuse_taken
from speechiq.siq_tasks.loaders.entities import ENTITIES, write_entities
from speechiq.siq_tasks.loaders.odd_rows import OddRows
from speechiq.siq_tasks.loaders.row_choice import (
    CLUSTER,
    COLUMN,
    ChoiceSettings,
    GroupColumns,
    check_groups,
    check_reference,
    read_groups,
)

LONGEST_NAME = 64
#: Folder of the audio and table of the clips in a folder of tasks, and the names of its tasks.
AUDIO, CLIPS, TASKS = "audio", "clips.jsonl", "siq_*.yaml"
#: Endings of files that may be the audio of a clip without a column of files.
ENDINGS = {
    ".3gp", ".aac", ".flac", ".m4a", ".mka", ".mkv", ".mov", ".mp3", ".mp4", ".oga", ".ogg", ".opus", ".wav", ".webm",
}  # fmt: skip


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(Function, lambda dumper, name: dumper.represent_scalar("!function", str(name)))


class Created(NamedTuple):
    """Hold the names of new tasks, the ids of their clips, and warnings."""

    tasks: list[str]
    ids: list[str]
    warnings: list[str]


def create(
    name: str,
    audio: Path | None,
    text: Path,
    folder: Path,
    embedder: str,
    assistant: str | None = None,
    group_by: Sequence[str] = (),
    language: str | None = None,
    *,
    force: bool = False,
) -> Created:
    """Write the tasks `siq_<name>_<level>` with the tag `siq_<name>` and the audio into a new folder.

    No name in the folder, which must be empty or not exist, depends on its place, so it can be moved and shared. If a
    name, file or id is invalid, nothing is written.

    Args:
        audio: Folder of the audio files. Without it the set has texts alone, for systems that need no sound, such as
            transcripts in a file.
        text: A file of `read_clip_texts` with the columns `audio` (a file below `audio`), `text`, and optionally `id`;
            without it a clip is named after its file, `entities`, and `cluster`, such as the call or the speaker. A
            file with `id` alone is about the audio files of these names.
        assistant: Language model of semantic distances; if given, the task `siq_<name>_distance` is written too, which
            does not have the tag.
        group_by: Columns of `text` with groups of clips, such as the gender of the speaker.
        language: Code or English name of the language of the clips; None is English.
        force: Whether a folder that this function made is replaced; question files in it stay.
    """
    _check_name(name)
    code = read_language({KEY: language})
    _check_folders(folder, audio, force)
    root = audio.resolve() if audio is not None else None
    rows = [line.row for line in read_clip_texts(text)]
    groups = read_record(ChoiceSettings, {"group_columns": [*group_by]}).groups
    refuse_taken(groups)
    clips, found = _read_clips(name, rows, text, root, groups, read_normalizer({KEY: language})["normalizer"])
    checked = [{**clip, "id": f"{name}/{clip['id']}", **about} for clip, about in zip(clips, found, strict=True)]
    warnings = [*list_warnings(checked), *check_groups(clips, groups, str(text), is_own=True)]
    shared: dict[str, Any] = {
        "version": 1.0,
        "dataset": name,
        "dataset_path": f"{IN_FOLDER}{CLIPS}",
        "subset": "all",
        "id_column": "id",
    }
    if root is None:
        shared |= {"audio_column": None, "selection": "longest-text"}
    if CLUSTER in clips[0]:
        shared[COLUMN] = CLUSTER
    if groups:
        shared["group_columns"] = [*groups]
    if code:
        shared[KEY] = code
    tasks = _list_new_tasks(name, shared, embedder, assistant)
    _write(folder, root, clips, tasks, _is_kept if force else None)
    return Created([*tasks], [clip["id"] for clip in checked], warnings)


def _check_folders(folder: Path, audio: Path | None, force: bool) -> None:
    if not force or not is_file(folder / CLIPS):
        fix = "choose another one with --output, or replace one that `siq data new` made with --force"
        refuse_content(folder, fix)
    if audio is not None and not audio.is_dir():
        raise SpeechIQError(f"--audio {audio}", "no such folder", "give the folder that the column audio starts from")


def _read_clips(
    name: str, rows: Sequence[Mapping[str, Any]], text: Path, root: Path | None, groups: GroupColumns, normalizer: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the clips of the rows of a file, and what is found in the audio of each; refuse an invalid row."""
    is_named = "audio" not in rows[0] and "id" in rows[0]
    by_name = _list_audio(root) if is_named and root is not None else {}
    needs_audio = not by_name and not (is_named and root is None)
    check_columns(rows[0], [*(["audio"] if needs_audio else []), "text", *groups], text)
    places: dict[str, int] = {}
    clips: list[dict[str, Any]] = []
    found: list[dict[str, Any]] = []
    odd = OddRows(text, own_fix="correct or leave out the row")
    for number, row in enumerate(progress_bar(rows, total=len(rows), verb=f"{name} clips", unit="clip"), 1):
        where = f"{text} row {number}"
        with odd.reading(where) as repairs:
            if by_name:
                row = {**row, "audio": _find_audio(row, by_name, where)}
            clip = _read_row(row, root) | read_groups(groups, row, repairs)
            check_reference(clip["text"], normalizer)
        if (first := places.setdefault(clip["id"], number)) != number:
            raise SpeechIQError(
                text,
                f"rows {first} and {number} have the same id, {clip['id']!r}",
                "give each row its own id in a column id",
            )
        found.append(_inspect(clip, f"{where}, {row.get('audio')}"))
        clips.append(clip)
    return clips, found


def _list_new_tasks(
    name: str, shared: Mapping[str, Any], embedder: str, assistant: str | None
) -> dict[str, dict[str, Any]]:
    """Return the tasks of a data set by name, whose metadata are those of a template and the `shared` ones."""
    questions = {"questions": f"{IN_FOLDER}questions.jsonl"}
    own = dict.fromkeys(LEVELS, questions) | {UNDERSTAND: questions | {"embedder": embedder}}
    tasks = {}
    for level in LEVELS:
        task = read_task(TEMPLATES / f"_{level}.yaml")
        about = {"metadata": {**task["metadata"], **shared, **own[level]}}
        tasks[f"siq_{name}_{level}"] = {"task": f"siq_{name}_{level}", "tag": f"siq_{name}"} | task | about
    if assistant is not None:
        task = read_task(HERE / "assistant" / "_distance.yaml")
        about = {"metadata": {**task["metadata"], **shared, "assistant": assistant}}
        tasks[f"siq_{name}_distance"] = {"task": f"siq_{name}_distance"} | task | about
    return tasks


def _write(
    folder: Path,
    audio: Path | None,
    clips: Sequence[Mapping[str, Any]],
    tasks: Mapping[str, dict[str, Any]],
    keeps: Callable[[str], bool] | None,
) -> None:
    """Write the table, the audio below `AUDIO` and the tasks; all names in them are relative to the folder."""
    with complete_folder(Path(os.path.realpath(folder)), keeps) as draft:
        rows = list(clips)
        if audio is not None:
            rows = [_copy_audio(clip, audio, draft) for clip in clips]
        draft.joinpath(CLIPS).write_bytes(as_lines(rows))
        for name, task in tasks.items():
            _write_task(draft / f"{name}.yaml", task)


def _write_task(file: Path, task: dict[str, Any]) -> None:
    """Write a task as a YAML without includes."""
    file.write_text(yaml.dump(task, Dumper=_Dumper, sort_keys=False, allow_unicode=True), encoding="utf-8")


def _inspect(clip: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the digest of a clip's file and the warnings about it, which is read to its end; nothing without one."""
    if "audio" not in clip:
        return {"warnings": []}
    file = Path(clip["audio"])
    return {"warnings": inspect(file, where).warnings, "sha256": file_sha256(file)}


def _copy_audio(clip: Mapping[str, Any], audio: Path, folder: Path) -> dict[str, Any]:
    """Put the audio of a clip into a folder of tasks, and return the clip with its place there."""
    copied = Path(AUDIO, Path(clip["audio"]).relative_to(audio))
    _copy(Path(clip["audio"]), folder / copied)
    return {**clip, "audio": copied.as_posix()}


def _copy(source: Path, target: Path) -> None:
    """Put a file at another place too; on the same disk as a hard link, which takes no space."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():  # several rows may have the same audio
        return
    try:
        target.hardlink_to(os.path.realpath(source))
    except OSError:
        shutil.copy2(source, target)


def _is_kept(name: str) -> bool:
    """Return whether an entry of a folder of tasks was not made with it, as question files are."""
    return name not in (AUDIO, CLIPS) and not fnmatchcase(name, TASKS)


def read_set_name(name: str) -> str:
    """Return the name of a data set in lower case and with `_` in the place of `-`, which names of tasks do not have.

    >>> read_set_name("My-Calls"), read_set_name("calls2026")
    ('my_calls', 'calls2026')
    """
    return name.lower().replace("-", "_")


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or len(name) > LONGEST_NAME:
        raise SpeechIQError(
            f"{name!r:.80}",
            "not a name for a data set",
            f"use at most {LONGEST_NAME} lower-case letters, digits and single '_', such as calls_2026",
        )
    taken = {*data_sets(), *list_names()}
    if name in {*taken, "all"} or f"siq_{name}" in taken or name.rpartition("_")[2] in LEVELS:
        raise SpeechIQError(name, "the suite has a data set or group of that name", "choose another name")


def _list_audio(folder: Path) -> dict[str, list[str]]:
    """Return name without ending -> the audio files of that name below a folder, relative to it."""
    found = defaultdict(list)
    for file in sorted(folder.rglob("*")):
        if file.suffix.lower() in ENDINGS:
            found[compose(file.stem)].append(str(file.relative_to(folder)))
    return found


def _find_audio(row: Mapping[str, Any], by_name: Mapping[str, Sequence[str]], where: str) -> str:
    name = read_name(row, where)
    files = by_name.get(name, ())
    if len(files) != 1:
        fault = f"is the name of {' and '.join(files[:2])}" if files else "is the name of no audio file below --audio"
        raise SpeechIQError(where, f"{name!r:.80} {fault}", "name the file in a column audio")
    return files[0]


def _read_row(row: Mapping[str, Any], audio: Path | None) -> dict[str, Any]:
    """Return the `id` and `text` of a row, the file of its `audio` if there is a folder of audio, and more.

    These are `entities` and `cluster`, if the table has them.
    """
    file = {} if audio is None else {"audio": str(_find_file(row, audio))}
    text, key = read_field(row, "text"), read_name(row, "row")
    entities = {ENTITIES: write_entities(row[ENTITIES])} if ENTITIES in row else {}
    cluster = {CLUSTER: read_id(row, CLUSTER)} if CLUSTER in row else {}
    return {"id": key, "text": text, **file, **entities, **cluster}


def _find_file(row: Mapping[str, Any], audio: Path) -> Path:
    """Return the audio file of a row; refuse one that is missing or outside of the folder, and a part of a file."""
    name = read_field(row, "audio")
    if row.get("offset") not in (None, "", 0, "0"):
        fault = f"offset is {row['offset']!r:.80}, and a clip is a whole file"
        raise RowError("an offset", fault, "cut the audio")
    file = find_on_disk(Path(os.path.normpath(audio / name)))
    if not file.is_relative_to(audio):
        fault = f"{name!r:.80} is not below --audio {audio}"
        raise RowError("no audio", fault, "name a folder that has all files")
    if not exists(file) or not file.is_file():
        raise RowError("no audio", f"no file {file}", "correct the row or --audio")
    return file
