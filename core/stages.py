"""List the stages in the store, remove those that are not wanted any more, and merge the files of the others."""

from __future__ import annotations

import errno
import os
import re
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from speechiq.core.cache import cache_dir
from speechiq.core.errors import SpeechIQError
from speechiq.core.files import left_over, measure_age, open_plain, write_whole
from speechiq.core.row_files import FIX, ROWS, RowIndex, is_whole, list_files
from speechiq.core.stage_cache import FORMAT, STAGE, read_stage

DAY = 86_400
MERGED = ".merged"
#: Ends of the files that a stage has, those of format 2 included.
ENDS = ROWS, MERGED, ".set-aside"
#: Folders below the store, and below the clip folder, in which speechiq writes.
STAGES, CLIPS = re.compile("[0-9a-f]{16}"), re.compile("[0-9a-f]{2}")


class StageFolder(NamedTuple):
    """One stage in the store.

    Attributes:
        folder: Where its rows are.
        stage: What its rows depend on, from `stage.json`; empty if that cannot be read.
        rows: How many whole lines its files have.
        size: In bytes.
        used: When it was last read or written to, in seconds since 1970.
    """

    folder: Path
    stage: dict[str, Any]
    rows: int
    size: int
    used: float

    @property
    def is_read(self) -> bool:
        """Return whether this version of speechiq reads its rows."""
        return self.stage.get("store_format") == FORMAT


def list_stages(store: Path | None) -> list[StageFolder]:
    """Return every stage in the store, the last used first; nothing else in the folder is touched or listed.

    Runs may be at work: what is removed meanwhile is left out.
    """
    found = [_measure_stage(file.parent) for file in (store.glob(f"*/{STAGE}") if store else ())]
    return sorted(filter(None, found), key=lambda stage: -stage.used)


def prune(store: Path | None, older_than: float) -> list[StageFolder]:
    """Remove the stages that were neither read nor written to for `older_than` days; 0 removes all.

    A run that is at work in one goes on, and what it adds later is cached.

    Raises:
        SpeechIQError: One cannot be removed; all others are.
    """
    gone, failures = [], []
    for stage in list_stages(store):
        if stage.used <= time.time() - older_than * DAY:
            try:
                _remove(stage.folder)
                gone.append(stage)
            except SpeechIQError as error:
                failures.append(error)
    if failures:
        raise failures[0]
    return gone


def merge(stage: StageFolder, quiet_for: float = DAY) -> int:
    """Put the rows of a stage's files into one file, without damaged lines and duplicate keys.

    Only files that have not changed for a day are merged, as their processes have most likely ended. They are removed
    when the new file is on the disk, unless rows were added to one meanwhile. A process that still reads a removed file
    finds its rows in the new one; a process that still writes to it begins another.

    Args:
        stage: Of the store.
        quiet_for: Seconds without a change after which a file is merged.

    Returns:
        How many files were merged.

    Raises:
        SpeechIQError: A file cannot be read, or the disk is full; all files are left as they are.
    """
    files = list_files(stage.folder) if stage.is_read else []
    sizes = {file: file.stat().st_size for file in files if measure_age(file) > quiet_for}
    index = RowIndex()
    index.refresh(sizes)
    if len(sizes) < 2 and not index.skipped:
        return 0
    if len(index):
        merged = stage.folder / f"{max(sizes).name.partition('-')[0]}-merged-{secrets.token_hex(4)}{ROWS}"
        write_whole(merged, index.lines(), f"free or {FIX}")
        os.utime(merged, (stage.used, stage.used))
    return 0 if index.gone else sum(map(_remove_unchanged, sizes, sizes.values()))


def find_drafts(store: Path | None) -> list[Path]:
    """Return the drafts that killed runs left in the store and in the clip folder."""
    places = [*_folders(store, STAGES), cache_dir("clips"), *_folders(cache_dir("clips"), CLIPS)]
    return [draft for folder in places for draft in left_over(folder)]


def _folders(root: Path | None, name: re.Pattern[str]) -> list[Path]:
    with suppress(OSError):
        return [folder for folder in root.iterdir() if name.fullmatch(folder.name)] if root else []
    return []


def _measure_stage(folder: Path) -> StageFolder | None:
    with suppress(FileNotFoundError):
        files = [file for file in folder.iterdir() if file.name == STAGE or file.suffix in ENDS]
        times, sizes, rows = zip(*map(_measure, files), strict=True)
        return StageFolder(folder, read_stage(folder / STAGE), sum(rows), sum(sizes), max(times))
    return None


def _measure(file: Path) -> tuple[float, int, int]:
    """Return when a file last changed, its bytes and its rows; zeros if it is gone or cannot be read."""
    with suppress(OSError), open_plain(file) as lines:
        about = os.fstat(lines.fileno())
        return about.st_mtime, about.st_size, sum(map(is_whole, lines)) if file.suffix == ROWS else 0
    return 0.0, 0, 0


def _remove_unchanged(file: Path, size: int) -> bool:
    """Remove a file unless it has grown; it is renamed first, so that nothing is added once its size is known."""
    renamed = file.with_suffix(MERGED)
    with suppress(FileNotFoundError):
        file.rename(renamed)
        if renamed.stat().st_size == size:
            renamed.unlink()
            return True
        renamed.rename(file)
    return False


def _remove(folder: Path) -> None:
    try:
        for file in folder.iterdir():
            file.unlink(missing_ok=True)
        folder.rmdir()
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno != errno.ENOTEMPTY:
            raise SpeechIQError(
                f"cannot take away '{folder}': {error.strerror}; fix that, or choose another place (SIQ_STORE=FOLDER)"
            ) from error
