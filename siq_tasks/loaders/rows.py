"""Read the rows of a data set: from the Hub, from local parquet, or from a metadata file next to audio files.

A run is pinned to the version that the Hub has, and a new upload is noticed. Folders that `datasets` cannot load are
refused, with what is wrong in them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from speechiq.core.checkpoints.names import notice_offline
from speechiq.core.errors import RowError, SpeechIQError
from speechiq.core.files.folders import working_folder
from speechiq.core.files.json_text import shorten
from speechiq.core.files.plain import exists, expand, find_on_disk, is_file
from speechiq.core.files.tables import check_columns, is_table, read_field, read_table
from speechiq.core.recordings.audio_file import PACKAGE
from speechiq.core.suggestions import did_you_mean
from speechiq.engines.options import FORM, Options
from speechiq.metrics.settings import Text, read_record
from speechiq.siq_tasks.index import PACKAGED
from speechiq.siq_tasks.loaders import hub_sets

if TYPE_CHECKING:
    from datasets import Dataset

#: No column besides those of the source.
NO_COLUMNS: Mapping[str, str] = MappingProxyType({})
#: Files by which `save_to_disk` marks a set, and a folder of several splits.
ONE_SPLIT, SPLITS = "state.json", "dataset_dict.json"
#: Tables of a folder of audio files, as `datasets` reads them with its loader `audiofolder`.
TABLES = ("metadata.csv", "metadata.jsonl")
#: Endings of files that `datasets` loads without decoding audio.
DATA = (".parquet", ".arrow", ".json", ".jsonl", ".csv", ".tsv", ".txt", ".tar", ".zip", ".gz", ".py")


def load_saved(folder: Path, split: str) -> Dataset | None:
    """Return the rows that `save_to_disk` wrote into a folder; None for any other folder."""
    if not any(folder.joinpath(name).is_file() for name in (ONE_SPLIT, SPLITS)):
        return None
    from datasets import DatasetDict, load_from_disk

    try:
        saved = load_from_disk(str(folder))
    except Exception as error:  # `datasets` raises many kinds of errors for a folder that is not complete.
        raise SpeechIQError(folder, f"cannot be loaded ({error!s:.200})", "save it again with save_to_disk") from error
    if not isinstance(saved, DatasetDict):
        return saved
    if split not in saved:
        near = did_you_mean(split, saved)
        raise SpeechIQError(
            folder, f"no split {split!r}; it has {', '.join(saved)}", f"{near}give --metadata split=..."
        )
    return saved[split]


def check_data_folder(folder: Path) -> None:
    """Refuse a folder without data files, and parquet files without rows or with a column that occurs twice."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    table = next((folder / name for name in TABLES if folder.joinpath(name).is_file()), None)
    is_data = any(file.suffix.lower() in DATA for file in files if file != table)
    if not is_data and table is not None:
        raise SpeechIQError(
            folder,
            "a folder of audio files, which `datasets` would decode",
            f"name its table: --metadata dataset_path={table} --metadata audio_column=file_name",
        )
    if not is_data:
        fault = "has files, but no table of them" if files else "is empty"
        raise SpeechIQError(
            folder, fault, "give a folder of parquet files or a table, or make tasks of recordings with `siq data new`"
        )
    parquet = [file for file in files if file.suffix.lower() == ".parquet"]
    if parquet and not sum(map(_count_rows, parquet)):
        raise SpeechIQError(folder, "its parquet files have no rows", "write them again, or give another folder")


def _count_rows(file: Path) -> int:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(file) as opened:
            names, rows = opened.schema_arrow.names, opened.metadata.num_rows
    except (ArrowException, OSError) as error:
        raise SpeechIQError(file, f"not a parquet file ({error!s:.200})", "write or fetch it again") from error
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise SpeechIQError(file, f"the column {twice[0]!r:.80} occurs twice", "rename or remove one")
    return int(rows)


#: Columns that are read if the source has them.
OPTIONAL = ("entities",)


