"""Check a folder of results: each by itself, and all together for other items, other tasks and copied rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import is_folder
from speechiq.reducer.publishing.check import LARGEST_FILE, Checked, Rows, check
from speechiq.reducer.publishing.folder import AGAIN
from speechiq.reducer.publishing.schema import NORMS, Result
from speechiq.reducer.runs.description import KEYS
from speechiq.reducer.scores import norms as siq_norms
from speechiq.reducer.scores.norms import SHIPPED, Norms
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import Column, Grid

#: Share of rows with a fraction that two systems never have in common, from so many rows on.
COPIED, FEWEST_ROWS = 0.95, 10
#: Number of rows from which on equal rows everywhere are copies, even without fractions.
FEWEST_EQUAL = 100
COLUMNS = (
    Column("system", "System"),
    Column("date", "Date"),
    Column("siq", "SIQ", ".2f", ends=".1f"),
    Column("suites", "Suites"),
    Column("rows", "Rows", "d"),
    Column("texts", "Texts"),
    Column("check", "Check"),
)


class Sound(NamedTuple):
    """Hold a result without a fault of its own, and its rows by task."""

    folder: Path
    result: Result
    rows: Rows


class Registry(NamedTuple):
    """Hold what was found in a folder of results.

    Attributes:
        results: The results, in the order of their folders.
        strays: What is wrong outside of results.
    """

    results: list[Checked]
    strays: list[SpeechIQError]

    @property
    def faults(self) -> list[str]:
        """Return what is wrong, a line each."""
        lines = [f"{each.folder.parent.name}/{each.folder.name}: {each.fault}" for each in self.results if each.fault]
        return [*map(str, self.strays), *lines]

    @property
    def grids(self) -> list[Grid]:
        """Return a table per norms, since SIQ on different norms are not comparable."""
        labels = sorted({_label(each.result) for each in self.results}, key=lambda label: (not label, label))
        return [
            Grid(
                f"Published results, norms: {label or 'none'}",
                COLUMNS,
                [_row(each) for each in self.results if _label(each.result) == label],
            )
            for label in labels
        ]


def check_folder(root: Path) -> Registry:
    """Check all results in a folder.

    Raises:
        SpeechIQError: It is not a folder, or has no results.
    """
    strays: list[SpeechIQError] = []
    folders = [
        date
        for system in _list_folders(root, root, strays)
        if system.name != NORMS
        for date in _list_folders(system, root, strays)
    ]
    if not folders and not strays:
        raise SpeechIQError(f"{str(root)!r}", "has no results", "give the folder of `siq publish runs`")
    norms = _read_norms(root, strays)
    return Registry(_refuse_others([check(folder, norms) for folder in folders]), strays)


def _list_folders(folder: Path, root: Path, strays: list[SpeechIQError]) -> Iterator[Path]:
    """Yield the folders in a folder, and add an error for everything else, such as a link."""
    if not is_folder(folder):
        raise SpeechIQError(f"{str(folder)!r}", "not a folder", "give the folder of `siq publish runs`")
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield path
        else:
            strays.append(SpeechIQError(f"{str(path.relative_to(root))!r:.200}", "not a part of a result", "remove it"))


def _read_norms(root: Path, strays: list[SpeechIQError]) -> dict[str, Norms]:
    """Return label -> norms: those of the package, and those beside the results."""
    norms = {label: siq_norms.read(label) for label in SHIPPED}
    for path in sorted((root / NORMS).glob("*")):
        try:
            if path.is_symlink() or path.stat().st_size > LARGEST_FILE:
                raise SpeechIQError(f"{NORMS}/{path.name}", f"a link, or above {LARGEST_FILE} bytes", "remove it")
            added = siq_norms.read(path)
            if path.name != f"{added.label}.json" or added.edition is None:
                raise SpeechIQError(f"{NORMS}/{path.name}", f"has norms {added.label!r}", "freeze and name them so")
            if norms.setdefault(added.label, added).sha256 != added.sha256:
                raise SpeechIQError(f"{NORMS}/{path.name}", "edited: the package has others of that name", "remove it")
        except SpeechIQError as error:
            strays.append(error)
    return norms


def _refuse_others(results: list[Checked]) -> list[Checked]:
    """Return the results with faults that only show beside other results."""
    faults: dict[Path, SpeechIQError] = {}
    sound = [Sound(each.folder, each.result, each.rows) for each in results if each.result and not each.fault]
    for folder, error in (*_compare_tasks(sound), *_compare_items(sound), *_compare_rows(sound)):
        faults.setdefault(folder, error)
    return [each._replace(fault=each.fault or faults.get(each.folder)) for each in results]


def _compare_tasks(results: Iterable[Sound]) -> Iterator[tuple[Path, SpeechIQError]]:
    """Yield results that describe a category of a suite otherwise than most."""
    described: dict[tuple[Any, Any], dict[Path, str]] = {}
    for each in results:
        for task in each.result.tasks:
            description = {key: task.metadata.get(key) for key in KEYS}
            descriptions = described.setdefault((description["suite"], description["category"]), {})
            descriptions[each.folder] = repr(sorted(description.items(), key=str))
    for (suite, category), descriptions in described.items():
        usual, _ = Counter(descriptions.values()).most_common(1)[0]
        for folder, own in descriptions.items():
            if own != usual:
                thing = f"suite {suite!r:.100}, category {category!r:.100}"
                yield folder, SpeechIQError(thing, "described otherwise than in other results", AGAIN)


def _compare_items(results: Iterable[Sound]) -> Iterator[tuple[Path, SpeechIQError]]:
    """Yield results that have other items than most results of the same task and content."""
    items: dict[tuple[str, Any], dict[Path, frozenset[Any]]] = {}
    for each in results:
        for task in each.result.tasks:
            own = frozenset(_items_of(task.metadata, each.rows[task.task]))
            items.setdefault((task.task, task.metadata.get("content_sha256")), {})[each.folder] = own
    for (task_name, _), sets in items.items():
        usual, _ = Counter(sets.values()).most_common(1)[0]
        for folder, own in sets.items():
            if own != usual:
                fault = f"{len(usual - own)} items missing and {len(own - usual)} added, beside other results"
                yield folder, SpeechIQError(f"task {task_name!r}", fault, "publish a run of the whole task")


def _compare_rows(results: Iterable[Sound]) -> Iterator[tuple[Path, SpeechIQError]]:
    """Yield results whose rows are those of another system: the newer of the two."""
    columns = {each.folder: _columns_of(each) for each in results}
    for pair in combinations(results, 2):
        older, newer = sorted(pair, key=_age)
        if older.result.system == newer.result.system:
            continue
        if older.result.control and newer.result.control:
            continue
        one, two = columns[older.folder], columns[newer.folder]
        shared = one.keys() & two.keys()
        fractions = {key for key in shared if _has_fraction(one[key]) or _has_fraction(two[key])}
        equal = sum(one[key] == two[key] for key in fractions)
        copied = len(fractions) >= FEWEST_ROWS and equal >= COPIED * len(fractions)
        if copied or (len(shared) >= FEWEST_EQUAL and _are_equal(one, two, shared)):
            count = f"{equal} of {len(fractions)}" if copied else f"all {len(shared)}"
            yield (
                newer.folder,
                SpeechIQError(
                    "rows", f"{count} are those of system {older.result.system!r}", "publish the rows of this system"
                ),
            )


def _are_equal(one: Mapping[Any, Any], two: Mapping[Any, Any], keys: Iterable[Any]) -> bool:
    """Return whether all rows are equal, and not all alike."""
    rows = [(one[key], two[key]) for key in keys]
    return all(left == right for left, right in rows) and len({left for left, _ in rows}) > 1


def _columns_of(each: Sound) -> dict[Any, tuple[Any, ...]]:
    """Return (task, item) -> the numbers of the row."""
    return {
        (task.task, item): tuple(value for key, value in sorted(row.items()) if isinstance(value, int | float))
        for task in each.result.tasks
        for item, row in zip(_items_of(task.metadata, each.rows[task.task]), each.rows[task.task], strict=True)
    }


def _has_fraction(numbers: Iterable[float]) -> bool:
    return any(number % 1 for number in numbers)


def _items_of(metadata: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    return [tuple(str(row["doc"].get(field)) for field in metadata.get("item", ())) for row in rows]


def _age(each: Sound) -> tuple[str, str]:
    return each.result.date, each.result.system


def _label(result: Result | None) -> str:
    return result.norms.label if result and result.norms else ""


def _known(end: float | None) -> float:
    return math.nan if end is None else end


def _row(each: Checked) -> dict[str, Any]:
    result = each.result
    if result is None:
        return {"system": each.folder.parent.name, "date": each.folder.name, "check": "refused"}
    siq = next((suite.siq for suite in result.suites.values() if suite.siq), None)
    return {
        "system": result.system,
        "date": result.date[:10],
        "siq": Estimate(siq.value, _known(siq.low), _known(siq.high)) if siq and siq.value is not None else None,
        "suites": ", ".join(result.suites),
        "rows": sum(task.rows.count for task in result.tasks),
        "texts": "yes" if all(task.rows.texts for task in result.tasks) else "no",
        "check": "refused" if each.fault else "ok",
    }
