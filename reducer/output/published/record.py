"""Make the results of the systems in some runs, each scored alone, and pack their rows."""

import gzip
import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import open_plain
from speechiq.core.prompt import PROMPTS
from speechiq.engines.languages import KEY
from speechiq.metrics.measure import KEYS
from speechiq.reducer.output.published.schema import (
    CategoryRecord,
    Declaration,
    NormsRef,
    Result,
    RowFile,
    ScoreRecord,
    SuiteRecord,
    TaskRecord,
)
from speechiq.reducer.output.scoreboard_records import rows_of
from speechiq.reducer.runs.conditions import FIELDS
from speechiq.reducer.runs.judged import read_stored
from speechiq.reducer.runs.results_file import CONDITION, IMPORTED, TaskRun
from speechiq.reducer.runs.run_record import read_run_record
from speechiq.reducer.runs.samples import CLUSTER, FLAGS, FLOOR, read_sample_rows
from speechiq.reducer.runs.systems import System, read_systems_of
from speechiq.reducer.scores.derived import split_groups
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.ranking import rank, rank_by_dataset, rank_groups
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.scores.suites import Found
from speechiq.siq_tasks.conditions.spec import LISTEN

ENDING = ".jsonl.gz"
#: Bytes of the largest file of rows, without compression.
LARGEST = 2**26


def select_rows(task: TaskRun, *, texts: bool) -> tuple[RowFile, bytes]:
    """Return the description and the content of the file of a task's rows, sorted by item.

    A row has its item, groups, cluster and columns, and with `texts` the whole doc without the place of its audio
    file, and what the system wrote.

    Raises:
        SpeechIQError: The run has no sample file, or it cannot be read.
    """
    columns = {*task.signs, *FLAGS, FLOOR, *(measure.column for measure in task.category.extra_columns)}
    rows = [row for _, row in read_sample_rows(task.samples, _form_of(frozenset(columns)), "an object doc")]
    rows.sort(key=lambda row: [str(row.doc.get(field, "")) for field in task.category.item])
    fields = ("dataset", CLUSTER, *task.category.item, *task.category.group_by)
    for row in rows:
        if texts:
            _drop_place(row)
        else:
            _drop_texts(row, fields)
    content = msgspec.json.Encoder(order="sorted").encode_lines(rows)
    about = RowFile(sha256=hashlib.sha256(content).hexdigest(), bytes=len(content), count=len(rows), texts=texts)
    return about, content


def pack_rows(content: bytes) -> bytes:
    """Compress the rows of a file; equal rows have equal bytes."""
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0, compresslevel=9) as file:
        file.write(content)
    return packed.getvalue()


def unpack_rows(path: Path, about: RowFile) -> bytes:
    """Return the rows of a compressed file, never more bytes than `about` says.

    Raises:
        SpeechIQError: The file cannot be read, or has other bytes than `about` says.
    """
    if about.bytes > LARGEST:
        raise SpeechIQError(path, f"rows of {about.bytes} bytes, above {LARGEST}", "publish fewer rows")
    try:
        with open_plain(path) as file, gzip.GzipFile(fileobj=file) as unpacked:
            content = unpacked.read(about.bytes + 1)
    except (OSError, EOFError, gzip.zlib.error) as error:  # type: ignore[attr-defined]  # gzip imports zlib
        raise SpeechIQError(path, f"cannot be read as gzip ({error})", "publish the runs again") from error
    if len(content) != about.bytes:
        size = f"more than {about.bytes}" if len(content) > about.bytes else str(len(content))
        raise SpeechIQError(path, f"has {size} bytes of rows, not {about.bytes}", "publish the runs again")
    if hashlib.sha256(content).hexdigest() != about.sha256:
        raise SpeechIQError(path, "rows with another sha256 than recorded", "publish the runs again")
    return content


