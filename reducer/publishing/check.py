"""Check one published result: its folder, digests and form, and every score, computed again from its rows."""

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
from speechiq.reducer.publishing.folder import AGAIN, name_date, name_system, read_result
from speechiq.reducer.publishing.record import Draft, draft
from speechiq.reducer.publishing.restore import read_strictly, restore
from speechiq.reducer.publishing.rows import ENDING, LARGEST, unpack_rows
from speechiq.reducer.publishing.schema import FILE, ROWS, Result
from speechiq.reducer.publishing.texts import compare_texts, is_close
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores import suites
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.scoring import ScoringOptions

#: Bytes of the largest file of a submission, and of all its rows without compression.
LARGEST_FILE, LARGEST_ROWS = 2**24, 4 * LARGEST
#: Entries of the largest folder, and seconds by which the clock of a submitter may be fast.
MOST_ENTRIES, FAST = 10_000, 86_400
#: What a name on a page or in a table never needs.
UNSAFE = re.compile("[<>`]|[^\\S ]")
#: Keys of a result that do not come from its rows.
FROM_ELSEWHERE = {"declaration", "commands", "environment", "speechiq"}


class Checked(NamedTuple):
    """Hold a result and its systems by suite; its first fault, and then there may be no result and no systems."""

    folder: Path
    result: Result | None = None
    systems: Mapping[str, System] = {}
    fault: SpeechIQError | None = None

    @property
    def norms(self) -> str:
        """Return the label of the norms of SIQ; empty without them."""
        return self.result.norms.label if self.result and self.result.norms else ""

    @property
    def is_control(self) -> bool:
        """Return whether the system is a control."""
        return any(system.control for system in self.systems.values())


def check(folder: Path, norms: Mapping[str, Norms]) -> Checked:
    """Check the result in a folder; `norms` has the known norms by label."""
    result = None
    try:
        files = _list_files(folder)
        result = read_result(folder)
        _check_names(folder, result)
        _check_files(result, files)
        contents = {task.task: unpack_rows(folder / ROWS / f"{task.task}{ENDING}", task.rows) for task in result.tasks}
        rows = {task: read_strictly(content, f"rows of {task!r}") for task, content in contents.items()}
        for task in result.tasks:
            count = len(rows[task.task])
            if task.docs != (count, count):
                ran = "an unknown number of" if task.docs is None else "{} of {}".format(*task.docs)
                fault = f"{count} rows, and {ran} docs were run"
                raise SpeechIQError(f"task {task.task!r}", fault, "publish a run of the whole task")
        again = _score_again(result, contents, _choose_norms(result, norms))
        for task in result.tasks:
            if task.rows.texts:
                compare_texts(task, rows[task.task])
        if missing := find_missing(result.declaration):
            raise SpeechIQError("declaration", f"{' and '.join(missing)} not declared", "publish with --declare")
    except SpeechIQError as error:
        return Checked(folder, result, fault=error)
    return Checked(folder, result, again.systems)


def _list_files(folder: Path) -> set[str]:
    """Return what is below a folder; refuse links, devices and files that are too large, and follow nothing."""
    names: set[str] = set()
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            about = Path(parent, name).lstat()
            if not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):
                raise SpeechIQError(f"{name!r:.200}", "neither a file nor a folder, such as a link", "remove it")
            if about.st_size > LARGEST_FILE:
                raise SpeechIQError(f"{name!r:.200}", f"larger than {LARGEST_FILE} bytes", "publish fewer rows")
            names.add(Path(parent, name).relative_to(folder).as_posix())
        if len(names) > MOST_ENTRIES:
            raise SpeechIQError(f"{folder.name!r}", f"more than {MOST_ENTRIES} files", "remove what is not a result")
    return names


