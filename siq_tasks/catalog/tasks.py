"""List the tasks of all suites from their YAMLs, for `siq list tasks`; imports neither lm-eval nor torch."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import is_folder
from speechiq.core.suggestions import did_you_mean
from speechiq.engines.languages import KEY
from speechiq.siq_tasks.catalog.languages import list_language_tasks
from speechiq.siq_tasks.catalog.suite import HERE, LEVELS, SUITE
from speechiq.siq_tasks.catalog.task_files import PACKAGED, read_task
from speechiq.siq_tasks.questions.location import find_question_file

IN_PACKAGE = "in the package"
#: Keys of metadata that name a model which scores.
MODELS = ("embedder", "assistant", "encoder")
QUESTION_FILE = "question file"
ON_HUB = "data set from the Hub"
JUDGE = "judge"
ENGLISH = "en"
#: Key of sets of passages, whose rows have the questions.
RECORDING = "recording"
#: The revision of a data set on the Hub if its task names none.
DEFAULT_REVISION = "main"


class TaskInfo(NamedTuple):
    """Hold one task of the package.

    Attributes:
        group: Groups that contain the task, smallest first, joined by `, `; each of them is a name for `--tasks` too.
        level: `remember`, `understand` or `apply`; of a task without a level the task type, such as `choice`.
        clips: Number of clips, or None if it depends on the rows.
        source: A Hub id with its configuration and split, or `in the package`; `revision` is empty then.
        needs: What a run needs in addition to the system, joined by `, `; empty if nothing.
        measure: Column of the sample rows that `siq score` reads.
        category: Column of the suite's table; for SIQ, the level.
        language: ISO 639-1 code of what is spoken; `en` if the task names none.
        family: Set of which the task is one language, such as `belebele`; else empty.
    """

    name: str
    group: str
    dataset: str
    level: str
    clips: int | None
    source: str
    revision: str
    needs: str
    measure: str
    direction: str
    suite: str
    category: str
    language: str = ENGLISH
    family: str = ""

    @property
    def groups(self) -> list[str]:
        """Return the groups that contain the task, smallest first."""
        return self.group.split(", ") if self.group else []

    @property
    def names(self) -> set[str]:
        """Return the names for `--tasks` that include the task: its own, and those of its groups."""
        return {self.name, *self.groups}

    @property
    def set_name(self) -> str:
        """Return the name for `--tasks` of all tasks of its set: of its languages, of its data set, or of its suite."""
        if self.family:
            return f"siq_{self.family}"
        if not self.groups:
            return self.name
        return self.groups[0] if self.suite == SUITE else self.groups[-1]

    @property
    def needs_questions(self) -> bool:
        """Return whether the task reads a question file that is not in the package."""
        return QUESTION_FILE in self.needs

    @property
    def is_further_language(self) -> bool:
        """Return whether the task is of a language that is not in its family's group, and so not in short lists."""
        return bool(self.family) and f"siq_{self.family}" not in self.groups


def list_tasks(*, check_files: bool = True) -> list[TaskInfo]:
    """Return every task of the package: those of SIQ first, of a suite by data set and level, then sets by language.

    Without `check_files`, by which `needs` states if the question file is on this machine, the result is the same on
    every machine.

    >>> task = list_tasks()[0]
    >>> task.name, task.group, task.clips, task.measure, task.direction
    ('siq_demo_remember', 'siq_demo', 14, 'wer', 'lower')
    """
    tasks = read_tasks()
    groups = _list_groups(tasks)
    return sorted((_describe(name, task, groups, check_files) for name, task in tasks.items()), key=_place)


def find_tasks(name: str) -> list[TaskInfo]:
    """Return the tasks of a task, a group or a data set of the package; none for a folder; refuse other names."""
    known = list_tasks()
    tasks = [task for task in known if name in {task.dataset, task.set_name, *task.names}]
    if not tasks and not is_folder(name):
        names = dict.fromkeys(each for task in known for each in (task.name, *task.groups, task.dataset))
        raise SpeechIQError(
            name,
            "no such task, group, data set or folder of `siq data new`",
            f"{did_you_mean(name, names)}`siq list tasks` lists them",
        )
    return tasks


def search_tasks(word: str) -> list[TaskInfo]:
    """Return the tasks with a word in their names, level, source, needs or language, in any case.

    >>> {task.set_name for task in search_tasks("Belebele")}
    {'siq_belebele'}
    """
    searched = ("name", "group", "dataset", "level", "source", "needs", "suite", "category", "measure")

    def has_word(task: TaskInfo) -> bool:
        return word == task.language or any(word.lower() in getattr(task, field).lower() for field in searched)

    return [task for task in list_tasks() if has_word(task)]