class _Row(msgspec.Struct):
    """Hold what can be published of a row; a subclass has its columns. What is unset is not written.

    The texts are what the system wrote, and what filters made of it.
    """

    doc: dict[str, Any]
    resps: Any = msgspec.UNSET
    filtered_resps: Any = msgspec.UNSET


@cache
def _form_of(columns: Set[str]) -> type[_Row]:
    """Return the form of rows with some columns; all other fields are skipped when a row is read."""
    named = [
        (f"column_{place}", Any, msgspec.field(name=column, default=msgspec.UNSET))
        for place, column in enumerate(sorted(columns))
    ]
    return cast("type[_Row]", msgspec.defstruct("Row", named, bases=(_Row,)))


def _drop_place(row: _Row) -> None:
    """Leave out where the audio of a doc lies."""
    audio = row.doc.get("audio")
    parts = audio.items() if isinstance(audio, dict) else ()
    row.doc["audio"] = {key: value for key, value in parts if key != "path"}


def _drop_texts(row: _Row, fields: Iterable[str]) -> None:
    """Keep some fields of the doc, no texts, and the scores of a judge's draws, which its reliability needs."""
    stored = read_stored(row.filtered_resps)
    row.doc = {field: row.doc[field] for field in fields if field in row.doc}
    row.resps = msgspec.UNSET
    row.filtered_resps = [{"answer": "", "scores": stored.scores, "texts": []}] if stored else msgspec.UNSET


SEED = 0
#: Metadata that are published; others, such as arguments of models, may hold secrets or paths.
METADATA = {
    *KEYS, *FIELDS, "level", KEY, "subset", "selection", CONDITION, LISTEN, IMPORTED, PROMPTS, f"{PROMPTS}_sha256",
}  # fmt: skip


class ResultDraft(NamedTuple):
    """Hold a result, its systems by suite, and the rows of its tasks."""

    result: Result
    systems: dict[str, System]
    rows: dict[str, bytes]


def draft(
    found: Found, norms: Norms | None, declarations: Mapping[str, Declaration], *, texts: bool
) -> Iterator[ResultDraft]:
    """Yield the result of each system, on frozen norms or without SIQ; `texts` keeps those of rows.

    Raises:
        SpeechIQError: A run has no rows, mixes versions, does not fit the norms or cannot be scored; its texts were
            asked for, and it has no digest of them.
    """
    if norms is not None and norms.edition is None:
        raise SpeechIQError(
            f"norms {norms.name!r}", "a draft, on which nothing is published", "freeze them with `siq publish norms`"
        )
    everything = [task for tasks in found.tasks.values() for task in tasks]
    for name in sorted({task.system for task in everything}):
        tasks = sorted((task for task in everything if task.system == name), key=lambda task: task.task)
        _refuse_mixed(name, tasks)
        systems = {}
        for suite, levels in found.levels.items():
            if own := [task for task in tasks if task.suite == suite]:
                systems[suite] = read_systems_of(own, levels)[0]
        if unsigned := [task.task for task in tasks if texts and "content_sha256" not in task.metadata]:
            fault = "its metadata have no content_sha256, by which others check its texts"
            raise SpeechIQError(f"task {unsigned[0]!r}", fault, "publish it without --texts")
        selected = {task.task: select_rows(task, texts=texts) for task in tasks}
        about = {task: file for task, (file, _) in selected.items()}
        result = _describe(tasks, systems, norms, about, declarations.get(name, Declaration()))
        yield ResultDraft(result, systems, {task: content for task, (_, content) in selected.items()})


def _refuse_mixed(system: str, tasks: Sequence[TaskRun]) -> None:
    """Raise a `SpeechIQError` if the tasks of a system ran with several versions of a package, or other options."""
    for package in sorted({package for task in tasks for package in task.versions}):
        if len(versions := sorted({task.versions.get(package, "not recorded") for task in tasks})) > 1:
            raise SpeechIQError(
                f"system {system!r}", f"its tasks ran with {package} {' and '.join(versions)}", "rerun the older ones"
            )
    if len({str(task.described) for task in tasks if not task.imported}) > 1:
        raise SpeechIQError(f"system {system!r}", "its tasks ran with different options", "rerun all with the same")


