"""Read folders of `save_to_disk`, and refuse folders that `datasets` cannot load, with what is wrong in them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean

if TYPE_CHECKING:
    from datasets import Dataset

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


def check_folder(folder: Path) -> None:
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
