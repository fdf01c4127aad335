"""Read YAML that a person wrote: no aliases, by which a short file has a structure without end."""

import re
from pathlib import Path
from typing import Any

import yaml

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import expand, read_plain, reading

_PART = re.compile(r"<([A-Z_]+)>")


class PlainLoader(yaml.SafeLoader):
    """Read YAML without aliases (`*name`)."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Return the next node; refuse an alias."""
        if self.check_event(yaml.AliasEvent):
            alias = self.peek_event()  # type: ignore[no-untyped-call]  # its stubs have no type for it
            raise yaml.composer.ComposerError(None, None, f"alias *{alias.anchor} is not allowed", alias.start_mark)
        return super().compose_node(parent, index)


def load_yaml(text: str | bytes) -> Any:
    """Return the content of a YAML text; a `ValueError` says why it cannot be read."""
    try:
        return yaml.load(text, PlainLoader)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def read_mapping_file(option: str, name: object, form: str) -> dict[Any, Any]:
    """Return the mapping in a user's YAML or JSON file; `option` names it in errors, and `form` is how to write it."""
    try:
        with reading(option):
            content = load_yaml(read_plain(expand(str(name))))
    except ValueError as error:
        raise SpeechIQError(option, f"not valid YAML ({' '.join(str(error).split())[:200]})", form) from error
    if not isinstance(content, dict):
        raise SpeechIQError(option, "not a mapping of keys to values", form)
    return content


def read_patterns(file: Path) -> dict[str, re.Pattern[str]]:
    """Return the regular expressions of a file by name.

    Line breaks in an expression do not count, and `<NAME>` in one is replaced by `name`, which comes before it.
    """
    texts: dict[str, str] = {}
    for name, text in load_yaml(file.read_bytes()).items():
        texts[name] = _PART.sub(lambda part: texts[part[1].lower()], "".join(text.splitlines()))
    return {name: re.compile(text) for name, text in texts.items()}
