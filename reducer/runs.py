"""Reads what lm-eval wrote: folders of runs in, one `System` per speech system out.

lm-eval puts `results_<date>.json` and, with `--log_samples`, one `samples_<task>_<date>.jsonl` per task
into the same folder. A task takes part when the metadata it recorded in the results file names its
`level`; task names mean nothing. Nothing that a run names is imported, evaluated or followed as a path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import msgspec

from speechiq.core.console import printable
from speechiq.core.errors import SpeechIQError
from speechiq.core.files import read_plain
from speechiq.core.json_text import decode, refuse_extremes
from speechiq.reducer.flags import Flags, Told, collect, count_flags
from speechiq.reducer.levels import LEVELS, Level
from speechiq.reducer.options import changes
from speechiq.reducer.run_files import is_samples, list_files, once, place, samples_of
from speechiq.reducer.samples import Item, may_hold_scores, read_samples, show_item

YEAR_10000 = 253_402_300_800


class _Recorded(msgspec.Struct):
    """What `hf-audio` records under `siq`."""

    pretrained: Any = None
    system: dict[str, Any] = {}


class _Config(msgspec.Struct):
    model_args: dict[str, Any] | str | None = None
    siq: _Recorded = msgspec.field(default_factory=_Recorded)


class _Task(msgspec.Struct):
    metadata: Any = None


class _Results(msgspec.Struct):
    """What is read of a results file; all else in it is passed over."""

    date: Annotated[float, msgspec.Meta(ge=0, lt=YEAR_10000)]
    configs: dict[str, _Task]
    config: _Config = msgspec.field(default_factory=_Config)
    model_name: Any = None
    lm_eval_version: Any = None
    transformers_version: Any = None
    n_samples: dict[str, Any] | None = msgspec.field(name="n-samples", default=None)


_RESULTS = msgspec.json.Decoder(_Results)


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
        versions: Package -> its version in the run, for those that the results file names.
    """

    date: float
    results: str
    system: str
    task: str
    level: str
    metadata: dict[str, Any]
    described: dict[str, Any]
    docs: tuple[int, int] | None = None
    versions: Mapping[str, str] = MappingProxyType({})

    @property
    def dataset(self) -> str:
        """Name of the data set that the task asks."""
        return printable(str(self.metadata.get("dataset")))

    @property
    def samples(self) -> Path:
        """The task's sample file."""
        return samples_of(Path(self.results), self.task)


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


def read_systems(runs: Iterable[Path], allow_missing: bool = False, *, levels: Mapping[str, Level] = LEVELS) -> Runs:
    """Reads every system below some folders.

    Where a system ran the same task more than once, the newest run by `date` counts.

    Args:
        runs: Folders (any depth) or results files.
        allow_missing: As for `find_tasks`.
        levels: The levels to read, each with the column to read, as `levels.choose` gives them.

    Raises:
        SpeechIQError: A path does not exist, holds no run, or a file of a run is missing or cannot be used.
    """
    newest, warnings = find_tasks(runs, allow_missing)
    systems: dict[str, list[TaskRun]] = {}
    for task in newest:
        systems.setdefault(task.system, []).append(task)
    known: dict[Item, Item] = {}
    datasets: dict[str, str] = {}
    return Runs([_read_system(name, systems[name], levels, known, datasets) for name in sorted(systems)], warnings)


def find_tasks(runs: Iterable[Path], allow_missing: bool = False) -> tuple[list[TaskRun], list[str]]:
    """Every system's tasks, the newest run of each; a line for every older run left out, and for every system that ran
    its tasks with several options.

    Args:
        runs: Folders (any depth) or results files.
        allow_missing: Whether runs may be left out because the results file that describes them is missing or empty;
            a line says so then.

    Raises:
        SpeechIQError: A path does not exist, holds no run, or a results file is missing or cannot be used.
    """
    runs = list(runs)
    files = list(list_files(runs))
    results = {path: _read_results(path) for path in once(path for path in files if not is_samples(path))}
    missing = list(_undescribed(results, once(filter(is_samples, files))))
    if missing and not allow_missing:
        raise SpeechIQError(
            f"{missing[0]}, so its system would be left out ({len(missing)} such files): rerun lm_eval, move the file "
            "away, or add --allow-missing"
        )
    found = [task for path, of in results.items() for task in _tasks_of(path, of)]
    found.sort(key=lambda task: (task.date, task.results, task.system, task.task))
    if not found:
        raise SpeechIQError(
            f"no SpeechIQ results in {', '.join(repr(str(path)) for path in runs)}: looked for "
            "results_<date>.json files with a task whose metadata names a level; "
            "give the folder that lm_eval had as --output_path"
        )
    newest = {(task.system, task.task): task for task in found}
    told = [f"{line}: left out" for line in missing]
    return list(newest.values()), [*told, *_superseded(found, newest), *_described_otherwise(newest.values())]


