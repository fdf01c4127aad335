"""Read the words by which answers claim an option or deny it, as patterns."""

import unicodedata
from collections.abc import Sequence
from pathlib import Path

import regex
import yaml

#: Scripts in which words stand beside each other without spaces, as a set of a regular expression.
WITHOUT_SPACES = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Hangul}"


def compile_pattern(pattern: str) -> regex.Pattern[str]:
    """Return a regular expression of upper and lower case; letters with vowel signs are words in it."""
    return regex.compile(pattern, regex.IGNORECASE)


def match_any(words: Sequence[str]) -> str:
    """Return a pattern of any of the words: whole words, but in scripts without spaces at any place.

    >>> [found[0] for found in regex.finditer(match_any(["not", "wrong*"]), "nothing, not wrongly")]
    ['not', 'wrong']
    """
    whole, begun, anywhere = [], [], []
    for word in words:
        text = regex.escape(word.strip("*").replace("_", " "))
        if word.startswith("*") or regex.match(rf"[{WITHOUT_SPACES}]", word):
            anywhere.append(text)
        elif word.endswith("*"):
            begun.append(text)
        else:
            whole.append(text)
    groups = [rf"(?<![\w'])(?:{'|'.join(whole)})(?!\w)"]
    if begun:
        groups.append(rf"(?<![\w'])(?:{'|'.join(begun)})")
    return f"(?:{'|'.join(groups + anywhere)})"


_FILE = Path(__file__).with_name("words.yaml")
#: Name of a list in `words.yaml` -> a pattern of its words.
WORDS = {
    name: match_any(unicodedata.normalize("NFKC", words).split())
    for name, words in yaml.safe_load(_FILE.read_text(encoding="utf-8")).items()
}
