"""Define the types of tasks, and read the metadata of a run: what tasks read, and what applies to one data set.

A task type says what a doc asks for, which settings its tasks read, and which of them docs contain. The levels of SIQ
are task types of the same name. A template names its `task_type`; without one it is the `level`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from fnmatch import fnmatchcase
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.yaml_text import read_mapping_file
from speechiq.core.suggestions import did_you_mean, find_nearest
from speechiq.engines.options import pick_prefixed
from speechiq.metrics import reply, translation
from speechiq.metrics.distance.semantic import DistanceSettings, read_distance
from speechiq.metrics.judge import reader
from speechiq.metrics.judge.settings import JUDGED, READ, read_settings
from speechiq.metrics.settings import Subject, read_record
from speechiq.metrics.similarity import PROMPTS as ONE_WORD
from speechiq.metrics.similarity import EmbedderSettings, describe_embedding
from speechiq.metrics.words.normalizer import NormalizerSettings, read_normalizer
from speechiq.metrics.words.units import UnitSettings, read_unit
from speechiq.metrics.words.word_classes import RareWordSettings, check_entities
from speechiq.siq_tasks.conditions.prompts import PromptFileSettings, PromptSettings, read_prompt_language, read_prompts
from speechiq.siq_tasks.conditions.spec import LISTEN, TIMED_TASKS, TIMING, RunSettings
from speechiq.siq_tasks.index import list_groups, read_tasks
from speechiq.siq_tasks.loaders.odd_rows import Repairs
from speechiq.siq_tasks.loaders.question_columns import (
    LabelSettings,
    RowSettings,
    WordingSettings,
    read_checks,
    read_choice,
    read_label,
    read_nothing,
    read_open,
    read_query,
    read_spoken_choice,
)

Settings = dict[str, Any]
#: Takes the values of a row by role (`Columns.pick`), the settings of rows and a list for repairs; returns what the row
#: asks.
RowReader = Callable[[Mapping[str, Any], RowSettings, Repairs], dict[str, Any]]


def _read_labels(metadata: Mapping[str, Any]) -> Settings:
    """Return the labels of a task, each with its words."""
    labels = read_record(LabelSettings, metadata).labels
    return {"labels": {label: list(words) for label, words in labels.items()}}


class TaskType(NamedTuple):
    """Describe what the tasks of one task type have in common.

    Attributes:
        subjects: What the metadata of its tasks set, with any loader.
        readers: Each returns from metadata some settings that docs contain and results record, and refuses values with
            which the task cannot be scored, as `check` refuses docs.
        has_questions: Whether its docs are questions, not clips.
        columns: Keys of metadata that must name a column.
        read_row: Reads what a row asks, for questions in the columns of the data set; None for other task types.
        row_settings: The record of the settings by which `read_row` reads.
    """

    subjects: tuple[Subject, ...] = ()
    readers: tuple[Callable[[Mapping[str, Any]], Settings], ...] = ()
    has_questions: bool = False
    check: Callable[[Mapping[str, Any]], None] = lambda doc: None
    columns: frozenset[str] = frozenset()
    read_row: RowReader | None = None
    row_settings: type[RowSettings] = RowSettings

    @property
    def keys(self) -> frozenset[str]:
        """Return the keys of metadata that its tasks read, with any loader; `judge_*` are all keys that begin so."""
        return frozenset[str]().union(*(subject.keys for subject in self.subjects))

    def read_settings(self, metadata: Mapping[str, Any]) -> Settings:
        """Return the settings that docs contain and results record."""
        settings: Settings = {}
        for read in self.readers:
            settings |= read(metadata)
        return settings

    @property
    def asks_question(self) -> bool:
        """Return whether a doc asks something about its clip; tasks that want a transcript do not."""
        return self.has_questions or self.read_row not in (None, read_nothing)


_NORMALIZER = Subject(NormalizerSettings)
_TRANSCRIPT = (_NORMALIZER, Subject(UnitSettings))
_WORDING = Subject(WordingSettings)
_ASKED = (*JUDGED, _WORDING)
_LETTER = (*_ASKED, *READ)
_PROMPTS = Subject(PromptFileSettings)
_DISTANCE = (Subject(DistanceSettings), Subject(RareWordSettings), _NORMALIZER, _PROMPTS)
_READ_TRANSCRIPT = (read_unit, read_normalizer)
#: Of a judge beside a rule, which knows only right and wrong, and of the reader of answers without a letter.
_READ_LETTER = (partial(read_settings, default_rubric="right_wrong"), reader.read_settings)
_ANSWER = frozenset({"answer_column"})
_QUESTION = frozenset({"question_column"})
_CHOICE = _ANSWER | {"question_column", "choices_column"}
_CHECKS = _QUESTION | {"checks_column", "check_options_column"}
TASK_TYPES: dict[str, TaskType] = {
    "remember": TaskType((*_TRANSCRIPT, _PROMPTS), (*_READ_TRANSCRIPT, read_prompts)),
    "understand": TaskType(
        (Subject(EmbedderSettings), _PROMPTS), (describe_embedding, partial(read_prompts, keys=tuple(ONE_WORD)))
    ),
    "apply": TaskType(
        (Subject(PromptSettings), *READ, _PROMPTS),
        (read_prompt_language, reader.read_settings, partial(read_prompts, keys=("answer",))),
        has_questions=True,
    ),
    "distance": TaskType(_DISTANCE, (read_distance, read_prompts), check=check_entities),
    "choice": TaskType(_LETTER, _READ_LETTER, columns=_CHOICE, read_row=read_choice),
    "spoken_choice": TaskType(_LETTER, _READ_LETTER, columns=_QUESTION | _ANSWER, read_row=read_spoken_choice),
    "labels": TaskType(
        _LETTER, (*_READ_LETTER, _read_labels), columns=_ANSWER, read_row=read_label, row_settings=LabelSettings
    ),
    "judged": TaskType(_ASKED, (read_settings,), columns=_ANSWER, read_row=read_open),
    "open": TaskType(_ASKED, (read_settings,), columns=_QUESTION, read_row=read_query),
    "refusal": TaskType(columns=_QUESTION, read_row=read_query),
    "checks": TaskType(columns=_CHECKS, read_row=read_checks),
    "choose": TaskType(READ, (reader.read_settings,), has_questions=True),
    "answer": TaskType(JUDGED, (read_settings,), has_questions=True),
    "caption": TaskType(_ASKED, (read_settings,), columns=_ANSWER, read_row=read_open),
    "transcribe": TaskType((_WORDING, *_TRANSCRIPT), _READ_TRANSCRIPT, read_row=read_nothing),
    "translate": TaskType(
        (_WORDING, Subject(translation.TranslationSettings)),
        (translation.read_settings,),
        columns=_ANSWER,
        read_row=read_open,
    ),
    "reply": TaskType(
        (*JUDGED, *reply.REPLIES), (reply.read_settings,), has_questions=True, columns=_QUESTION, read_row=read_query
    ),
}


def name_task_type(metadata: Mapping[str, Any]) -> Any:
    """Return the name of a task's type, not checked.

    >>> name_task_type({"level": "apply"}), name_task_type({"level": "remember", "task_type": "judged"})
    ('apply', 'judged')
    """
    return metadata.get("task_type", metadata.get("level"))


def find_task_type(metadata: Mapping[str, Any]) -> TaskType | None:
    """Return the type of a task; None if it names no known type."""
    name = name_task_type(metadata)
    return TASK_TYPES.get(name) if isinstance(name, str) else None


def read_task_type(metadata: Mapping[str, Any]) -> TaskType:
    """Return the type of a task; a task that names no known type is refused."""
    if (task_type := find_task_type(metadata)) is not None:
        return task_type
    name = name_task_type(metadata)
    key = "task_type" if "task_type" in metadata else "level"
    near = did_you_mean(str(name), TASK_TYPES)
    fault = f"{name!r:.80} is not one of {', '.join(TASK_TYPES)}"
    raise SpeechIQError(f"metadata.{key}", fault, f"{near}correct it")


Loader = TypeVar("Loader", bound=Callable[..., Any])
#: The keys that every task reads; see `siq_tasks/conditions/`.
COMMON = Subject(RunSettings).keys | {LISTEN}
#: Key that names a YAML file: data set -> key -> value.
FILE = "sets"
#: How similar an unknown key must be to a known one to count as a typing error (`difflib` ratio).
SIMILAR = 0.8
#: Loader -> keys that it reads, declared with `takes`.
DECLARED: dict[Callable[..., Any], frozenset[str]] = {}
#: The user's metadata during a run, without the model arguments and the YAML's own keys, which lm-eval adds.
user_metadata: ContextVar[Mapping[str, Any] | None] = ContextVar("user_metadata", default=None)


def takes(*keys: str) -> Callable[[Loader], Loader]:
    """Declare the keys that a loader (`custom_dataset` of a YAML) reads, in addition to those of its task's type.

    >>> @takes("snr")
    ... def load(snr, **others): ...
    >>> DECLARED[load]
    frozenset({'snr'})
    """

    def declare(loader: Loader) -> Loader:
        DECLARED[loader] = frozenset(keys)
        return loader

    return declare


def keys_of(loader: Any, metadata: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the keys that a task reads, and each as `DATASET.KEY`; None if its loader declares none."""
    if not callable(loader) or loader not in DECLARED:
        return None
    keys = DECLARED[loader] | COMMON
    if (task_type := find_task_type(metadata)) is not None:
        keys |= task_type.keys
        if task_type.asks_question:
            keys |= {TIMING}
    dataset = metadata.get("dataset")
    return keys if dataset is None else keys | {f"{dataset}.{key}" for key in keys}


