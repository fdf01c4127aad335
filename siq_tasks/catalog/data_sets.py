"""Find the task of a data set by its name or folder, list its clips, and describe it for `siq list tasks`."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import exists
from speechiq.core.ids import check_plain, complete_ids
from speechiq.core.suggestions import suggest
from speechiq.metrics.settings import read_record
from speechiq.siq_tasks.index import HERE, LEVELS, ONE_TASK, RECORDING, data_sets, read_index, read_task, resolve_folder
from speechiq.siq_tasks.loaders.question_columns import Columns
from speechiq.siq_tasks.loaders.row_choice import QUESTIONS
from speechiq.siq_tasks.loaders.rows import open_rows, read_source
from speechiq.siq_tasks.questions.file import PER_CLIP, find_questions, place_of, read_questions
from speechiq.siq_tasks.settings import expand_sets, for_dataset, read_keys, refuse_unread

#: Loaders that a task may name; no other code that a task folder names is imported.
LOADERS = (
    "speechiq.siq_tasks.loaders.clips.load",
    "speechiq.siq_tasks.loaders.bundled.load",
    "speechiq.siq_tasks.loaders.passages.load",
)


def read_one_task(dataset: str) -> tuple[Path, dict[str, Any]]:
    """Return the task Remember of a data set, or its only task, and its file; see `check_task`."""
    own = {name: entry for name, entry in read_index().items() if entry.task["metadata"].get("dataset") == dataset}
    if own:
        found = own.get(f"siq_{dataset}_remember") or next(iter(own.values()))
        return found.file, check_task(found.file, found.task)
    for file in sorted(Path(dataset).glob(ONE_TASK)) if exists(Path(dataset)) else ():
        return file, check_task(file)
    fix = f"{suggest(dataset, data_sets())}, and folders that `siq data new` made"
    raise SpeechIQError(dataset, "no such data set", fix)


def check_task(file: Path, task: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the task in a file, or one that includes the file, with the paths of its metadata; refuse others."""
    task = read_task(file) if task is None else task
    about, loader = task.get("metadata"), task.get("custom_dataset")
    if not isinstance(about, dict) or not all(isinstance(key, str) for key in about):
        raise SpeechIQError(file, f"metadata: {about!r:.80} is not a mapping", "write one key: value per line")
    check_plain(about.get("dataset"), f"{file}: metadata.dataset")
    if loader not in LOADERS:
        raise SpeechIQError(
            file,
            f"custom_dataset: {loader!r:.80} is not a loader of speechiq, and `siq` runs no code that a task folder "
            "names",
            f"use {LOADERS[0]}",
        )
    return task | {"metadata": resolve_folder(about, file)}


def list_clips(dataset: str, /, **given: Any) -> list[dict[str, Any]]:
    """Return the clips of a data set's tasks: `id`, `text` and the items of a clip; metadata such as `subset` count."""
    _, task = read_one_task(dataset)
    refuse_unread(given, [read_keys(task)])
    about = expand_sets(task["metadata"] | given)
    loader = import_module(task["custom_dataset"].rpartition(".")[0])
    clips: list[dict[str, Any]] = loader.list_clips(**for_dataset(about, about["dataset"]))
    return clips


def place_questions(dataset: str) -> Path:
    """Return the question file that the tasks of a data set, or in a folder that `siq data new` made, read.

    A question file in another folder, to which `siq data questions` would write, is refused.
    """
    file, task = read_one_task(dataset)
    questions, folder = task["metadata"].get("questions"), Path(os.path.realpath(file.parent))
    if questions is None:
        return place_of(dataset)
    if Path(os.path.realpath(str(questions))).parent != folder:
        raise SpeechIQError(
            file,
            f"metadata.questions: {questions!s:.200} is not in the folder of the tasks",
            "correct it, or name the file with --output",
        )
    return Path(questions)


