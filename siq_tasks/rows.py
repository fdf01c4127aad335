"""Rows of a data set, wherever they lie: on the Hub, in local parquet, or in a metadata file beside audio."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from speechiq.core.cache import working_folder
from speechiq.core.errors import SpeechIQError
from speechiq.core.json_lines import read_objects

METADATA_FILES = {".jsonl": None, ".csv": ",", ".tsv": "\t"}


class Source(NamedTuple):
    """Where rows come from, as a task's metadata says it.

    Attributes:
        dataset_path: a Hub id, a folder that `datasets` loads, or a `.jsonl`, `.csv` or `.tsv` file with a column of
            audio files (relative to that file).
        dataset_name, split, dataset_revision: as `datasets.load_dataset` takes them; not used with a metadata file.
        audio_column, text_column: names of the columns.
        id_column: a column of ids, or None: rows are then called by their place, `00000` and so on.
        length_column: a column with the seconds of audio, or None: they are read off each file's header.
    """

    dataset_path: str
    dataset_name: str | None = None
    split: str = "test"
    dataset_revision: str | None = None
    audio_column: str = "audio"
    text_column: str = "text"
    id_column: str | None = None
    length_column: str | None = None

    @property
    def local(self) -> Path | None:
        """The folder or file on this machine, or None for a Hub id."""
        path = Path(self.dataset_path).expanduser()
        return path if path.exists() or self.dataset_path.startswith((".", "/", "~")) else None

    def state(self) -> list:
        """What tells that local files are those of the last time: name, size and time of change of each."""
        local, files = self.local, []
        if local is not None and local.is_file():
            audio = [row.get(self.audio_column) or "" for row in read_file(local)]
            files = [local, *(local.parent / name for name in audio)]
        elif local is not None:
            files = sorted(local.rglob("*"))
        return [[str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in files if file.is_file()]


@dataclass(frozen=True)
class Rows:
    """Random access to rows without their audio in memory.

    Attributes:
        columns: column name -> values, of the columns that were asked for except audio.
        audio: gives the encoded audio of row i.
    """

    columns: Mapping[str, Sequence[Any]]
    audio: AudioColumn | AudioFiles

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


class AudioColumn:
    """Encoded audio of a `datasets` column, one row at a time, never decoded by `datasets`."""

    def __init__(self, rows, column: str) -> None:
        from datasets import Audio

        self.rows, self.column = rows.select_columns([column]).cast_column(column, Audio(decode=False)), column

    def __getitem__(self, i: int) -> bytes:
        audio = self.rows[i][self.column]
        return audio["bytes"] if audio["bytes"] is not None else Path(audio["path"]).read_bytes()


class AudioFiles:
    """Audio files named in a metadata file."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self.files = [folder / name for name in names]

    def __getitem__(self, i: int) -> bytes:
        try:
            return self.files[i].read_bytes()
        except OSError as error:
            raise SpeechIQError(f"{self.files[i]}: {error.strerror}; correct the metadata file") from error


@contextmanager
def open_rows(source: Source) -> Iterator[Rows]:
    """The rows of `source`, to be read inside the block.

    Raises:
        SpeechIQError: nothing there, another split, or a missing column; it names what is there.
    """
    local = source.local
    if local is None:
        yield _open_dataset(source, source.dataset_path, None)
    elif local.suffix in METADATA_FILES:
        yield _open_file(source, local)
    elif local.is_dir():
        with working_folder() as folder:
            yield _open_dataset(source, str(local), folder)
    else:
        raise SpeechIQError(f"dataset_path={local}: no such folder; give a Hub id, a folder or a metadata file")


def _wanted(source: Source) -> list[str]:
    columns = [source.text_column, source.id_column, source.length_column]
    return list(dict.fromkeys(column for column in columns if column))


def _check_columns(source: Source, found: Sequence[str]) -> None:
    for column in [source.audio_column, *_wanted(source)]:
        if column not in found:
            raise SpeechIQError(
                f"{source.dataset_path}: no column {column!r}; it has {', '.join(found)}; tell the right one, "
                f"such as --metadata text_column={found[0]}"
            )


def _open_file(source: Source, file: Path) -> Rows:
    rows = list(read_file(file))
    if not rows:
        raise SpeechIQError(f"{file}: holds no rows; give it a line a clip")
    _check_columns(source, list(rows[0]))
    columns = {column: [row.get(column) for row in rows] for column in _wanted(source)}
    return Rows(columns, AudioFiles(file.parent, [row[source.audio_column] for row in rows]))


def read_file(file: Path) -> Iterator[dict]:
    """Rows of a `.jsonl`, `.csv` or `.tsv` file, as dicts.

    Raises:
        SpeechIQError: no such file, another kind of file, or a line that is no JSON object.
    """
    if file.suffix not in METADATA_FILES:
        raise SpeechIQError(f"{file}: not one of {', '.join(METADATA_FILES)}; convert it to one of them")
    if not file.is_file():
        raise SpeechIQError(f"{file}: no such metadata file; correct the path")
    separator = METADATA_FILES[file.suffix]
    if separator is None:
        yield from (line.row for line in read_objects(file, "mend the line"))
        return
    try:
        yield from csv.DictReader(io.StringIO(file.read_text(encoding="utf-8-sig")), delimiter=separator)
    except UnicodeDecodeError as error:
        raise SpeechIQError(f"{file}: not UTF-8 ({error}); save it in UTF-8") from error


def _open_dataset(source: Source, place: str, folder: str | None) -> Rows:
    """`folder` is where `datasets` keeps its copy; its own cache takes two local folders of one name for one."""
    from datasets import get_dataset_split_names, load_dataset
    from datasets.exceptions import DatasetsError

    which = {"path": place, "name": source.dataset_name, "revision": source.dataset_revision}
    try:
        rows = load_dataset(**which, split=source.split, cache_dir=folder)
    except ValueError as error:
        if "split" not in str(error).lower():
            raise SpeechIQError(f"{place}: {' '.join(str(error).split())}") from error
        names = ", ".join(get_dataset_split_names(place, source.dataset_name))
        raise SpeechIQError(f"{place}: no split {source.split!r}; it has {names}; give --metadata split=...") from error
    except (DatasetsError, OSError) as error:
        raise SpeechIQError(
            f"{place}: cannot be had and is not in the cache ({str(error).splitlines()[0]}); check the "
            f"connection to the hub, or give a local copy with --metadata dataset_path=FOLDER"
        ) from error
    _check_columns(source, rows.column_names)
    kept = rows.select_columns(_wanted(source))
    return Rows({column: kept[column] for column in kept.column_names}, AudioColumn(rows, source.audio_column))