def list_keys(names: Sequence[str]) -> list[frozenset[str] | None]:
    """Return the metadata keys that each of some tasks reads, from the YAMLs alone; empty if a name is unknown."""
    known = read_tasks()
    groups = list_groups(known)
    tasks = {task for name in names for task in groups.get(name, [name])}
    if not tasks <= known.keys():
        return []
    return [read_keys(known[name]) for name in sorted(tasks)]


def read_keys(task: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the metadata keys that a task reads, from its YAML alone; see `keys_of`."""
    module, _, name = task["custom_dataset"].rpartition(".")
    return keys_of(getattr(import_module(module), name), task["metadata"])


def refuse_unread(metadata: Mapping[str, Any], known: Sequence[frozenset[str] | None], others: bool = False) -> None:
    """Refuse given keys that none of the tasks reads, and name the nearest known one.

    `known` are keys from `keys_of` for each of the suite's tasks; `others`, of other suites, may read other keys.
    """
    declared = [keys for keys in known if keys is not None]
    if known and not others and len(declared) == len(known):
        given = {key: value for key, value in metadata.items() if key != FILE}
        refuse(given, frozenset[str]().union(*declared))


def refuse(metadata: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse the first key of `metadata` that is not among the known ones.

    >>> refuse({"embeder": "demo:x"}, ["embedder", "subset"])
    Traceback (most recent call last):
    ...
    speechiq.core.errors.SpeechIQError: --metadata embeder=demo:x: no task of this run reads it; did you mean embedder?
    """
    for key in sorted(key for key in metadata if not any(fnmatchcase(key, name) for name in known)):
        if key == TIMING:
            raise SpeechIQError(f"--metadata {key}={metadata[key]}", "no task of this run can be timed", TIMED_TASKS)
        every = set(known).union(*(task_type.keys for task_type in TASK_TYPES.values()))
        near = None if key in every else find_nearest(key, every, SIMILAR)
        names = ", ".join(sorted(name for name in known if "." not in name)) or "none"
        fix = f"did you mean {near}?" if near else f"leave it out (known: {names})"
        raise SpeechIQError(f"--metadata {key}={metadata[key]}", "no task of this run reads it", fix)


def expand_sets(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata with `DATASET.KEY` for each key of the file that `sets` names; given keys precede the file's."""
    if FILE not in metadata:
        return dict(metadata)
    name = metadata[FILE]
    option, form = f"--metadata {FILE}={name}", "write lines such as `earnings22: {dataset_path: FOLDER}`"
    content = read_mapping_file(option, name, form)
    if not all(isinstance(keys, dict) for keys in content.values()):
        raise SpeechIQError(option, "not a mapping of data sets to keys and values", form)
    listed = {f"{dataset}.{key}": value for dataset, keys in content.items() for key, value in keys.items()}
    return listed | {key: value for key, value in metadata.items() if key != FILE}


def for_dataset(metadata: Mapping[str, Any], dataset: Any) -> dict[str, Any]:
    """Return the metadata that apply to one data set: `DATASET.KEY` applies to that set alone, and precedes `KEY`.

    >>> for_dataset({"subset": 9, "medasr.subset": 2, "voxpopuli.subset": 1}, "medasr")
    {'subset': 2}
    """
    shared = {key: value for key, value in metadata.items() if "." not in key}
    return shared | pick_prefixed(metadata, f"{dataset}.")
