"""Read regular expressions from YAML files, in which each has a name and a comment."""

import re
from pathlib import Path

import yaml

_PART = re.compile(r"<([A-Z_]+)>")


def read_patterns(file: Path) -> dict[str, re.Pattern[str]]:
    """Return the regular expressions of a file by name.

    Line breaks in an expression do not count, and `<NAME>` in one is replaced by `name`, which comes before it.
    """
    texts: dict[str, str] = {}
    for name, text in yaml.safe_load(file.read_text(encoding="utf-8")).items():
        texts[name] = _PART.sub(lambda part: texts[part[1].lower()], "".join(text.splitlines()))
    return {name: re.compile(text) for name, text in texts.items()}