class RowSource(Options, frozen=True, kw_only=True):
    """Define the source of rows in a task's metadata."""

    dataset_path: Annotated[
        Text,
        Meta(
            description="Source of the rows: a Hub id, a folder, or a `.jsonl`, `.csv` or `.tsv` file with a column of "
            "audio files (relative to it); `folder:FILE` is beside the task file, `package:FILE` in the package.",
            extra={FORM: "a Hub id, a folder or a table"},
        ),
    ]
    dataset_name: Annotated[Text | None, Meta(description="Configuration of the data set on the Hub.")] = None
    split: Annotated[Text, Meta(description="Split of the data set.")] = "test"
    dataset_revision: Annotated[
        Text | None, Meta(description="Revision of the data set on the Hub: a branch, a tag or a commit.")
    ] = None
    audio_column: Annotated[
        Text | None, Meta(description="Column of the audio; null in a YAML for a set of texts without audio.")
    ] = "audio"
    text_column: Annotated[
        Text | None, Meta(description="Column of the reference; null in a YAML for a set without transcripts.")
    ] = "text"
    id_column: Annotated[
        Text | None,
        Meta(description="Column of the ids; without it, rows are named by their number."),
    ] = None
    length_column: Annotated[
        Text | None, Meta(description="Column with the seconds of audio; without it, they are read from the files.")
    ] = None

    @property
    def local(self) -> Path | None:
        """Return the folder or file on this machine, or None for a Hub id."""
        if self.dataset_path.startswith(PACKAGED):
            return PACKAGE / self.dataset_path.removeprefix(PACKAGED)
        path = expand(self.dataset_path)
        return path if exists(path) or self.dataset_path.startswith((".", "/", "~")) else None

    @property
    def audio_columns(self) -> dict[str, str]:
        """Return the column of the audio with the setting that names it, or nothing for a set without audio."""
        return {self.audio_column: "audio_column"} if self.audio_column else {}

    def list_columns(self, more: Mapping[str, str]) -> dict[str, str]:
        """Return the columns that are read besides the audio, each with the setting that names it.

        `more` are those that a task adds.
        """
        settings = ("text_column", "id_column", "length_column")
        own = {column: setting for setting in settings if (column := getattr(self, setting))}
        return own | {column: setting for column, setting in more.items() if column not in own}

    def state(self) -> list[list[Any]]:
        """Return name, size and modification time of each local file, to detect changes."""
        local, files = self.local, []
        if local is not None and exists(local) and local.is_file():
            audio = [row.get(self.audio_column) for row in read_table(local)] if self.audio_column else []
            files = [local, *(local.parent / name for name in audio if isinstance(name, str))]
        elif local is not None and exists(local):
            files = sorted(local.rglob("*"))
        files = [file for file in files if exists(file) and file.is_file()]
        return [[str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in files]

    def find_commit(self) -> str | None:
        """Return the commit of the revision on the Hub; None for local rows, and if the Hub does not answer."""
        if self.local is not None or notice_offline():
            return None
        import httpx2
        from huggingface_hub import HfApi, constants

        try:
            about = HfApi(endpoint=constants.ENDPOINT).dataset_info(
                self.dataset_path, revision=self.dataset_revision, timeout=hub_sets.PATIENCE
            )
        except (OSError, ValueError, httpx2.HTTPError):
            return None
        return about.sha

    def describe_new_version(self, dataset: str, prepared: str | None) -> str | None:
        """Return one line if the Hub has another version than the prepared commit, unless a revision is given."""
        if prepared is None or self.dataset_revision is not None:
            return None
        current = self.find_commit()
        if current is None or current == prepared:
            return None
        return (
            f"{dataset}: {self.dataset_path} has a new version on the hub, {shorten(current)}; this run uses "
            f"{shorten(prepared)}, which was prepared before; for the new one give --metadata "
            f"dataset_revision={current}"
        )


def read_source(about: Mapping[str, Any]) -> RowSource:
    """Return the source of rows that a task's metadata names; other keys are ignored.

    `text_column: null` names a set without transcripts, `audio_column: null` one without audio; other keys may be null
    for their default.
    """
    # lm-eval reads `--metadata split=2022` as a number.
    texts = {key: str(value) if type(value) is int else value for key, value in about.items()}
    source = read_record(RowSource, texts)
    without = [key for key in ("text_column", "audio_column") if key in about and about[key] is None]
    return msgspec.structs.replace(source, **dict.fromkeys(without)) if without else source


@dataclass(frozen=True)
class Rows:
    """Give random access to rows without their audio in memory.

    Attributes:
        count: Number of rows.
        columns: Values of the required columns except audio, and of those of `OPTIONAL`.
        read_audio: Returns the encoded audio of a row, a file or its bytes; of a set without audio, refuses.
    """

    count: int
    columns: Mapping[str, Sequence[Any]]
    read_audio: Callable[[int], Path | bytes]

    def read(self, i: int) -> dict[str, Any]:
        """Return the values of row i."""
        return {column: values[i] for column, values in self.columns.items()}


def _name_file(path: str) -> Path:
    if "\0" in path:
        raise RowError("no audio", f"{path!r:.80} is not the path of a file")
    return Path(path)


def check_named_columns(names: Iterable[str], columns: Mapping[str, str], place: str | Path) -> None:
    """Refuse a set with these names of columns if it misses one of `columns`, each of which a setting names."""
    present = list(names)
    for column, setting in columns.items():
        check_columns(present, [column], place, f"give the right one with --metadata {setting}=...")


@contextmanager
def open_rows(source: RowSource, more: Mapping[str, str] = NO_COLUMNS) -> Iterator[Rows]:
    """Yield the rows of `source`, with `more` columns (`COLUMN.PART` of nested ones), to be read inside the block.

    `more` has the setting that names each column.
    A source, split or column that does not exist is refused; the error names those that do.
    """
    if source.local is not None and is_table(source.local):
        yield _open_table(source, more, source.local)
        return
    with load_rows(source) as rows:
        yield _open_dataset(source, more, rows)


@contextmanager
def load_rows(source: RowSource) -> Iterator[Dataset]:
    """Yield the rows of a Hub id or of a folder as `datasets` loads them, to be read inside the block."""
    local = source.local
    if local is None:
        yield _load_rows(source, source.dataset_path, None)
    elif exists(local) and local.is_dir():
        if (saved := load_saved(local, source.split)) is not None:
            yield saved
            return
        check_data_folder(local)
        with working_folder() as folder:
            yield _load_rows(source, str(local), folder)
    else:
        raise SpeechIQError(f"dataset_path={local}", "no such folder", "give a Hub id, a folder or a table")


def _optional(names: Iterable[str]) -> list[str]:
    return [column for column in OPTIONAL if column in names]


def _open_table(source: RowSource, more: Mapping[str, str], file: Path) -> Rows:
    if not is_file(file):
        fix = "correct the path, or make it: tasks by `siq data new`, spoken texts by `siq data speak`"
        raise SpeechIQError(file, "no such file", fix)
    rows, required = read_table(file), source.list_columns(more)
    check_named_columns(rows[0], source.audio_columns | required, file)
    columns = {column: [row.get(column) for row in rows] for column in [*required, *_optional(rows[0])]}

    def read_audio(i: int) -> Path:
        (column,) = source.audio_columns
        return find_on_disk(file.parent / _name_file(read_field(rows[i], column)))

    return Rows(len(rows), columns, read_audio)


def _open_dataset(source: RowSource, more: Mapping[str, str], rows: Dataset) -> Rows:
    """Return the rows of a data set, whose audio `datasets` never decodes."""
    from datasets import Audio

    required = source.list_columns(more)
    nested = {column.partition(".")[0] for column in required if column not in rows.column_names}
    parts = rows.select_columns([column for column in rows.column_names if column in nested]).flatten()
    names = [*rows.column_names, *parts.column_names]
    check_named_columns(names, source.audio_columns | required, source.dataset_path)
    wanted = [*required, *(column for column in _optional(rows.column_names) if column not in required)]
    kept = {column: (parts if column in parts.column_names else rows.select_columns(column)) for column in wanted}
    encoded = rows
    for column in source.audio_columns:
        _refuse_other_types(rows, column, str(source.local or source.dataset_path))
        encoded = rows.select_columns([column]).cast_column(column, Audio(decode=False))

    def read_audio(i: int) -> Path | bytes:
        (column,) = source.audio_columns
        audio = encoded[i][column] or {}
        content: bytes | None = audio.get("bytes")
        if content is not None:
            return content
        if not audio.get("path"):
            raise RowError("no audio", f"{source.audio_column} is None")
        return _name_file(audio["path"])

    return Rows(len(rows), {column: table[column] for column, table in kept.items()}, read_audio)


def _refuse_other_types(rows: Dataset, column: str, place: str) -> None:
    """Refuse a column that is neither audio nor encoded audio nor paths of audio files."""
    from datasets import Audio, Value

    fix = "give the right one with --metadata audio_column=..."
    feature = rows.features.get(column)
    kind = feature.dtype if isinstance(feature, Value) else ""
    if kind in ("string", "large_string"):
        first = next(filter(None, rows.select_columns([column])[column]), "")
        if not is_file(Path(first)):
            raise SpeechIQError(
                place,
                f"column {column!r} contains texts, and the first, {first!r:.80}, is not the path of an audio file",
                fix,
            )
    elif not (
        isinstance(feature, Audio)
        or (isinstance(feature, dict) and feature.keys() <= {"bytes", "path"})
        or kind in ("binary", "large_binary")
    ):
        raise SpeechIQError(place, f"column {column!r} contains no audio (its type is {feature!s:.80})", fix)


def _load_rows(source: RowSource, place: str, folder: str | None) -> Dataset:
    """Load the rows of a Hub id or a folder with `datasets`.

    `folder` is where `datasets` caches local rows, because its own cache confuses folders with the same name.
    """
    from datasets import load_dataset
    from datasets.exceptions import DatasetsError

    which = {"path": place, "name": source.dataset_name, "revision": source.dataset_revision}
    is_online = folder is None and not notice_offline()
    try:
        return load_dataset(**which, split=source.split, cache_dir=folder)
    except (DatasetsError, OSError, ValueError, RuntimeError) as error:
        if is_online:
            hub_sets.ask_hub(place, source.dataset_revision).find_part(source.dataset_name, source.split)
        else:
            hub_sets.read_files(place, source.dataset_name, source.split, source.dataset_revision)
        raise hub_sets.explain(place, error) from error
