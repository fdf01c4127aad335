"""The words of code, documentation and messages: none of those that docs/glossary.md replaces."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"
READ = {".py", ".md", ".yaml", ".yml", ".toml", ".cfg", ".j2", ".js", ".html", ".css", ".txt"}
#: Texts of prompts and lists of English words are data: another wording would be another test.
DATA = {
    "harness_patch/systems/correction.py",
    "metrics/letters/words.py",
    "metrics/rules/refusal.py",
    "siq_tasks/questions/prompts.py",
    "siq_tasks/demo/README.md",
    "tools/make_clips.py",
}
#: Names that are not ours to choose.
ALLOWED = (
    r"doc_to_text: .*|whisper_spelling|Format not recognised|"
    r"[Ll]ooking-?forward|weight\w*|LookupError|line-through"
)


def banned_words() -> list[str]:
    """Return the right column of the table of words."""
    table = GLOSSARY.read_text(encoding="utf-8").partition("## Words to use")[2]
    rows = [line.split("|")[2] for line in table.splitlines() if line.startswith("|")][2:]
    return [word.strip() for row in rows for word in row.split(",")]


BANNED = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, banned_words()))})(?![^\W_])", re.IGNORECASE)


def find(text: str) -> list[str]:
    """Return each line with a banned word, as `number: word: line`."""
    lines = re.sub(ALLOWED, "", text).splitlines()
    return [f"{i}: {found[0]}: {line.strip()}" for i, line in enumerate(lines, 1) if (found := BANNED.search(line))]


def pages() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [
        name
        for name in listed.splitlines()
        if Path(name).suffix in READ
        and not name.startswith("tests/")
        and name not in DATA | {"docs/glossary.md", "constraints.txt", "CHANGELOG.md"}
    ]


@pytest.mark.parametrize("name", pages())
def test_a_file_has_the_words_of_the_glossary(name):
    found = find((ROOT / name).read_text(encoding="utf-8"))
    assert not found, f"{name}: {len(found)} lines; see docs/glossary.md\n" + "\n".join(found)


if __name__ == "__main__":
    import sys

    for name in pages():
        if name.startswith(tuple(sys.argv[1:] or [""])):
            for line in find((ROOT / name).read_text(encoding="utf-8")):
                print(f"{name}:{line}")
