"""Check that the sources of data sets exist and have what tasks read; no audio is downloaded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speechiq.core.console import count_of, progress_bar
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import shorten
from speechiq.core.files.plain import exists, find_on_disk
from speechiq.core.files.tables import is_table, read_field, read_table
from speechiq.core.recordings.audio_file import file_sha256, inspect
from speechiq.siq_tasks.catalog.data_sets import read_one_task
from speechiq.siq_tasks.index import IN_PACKAGE, find_tasks, is_bundled, read_tasks
from speechiq.siq_tasks.loaders import hub_sets
from speechiq.siq_tasks.loaders.clips import check_table, list_warnings
from speechiq.siq_tasks.loaders.rows import RowSource, check_named_columns, read_source
from speechiq.siq_tasks.settings import expand_sets, for_dataset, read_keys, refuse_unread

if TYPE_CHECKING:
    from datasets import Features

#: Asks for one version of a repository.
Ask = Callable[[str, str | None], hub_sets.HubSet]


def check_sources(name: str, settings: Mapping[str, Any]) -> Iterator[tuple[str, str | SpeechIQError]]:
    """Yield each data set, and what its source has or what is wrong with it.

    A version of a repository is asked for once, however many data sets it has. A Hub that gives no answer at all is an
    error.

    Args:
        name: Task, group or data set of the package, or a folder of `siq data new`.
        settings: Metadata as in `--metadata`.
    """
    ask = cache(hub_sets.ask_hub)
    columns: dict[tuple[str, RowSource | None], dict[str, str]] = defaultdict(dict)
    described = {}
    for about, source, read in _list_sources(name, settings):
        described[about["dataset"], source] = about
        columns[about["dataset"], source] |= read
    for (dataset, source), about in described.items():
        found = columns[dataset, source]
        try:
            yield dataset, f"its clips are {IN_PACKAGE}" if source is None else _check(source, found, about, ask)
        except hub_sets.HubError:
            raise
        except SpeechIQError as error:
            yield dataset, error


def _list_sources(
    name: str, settings: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], RowSource | None, dict[str, str]]]:
    """Yield metadata, source and columns that are read of each task; the source is None for clips in the package."""
    names = [task.name for task in find_tasks(name)]
    every = read_tasks() if names else {}
    tasks = [every[each] for each in names] or [read_one_task(name)[1]]
    refuse_unread(settings, list(map(read_keys, tasks)))
    for task in tasks:
        about = expand_sets({**task["metadata"], **settings})
        about = for_dataset(about, about["dataset"])
        loader = import_module(task["custom_dataset"].rpartition(".")[0])
        if is_bundled(about):
            yield about, None, {}
        else:
            read = getattr(loader, "list_columns", None)
            yield about, read_source(about), read(**about) if read else {}


def _check(source: RowSource, columns: Mapping[str, str], about: Mapping[str, Any], ask: Ask) -> str:
    """Return what a source has; refuse one without a column that is read, and a table with rows that are not scored."""
    has = f", with {', '.join(columns)}" if columns else ""
    if source.local is not None and is_table(source.local):
        rows = read_table(source.local)
        check_named_columns(rows[0], columns, source.local)
        check_table(**about)
        here = f"{source.local} on this machine: {count_of(len(rows), 'row')}{has}"
        return "; ".join([here, *_inspect_audio(source, source.local, rows)])
    place, features = _find_folder(source, source.local) if source.local is not None else _find_on_hub(source, ask)
    if features is None:
        return f"{place}; its columns are found when it is loaded"
    check_named_columns(hub_sets.list_feature_columns(features), columns, source.dataset_path)
    return f"{place}{has}"


def _inspect_audio(source: RowSource, table: Path, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the warnings about the audio of a table, which is read to its end; refuse what cannot be read."""
    if source.audio_column is None:
        return []
    checked = []
    for number, row in enumerate(progress_bar(rows, total=len(rows), verb="reading audio", unit="clip"), 1):
        name = read_field(row, source.audio_column, f"{table} row {number}")
        file = find_on_disk(table.parent / name)
        warnings = inspect(file, f"{table} row {number}, {name}").warnings
        text = row.get(source.text_column or "")
        checked.append({"id": name, "text": text, "sha256": file_sha256(file), "warnings": warnings})
    return list_warnings(checked)


def _find_folder(source: RowSource, folder: Path) -> tuple[str, Features | None]:
    """Return a line about a folder of data files, and the types of its columns."""
    if not exists(folder):
        raise SpeechIQError(f"dataset_path={folder}", "no such folder", "give a Hub id, a folder or a table")
    part = hub_sets.read_files(str(folder), source.dataset_name, source.split)
    return f"{folder} on this machine", part.features


def _find_on_hub(source: RowSource, ask: Ask) -> tuple[str, Features | None]:
    """Return a line about a data set on the Hub, and the types of its columns."""
    hub_set = ask(source.dataset_path, source.dataset_revision)
    part = hub_set.find_part(source.dataset_name, source.split)
    moved = "" if hub_set.name == source.dataset_path else f", which is named {hub_set.name} now,"
    names = ", ".join(filter(None, (source.dataset_name, source.split)))
    size = part.count_rows(source.split)
    rows = "" if size is None else f", {count_of(size, 'row')}"
    return f"{source.dataset_path}{moved} ({names}) at {shorten(hub_set.commit)}{rows}", part.features
