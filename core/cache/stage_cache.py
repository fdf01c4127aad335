"""Cache what the stages of a run compute: nothing is computed twice, and a run may be killed at any moment.

`<folder>/<stage>/` contains the rows of one stage: `stage.json` records what they depend on, and every process appends
its rows to a file of its own. Processes and machines may share a folder, also on a network file system. Nothing is
deleted or rewritten while runs are active; `siq store remove` does that (`core/cache/stages.py`). A run may also
limit which stages compute (`limited_to`), or count the rows that it needs without computing any (`StageCount`).
"""

import json
import logging
import os
import signal
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.metadata import version
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple, TypeVar

import msgspec

from speechiq.core.cache.row_files import FIX, ROWS, CacheFile, RowIndex, seal
from speechiq.core.checkpoints.names import without_places
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import content_sha256, decode, refuse_extremes
from speechiq.core.files.plain import is_file, read_plain, write_whole

#: Set for a process that may compute some stages alone: their names in `STAGES` with commas; empty for none.
VARIABLE = "SIQ_STAGES"
#: Names for users, in the order in which a run gets to them -> the stages of the response cache; `EMBED` has the rest.
STAGES = {
    "asr": ("asr",),
    "llm": ("text", "audio", "reply", "speech"),
    "judge": ("reply transcript", "speech quality", "judge"),
    "embed": (),
}
EMBED = "embed"


class MissingRows(SpeechIQError):
    """Say that rows of a stage are missing that this process may not compute; `stage` is its name in `STAGES`."""

    def __init__(self, stage: str, missing: int, rows: int) -> None:
        self.stage = stage
        super().__init__(
            f"stage {stage}",
            f"{missing} of {rows} rows are not in the response cache",
            f"compute them first, as by `siq eval --stages {stage}` on any machine",
        )


class Stopped(BaseException):
    """End a run after a batch, because the process was asked to stop; the rows of the batch are cached."""


_chosen: ContextVar[frozenset[str] | None] = ContextVar("stages", default=None)
_requests: list[int] = []


@contextmanager
def limited_to(stages: Collection[str] | None) -> Iterator[None]:
    """Let only these stages compute inside the block; None reads them from the environment (`VARIABLE`)."""
    named = os.environ.get(VARIABLE)
    if stages is None and named is not None:
        stages = [name for name in named.split(",") if name]
    token = _chosen.set(_chosen.get() if stages is None else frozenset(stages))
    try:
        yield
    finally:
        _chosen.reset(token)


def name_stage(stage: Mapping[str, Any]) -> str:
    """Return the name of a stage of the response cache in `STAGES`.

    >>> name_stage({"stage": "text"}), name_stage({"stage": "embedder"})
    ('llm', 'embed')
    """
    return next((name for name, kinds in STAGES.items() if stage.get("stage") in kinds), EMBED)


def check_limits(stage: Mapping[str, Any], missing: int, rows: int) -> None:
    """Refuse to compute a stage that this process may not compute, and stop if it was asked to."""
    name, chosen = name_stage(stage), _chosen.get()
    if chosen is not None and name not in chosen:
        raise MissingRows(name, missing, rows)
    stop_if_asked()


def stop_after_batch() -> None:
    """Make SIGTERM end this process between two batches (`Stopped`), not at once."""
    signal.signal(signal.SIGTERM, lambda number, frame: _requests.append(number))


def stop_if_asked() -> None:
    """End the run if SIGTERM has arrived."""
    if _requests:
        raise Stopped


class StageCount(NamedTuple):
    """Count the rows of one kind of stage (`asr`, `text`, ...) that a run needs, and those of them that are cached."""

    stage: str
    rows: int
    cached: int


class Counted(Exception):
    """End a count: all rows are counted, or rows are missing on which later stages depend."""


class Counter:
    """Collect the rows that stages need; a row that is needed several times counts once."""

    def __init__(self) -> None:
        self.complete = False
        self._needed: dict[str, set[str]] = {}
        self._missing: dict[str, set[str]] = {}

    def add(self, stage: Mapping[str, Any], keys: Collection[str], missing: Collection[str]) -> None:
        """Add the rows that one call needs; if some are missing, end the count (`Counted`): the rest is unknown."""
        name = str(stage.get("stage"))
        self._needed.setdefault(name, set()).update(keys)
        self._missing.setdefault(name, set()).update(missing)
        if missing:
            raise Counted

    def counts(self) -> list[StageCount]:
        """Return the counts of the stages up to the one with missing rows, in the order of a run."""
        return [StageCount(name, len(keys), len(keys - self._missing[name])) for name, keys in self._needed.items()]


#: The count that is being made; None while rows are computed as usual.
counter: ContextVar[Counter | None] = ContextVar("counter", default=None)


@contextmanager
def counting() -> Iterator[Counter]:
    """Count rows inside the block instead of computing those that are missing; the block may end early."""
    counts = Counter()
    token = counter.set(counts)
    try:
        yield counts
    except Counted:
        pass
    finally:
        counter.reset(token)


def end_count() -> None:
    """End the count (`Counted`) if one is being made, because every row that the run needs is cached."""
    if (counts := counter.get()) is not None:
        counts.complete = True
        raise Counted


STAGE = "stage.json"
#: Raised if the content of rows changes, or how they are computed. Rows of other formats are not read.
FORMAT = 6
LONGEST_STAGE = 2**20
_STAGE = msgspec.json.Decoder(dict[str, Any])

Item = TypeVar("Item")
log = logging.getLogger(__name__)


