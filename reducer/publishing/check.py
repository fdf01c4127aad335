"""Check one published result: its folder, digests and form, and every score, computed again from its rows."""

from __future__ import annotations

import math
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.publishing.declarations import find_missing
from speechiq.reducer.publishing.folder import AGAIN, Published, name_date, name_system, read_result
from speechiq.reducer.publishing.record import draft
from speechiq.reducer.publishing.restore import read_strictly, restore
from speechiq.reducer.publishing.rows import ENDING, LARGEST, unpack_rows
from speechiq.reducer.publishing.schema import FILE, ROWS, Result
from speechiq.reducer.publishing.texts import ROUNDING, compare_texts
from speechiq.reducer.scores import suites
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.scoring import ScoringOptions

#: Bytes of the largest file of a submission, and of all its rows without compression.
LARGEST_FILE, LARGEST_ROWS = 2**24, 4 * LARGEST
#: Entries of the largest folder.
MOST_ENTRIES = 10_000
#: Seconds by which the clock of a submitter may be fast.
FAST = 86_400
#: What a name on a page or in a table never needs.
UNSAFE = re.compile("[<>`]|[^\\S ]")

Rows = dict[str, list[dict[str, Any]]]


class Checked(NamedTuple):
    """Hold a result, with its rows by task, and what is wrong with it.

    Attributes:
        folder: Its folder.
        result: The result; None if it cannot be read.
        rows: Task -> its rows; empty if they cannot be read.
        fault: The first fault; None without one.
    """

    folder: Path
    result: Result | None
    rows: Rows
    fault: SpeechIQError | None


def check(folder: Path, norms: Mapping[str, Norms]) -> Checked:
    """Check the result in a folder; `norms` has the known norms by label."""
    result: Result | None = None
    rows: Rows = {}
    try:
        _refuse_links(folder)
        result = read_result(folder)
        _check_names(Published(folder, result))
        contents = _read_rows(folder, result)
        rows = {task: read_strictly(content, f"rows of {task!r}") for task, content in contents.items()}
        _check_counts(result, rows)
        _check_scores(result, contents, _choose_norms(result, norms))
        for task in result.tasks:
            for fault in compare_texts(task, rows[task.task]) if task.rows.texts else ():
                raise fault
        if missing := find_missing(result.declaration):
            raise SpeechIQError("declaration", f"{' and '.join(missing)} not declared", "publish with --declare")
    except SpeechIQError as error:
        return Checked(folder, result, rows, error)
    return Checked(folder, result, rows, None)


def _refuse_links(folder: Path) -> None:
    """Raise a `SpeechIQError` if something below a folder is a link or a device, or is too large."""
    entries = sorted(_walk(folder))
    for path in entries[:MOST_ENTRIES]:
        about = path.lstat()
        if not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):
            raise SpeechIQError(f"{path.name!r}", "neither a file nor a folder, such as a link", "remove it")
        if about.st_size > LARGEST_FILE:
            raise SpeechIQError(f"{path.name!r}", f"larger than {LARGEST_FILE} bytes", "publish fewer rows")
    if len(entries) > MOST_ENTRIES:
        raise SpeechIQError(f"{folder.name!r}", f"more than {MOST_ENTRIES} files", "remove what is not a result")


def _walk(folder: Path) -> Iterator[Path]:
    """Yield what is below a folder, without following links, and not much more than is allowed."""
    count = 0
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(parent, name)
            count += 1
        if count > MOST_ENTRIES:
            return


def _check_names(published: Published) -> None:
    """Raise a `SpeechIQError` if a name has characters that pages do not need, or folders have other names."""
    folder, result = published
    groups = (group for suite in result.suites.values() for groups in suite.groups for group in groups.groups)
    declared = (text for text in msgspec.structs.astuple(result.declaration) if isinstance(text, str))
    withdrawn = result.declaration.withdrawn
    names = [result.system, *result.suites, *groups, *declared, *withdrawn, *withdrawn.values()]
    for name in names:
        if UNSAFE.search(name) or not name.isprintable():
            raise SpeechIQError(f"name {name!r:.100}", "characters that no name needs", "write letters and digits")
    if unknown := withdrawn.keys() - {category for suite in result.suites.values() for category in suite.categories}:
        raise SpeechIQError(f"withdrawn {min(unknown)!r:.100}", "not a category of the result", "name a category of it")
    expected = name_system(result.system), name_date(result.date)
    if (folder.parent.name, folder.name) != expected:
        raise SpeechIQError(
            f"folder {folder.parent.name!r:.100}/{folder.name!r:.100}",
            f"has the result of {result.system!r} of {result.date}",
            f"name it {'/'.join(expected)}",
        )
    if datetime.fromisoformat(result.date).timestamp() > time.time() + FAST:
        raise SpeechIQError(f"date {result.date}", "in the future", AGAIN)