def list_keys(names: Sequence[str]) -> list[frozenset[str] | None]:
    """Return the metadata keys that each of some tasks reads, from the YAMLs alone; empty if a name is unknown."""
    from speechiq.siq_tasks.metadata import keys_of
    from speechiq.siq_tasks.task_types import name_task_type

    known = read_tasks()
    groups = _list_groups(known)
    tasks = {task for name in names for task in groups.get(name, [name])}
    if not tasks <= known.keys():
        return []
    keys = []
    for task in (known[name] for name in sorted(tasks)):
        about = task["metadata"]
        module, _, name = task["custom_dataset"].rpartition(".")
        keys.append(keys_of(getattr(import_module(module), name), name_task_type(about), about["dataset"]))
    return keys


def read_tasks() -> dict[str, dict[str, Any]]:
    """Return every task of the package, with its metadata, by name."""
    of_files = {file.stem: read_task(file) for file in HERE.rglob("[!_]*.yaml")}
    return of_files | {task.name: task.read() for task in list_language_tasks()}


def _place(task: TaskInfo) -> tuple[Any, ...]:
    """Return the sort key of a task: of one data set, the tasks of a group stand together."""
    rank = LEVELS.index(task.level) if task.level in LEVELS else len(LEVELS)
    return bool(task.family), task.suite != SUITE, task.suite, task.dataset, task.groups[:1], rank, task.name


def _describe(name: str, task: Mapping[str, Any], groups: Mapping[str, list[str]], check_files: bool) -> TaskInfo:
    about = task["metadata"]
    measure = about["measure"]
    subset = about["subset"] if "subset" in about else _count_clips(about["bundle"], about["category"])
    containing = [group for group in groups if name in groups[group]]
    containing.sort(key=lambda group: (len(groups[group]), group != f"siq_{about['dataset']}"))
    return TaskInfo(
        name=name,
        group=", ".join(containing),
        dataset=about["dataset"],
        level=about.get("level") or about["task_type"],
        clips=subset if isinstance(subset, int) else None,
        source=_source(about),
        revision=about.get("dataset_revision", DEFAULT_REVISION) if _is_on_hub(about) else "",
        needs=", ".join(_needs(about, check_files)),
        measure=measure["column"],
        direction=measure["direction"],
        suite=about["suite"],
        category=about["category"],
        language=about.get(KEY, ENGLISH),
        family=about.get("family", ""),
    )


def _count_clips(bundle: str, category: str) -> int:
    """Return the number of bundled clips in a folder; those of another category do not count."""
    clips = json.loads(HERE.joinpath(bundle, "clips.json").read_bytes())
    return sum(clip.get("category", category) == category for clip in clips)


def _list_groups(tasks: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the members of each group: the tasks that have its name as a tag."""
    groups = defaultdict[str, list[str]](list)
    for name, task in tasks.items():
        tags = task.get("tag", [])
        for tag in [tags] if isinstance(tags, str) else tags:
            groups[tag].append(name)
    return groups


def _source(about: Mapping[str, Any]) -> str:
    if is_bundled(about):
        return IN_PACKAGE
    part = ", ".join(about[key] for key in ("dataset_name", "split") if key in about)
    return f"{about['dataset_path']} ({part})" if part else str(about["dataset_path"])


def is_bundled(about: Mapping[str, Any]) -> bool:
    """Return whether the clips of a task are in the package."""
    return str(about.get("dataset_path", PACKAGED)).startswith(PACKAGED)


def _is_on_hub(about: Mapping[str, Any]) -> bool:
    return not is_bundled(about) and not about["dataset_path"].startswith(".")


def _needs(about: Mapping[str, Any], check_files: bool) -> Iterator[str]:
    if not is_bundled(about):
        yield ON_HUB if _is_on_hub(about) else "folder of `siq data speak`"
    if about["measure"]["column"].startswith(JUDGE):
        yield JUDGE
    for model in MODELS:
        if model in about:
            yield f"{model} {about[model]}"
    if about.get("level") == "apply" and not is_bundled(about) and RECORDING not in about:
        state = "present" if find_question_file(about["dataset"]) else "missing: `siq data questions`"
        yield f"{QUESTION_FILE} ({state})" if check_files else QUESTION_FILE
