"""List the stages in the response cache, and remove unused ones."""

import errno
import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from speechiq.core.cache.row_files import ROWS, is_intact
from speechiq.core.cache.stage_cache import FORMAT, STAGE, StageCache, read_stage
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.folders import cache_dir
from speechiq.core.files.plain import left_over, open_plain

DAY = 86_400
#: Names of folders below the response cache, and below the clip folder, in which speechiq writes.
STAGES, CLIPS = re.compile("[0-9a-f]{16}"), re.compile("[0-9a-f]{2}")


class StageFolder(NamedTuple):
    """Hold one stage in the response cache, with the number of intact lines in its files, and their bytes.

    `stage` is what its rows depend on, from `stage.json`; empty if that cannot be read. It was last read or written at
    the time `used`, in seconds since 1970.
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

    @property
    def is_damaged(self) -> bool:
        """Return whether `stage.json` is not what its folder is named after; no other machine takes such rows."""
        return not self.stage or (self.is_read and StageCache.name_folder(self.stage) != self.folder.name)


def list_stages(store: Path | None) -> list[StageFolder]:
    """Return every stage in the response cache, the last used first, without those that are removed meanwhile."""
    found = [_measure_stage(file.parent) for file in (store.glob(f"*/{STAGE}") if store else ())]
    return sorted(filter(None, found), key=lambda stage: -stage.used)


def prune(store: Path | None, older_than: float) -> list[StageFolder]:
    """Remove the stages that were neither read nor written for `older_than` days; 0 removes all.

    A run that uses one continues, and what it adds later is cached. A stage that cannot be removed is an error, after
    all others are removed.
    """
    removed, failures = [], []
    for stage in list_stages(store):
        if stage.used <= time.time() - older_than * DAY:
            try:
                _remove(stage.folder)
                removed.append(stage)
            except SpeechIQError as error:
                failures.append(error)
    if failures:
        raise failures[0]
    return removed


def find_drafts(store: Path | None) -> list[Path]:
    """Return the drafts that killed runs left in the response cache and in the clip folder."""
    places = [*_folders(store, STAGES), cache_dir("clips"), *_folders(cache_dir("clips"), CLIPS)]
    return [draft for folder in places for draft in left_over(folder)]


def _folders(root: Path | None, name: re.Pattern[str]) -> list[Path]:
    with suppress(OSError):
        return [folder for folder in root.iterdir() if name.fullmatch(folder.name)] if root else []
    return []


def _measure_stage(folder: Path) -> StageFolder | None:
    with suppress(FileNotFoundError):
        files = [file for file in folder.iterdir() if file.name == STAGE or file.suffix == ROWS]
        times, sizes, rows = zip(*map(_measure, files), strict=True)
        return StageFolder(folder, read_stage(folder / STAGE), sum(rows), sum(sizes), max(times))
    return None


def _measure(file: Path) -> tuple[float, int, int]:
    """Return the time of a file's last change, its bytes and its rows; zeros if it is missing or cannot be read."""
    with suppress(OSError), open_plain(file) as lines:
        state = os.fstat(lines.fileno())
        return state.st_mtime, state.st_size, sum(map(is_intact, lines)) if file.suffix == ROWS else 0
    return 0.0, 0, 0


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
                f"cannot remove '{folder}'", error.strerror, "fix that, or choose another place (SIQ_STORE=FOLDER)"
            ) from error
