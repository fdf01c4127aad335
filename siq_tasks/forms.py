"""Define the forms of tasks: what a doc asks for, which keys of metadata it reads, and which settings its docs contain.

The levels of SIQ are forms of the same name. A task names its form in `shared_metadata.form` of its template; a task
without one has the form of its `level`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.embedder import OPTIONS, read_embedding
from speechiq.metrics.judging import KEYS, read_settings
from speechiq.metrics.normalizer import read_normalizer

Settings = dict[str, Any]


def _read_nothing(metadata: Mapping[str, Any]) -> Settings:
    return {}


class Form(NamedTuple):
    """What the tasks of one form have in common.

    Attributes:
        keys: Keys of metadata that its tasks read, with any loader; `judge_*` are all keys that begin so.
        read_settings: Takes a task's metadata and returns the settings that its docs contain and its results record;
            raises a `SpeechIQError` for a value with which the task cannot be scored.
        has_questions: Whether its docs are the questions of a question file, not clips.
    """

    keys: frozenset[str] = frozenset()
    read_settings: Callable[[Mapping[str, Any]], Settings] = _read_nothing
    has_questions: bool = False


FORMS: dict[str, Form] = {
    "remember": Form(frozenset({"normalizer"}), read_normalizer),
    "understand": Form(frozenset({"embedder", *OPTIONS}), read_embedding),
    "apply": Form(has_questions=True),
    "judged": Form(KEYS, read_settings),
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
