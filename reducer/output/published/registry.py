"""Check a folder of results: each by itself, and all together for other items and copied rows."""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.batches import over_cores
from speechiq.core.console import count_of, progress_bar
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import is_folder
from speechiq.metrics.measure import differences
from speechiq.reducer.output.published.check import LARGEST_FILE, CheckedFolder, check_registry
from speechiq.reducer.output.published.folder import AGAIN
from speechiq.reducer.output.published.schema import NORMS
from speechiq.reducer.runs.conditions import compare_items, compare_systems
from speechiq.reducer.scores import norms as siq_norms
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.scores.norms import SHIPPED, Norms
from speechiq.reducer.stats.grid import Column, Grid

#: Share of rows with a fraction that two systems do not have in common, from so many rows on.
COPIED, FEWEST_ROWS = 0.95, 10
#: Results from which on all cores check them, which takes longer to begin.
MANY_RESULTS = 20
COLUMNS = (
    Column("system", "System"),
    Column("date", "Date"),
    Column("siq", "SIQ", ".2f", ends=".1f"),
    Column("suites", "Suites"),
    Column("rows", "Rows", "d"),
    Column("texts", "Texts"),
    Column("check", "Check"),
)


class Registry(NamedTuple):
    """Hold the results of a folder, in its order, what is wrong outside of them, and label -> norms."""

    results: list[CheckedFolder]
    strays: list[SpeechIQError]
    norms: dict[str, Norms]

    @property
    def faults(self) -> list[str]:
        """Return what is wrong, a line each."""
        lines = [f"{each.folder.parent.name}/{each.folder.name}: {each.fault}" for each in self.results if each.fault]
        return [*map(str, self.strays), *lines]

    @property
    def grids(self) -> list[Grid]:
        """Return a table per norms, since SIQ on different norms are not comparable."""
        tables: dict[str, list[dict[str, Any]]] = {}
        for each in self.results:
            tables.setdefault(each.norms, []).append(_row(each))
        order = sorted(tables, key=lambda label: (not label, label))
        return [Grid(f"Published results, norms: {label or 'none'}", COLUMNS, tables[label]) for label in order]


def check_results_folder(root: Path) -> Registry:
    """Check all results in a folder.

    Raises:
        SpeechIQError: It is not a folder, or has no results.
    """
    strays: list[SpeechIQError] = []
    systems = [folder for folder in _list_folders(root, strays) if folder.name != NORMS]
    folders = [date for system in systems for date in _list_folders(system, strays)]
    if not folders and not strays:
        raise SpeechIQError(root, "has no results", "give the folder of `siq publish runs`")
    norms = _read_norms(root, strays)
    checked = over_cores(lambda folder: check_registry(folder, norms), folders, worth_it=len(folders) >= MANY_RESULTS)
    results = [*progress_bar(checked, total=len(folders), verb="checking", unit="result")]
    sound = [each for each in results if not each.fault]
    faults = dict([*_compare_rows(sound), *_compare_suites(sound)])
    return Registry([each._replace(fault=each.fault or faults.get(each.folder)) for each in results], strays, norms)


def read_sound(root: Path) -> Registry:
    """Check all results in a folder; refuse it if one of them is refused: what is made of results passes here."""
    registry = check_results_folder(root)
    if registry.faults:
        faults = f"{count_of(len(registry.faults), 'fault')}, such as {registry.faults[0]}"
        raise SpeechIQError(root, faults, "see `siq publish check`, and go on without it")
    return registry


def _list_folders(folder: Path, strays: list[SpeechIQError]) -> Iterator[Path]:
    """Yield the folders in a folder, and add an error for everything else, such as a link."""
    if not is_folder(folder):
        raise SpeechIQError(folder, "not a folder", "give the folder of `siq publish runs`")
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        strays.append(SpeechIQError(f"{folder.name!r:.200}", f"cannot be read ({error.strerror})", "make it readable"))
        return
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            yield path
        else:
            strays.append(SpeechIQError(f"{path.name!r:.200}", "not a part of a result", "remove it"))


