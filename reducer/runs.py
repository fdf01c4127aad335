"""Reads what lm-eval wrote: folders of runs in, one `System` per speech system out.

lm-eval puts `results_<date>.json` and, with `--log_samples`, one `samples_<task>_<date>.jsonl` per task
into the same folder. A task takes part when the metadata it recorded in the results file names its
`level`; task names mean nothing. Nothing that a run names is imported, evaluated or followed as a path.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from speechiq.core.console import printable
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.flags import Flags, Told, collect, count_flags
from speechiq.reducer.levels import LEVELS, Level
from speechiq.reducer.options import changes
from speechiq.reducer.samples import Item, read_samples, show_item, size_of_file

RESULTS_NAME = re.compile(r".+_\d{4}-\d\d-\d\d[T\d.-]*\.json")
LONGEST_RESULTS = 256 * 2**20
YEAR_10000 = 253_402_300_800


class TaskRun(NamedTuple):
    """One task of one results file.

    Attributes:
        date: When the run began, seconds since 1970.
        results: The results file.
        system: The system's name.
        task: The task's name.
        level: A key of `LEVELS`.
        metadata: What the task recorded of itself (`version`, `dataset`, `embedder`, ...).
        described: What `hf-audio` recorded of the system (`kind`, `asr`, `llm`, ...); empty for other model types.
        docs: How many docs were asked, and how many the task has; None if the results file does not say.
    """

    date: float
    results: str
    system: str
    task: str
    level: str
    metadata: dict[str, Any]
    described: dict[str, Any]
    docs: tuple[int, int] | None = None

    @property
    def dataset(self) -> str:
        """Name of the data set that the task asks."""
        return printable(str(self.metadata.get("dataset")))

    @property
    def samples(self) -> Path:
        """The task's sample file; `.name` keeps a task's name from leading out of the folder."""
        path = Path(self.results)
        stamp = path.stem.rpartition("_")[2]
        return path.parent / Path(f"samples_{self.task}_{stamp}.jsonl").name


class System(NamedTuple):
    """One speech system's answers.

    Attributes:
        name: The `model_name` lm-eval recorded.
        scores: level -> item -> raw score (a fraction, larger is better). An item is `(clip,)`, or
            `(clip, question)` at the Apply level.
        flags: How often it failed in ways that scores hide, over the items of `scores`.
        tasks: Where the scores come from.
        told: What `flags` are counted from.
        excluded: The sha256 of the set whose questions were left out; None where there is none.
        levels: The levels to score, each with the column that `scores` were read from.
        datasets: clip -> name of its data set.
    """

    name: str
    scores: dict[str, dict[Item, float]]
    flags: Flags = Flags()
    tasks: tuple[TaskRun, ...] = ()
    told: tuple[Told, ...] = ()
    excluded: str | None = None
    levels: Mapping[str, Level] = LEVELS
    datasets: Mapping[str, str] = MappingProxyType({})

    def narrow(self, scores: dict[str, dict[Item, float]]) -> System:
        """The system with some of its scores, and the flags of these."""
        return self._replace(scores=scores, flags=count_flags(self.told, scores))

    def restrict(self, levels: Iterable[str]) -> System:
        """Return the system with some of its levels alone."""
        kept = {level: of for level, of in self.levels.items() if level in levels}
        tasks = tuple(task for task in self.tasks if task.level in kept)
        scores = {level: of for level, of in self.scores.items() if level in kept}
        return self._replace(levels=kept, tasks=tasks).narrow(scores)

    @property
    def control(self) -> str:
        """`gold`, `silence` or `letter:X` for a system that does not listen; empty for any other."""
        return next((control for task in self.tasks if (control := name_control(task.described))), "")


class Runs(NamedTuple):
    """All systems found, by name, and one line for every choice made between runs."""

    systems: list[System]
    warnings: list[str]


def read_systems(runs: Iterable[Path], *, levels: Mapping[str, Level] = LEVELS) -> Runs:
    """Reads every system below some folders.

    Where a system ran the same task more than once, the newest run by `date` counts.

    Args:
        runs: Folders (any depth) or results files.
        levels: The levels to read, each with the column to read, as `levels.choose` gives them.

    Raises:
        SpeechIQError: A path does not exist, holds no run, or a file of a run cannot be used.
    """
    newest, warnings = find_tasks(runs)
    systems: dict[str, list[TaskRun]] = {}
    for task in newest:
        systems.setdefault(task.system, []).append(task)
    known: dict[Item, Item] = {}
    datasets: dict[str, str] = {}
    return Runs([_read_system(name, systems[name], levels, known, datasets) for name in sorted(systems)], warnings)


def find_tasks(runs: Iterable[Path]) -> tuple[list[TaskRun], list[str]]:
    """Every system's tasks, the newest run of each; a line for every older run left out, and for every system that ran
    its tasks with several options.

    Args:
        runs: Folders (any depth) or results files.

    Raises:
        SpeechIQError: A path does not exist, holds no run, or a results file cannot be used.
    """
    runs = list(runs)
    found = [task for path in find_results(runs) for task in read_tasks(path)]
    found.sort(key=lambda task: (task.date, task.results, task.system, task.task))
    if not found:
        raise SpeechIQError(
            f"no SpeechIQ results in {', '.join(repr(str(path)) for path in runs)}: looked for "
            "results_<date>.json files with a task whose metadata names a level; "
            "give the folder that lm_eval had as --output_path"
        )
    newest = {(task.system, task.task): task for task in found}
    return list(newest.values()), [*_superseded(found, newest), *_described_otherwise(newest.values())]


def find_results(runs: Iterable[Path]) -> list[Path]:
    """Lists the results files, each once, however often links or overlapping folders lead to it.

    Args:
        runs: Folders, walked to any depth through links; or results files, whatever their name.

    Raises:
        SpeechIQError: A path does not exist or a folder cannot be read.
    """
    files: dict[str, Path] = {}
    for run in runs:
        inside = [run] if os.path.isfile(run) else _results_below(run)  # noqa: PTH113 (`is_file` raises on long names)
        files |= {_place(path): path for path in inside}
    return list(files.values())


def read_tasks(path: Path) -> list[TaskRun]:
    """Reads the tasks with a level from one results file.

    The system's name is `pretrained` as `hf-audio` recorded it (lm-eval invents a `model_name` where no
    model arguments were given), else `model_name`, else `pretrained` of the model arguments, else the folder's
    name; characters that do not print are replaced by U+FFFD.

    Raises:
        SpeechIQError: The file cannot be read or is not lm-eval's.
    """
    try:
        if size_of_file(path) > LONGEST_RESULTS:
            raise ValueError(f"longer than {LONGEST_RESULTS} bytes")
        results = json.loads(path.read_bytes())
        date, configs = float(results["date"]), results["configs"].items()
        if not 0 <= date < YEAR_10000:
            raise ValueError(f"date {date:g} is not in seconds since 1970")
        config = results.get("config", {})
        arguments = config.get("model_args") or {}
        if isinstance(arguments, str):
            arguments = dict(pair.partition("=")[::2] for pair in arguments.split(","))
        siq = config.get("siq", {})
        described = dict(siq.get("system", {}))
        told = siq.get("pretrained"), results.get("model_name"), arguments.get("pretrained")
        name = next((str(name) for name in told if name), path.absolute().parent.name)
        metadata = {task: config.get("metadata") for task, config in configs}
        counts = dict(results.get("n-samples") or {})
    except OSError as error:
        raise SpeechIQError(f"{str(path)!r} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise SpeechIQError(
            f"{str(path)!r} is not a results file of lm-eval ({type(error).__name__}: {error}); "
            "move it away or rerun the evaluation"
        ) from error
    return [
        TaskRun(date, str(path), printable(name), task, str(told["level"]), told, described, _docs(counts.get(task)))
        for task, told in metadata.items()
        if isinstance(told, dict) and str(told.get("level")) in LEVELS
    ]


def name_control(described: Mapping[str, Any]) -> str:
    """`gold`, `silence` or `letter:X` for a system that does not listen; empty for any other.

    >>> name_control({"kind": "cascade", "asr": {"control": "gold"}}), name_control({"kind": "cascade", "asr": {}})
    ('gold', '')
    """
    stages = (stage for stage in (described, *described.values()) if isinstance(stage, Mapping))
    return next((printable(str(stage["control"])) for stage in stages if "control" in stage), "")


def _read_system(
    name: str,
    tasks: list[TaskRun],
    levels: Mapping[str, Level],
    known: dict[Item, Item],
    datasets: dict[str, str],
) -> System:
    scores: dict[str, dict[Item, float]] = {}
    told = []
    tasks = [task for task in tasks if task.level in levels]
    for task in tasks:
        samples = read_samples(task.samples, levels[task.level], known)
        of_level = scores.setdefault(task.level, {})
        if twice := of_level.keys() & samples.scores.keys():
            raise SpeechIQError(
                f"{str(task.samples)!r}: {show_item(min(twice))} of system {name!r} was already scored "
                f"by another {task.level} task; score only one of the two tasks"
            )
        of_level |= samples.scores
        told.append(collect(task.level, samples.scores, samples.flags))
        datasets |= dict.fromkeys((clip for clip, *_ in samples.scores), task.dataset)
    system = System(name, scores, tasks=tuple(tasks), told=tuple(told), levels=levels, datasets=datasets)
    return system.narrow(scores)


def _docs(counts: Any) -> tuple[int, int] | None:
    """Return how many docs were asked and how many there are, from a task's `n-samples`; None if they are not there."""
    match counts:
        case {"effective": int(asked), "original": int(whole)}:
            return asked, whole
    return None


