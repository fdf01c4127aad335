"""List the stages in the response cache, remove unused ones, and exchange them with machines that share no disk.

An archive of stages is a zip file with a folder per stage, `stage.json` and one file of rows as in the response cache,
and with the spoken audio that rows name, as in the clip folder.
"""

import errno
import hashlib
import os
import re
import struct
import tempfile
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile, ZipInfo

from speechiq.core.cache.row_files import GONE, ROWS, is_intact, unseal
from speechiq.core.cache.stage_cache import FORMAT, LONGEST_STAGE, STAGE, StageCache, decode_stage, read_stage
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.folders import cache_dir
from speechiq.core.files.plain import LARGEST, OWN_FILE, left_over, open_plain, reading, write_whole
from speechiq.core.recordings.audio_file import BLOCK, OTHER_DISK

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


ROW_FILE = f"rows{ROWS}"
#: Names in an archive: of the two files of a stage, and of spoken audio.
STAGE_NAME = re.compile(rf"[0-9a-f]{{16}}/({re.escape(STAGE)}|{re.escape(ROW_FILE)})")
CLIP_NAME = re.compile(r"clips/[0-9a-f]{2}/([0-9a-f]{64})\.flac")
#: Where a line names spoken audio.
CLIP_PATH = re.compile(rb'"path":"(clips/[0-9a-f]{2}/[0-9a-f]{64}\.flac)"')
#: Errors of a zip file that is damaged.
DAMAGED = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error),
    *(NotImplementedError, RuntimeError, KeyError, EOFError, ValueError, OverflowError),
)
FIX = "export it again, or copy it again"
#: Rows that are added at once, and bytes of them; no row is longer.
AT_ONCE, LONGEST_ROW = 1000, 2**26


def export_stages(stages: Sequence[StageFolder], output: Path) -> Counter[str]:
    """Write the rows of stages into one archive; runs may be active.

    Return the number of `rows`, of spoken `clips`, and of damaged lines that are left out (`skipped`).
    """
    counts, clips = Counter[str](), dict[str, None]()

    def intact(folder: Path) -> Iterator[bytes]:
        for file in sorted(folder.glob(f"*{ROWS}")):
            try:
                with open_plain(file) as lines:
                    for line in lines:
                        counts["rows" if is_intact(line) else "skipped"] += 1
                        if is_intact(line):
                            clips.update(dict.fromkeys(name.decode() for name in CLIP_PATH.findall(line)))
                            yield line
            except OSError as error:
                if error.errno not in GONE:
                    raise SpeechIQError(f"cannot read '{file}'", error.strerror, "remove it") from error

    with tempfile.TemporaryFile() as stream:
        with ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for stage in stages:
                archive.write(stage.folder / STAGE, f"{stage.folder.name}/{STAGE}")
                with archive.open(f"{stage.folder.name}/{ROW_FILE}", "w", force_zip64=True) as rows:
                    rows.writelines(intact(stage.folder))
            for clip in filter(lambda name: cache_dir(name).is_file(), clips):
                archive.write(cache_dir(clip), clip)
                counts["clips"] += 1
        stream.seek(0)
        write_whole(output, iter(lambda: stream.read(BLOCK), b""), OWN_FILE)
    return counts


def merge_archives(archives: Sequence[Path], store: Path) -> Counter[str]:
    """Add what archives have to a response cache, after all of them were checked; nothing is overwritten.

    Return the number of rows that are `added`, `known`, and `different` from those of the same key, which stay; and of
    the `clips` that are added.
    """
    counts = Counter[str]()
    for path in archives:
        with _opened(path) as archive:
            for entry in archive.infolist():
                _check(archive, entry, path)
    for path in archives:
        with _opened(path) as archive:
            names = archive.namelist()
            for name in filter(CLIP_NAME.fullmatch, names):
                if not cache_dir(name).is_file():
                    write_whole(cache_dir(name), archive.read(name), OTHER_DISK, make_folders=True)
                    counts["clips"] += 1
            for name in names:
                if name.endswith(ROWS):
                    _add_rows(archive, name, store, counts)
    return counts


def _add_rows(archive: ZipFile, name: str, store: Path, counts: Counter[str]) -> None:
    folder = name.partition("/")[0]
    stage = decode_stage(archive.read(f"{folder}/{STAGE}"))
    cache = StageCache({key: stage[key] for key in stage.keys() - {"speechiq", "store_format"}}, store)
    rows: dict[str, Any] = {}
    size = 0
    for line in _read_lines(archive, name):
        rows |= unseal(line)
        size += len(line)
        if len(rows) >= AT_ONCE or size >= LONGEST_ROW:
            _add_new(rows, cache, counts)
            rows, size = {}, 0
    _add_new(rows, cache, counts)


def _add_new(rows: dict[str, Any], cache: StageCache, counts: Counter[str]) -> None:
    cache.fetch(rows)
    known = rows.keys() & cache.rows.keys()
    different = sum(rows[key] != cache.rows[key] for key in known)
    new = {key: row for key, row in rows.items() if key not in known}
    counts.update({"added": len(new), "known": len(known) - different, "different": different})
    if new:
        cache.add(new)


def _read_lines(archive: ZipFile, name: str) -> Iterator[bytes]:
    """Yield the lines of a file of rows; a line that is longer than any row is cut there, and so is damaged."""
    with archive.open(name) as lines:
        while line := lines.readline(LONGEST_ROW):
            yield line


def _check(archive: ZipFile, entry: ZipInfo, path: Path) -> None:
    """Refuse an entry that is not as `export` wrote it."""
    name, (folder, _, file) = entry.filename, entry.filename.partition("/")
    where = f"{path}: {name}"
    if (clip := CLIP_NAME.fullmatch(name)) and entry.file_size <= LARGEST:
        if hashlib.sha256(archive.read(name)).hexdigest() != clip[1]:
            raise SpeechIQError(where, "is damaged (its sha256 differs)", FIX)
    elif not STAGE_NAME.fullmatch(name) or (file == STAGE and entry.file_size > LONGEST_STAGE):
        raise SpeechIQError(
            where, "does not belong to a response cache", "give an archive that `siq store export` wrote"
        )
    elif file == ROW_FILE:
        for number, line in enumerate(_read_lines(archive, name), 1):
            if not unseal(line):
                raise SpeechIQError(f"{where} line {number}", "is damaged", FIX)
    else:
        stage = decode_stage(archive.read(name))
        if stage.get("store_format") != FORMAT:
            raise SpeechIQError(
                where,
                f"has rows in format {stage.get('store_format')!r}, this speechiq reads {FORMAT}",
                "export and merge with the same version of speechiq",
            )
        if StageCache.name_folder(stage) != folder:
            raise SpeechIQError(where, "is damaged (its digest differs)", FIX)


@contextmanager
def _opened(path: Path) -> Iterator[ZipFile]:
    """Open an archive; turn every fault of it inside the block into one line."""
    with reading(path, FIX), open_plain(path) as file:
        try:
            with ZipFile(file) as archive:
                yield archive
        except DAMAGED as error:
            raise SpeechIQError(path, f"is damaged ({error})", FIX) from error