def find_results(runs: Iterable[Path]) -> list[Path]:
    """Lists the results files, each once, however often links or overlapping folders lead to it.

    Args:
        runs: Folders, walked to any depth through links; or results files, whatever their name.

    Raises:
        SpeechIQError: A path does not exist or a folder cannot be read.
    """
    return once(path for path in list_files(runs) if not is_samples(path))


def read_tasks(path: Path) -> list[TaskRun]:
    """Reads the tasks with a level from one results file.

    The system's name is `pretrained` as `hf-audio` recorded it (lm-eval invents a `model_name` where no
    model arguments were given), else `model_name`, else `pretrained` of the model arguments, else the folder's
    name; characters that do not print are replaced by U+FFFD.

    Raises:
        SpeechIQError: The file cannot be read or is not lm-eval's.
    """
    return _tasks_of(path, _read_results(path))


def name_control(described: Mapping[str, Any]) -> str:
    """`gold`, `silence` or `letter:X` for a system that does not listen; empty for any other.

    >>> name_control({"kind": "cascade", "asr": {"control": "gold"}}), name_control({"kind": "cascade", "asr": {}})
    ('gold', '')
    """
    stages = (stage for stage in (described, *described.values()) if isinstance(stage, Mapping))
    return next((printable(str(stage["control"])) for stage in stages if "control" in stage), "")


def _read_results(path: Path) -> _Results:
    try:
        results = decode(read_plain(path), _RESULTS)
        levels = (task.metadata for task in results.configs.values() if _level_of(task))
        refuse_extremes([results.config.siq.system, *_names(results), *levels])
    except OSError as error:
        raise SpeechIQError(f"{str(path)!r} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise SpeechIQError(
            f"{str(path)!r} is not a results file of lm-eval ({error}); move it away or rerun the evaluation"
        ) from error
    return results


def _tasks_of(path: Path, results: _Results) -> list[TaskRun]:
    name = printable(next((str(name) for name in _names(results) if name), path.absolute().parent.name))
    counts = results.n_samples or {}
    named = {"lm-eval": results.lm_eval_version, "transformers": results.transformers_version}
    versions = {package: printable(version) for package, version in named.items() if isinstance(version, str)}
    return [
        TaskRun(
            results.date,
            str(path),
            name,
            task,
            level,
            of.metadata,
            results.config.siq.system,
            _docs(counts.get(task)),
            versions,
        )
        for task, of in results.configs.items()
        if (level := _level_of(of))
    ]


def _level_of(task: _Task) -> str:
    level = task.metadata.get("level") if isinstance(task.metadata, dict) else None
    return level if isinstance(level, str) and level in LEVELS else ""


def _names(results: _Results) -> tuple[Any, ...]:
    """What the system may be called, the best first."""
    arguments = results.config.model_args or {}
    if isinstance(arguments, str):
        arguments = dict(pair.partition("=")[::2] for pair in arguments.split(","))
    return results.config.siq.pretrained, results.model_name, arguments.get("pretrained")


def _undescribed(results: Mapping[Path, _Results], samples: Iterable[Path]) -> Iterator[str]:
    """A line for every results file without tasks, and for every sample file of a level whose task is in none."""
    tasks = ((path, task) for path, of in results.items() for task, config in of.configs.items() if config.metadata)
    known = {(place(path.parent), samples_of(path, task).name) for path, task in tasks}
    for path, of in results.items():
        if not of.configs:
            yield f"{str(path)!r} names no task"
    for path in samples:
        if (place(path.parent), path.name) not in known and may_hold_scores(path):
            yield f"{str(path)!r} holds scores, but no results file beside it describes its task"


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
