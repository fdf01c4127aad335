"""Read the named entities of a clip, which a table writes as texts, or as texts of classes such as MONEY and ORG."""

import re
from collections.abc import Mapping
from typing import Any

from speechiq.core.errors import RowError
from speechiq.core.files.tables import read_texts

#: Column of tables and field of docs with the entities of a clip, and the field of docs with the class of each.
ENTITIES, CLASSES = "entities", "entity_classes"
#: How a text of a table names the class of an entity: `MONEY: two million dollars`.
_CLASS = re.compile(r"([A-Z][A-Z0-9_-]+):\s+(.+)", re.DOTALL)
_FIX = "write a list, a mapping such as {'MONEY': ['five dollars']}, or a text such as MONEY: five dollars; ORG: Acme"


def read_entities(value: Any) -> dict[str, list[str]]:
    """Return class -> its entities, from a field of a table; the class is empty for entities without one.

    >>> read_entities("MONEY: five dollars; ORG: Acme; ORG: Initech")
    {'MONEY': ['five dollars'], 'ORG': ['Acme', 'Initech']}
    >>> read_entities({"ORG": ["Acme"], "MONEY": None}), read_entities("New York; Peru"), read_entities(None)
    ({'ORG': ['Acme']}, {'': ['New York', 'Peru']}, {'': []})
    """
    if isinstance(value, Mapping):
        return _read_mapping(value)
    texts = read_texts(value, ENTITIES)
    if isinstance(value, str) and any(map(_CLASS.fullmatch, texts)):
        return _read_classes(texts)
    return {"": texts}


def read_entity_fields(value: Any) -> dict[str, list[str]]:
    """Return the fields of a doc for the entities of a row: the texts and, if the row has classes, the class of each.

    >>> read_entity_fields({"ORG": ["Acme", "Initech"]})
    {'entities': ['Acme', 'Initech'], 'entity_classes': ['ORG', 'ORG']}
    >>> read_entity_fields(["Acme"])
    {'entities': ['Acme']}
    """
    texts: list[str] = []
    classes: list[str] = []
    for name, found in read_entities(value).items():
        texts += found
        classes += [name] * len(found)
    return {ENTITIES: texts, CLASSES: classes} if any(classes) else {ENTITIES: texts}


def write_entities(value: Any) -> list[str] | dict[str, list[str]]:
    """Return the entities of a row as tables of tasks have them: a list, or a mapping if they have classes."""
    found = read_entities(value)
    return found.get("", found)


def _read_mapping(value: Mapping[Any, Any]) -> dict[str, list[str]]:
    found = {}
    for name, texts in value.items():
        if not isinstance(name, str) or not name.strip():
            raise RowError(f"no {ENTITIES}", f"{ENTITIES} has the class {name!r:.80}, not a name", _FIX)
        if listed := read_texts(texts, f"{ENTITIES} {name}"):
            found[name.strip()] = listed
    return found or {"": []}


def _read_classes(texts: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in texts:
        named = _CLASS.fullmatch(text)
        if named is None:
            raise RowError(f"no {ENTITIES}", f"the entity {text!r:.80} has no class, and others have one", _FIX)
        found.setdefault(named[1], []).append(named[2].strip())
    return found