class StageCache:
    """Keep the rows of one stage: all on disk, and in memory those that were fetched or computed here.

    Threads may share one. If a key has several rows, which are equal by design, the last one counts.

    Args:
        stage: Everything its rows depend on in addition to their keys: model, revision or files, dtype, prompt version.
        folder: The response cache; `None` for memory only.
        fix: What a user can do if a file cannot be written (after "free disk space, or" on a full disk) or read (after
            "remove it,").

    Attributes:
        rows: Key -> row, for the rows in memory.
        added: Number of rows that this object added.
    """

    def __init__(self, stage: Mapping[str, Any], folder: Path | None, fix: str = FIX) -> None:
        self.stage = {**stage, "store_format": FORMAT}
        self.folder = folder / self.name_folder(self.stage) if folder else None
        self.rows: dict[str, Any] = {}
        self.added, self._skipped = 0, 0
        self._fix, self._lock = fix, RLock()
        if self.folder:
            self._file, self._index = CacheFile(self.folder, fix), RowIndex(fix)
            self._describe(self.folder / STAGE)

    @staticmethod
    def name_folder(stage: Mapping[str, Any]) -> str:
        """Return the name of the folder of a stage, made of what its rows depend on; the version that began it is not.

        >>> StageCache.name_folder({"stage": "asr", "speechiq": "0.1"}) == StageCache.name_folder({"stage": "asr"})
        True
        """
        return content_sha256(without_places({key: stage[key] for key in stage.keys() - {"speechiq"}}))[:16]

    def __len__(self) -> int:
        """Return the number of rows, those of other processes included."""
        with self._lock:
            return len(self._refresh(self.folder)) if self.folder else len(self.rows)

    def fetch(self, keys: Collection[str], form: Any = Any) -> None:
        """Read the rows of those `keys` that are on disk into memory; warn once of rows that are not a `form`."""
        with self._lock:
            if self.folder and (missing := set(keys) - self.rows.keys()):
                rows = self._refresh(self.folder).read(missing)
                valid = {key: row for key, row in rows.items() if _has_form(row, form)}
                if invalid := len(rows) - len(valid):
                    log.warning("%s: %d rows have another form and are computed again", self.folder, invalid)
                self.rows |= valid

    def add(self, rows: Mapping[str, Any]) -> None:
        """Add rows, key -> JSON types; they are on disk when this returns."""
        with self._lock:
            if self.folder:
                self._file.append(b"".join(seal(key, row) for key, row in rows.items()))
                if not is_file(self.folder / STAGE):
                    self._describe(self.folder / STAGE)
            self.rows |= json.loads(json.dumps(rows))
            self.added += len(rows)

    def _refresh(self, folder: Path) -> RowIndex:
        self._index.refresh(sorted(folder.glob(f"*{ROWS}")))  # in the order in which they were made
        if (skipped := self._index.skipped) > self._skipped:
            log.warning("%s: %d damaged lines are skipped, their rows are computed again if needed", folder, skipped)
            self._skipped = skipped
        return self._index

    def _describe(self, file: Path) -> None:
        """Write `stage.json` if it is missing or cannot be read; its time of change is the time of the last use."""
        if read_stage(file):
            with suppress(OSError):
                os.utime(file)
        else:
            stage = json.dumps(self.stage | {"speechiq": version("speechiq")}, indent=2, sort_keys=True)
            write_whole(file, f"{stage}\n".encode(), self._fix, make_folders=True)


def cached(
    cache: StageCache,
    items: Sequence[Item],
    key: Callable[[Item], Any],
    compute: Callable[[list[Item], Callable[[Sequence[int], Sequence[Any]], None]], Any],
    form: Any = Any,
) -> list[Any]:
    """Return the rows of `items`: read if they are cached, else computed and added, each once; None if `compute` fails.

    Args:
        cache: The cache of the stage.
        items: In any order, duplicates included.
        key: Takes an item and returns what distinguishes it from others: JSON types.
        compute: Takes the new items and a function that it calls as soon as a batch is done, with the batch's
            positions among these items and its rows. While rows are counted, `Counted` is raised in its place, and
            `MissingRows` if the process may not compute this stage.
        form: Type of a row; a row on disk of another form is computed again.
    """
    keys = [content_sha256(key(item)) for item in items]
    cache.fetch(keys, form)
    new = {name: item for name, item in zip(keys, items, strict=True) if name not in cache.rows}
    if (counts := counter.get()) is not None:
        counts.add(cache.stage, keys, new)
    if new:
        check_limits(cache.stage, len(new), len(set(keys)))
        names = list(new)

        def keep(places: Sequence[int], rows: Sequence[Any]) -> None:
            cache.add({names[i]: row for i, row in zip(places, rows, strict=True)})
            stop_if_asked()

        compute(list(new.values()), keep)
    return [cache.rows.get(name) for name in keys]


def read_stage(file: Path) -> dict[str, Any]:
    """Return the content of a `stage.json`; empty if it is missing or has another form."""
    with suppress(OSError):
        return decode_stage(read_plain(file, LONGEST_STAGE))
    return {}


def decode_stage(content: bytes) -> dict[str, Any]:
    """Return the content of a `stage.json`; empty if it has another form."""
    with suppress(ValueError):
        stage: dict[str, Any] = decode(content, _STAGE)
        refuse_extremes(stage)
        return stage
    return {}


def _has_form(row: Any, form: Any) -> bool:
    try:
        msgspec.convert(row, form)
    except ValueError:
        return False
    return True
