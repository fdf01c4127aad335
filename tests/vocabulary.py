"""Refuse second names of one thing (docs/glossary.md) in code, documentation and messages, for `make lint`.

Give beginnings of paths to check these alone: `python tests/vocabulary.py reducer/ docs/`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"
READ = {".py", ".md", ".yaml", ".yml", ".toml", ".cfg", ".j2", ".js", ".html", ".css", ".txt"}


def banned_words() -> list[str]:
    """Return the words in the right column of the glossary's table."""
    table = GLOSSARY.read_text(encoding="utf-8").partition("## Words to use")[2]
    rows = [line.split("|")[2] for line in table.splitlines() if line.startswith("|")][2:]
    return [word.strip() for row in rows for word in row.split(",")]


BANNED = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, banned_words()))})(?![^\W_])", re.IGNORECASE)


def find_banned(text: str) -> list[str]:
    """Return each line with a banned word, as `number: word: line`."""
    lines = text.splitlines()
    matches = ((number, BANNED.search(line), line.strip()) for number, line in enumerate(lines, 1))
    return [f"{number}: {match[0]}: {line}" for number, match, line in matches if match]


def list_files() -> list[str]:
    """Return the tracked files whose words are checked."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [
        name
        for name in listed.splitlines()
        if Path(name).suffix in READ
        and not name.startswith("tests/")
        and name not in {"docs/glossary.md", "constraints.txt", "CHANGELOG.md"}
    ]


def check(beginnings: tuple[str, ...]) -> list[str]:
    """Return each line with a banned word, as `file:number: word: line`."""
    names = [name for name in list_files() if name.startswith(beginnings)]
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in names if (ROOT / name).is_file()}
    return [f"{name}:{line}" for name, text in texts.items() for line in find_banned(text)]


if __name__ == "__main__":
    if lines := check(tuple(sys.argv[1:]) or ("",)):
        sys.exit("\n".join([*lines, f"{len(lines)} lines; docs/glossary.md has the words to use"]))
