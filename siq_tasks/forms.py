"""Define the forms of tasks: what a doc asks for, which keys of metadata it reads, and which settings its docs contain.

The levels of SIQ are forms of the same name. A task names its form in `shared_metadata.form` of its template; a task
without one has the form of its `level`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.embedder import OPTIONS, read_embedding
from speechiq.metrics.entities import check_entities
from speechiq.metrics.normalizer import read_normalizer
from speechiq.metrics.semantic_distance import KEYS, read_distance

Settings = dict[str, Any]


def _read_nothing(metadata: Mapping[str, Any]) -> Settings:
    return {}


def _accept(doc: Mapping[str, Any]) -> None:
    pass


class Form(NamedTuple):
    """What the tasks of one form have in common.

    Attributes:
        keys: Keys of metadata that its tasks read, with any loader.
        read_settings: Takes a task's metadata and returns the settings that its docs contain and its results record;
            raises a `SpeechIQError` for a value with which the task cannot be scored.
        has_questions: Whether its docs are the questions of a question file, not clips.
        check: Takes a doc and raises a `SpeechIQError` if it cannot be scored.
    """

    keys: frozenset[str] = frozenset()
    read_settings: Callable[[Mapping[str, Any]], Settings] = _read_nothing
    has_questions: bool = False
    check: Callable[[Mapping[str, Any]], None] = _accept


FORMS: dict[str, Form] = {
    "remember": Form(frozenset({"normalizer"}), read_normalizer),
    "understand": Form(frozenset({"embedder", *OPTIONS}), read_embedding),
    "apply": Form(has_questions=True),
    "distance": Form(KEYS, read_distance, check=check_entities),
}


def name_form(metadata: Mapping[str, Any]) -> Any:
    """Return the name of a task's form, not checked.

    >>> name_form({"level": "apply"}), name_form({"level": "remember", "form": "judged"})
    ('apply', 'judged')
    """
    return metadata.get("form", metadata.get("level"))


def read_form(metadata: Mapping[str, Any]) -> Form:
    """Return the form of a task.

    Raises:
        SpeechIQError: The task names no known form.
    """
    key = "form" if "form" in metadata else "level"
    name = metadata.get(key)
    if not isinstance(name, str) or name not in FORMS:
        raise SpeechIQError(f"metadata.{key}: {name!r:.80} is not one of {', '.join(FORMS)}; correct it")
    return FORMS[name]