def _results_below(root: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise SpeechIQError(
            f"{str(error.filename)!r} cannot be read ({error.strerror}); give a folder that lm_eval wrote to"
        ) from error

    entered: set[str] = set()
    for folder, folders, files in os.walk(root, onerror=refuse, followlinks=True):
        place = _place(Path(folder))
        if place in entered:
            folders.clear()
        entered.add(place)
        folders.sort()
        yield from (Path(folder, name) for name in sorted(files) if RESULTS_NAME.fullmatch(name))


def _place(path: Path) -> str:
    """Where links lead in the end. Unlike `Path.resolve`, bears a link to itself."""
    return os.path.realpath(path)


def _superseded(found: list[TaskRun], newest: dict[tuple[str, str], TaskRun]) -> Iterator[str]:
    left: dict[tuple[str, str, str], list[TaskRun]] = {}
    for task in found:
        kept = newest[task.system, task.task]
        left.setdefault((task.system, kept.results, task.results), []).append(task)
    for (system, kept, older), tasks in left.items():
        if kept != older:
            names, apart = ", ".join(task.task for task in tasks), _apart(tasks[0], newest[system, tasks[0].task])
            yield (
                f"system {system!r} has several runs of {names}: taking the newest, {kept!r}, not {older!r}"
                + f", which ran with other options: {apart}" * bool(apart)
            )


def _described_otherwise(tasks: Iterable[TaskRun]) -> Iterator[str]:
    """A line for every system whose tasks ran with other options than its newest."""
    systems: dict[str, list[TaskRun]] = {}
    for task in sorted(tasks, key=lambda task: task.date):
        systems.setdefault(task.system, []).append(task)
    for system, (*others, newest) in systems.items():
        if told := [(task.task, apart) for task in others if (apart := _apart(task, newest))]:
            older, apart = told[0]
            yield (
                f"system {system!r} ran {older} with other options than {newest.task}: {apart}; both count: rerun "
                "one of the two, or name runs with the same"
            )


def _apart(older: TaskRun, newer: TaskRun) -> str:
    """The options in which two runs differ; nothing is known of a run that is not described."""
    return changes(older.described, newer.described) if older.described and newer.described else ""
