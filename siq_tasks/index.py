"""Read the task YAMLs of the suite and of users' folders once, into one index; imports neither lm-eval nor torch.

A task is read without importing the functions that it names. A folder of the suite with `_languages.yaml` has the tasks
`siq_FOLDER_LANG_LEVEL` of sets that exist in many languages: one template per level and a list of languages, not files.
In it, the clips of a language may be in a folder `LANG`. `harness_patch` gives these tasks to lm-eval, whose own index
knows a task only by a file.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import is_file, is_folder
from speechiq.core.files.yaml_text import PlainLoader
from speechiq.core.suggestions import did_you_mean
from speechiq.engines.languages import KEY
from speechiq.metrics.words.units import describe_measure
from speechiq.siq_tasks.questions.file import find_question_file

#: The folder of the suite.
HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
#: Maximum bytes of a task file, and maximum depth of includes.
LARGEST, DEEPEST = 1 << 20, 16
#: Keys of a template that lm-eval does not know; they become metadata of every task that includes it.
DESCRIPTION = (
    "suite", "category", "level", "task_type", "item", "measure", "settings", "order", "aggregate", "extra_columns",
    "prompt_version",
)  # fmt: skip
#: Key of the file `_set.yaml`: metadata that the tasks of a data set share.
SHARED = "set_metadata"
#: Beginning of a `dataset_path` inside the package.
PACKAGED = "package:"
#: Beginning of a `dataset_path` or of `questions` in the folder of the task file, and the keys that may have it.
IN_FOLDER, FOLDER_KEYS = "folder:", ("dataset_path", "questions")
#: What lm-eval writes in the place of the task file for a task that is a mapping.
INLINE = "inline"


class Function(str):
    """Hold the name after a `!function` tag."""


class _Loader(PlainLoader):
    pass


def _read_function(loader: _Loader, node: yaml.ScalarNode) -> Function:
    return Function(loader.construct_scalar(node))


_Loader.add_constructor("!function", _read_function)


def read_task(file: Path) -> dict[str, Any]:
    """Return a task or template with its includes, and all metadata of both in `metadata`; refuse other files."""
    return join_metadata(_merge(file, ()))


def join_metadata(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return a task whose `metadata` has those of its set, its own, and the description in its template.

    Of equal keys the description wins, then the task's own. A task without any metadata stays as it is.

    >>> join_metadata({"task": "a", "item": ["id"], "set_metadata": {"split": "test"}, "metadata": {"split": "dev"}})
    {'task': 'a', 'metadata': {'split': 'dev', 'item': ['id']}}
    """
    parts = [task[key] for key in (SHARED, "metadata") if key in task]
    parts.append({key: task[key] for key in DESCRIPTION if key in task})
    rest = {key: value for key, value in task.items() if key not in (*DESCRIPTION, SHARED, "metadata")}
    if not all(isinstance(part, Mapping) for part in parts):
        return rest | {"metadata": next(part for part in parts if not isinstance(part, Mapping))}
    metadata: dict[str, Any] = {}
    for part in parts:
        metadata |= part
    return rest | ({"metadata": metadata} if metadata else {})


def resolve_folder(metadata: Mapping[str, Any], file: str | Path) -> dict[str, Any]:
    """Return metadata with the path in the task's folder for each `folder:NAME`; a task must come from a file.

    >>> resolve_folder({"dataset_path": "folder:clips.jsonl", "subset": "all"}, "/shared/calls/siq_calls.yaml")
    {'dataset_path': '/shared/calls/clips.jsonl', 'subset': 'all'}
    """
    resolved = dict(metadata)
    for key in FOLDER_KEYS:
        value = metadata.get(key)
        if not isinstance(value, str) or not value.startswith(IN_FOLDER):
            continue
        if str(file) == INLINE:
            raise SpeechIQError(f"metadata.{key}", f"{value} needs a task file, and this task has none", "give a path")
        resolved[key] = str(Path(os.path.realpath(Path(file).parent), value.removeprefix(IN_FOLDER)))
    return resolved


def _merge(file: Path, including: tuple[Path, ...]) -> dict[str, Any]:
    """Return the keys of a YAML and of its includes, like lm-eval: its own keys win, then those of later includes.

    `including` are the files that include it, outermost first.
    """
    if file in including or len(including) > DEEPEST:
        raise SpeechIQError(including[-1], f"include: {file.name} includes this file", "remove one include")
    task = read_mapping(file)
    included = task.pop("include", [])
    names = [included] if isinstance(included, str) else included
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SpeechIQError(
            file, f"include: {included!r:.80} is not the name of a file, or a list of names", "correct it"
        )
    merged: dict[str, Any] = {}
    for name in names:
        merged |= _merge(file.parent / name, (*including, file))
    return merged | task