def _describe(
    tasks: Sequence[TaskRun],
    systems: Mapping[str, System],
    norms: Norms | None,
    rows: Mapping[str, RowFile],
    declaration: Declaration,
) -> Result:
    newest = max(tasks, key=lambda task: task.date)
    files: dict[str, list[TaskRun]] = {}
    for task in tasks:
        files.setdefault(task.results, []).append(task)
    records = [*map(read_run_record, files.values())]
    used = norms if SIQ in systems else None
    return Result(
        system=newest.system,
        date=datetime.fromtimestamp(newest.date, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        control=next(iter(systems.values())).control or None,
        description=newest.described,
        declaration=declaration,
        commands=[record.command for record in records if record.command],
        environment={word: fact for record in records for word, fact in record.facts.items()},
        speechiq=version("speechiq"),
        draws=DRAWS,
        seed=SEED,
        norms=NormsRef(used.label, used.sha256, used.example) if used else None,
        suites={suite: _describe_suite(suite, system, norms) for suite, system in systems.items()},
        tasks=[_describe_task(task, rows[task.task]) for task in tasks],
    )


def _describe_task(task: TaskRun, rows: RowFile) -> TaskRecord:
    metadata = {key: value for key, value in task.metadata.items() if key in {*METADATA, *task.category.settings}}
    signs, versions = dict(sorted(task.signs.items())), dict(sorted(task.versions.items()))
    return TaskRecord(task.task, task.date, task.docs, metadata, signs, versions, rows)


def _describe_suite(suite: str, system: System, norms: Norms | None) -> SuiteRecord:
    scored = rank([system], suite, norms=norms if suite == SIQ else None, draws=DRAWS, seed=SEED)
    several = len({*system.table["dataset"]}) > 1
    datasets = rank_by_dataset([system], suite, draws=DRAWS, seed=SEED) if several else {}
    groups: dict[str, dict[str, dict[str, CategoryRecord]]] = {}
    for field in scored.fields:
        groups[field] = {}
        for _, systems, _ in split_groups(scored.systems, field):
            group = rank_groups(scored, systems)
            column = next(iter(group.columns.values())).column
            groups[field][column] = _describe_columns(group, group.pool.raw)
    row = rows_of(scored)[0]
    return SuiteRecord(
        siq=_score(row["siq"], row["siq_interval"]) if scored.has_siq else None,
        categories=_describe_columns(scored, scored.pool.raw),
        derived=_describe_columns(scored, scored.derived.levels),
        datasets={name: _describe_columns(board, board.pool.raw) for name, board in datasets.items()},
        groups=groups,
        flags=row["flags"],
    )


def _describe_columns(scored: Scoreboard, columns: Mapping[str, Any]) -> dict[str, CategoryRecord]:
    """Return the scores of some columns of a scoreboard with one system."""
    row = rows_of(scored)[0]
    records = {}
    for column in columns:
        cells, measure = (row["categories"] | row["derived"])[column], scored.columns[column].measure
        pool = scored.pool if column in scored.pool.raw else scored.derived.pool
        records[column] = CategoryRecord(
            column=measure.column,
            direction=measure.direction,
            unit=measure.unit,
            chance=measure.chance,
            score=_score(cells["score"], cells["interval"]),
            z=_score(cells["z"], cells["z_interval"]) if cells.get("z") is not None else None,
            clips=len(pool.clips[column]),
            clusters=pool.count_clusters(column),
            items=len(scored.find_scored(column, 0).scores[column]),
            undefined=cells.get("undefined") or 0,
            judge=cells.get("judge"),
        )
    return records


def _score(value: float | None, interval: Sequence[float] | None) -> ScoreRecord:
    return ScoreRecord(value, *(interval or (None, None)))