def _read_norms(root: Path, strays: list[SpeechIQError]) -> dict[str, Norms]:
    """Return label -> norms: those of the package, and those beside the results."""
    norms = {label: siq_norms.read_norms(label) for label in SHIPPED}
    for path in sorted((root / NORMS).glob("*")):
        place = f"{NORMS}/{path.name}"
        try:
            if path.is_symlink() or path.stat().st_size > LARGEST_FILE:
                raise SpeechIQError(place, f"a link, or above {LARGEST_FILE} bytes", "remove it")
            added = siq_norms.read_norms(path)
            if path.name != f"{added.label}.json" or added.edition is None:
                raise SpeechIQError(place, f"has norms {added.label!r}", "freeze and name them so")
            if norms.setdefault(added.label, added).sha256 != added.sha256:
                raise SpeechIQError(place, "edited: the package has others of that name", "remove it")
        except SpeechIQError as error:
            strays.append(error)
    return norms


def _compare_suites(results: list[CheckedFolder]) -> Iterator[tuple[Path, SpeechIQError]]:
    """Yield results with other items, conditions or measures than others; SIQ on norms is compared with these."""
    for suite in {suite for each in results for suite in each.systems}:
        ran = [each for each in results if suite in each.systems and not (suite == SIQ and each.norms)]
        folders = {f"{each.folder.parent.name}/{each.folder.name}": each.folder for each in ran}
        systems = [each.systems[suite].replace(name=name) for each, name in zip(ran, folders, strict=True)]
        for mismatch in (*compare_systems(systems), *compare_items(systems)):
            yield folders[mismatch.system], SpeechIQError(f"suite {suite!r}", mismatch.text, mismatch.fix)
        for system in systems:
            for name, category in systems[0].levels.items():
                for key in differences(category, system.levels.get(name, category)):
                    fault = f"{key} of {name!r} is not that of {systems[0].name!r}"
                    yield folders[system.name], SpeechIQError(f"suite {suite!r}", fault, AGAIN)


def _compare_rows(results: list[CheckedFolder]) -> Iterator[tuple[Path, SpeechIQError]]:
    """Yield results whose rows are those of another system: the newer of the two."""
    by_age = sorted(results, key=lambda each: (each.folder.name, each.folder.parent.name))
    numbers: dict[tuple[Any, ...], int] = {}
    rows: dict[Path, set[int]] = {}
    for each in results:
        # Sets of integers are compared ten times faster.
        rows[each.folder] = {numbers.setdefault(row, len(numbers)) for row in _list_fractions(each)}
    for older, newer in combinations(by_age, 2):
        fewest = min(len(rows[older.folder]), len(rows[newer.folder]))
        own = older.folder.parent == newer.folder.parent or (older.is_control and newer.is_control)
        if not own and fewest >= FEWEST_ROWS:
            equal = len(rows[older.folder] & rows[newer.folder])
            if equal >= COPIED * fewest:
                fault = f"{equal} of {fewest} are those of {older.folder.parent.name!r}"
                yield newer.folder, SpeechIQError("rows", fault, "publish the rows of this system")


def _list_fractions(each: CheckedFolder) -> set[tuple[Any, ...]]:
    """Return task, item and numbers of each row with a fraction, which two systems rarely share."""
    fractions: set[tuple[Any, ...]] = set()
    for system in each.systems.values():
        for task, rows in system.table.group_by("task").items():
            known = [values for _, values in sorted(rows.numbers.items()) if not np.isnan(values).all()]
            table = np.reshape(known, (len(known), len(rows))).T
            places = np.flatnonzero(np.nan_to_num(table % 1).any(axis=1))
            fractions |= {(task, rows["item"][place], table[place].tobytes()) for place in places}
    return fractions


def _row(each: CheckedFolder) -> dict[str, Any]:
    result = each.result
    if result is None:
        return {"system": each.folder.parent.name, "date": each.folder.name, "check": "refused"}
    siq = next((suite.siq for suite in result.suites.values() if suite.siq), None)
    return {
        "system": result.system,
        "date": result.date[:10],
        "siq": siq.estimate if siq else None,
        "suites": ", ".join(result.suites),
        "rows": sum(task.rows.count for task in result.tasks),
        "texts": "yes" if all(task.rows.texts for task in result.tasks) else "no",
        "check": "refused" if each.fault else "ok",
    }