def _read_rows(folder: Path, result: Result) -> dict[str, bytes]:
    """Return the rows of each task, after checking that the folder has these files and no others."""
    names = [task.task for task in result.tasks]
    if not names:
        raise SpeechIQError("tasks", "there are none", AGAIN)
    if len(set(names)) < len(names):
        raise SpeechIQError("tasks", "two have the same name", AGAIN)
    if sum(task.rows.bytes for task in result.tasks) > LARGEST_ROWS:
        raise SpeechIQError("rows", f"more than {LARGEST_ROWS} bytes", "publish fewer rows")
    expected = {FILE, ROWS, *(f"{ROWS}/{name}{ENDING}" for name in names)}
    present = {path.relative_to(folder).as_posix() for path in _walk(folder)}
    if missing := sorted(expected - present):
        raise SpeechIQError(f"file {missing[0]!r}", "missing", AGAIN)
    if more := sorted(present - expected):
        raise SpeechIQError(f"file {more[0]!r:.200}", "not a part of a result", "remove it")
    return {task.task: unpack_rows(folder / ROWS / f"{task.task}{ENDING}", task.rows) for task in result.tasks}


def _check_counts(result: Result, rows: Rows) -> None:
    for task in result.tasks:
        count = len(rows[task.task])
        if task.docs is None or task.docs != (count, count):
            ran = "an unknown number" if task.docs is None else f"{task.docs[0]} of {task.docs[1]}"
            raise SpeechIQError(f"task {task.task!r}", f"{count} rows of {ran} docs", "publish a run of the whole task")


def _choose_norms(result: Result, norms: Mapping[str, Norms]) -> Norms | None:
    if result.norms is None:
        return None
    known = norms.get(result.norms.label)
    if known is None:
        raise SpeechIQError(f"norms {result.norms.label!r}", "not known here", "add their file to the folder norms")
    if known.sha256 != result.norms.sha256:
        raise SpeechIQError(f"norms {result.norms.label!r}", "another sha256 than the known norms", AGAIN)
    return known


def _check_scores(result: Result, contents: Mapping[str, bytes], norms: Norms | None) -> None:
    """Score the rows again, and raise a `SpeechIQError` for the first number that differs from the result."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        restore(result, contents, folder)
        try:
            found = suites.find([folder], False, ScoringOptions(norms=norms))
            texts = any(task.rows.texts for task in result.tasks)
            again, *others = (each.result for each in draft(found, norms, {}, texts=texts))
        except SpeechIQError as error:
            raise SpeechIQError("scores", str(error).replace(f"{temporary}{os.sep}", "")) from error
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise SpeechIQError("scores", f"cannot be computed ({error!r:.200})", AGAIN) from error
    if others:
        raise SpeechIQError("tasks", "runs of several systems or conditions", "publish each by itself")
    recorded, computed = (dict(_flatten(msgspec.to_builtins(each))) for each in (result, again))
    for key in sorted(recorded.keys() | computed.keys()):
        if key.split(".")[0] not in _RECORDED and not _is_close(recorded.get(key), computed.get(key)):
            there, here = (f"{each.get(key, 'missing')!r:.100}" for each in (recorded, computed))
            raise SpeechIQError(key[:200], f"{there}, and its rows give {here}", AGAIN)


#: Keys of a result that do not come from its rows.
_RECORDED = {"declaration", "commands", "environment", "speeds", "speechiq"}


def _flatten(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not parts:
        yield place, value
    for key, part in parts:
        yield from _flatten(part, f"{place}.{key}" if place else str(key))


def _is_close(recorded: Any, computed: Any) -> bool:
    """Return whether two values are equal, numbers up to the rounding of other machines."""
    if isinstance(recorded, float) and isinstance(computed, float):
        return math.isclose(recorded, computed, rel_tol=ROUNDING, abs_tol=ROUNDING)
    return bool(recorded == computed)
