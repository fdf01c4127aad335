"""Describe the clips, questions and columns of a data set, for `siq list tasks`."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.ids import complete_ids
from speechiq.metrics.settings import read_record
from speechiq.siq_tasks.index import HERE, LEVELS, RECORDING, list_clips, read_one_task
from speechiq.siq_tasks.loaders.question_columns import Columns
from speechiq.siq_tasks.loaders.row_choice import QUESTIONS
from speechiq.siq_tasks.loaders.rows import open_rows, read_source
from speechiq.siq_tasks.questions.file import PER_CLIP, find_questions, read_questions


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