def _check_names(folder: Path, result: Result) -> None:
    """Raise a `SpeechIQError` if a name has characters that pages do not need, or the folder has another name."""
    groups = (
        name
        for suite in result.suites.values()
        for by in suite.groups.values()
        for each in by.values()
        for name in each
    )
    declared = (text for text in msgspec.structs.astuple(result.declaration) if isinstance(text, str))
    withdrawn = result.declaration.withdrawn
    for name in (result.system, *result.suites, *groups, *declared, *withdrawn, *withdrawn.values()):
        if UNSAFE.search(name) or not name.isprintable():
            raise SpeechIQError(f"name {name!r:.100}", "characters that no name needs", "write letters and digits")
    if unknown := withdrawn.keys() - {category for suite in result.suites.values() for category in suite.categories}:
        raise SpeechIQError(f"withdrawn {min(unknown)!r:.100}", "not a category of the result", "name a category of it")
    place, expected = (folder.parent.name, folder.name), (name_system(result.system), name_date(result.date))
    if place != expected:
        raise SpeechIQError(
            f"folder {'/'.join(place)!r:.200}", "not that of its system and date", f"name it {'/'.join(expected)}"
        )
    if datetime.fromisoformat(result.date).timestamp() > time.time() + FAST:
        raise SpeechIQError(f"date {result.date}", "in the future", AGAIN)


def _check_files(result: Result, present: set[str]) -> None:
    """Raise a `SpeechIQError` if the folder does not have the rows of each task, or has other files."""
    names = [task.task for task in result.tasks]
    if not names or len(set(names)) < len(names):
        raise SpeechIQError("tasks", "two have the same name" if names else "there are none", AGAIN)
    if sum(task.rows.bytes for task in result.tasks) > LARGEST_ROWS:
        raise SpeechIQError("rows", f"more than {LARGEST_ROWS} bytes", "publish fewer rows")
    expected = {FILE, ROWS, *(f"{ROWS}/{name}{ENDING}" for name in names)}
    for name in sorted(expected ^ present):
        fault = "missing" if name in expected else "not a part of a result"
        raise SpeechIQError(f"file {name!r:.200}", fault, AGAIN)


def _choose_norms(result: Result, norms: Mapping[str, Norms]) -> Norms | None:
    if (named := result.norms) is None:
        return None
    if (known := norms.get(named.label)) is None:
        raise SpeechIQError(f"norms {named.label!r}", "not known here", "add their file to the folder norms")
    if known.sha256 != named.sha256:
        raise SpeechIQError(f"norms {named.label!r}", "another sha256 than the known norms", AGAIN)
    return known


def _score_again(result: Result, contents: Mapping[str, bytes], norms: Norms | None) -> Draft:
    """Score the rows again, and raise a `SpeechIQError` for the first number that differs from the result."""
    with tempfile.TemporaryDirectory() as temporary:
        restore(result, contents, Path(temporary))
        try:
            found = suites.find([Path(temporary)], False, ScoringOptions(norms=norms))
            again, *others = draft(found, norms, {}, texts=any(task.rows.texts for task in result.tasks))
        except SpeechIQError as error:
            raise SpeechIQError("scores", str(error).replace(f"{temporary}{os.sep}", "")) from error
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise SpeechIQError("scores", f"cannot be computed ({error!r:.200})", AGAIN) from error
    if others:
        raise SpeechIQError("tasks", "runs of several systems or conditions", "publish each by itself")
    recorded, computed = (dict(_flatten(msgspec.to_builtins(each))) for each in (result, again.result))
    for key in sorted(recorded.keys() | computed.keys()):
        if key.split(".")[0] not in FROM_ELSEWHERE and not is_close(recorded.get(key), computed.get(key)):
            there, here = (f"{each.get(key, 'missing')!r:.100}" for each in (recorded, computed))
            raise SpeechIQError(key[:200], f"{there}, and its rows give {here}", AGAIN)
    return again


def _flatten(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not parts:
        yield place, value
    for key, part in parts:
        yield from _flatten(part, f"{place}.{key}" if place else str(key))
