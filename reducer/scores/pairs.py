"""Find two systems to compare: by folder or file, or by a part of a name, in every suite that both ran."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from speechiq.core.console import count_of, printable
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import exists
from speechiq.core.suggestions import did_you_mean
from speechiq.metrics.measure import Category
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.levels import is_siq
from speechiq.reducer.scores.suites import Found, ScoringOptions, find_suites

ADVICE_NAME = "siq compare NAME_A NAME_B RUNS"


class SystemPair(NamedTuple):
    """Hold two systems of one suite.

    Attributes:
        others: Further systems, which can set a scale.
        required: Names of the scores that must agree for a system to be better; None means all of the suite.
    """

    suite: str
    a: System
    b: System
    others: Sequence[System]
    categories: Mapping[str, Category]
    required: Collection[str] | None

    @property
    def has_scale(self) -> bool:
        """Return whether the suite has Z and SIQ."""
        return is_siq(self.suite)

    @property
    def both(self) -> tuple[System, System]:
        """Return A and B."""
        return self.a, self.b


class SelectedRuns(NamedTuple):
    """Hold the suites of some runs, and the systems of each suite."""

    found: Found
    systems: dict[str, list[System]]

    @property
    def names(self) -> list[str]:
        """Return the names of all systems."""
        return sorted({system.name for systems in self.systems.values() for system in systems})

    @property
    def by_suite(self) -> dict[str, System]:
        """Return suite -> its only system."""
        return {suite: system for suite, (system,) in self.systems.items()}

    def only(self, name: str) -> SelectedRuns:
        """Return the suites that the system with a name ran, with this system alone."""
        own: dict[str, list[System]] = {}
        for suite, systems in self.systems.items():
            if named := [system for system in systems if system.name == name]:
                own[suite] = named
        return self._replace(systems=own)


def select_runs(
    paths: Sequence[Path], options: ScoringOptions, allow_missing: bool = False, measures: Sequence[str] = ()
) -> SelectedRuns:
    """Read the systems of every suite in some folders; arguments are those of `suites.find_suites`."""
    found = find_suites(paths, allow_missing, options, measures=measures)
    return SelectedRuns(found, {suite: found.read(suite) for suite in found.levels})


def choose_system(
    place: str, named: SelectedRuns | None, find: Callable[[Sequence[Path]], SelectedRuns]
) -> SelectedRuns:
    """Hold the only system of a folder or file, or the only system of the runs `named` with `place` in its name."""
    if exists(place):
        held = find([Path(place)])
        if len(held.names) > 1:
            shown = ", ".join(map(repr, held.names))
            raise SpeechIQError(
                f"{place!r} has {count_of(len(held.names), 'system')} ({shown})", fix=f"name one: {ADVICE_NAME}"
            )
        return held
    if named is None:
        raise SpeechIQError(
            f"{place!r} is not a folder or file", fix=f"to find a system by name, give runs: {ADVICE_NAME}"
        )
    return named.only(match_name(place, named.names))


def match_name(part: str, names: Sequence[str]) -> str:
    """Return the only one of some names of systems that is `part` or has it in it."""
    matching = [name for name in names if name == part] or [name for name in names if part in name]
    if len(matching) != 1:
        which = f"is part of {len(matching)} names" if matching else "is in no system's name"
        near = "" if matching else did_you_mean(part, {stage for name in names for stage in re.split(r"[+:]", name)})
        raise SpeechIQError(
            f"{part!r} {which}", f"{near}write enough of one of {', '.join(map(repr, matching or names))}"
        )
    return matching[0]


def pair_up(
    chosen_a: SelectedRuns,
    chosen_b: SelectedRuns,
    named: SelectedRuns | None,
    required: Collection[str] | None,
    places: tuple[str, str],
) -> Iterator[SystemPair]:
    """Yield systems A and B for each suite that both ran; of several suites, those with a name in `required`.

    Args:
        named: Runs whose further systems can set a scale.
        required: Suites and categories that must agree; None means all.
        places: A and B as the user wrote them.
    """
    shared = {suite: chosen_a.found.levels[suite] for suite in chosen_a.by_suite if suite in chosen_b.by_suite}
    if not shared:
        raise SpeechIQError(
            f"A ran suite {', '.join(chosen_a.by_suite)} and B ran {', '.join(chosen_b.by_suite)}",
            "give runs of the same suite",
        )
    names = {suite: {suite, *categories} for suite, categories in shared.items()}
    wanted = [suite for suite in shared if required is None or names[suite].intersection(required)]
    for suite in wanted or shared:
        a, b = _distinct_names(chosen_a.by_suite[suite], chosen_b.by_suite[suite], places)
        pool = named.systems.get(suite, []) if named else []
        others = [system for system in pool if system.tasks not in (a.tasks, b.tasks)]
        yield SystemPair(suite, a, b, others, shared[suite], _names_of_suite(required, suite, shared))


def _names_of_suite(
    required: Collection[str] | None, suite: str, shared: Mapping[str, Mapping[str, Category]]
) -> list[str] | None:
    """Return the `required` names for one suite: all but those that only other suites have; None for the whole suite.

    A suite without a scale is named as a whole by its name.
    """
    if required is None or (suite in required and not is_siq(suite)):
        return None
    elsewhere = {name for other, categories in shared.items() if other != suite for name in (other, *categories)}
    return [name for name in required if name in (suite, *shared[suite]) or name not in elsewhere]


def _list_sources(system: System) -> set[tuple[str, str]]:
    """Return the results file and the name of each task."""
    return {(os.path.realpath(task.results), task.task) for task in system.tasks}


def _distinct_names(a: System, b: System, places: tuple[str, str]) -> tuple[System, System]:
    """Add folders to the names of two runs of one system, or refuse the same run given twice."""
    if _list_sources(a) == _list_sources(b):
        raise SpeechIQError(f"A and B are one run of system {a.name!r}", "give two systems, or two runs of one")
    if a.name != b.name:
        return a, b
    place_a, place_b = map(printable, places)
    return a.replace(name=f"{a.name} ({place_a})"), b.replace(name=f"{b.name} ({place_b})")