def read_mapping(file: Path) -> dict[str, Any]:
    """Return the keys that a YAML has itself, without those of its includes."""
    if not is_file(file):
        raise SpeechIQError(file, "no such task file", "correct the include or restore the file")
    try:
        if file.stat().st_size > LARGEST:
            raise SpeechIQError(file, f"has more than {LARGEST} bytes", "make it smaller")
        task = _parse(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpeechIQError(file, f"cannot be read ({error.strerror})", "check its permissions") from error
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise SpeechIQError(
            file, f"not valid YAML ({str(error) or type(error).__name__:.200})", "correct it"
        ) from error
    if not isinstance(task, dict):
        raise SpeechIQError(file, f"contains {type(task).__name__}, not the keys of a task", "correct it")
    return dict(task)


@lru_cache(maxsize=64)
def _parse(text: str) -> Any:
    """Return the content of a YAML; templates are included by many files and parsed once."""
    return yaml.load(text, _Loader)


LANGUAGES = "_languages.yaml"
#: The level whose embedder may depend on the language.
UNDERSTAND = "understand"


class LanguageTask(NamedTuple):
    """Describe a task of one language and level.

    Attributes:
        template: File of the level, with everything that the languages share.
        keys: `task`, `tag` and the metadata of the language, as a YAML with `include: TEMPLATE` would have them.
    """

    template: Path
    keys: dict[str, Any]

    @property
    def name(self) -> str:
        """Return the name for `--tasks`."""
        return str(self.keys["task"])

    def join(self, template: Mapping[str, Any]) -> dict[str, Any]:
        """Return the whole task; `template` is the content of the file `template`."""
        return {**template, **self.keys, "metadata": {**template.get("metadata", {}), **self.keys["metadata"]}}

    def read(self) -> dict[str, Any]:
        """Return the whole task, without importing the functions that it names."""
        return join_metadata(self.join(read_task(self.template)))


def list_language_tasks() -> list[LanguageTask]:
    """Return the tasks of every language and level.

    >>> task = list_language_tasks()[0]
    >>> task.name, task.keys["tag"], task.keys["metadata"]["dataset_name"]
    ('siq_belebele_afr_Latn_remember', ['siq_belebele_afr_Latn'], 'afr_Latn')
    """
    tasks = []
    for file in sorted(HERE.rglob(LANGUAGES)):
        listed, family = read_mapping(file), file.parent.name
        embedders = {name: model for model, names in listed.get("embedders", {}).items() for name in names}
        for name, code in listed["languages"].items():
            group = f"siq_{family}_{name}"
            tags = [group, f"siq_{family}"] if name in listed["chosen"] else [group]
            # The one place for what depends on the language alone.
            metadata = {"family": family, "dataset": f"{family}_{name}", "dataset_name": name, KEY: code}
            if (bundle := file.with_name(name)).is_dir():
                metadata["bundle"] = bundle.relative_to(HERE).as_posix()
            for level in listed["levels"]:
                own = {"embedder": embedders[name]} if level == UNDERSTAND and name in embedders else {}
                keys = {"task": f"{group}_{level}", "tag": tags, "metadata": metadata | own}
                tasks.append(LanguageTask(file.with_name(f"_{level}.yaml"), keys))
    return tasks


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
    def is_outside_short_lists(self) -> bool:
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
    groups = list_groups(tasks)
    return sorted((_describe(name, task, groups, check_files) for name, task in tasks.items()), key=_place)


def list_names() -> set[str]:
    """Return every name for `--tasks`: those of tasks and of groups of the package."""
    return set[str]().union(*(task.names for task in list_tasks(check_files=False)))


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


class TaskFile(NamedTuple):
    """Hold a task of the package, and the file that has it or, of a set in many languages, its template."""

    file: Path
    task: dict[str, Any]


@cache
def read_index() -> dict[str, TaskFile]:
    """Return every task of the package by name; each file is read once in a process."""
    of_files = {file.stem: TaskFile(file, read_task(file)) for file in sorted(HERE.rglob("[!_]*.yaml"))}
    return of_files | {task.name: TaskFile(task.template, task.read()) for task in list_language_tasks()}


def read_tasks() -> dict[str, dict[str, Any]]:
    """Return every task of the package, with its metadata, by name."""
    return {name: entry.task for name, entry in read_index().items()}


def _place(task: TaskInfo) -> tuple[Any, ...]:
    """Return the sort key of a task: of one data set, the tasks of a group stand together."""
    rank = LEVELS.index(task.level) if task.level in LEVELS else len(LEVELS)
    return bool(task.family), task.suite != SUITE, task.suite, task.dataset, task.groups[:1], rank, task.name


def _describe(name: str, task: Mapping[str, Any], groups: Mapping[str, list[str]], check_files: bool) -> TaskInfo:
    about = task["metadata"]
    measure = _read_measure(about)
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


def _read_measure(about: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the measure of a task, of an error rate in the unit of its language."""
    if about.get("task_type", about.get("level")) not in TRANSCRIPTS:
        return dict(about["measure"])
    changed, _ = describe_measure(about)
    return dict(changed.get("measure", about["measure"]))


def _count_clips(bundle: str, category: str) -> int:
    """Return the number of bundled clips in a folder; those of another category do not count."""
    clips = json.loads(HERE.joinpath(bundle, "clips.json").read_bytes())
    return sum(clip.get("category", category) == category for clip in clips)


def list_groups(tasks: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
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


#: The suite of the levels.
SUITE = "siq"
#: Task types whose measure is an error rate, in the unit of their language.
TRANSCRIPTS = ("remember", "transcribe")
#: The levels of SIQ, in the order of the paper.
LEVELS = ("remember", "understand", "apply")
ONE_TASK = "siq_*_remember.yaml"


def data_sets() -> list[str]:
    """Return the names of the suite's own data sets, sorted."""
    levels = (task["metadata"] for name, task in read_tasks().items() if fnmatchcase(f"{name}.yaml", ONE_TASK))
    return sorted({about["dataset"] for about in levels if "family" not in about})


def is_published(dataset: str) -> bool:
    """Return whether a data set is one of the package, and not a user's own."""
    return any(task["metadata"].get("dataset") == dataset for task in read_tasks().values())