def describe_data_set(dataset: str, *, fetch: bool = False) -> Iterator[str]:
    """Yield the lines of the overview: tasks, rows, columns, questions, and one line per clip.

    `dataset` is a data set of the suite, or a folder that `siq data new` made; clips on the Hub need `fetch`.
    """
    about = read_one_task(dataset)[1]["metadata"]
    name = about["dataset"]
    yield f"data set: {name}, version {about.get('version')}"
    if "level" in about:
        yield f"tasks: {', '.join(f'siq_{name}_{level}' for level in LEVELS)}; all three: siq_{name}"
    if "dataset_path" in about:
        source = read_source(about)
        part = "".join(f", {value}" for value in (source.dataset_name, source.split) if source.local is None and value)
        yield f"rows: {source.dataset_path}{part}"
        if RECORDING in about:
            yield f"clips: passages, {about[RECORDING]} recording of each sentence, pauses of {about['pause_s']:g} s"
            if source.local is not None or fetch:
                yield from _describe_clips(dataset, about)
            return
        roles = {"audio": source.audio_column, "text": source.text_column, "id": source.id_column}
        columns = read_record(Columns, about)
        roles["seconds"] = source.length_column
        roles |= {role.removesuffix("_column"): name for role, name in asdict(columns).items()}
        named = {role: ", ".join(name) if isinstance(name, list) else name for role, name in roles.items() if name}
        yield f"columns read: {', '.join(f'{column} ({role})' for role, column in named.items())}"
        yield f"subset: {about.get('subset')}, {about.get('selection', 'longest-audio')}"
        if source.local is None and not fetch:
            yield f"clips: on the Hub; `siq list tasks {dataset} --fetch` fetches and lists them"
            return
        with open_rows(source, columns.names) as rows:
            yield f"number of rows: {rows.count}"
    yield from _describe_clips(dataset, about)


def _describe_clips(dataset: str, about: dict[str, Any]) -> Iterator[str]:
    clips = list_clips(dataset)
    if "level" not in about:
        yield f"clips: {len({clip['id'] for clip in clips})}, {count_of(len(clips), 'row')}"
        for clip in clips:
            yield f"  {clip.get('question_id', clip['id'])}  {_describe_length(clip)}"
        return
    ids = [clip["id"] for clip in clips]
    counts: Counter[str] = Counter()
    if RECORDING in about:
        counts.update({clip["id"]: len(clip[QUESTIONS]) for clip in clips})
        yield f"questions: {counts.total()}, in the rows"
    else:
        yield from _describe_questions(about, ids, counts)
    with_audio = [clip["duration"] for clip in clips if "duration" in clip]
    yield f"clips: {len(ids)}, {sum(with_audio):.1f} s" if with_audio else f"clips: {len(ids)}, without audio"
    for clip in clips:
        yield f"  {clip['id']}  {_describe_length(clip)}, {count_of(counts[clip['id']], 'question')}"


def _describe_length(clip: Mapping[str, Any]) -> str:
    return f"{clip['duration']:.2f} s" if "duration" in clip else count_of(len(clip["text"].split()), "word")


def _describe_questions(about: dict[str, Any], ids: Sequence[str], counts: Counter[str]) -> Iterator[str]:
    """Yield the lines about the question file, and count its questions per clip."""
    try:
        bundled = HERE / about["bundle"] / "questions.jsonl" if "bundle" in about else None
        file = bundled or find_questions(about["dataset"], about.get("questions"))
        lines = complete_ids(read_questions(Path(file)), ids)
        counts.update(row["id"] for row in lines)
        incomplete = sum(counts[key] < PER_CLIP for key in ids)
        unknown = len(counts.keys() - set(ids))
        few = f"{incomplete} of {len(ids)} clips have fewer than {PER_CLIP}"
        yield f"questions: {count_of(len(lines), 'line')} in {file}; {few}"
        if unknown:
            yield f"questions about clips that are not in the subset: {unknown}"
    except SpeechIQError as error:
        yield f"questions: {error}"
