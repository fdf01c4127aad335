"""Make the results of the systems in some runs, each scored alone, so that no other system changes a number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.publishing.rows import pack_rows
from speechiq.reducer.publishing.schema import (
    CategoryRecord,
    Declaration,
    GroupRecord,
    NormsRef,
    Result,
    RowFile,
    ScoreRecord,
    SpeedRecord,
    SuiteRecord,
    TaskRecord,
)
from speechiq.reducer.runs.conditions import FIELDS
from speechiq.reducer.runs.description import KEYS
from speechiq.reducer.runs.results_file import CONDITION, TaskRun
from speechiq.reducer.runs.run_record import read_record, read_speeds
from speechiq.reducer.runs.systems import System, read_tasks
from speechiq.reducer.scores.by_dataset import rank_by_dataset
from speechiq.reducer.scores.derived import split_groups
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.ranking import rank, rank_groups
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.scores.suites import Found
from speechiq.reducer.tables.scoreboard_records import rows_of
from speechiq.siq_tasks.conditions.variants import LISTEN

SEED = 0
#: Metadata that are published; others, such as arguments of models, may hold secrets or paths.
METADATA = {*KEYS, *FIELDS, "level", "subset", "selection", CONDITION, LISTEN}


class Draft(NamedTuple):
    """Hold a result with the compressed rows of its tasks, by task."""

    result: Result
    rows: dict[str, bytes]


def draft(
    found: Found, norms: Norms | None, declarations: Mapping[str, Declaration], *, texts: bool
) -> Iterator[Draft]:
    """Yield the result of each system, with its rows.

    Args:
        found: The runs.
        norms: Frozen norms for SIQ; None leaves SIQ out.
        declarations: System -> what is declared of it.
        texts: Whether rows have texts.

    Raises:
        SpeechIQError: A run has no rows, mixes versions, does not fit the norms or cannot be scored.
    """
    if norms is not None and norms.edition is None:
        raise SpeechIQError(
            f"norms {norms.name!r}", "a draft, on which nothing is published", "freeze them with `siq publish norms`"
        )
    systems = sorted({task.system for tasks in found.tasks.values() for task in tasks})
    for name in systems:
        own = found._replace(
            tasks={suite: [task for task in tasks if task.system == name] for suite, tasks in found.tasks.items()}
        )
        tasks = sorted((task for tasks in own.tasks.values() for task in tasks), key=lambda task: task.task)
        _refuse_mixed(name, tasks)
        packed = {task.task: pack_rows(task, texts=texts) for task in tasks}
        about = {task: file for task, (file, _) in packed.items()}
        result = describe(own, norms, about, declarations.get(name, Declaration()))
        yield Draft(result, {task: content for task, (_, content) in packed.items()})


def describe(found: Found, norms: Norms | None, rows: Mapping[str, RowFile], declaration: Declaration) -> Result:
    """Return the result of the one system in some runs; `rows` describes the rows of each task."""
    tasks = sorted((task for tasks in found.tasks.values() for task in tasks), key=lambda task: task.task)
    suites = {
        suite: read_tasks(found.tasks[suite], found.levels[suite])[0] for suite in found.levels if found.tasks[suite]
    }
    newest = max(tasks, key=lambda task: task.date)
    by_file: dict[str, list[str]] = {}
    for task in tasks:
        by_file.setdefault(task.results, []).append(task.task)
    records = [read_record(Path(file), names) for file, names in by_file.items()]
    environment = {word: fact for record in records for word, fact in record.facts.items()}
    used = norms if SIQ in suites else None
    return Result(
        system=newest.system,
        date=datetime.fromtimestamp(newest.date, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        control=next(iter(suites.values())).control or None,
        description=newest.described,
        declaration=declaration,
        commands=[record.command for record in records if record.command],
        environment=environment,
        speeds=[
            SpeedRecord(
                work=each.work, rtfx=each.rtfx, audio_seconds=each.audio_seconds, work_seconds=each.work_seconds
            )
            for each in read_speeds(tasks)
        ],
        speechiq=version("speechiq"),
        draws=DRAWS,
        seed=SEED,
        norms=NormsRef(label=used.label, sha256=used.sha256, example=used.example) if used else None,
        suites={suite: _describe_suite(suite, system, norms) for suite, system in suites.items()},
        tasks=[_describe_task(task, rows[task.task]) for task in tasks],
    )


def _refuse_mixed(system: str, tasks: Sequence[TaskRun]) -> None:
    """Raise a `SpeechIQError` if the tasks of a system ran with several versions of a package, or of the system."""
    for package in sorted({package for task in tasks for package in task.versions}):
        if len(versions := sorted({task.versions.get(package, "not recorded") for task in tasks})) > 1:
            raise SpeechIQError(
                f"system {system!r}", f"its tasks ran with {package} {' and '.join(versions)}", "rerun the older ones"
            )
    if len({str(task.described) for task in tasks}) > 1:
        raise SpeechIQError(f"system {system!r}", "its tasks ran with different options", "rerun all with the same")


def _describe_task(task: TaskRun, rows: RowFile) -> TaskRecord:
    kept = METADATA | {*task.category.settings}
    metadata = {key: value for key, value in task.metadata.items() if key in kept}
    signs = {column: task.signs[column] for column in sorted(task.signs)}
    versions = dict(sorted(task.versions.items()))
    return TaskRecord(
        task=task.task, date=task.date, docs=task.docs, metadata=metadata, signs=signs, versions=versions, rows=rows
    )


def _describe_suite(suite: str, system: System, norms: Norms | None) -> SuiteRecord:
    scored = rank([system], suite, norms=norms if suite == SIQ else None, draws=DRAWS, seed=SEED)
    datasets = rank_by_dataset([system], suite, draws=DRAWS, seed=SEED) if len({*system.datasets.values()}) > 1 else {}
    row = rows_of(scored)[0]
    return SuiteRecord(
        siq=_score(row["siq"], row["siq_interval"]) if scored.has_siq else None,
        categories={category: _describe_category(scored, category, row) for category in scored.pool.raw},
        further={column: _describe_category(scored, column, row) for column in scored.further.levels},
        datasets={
            name: {category: _describe_category(board, category) for category in board.pool.raw}
            for name, board in datasets.items()
        },
        groups=[
            GroupRecord(
                field=field,
                categories=list(categories),
                groups={group: _describe_category(board, group) for group in board.pool.raw},
            )
            for field in scored.fields
            for categories, systems, _ in split_groups(scored.systems, field)
            for board in [rank_groups(scored, systems)]
        ],
        flags=row["flags"],
    )


def _describe_category(scored: Scoreboard, column: str, row: Mapping[str, Any] | None = None) -> CategoryRecord:
    """Return the score of a column of a scoreboard with one system."""
    cells = (row or rows_of(scored)[0])["categories" if column in scored.pool.raw else "further"][column]
    measure = scored.columns[column].measure
    pool = scored.pool if column in scored.pool.raw else scored.further.pool
    return CategoryRecord(
        column=measure.column,
        direction=measure.direction,
        unit=measure.unit,
        chance=measure.chance,
        score=_score(cells["score"], cells["interval"]),
        z=_score(cells["z"], cells["z_interval"]) if cells.get("z") is not None else None,
        clips=len(pool.clips[column]),
        clusters=pool.count_clusters(column),
        items=len(scored.holder(column, 0).scores[column]),
        undefined=cells.get("undefined") or 0,
        judge=cells.get("judge"),
    )


def _score(value: float | None, interval: Sequence[float] | None) -> ScoreRecord:
    low, high = interval or (None, None)
    return ScoreRecord(value=value, low=low, high=high)
