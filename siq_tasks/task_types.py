"""Define the types of tasks: what a doc asks for, which keys of metadata it reads, and which settings its docs contain.

The levels of SIQ are task types of the same name. A template names its `task_type`; without one it is the `level`.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from speechiq.core.errors import SpeechIQError
from speechiq.engines.options import Options
from speechiq.metrics.distance.semantic import DistanceSettings, read_distance
from speechiq.metrics.judge import reader
from speechiq.metrics.judge.settings import JUDGED, READ, read_judging, read_settings
from speechiq.metrics.letters.options import ALPHABET
from speechiq.metrics.reply import scores as reply
from speechiq.metrics.settings import Subject, read_record
from speechiq.metrics.similarity import EmbedderSettings, describe_embedding
from speechiq.metrics.words.entities import check_entities
from speechiq.metrics.words.normalizer import NormalizerSettings, read_normalizer
from speechiq.metrics.words.units import UnitSettings, read_unit
from speechiq.metrics.words.word_classes import RareWordSettings
from speechiq.siq_tasks.languages.prompts import PromptSettings, read_prompt_language
from speechiq.siq_tasks.loaders.odd_rows import Repairs
from speechiq.siq_tasks.loaders.question_columns import (
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
#: Takes the values of a row by role (`Columns.pick`), the task's metadata with its settings, and a list for repairs;
#: returns what the row asks.
RowReader = Callable[[Mapping[str, Any], Mapping[str, Any], Repairs], dict[str, Any]]


class SpokenOptions(Options, frozen=True, kw_only=True):
    """Define how many options are spoken in a clip."""

    spoken_options: Annotated[int, Meta(ge=2, le=len(ALPHABET))] = 4


def _read_right_wrong(metadata: Mapping[str, Any]) -> Settings:
    """Return the settings of a judge beside a rule, which knows only right and wrong."""
    return read_judging(metadata, "right_wrong").record()


def _read_letter(metadata: Mapping[str, Any]) -> Settings:
    """Return the settings of a judge beside the letter, and those of the reader of answers without one."""
    return _read_right_wrong(metadata) | reader.read_settings(metadata)


def _read_spoken_choice(metadata: Mapping[str, Any]) -> Settings:
    read_record(SpokenOptions, metadata)
    return _read_letter(metadata)


def _read_labels(metadata: Mapping[str, Any]) -> Settings:
    labels = metadata.get("labels")
    if (
        not isinstance(labels, Mapping)
        or len(labels) < 2
        or not all(isinstance(label, str) and _are_texts(words) for label, words in labels.items())
    ):
        raise SpeechIQError(
            "metadata.labels",
            f"{labels!r:.80} does not map two or more labels to words",
            "write {joy: [happy], anger: []}",
        )
    return _read_right_wrong(metadata) | {"labels": {label: list(words) for label, words in labels.items()}}


def _are_texts(words: Any) -> bool:
    return isinstance(words, list | tuple) and all(isinstance(word, str) and word.strip() for word in words)


class TaskType(NamedTuple):
    """Describe what the tasks of one task type have in common.

    Attributes:
        subjects: What the metadata of its tasks set, with any loader.
        read_settings: Returns from metadata the settings that docs contain and results record; refuses values with
            which the task cannot be scored, as `check` refuses docs.
        has_questions: Whether its docs are questions, not clips.
        columns: Keys of metadata that must name a column.
        read_row: Reads what a row asks, for questions in the columns of the data set; None for other task types.
    """

    subjects: tuple[Subject, ...] = ()
    read_settings: Callable[[Mapping[str, Any]], Settings] = lambda metadata: {}
    has_questions: bool = False
    check: Callable[[Mapping[str, Any]], None] = lambda doc: None
    columns: frozenset[str] = frozenset()
    read_row: RowReader | None = None

    @property
    def keys(self) -> frozenset[str]:
        """Return the keys of metadata that its tasks read, with any loader; `judge_*` are all keys that begin so."""
        return frozenset[str]().union(*(subject.keys for subject in self.subjects))

    @property
    def asks_question(self) -> bool:
        """Return whether a doc asks something about its clip; tasks that want a transcript do not."""
        return self.has_questions or self.read_row not in (None, read_nothing)


_NORMALIZER = Subject(NormalizerSettings)
_WORDING = Subject(WordingSettings)
_ASKED = (*JUDGED, _WORDING)
_LETTER = (*_ASKED, *READ)
_DISTANCE = (Subject(DistanceSettings), Subject(RareWordSettings), _NORMALIZER)
_ANSWER = frozenset({"answer_column"})
_QUESTION = frozenset({"question_column"})
_CHOICE = _ANSWER | {"question_column", "choices_column"}
_CHECKS = _QUESTION | {"checks_column", "check_options_column"}
TASK_TYPES: dict[str, TaskType] = {
    "remember": TaskType((_NORMALIZER, Subject(UnitSettings)), lambda about: read_unit(about) | read_normalizer(about)),
    "understand": TaskType((Subject(EmbedderSettings),), describe_embedding),
    "apply": TaskType((Subject(PromptSettings),), read_prompt_language, has_questions=True),
    "distance": TaskType(_DISTANCE, read_distance, check=check_entities),
    "choice": TaskType(_LETTER, _read_letter, columns=_CHOICE, read_row=read_choice),
    "spoken_choice": TaskType(_LETTER, _read_spoken_choice, columns=_QUESTION | _ANSWER, read_row=read_spoken_choice),
    "labels": TaskType(_ASKED, _read_labels, columns=_ANSWER, read_row=read_label),
    "judged": TaskType(_ASKED, read_settings, columns=_ANSWER, read_row=read_open),
    "open": TaskType(_ASKED, read_settings, columns=_QUESTION, read_row=read_query),
    "refusal": TaskType(columns=_QUESTION, read_row=read_query),
    "checks": TaskType(columns=_CHECKS, read_row=read_checks),
    "choose": TaskType(has_questions=True),
    "answer": TaskType(JUDGED, read_settings, has_questions=True),
    "caption": TaskType(_ASKED, read_settings, columns=_ANSWER, read_row=read_open),
    "transcribe": TaskType((_WORDING, _NORMALIZER), read_normalizer, read_row=read_nothing),
    "reply": TaskType(
        (*JUDGED, *reply.REPLIES), reply.read_settings, has_questions=True, columns=_QUESTION, read_row=read_query
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
    key = "task_type" if "task_type" in metadata else "level"
    name = metadata.get(key)
    if not isinstance(name, str) or name not in TASK_TYPES:
        raise SpeechIQError(f"metadata.{key}", f"{name!r:.80} is not one of {', '.join(TASK_TYPES)}", "correct it")
    return TASK_TYPES[name]
