"""Replace each option that an answer names, by letter or by text, with one private character, for `reading`."""

import re
import unicodedata
from functools import lru_cache
from pathlib import Path

import regex

from speechiq.metrics.letters.options import ALPHABET
from speechiq.metrics.letters.words import AFTER_A_LETTER, PLAIN
from speechiq.metrics.patterns import read_patterns

# Characters that stand for a letter in brackets, a letter with its text, a letter alone, and the text of an option.
ENCLOSED_LETTER, LETTER_AND_TEXT, BARE_LETTER, OPTION = 0xE000, 0xE020, 0xE040, 0xE100
MENTION = "[\ue000-\ue1ff]"
_NO_WORD_BEFORE = r"(?<![^\W\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])(?<!['’])(?<!\w[-.])"
_NO_WORD_AFTER = r"(?![^\W\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|['’]\w|-\w|\.\w)"
_PATTERNS = read_patterns(Path(__file__).with_name("mentions.yaml"))
_BARE = [
    re.compile(rf"{_NO_WORD_BEFORE}([{sure}]|[{risky}]{AFTER_A_LETTER}){_NO_WORD_AFTER}(\))?")
    for sure, risky in (("BCDFGH", "AE"), ("BCDFGHJ-NP-Z", "AEIO"))
]
_BETWEEN_WORDS = r"[\W_]{1,3}"
_NONE_ABOVE = ["none", "of", "the", "above"]
#: Number of options up to which only A to H count as letters without brackets.
_FEW = 8
#: Number of spaces below which a letter alone in lower case names an option.
_SHORT = 12


@lru_cache(maxsize=4096)
def find_options(options: tuple[str, ...]) -> tuple[dict[str, str], regex.Pattern[str] | None]:
    """Return the options that are words such as "no" (word -> letter), and a pattern of the texts of the others."""
    plain, patterns = {}, []
    for letter, option in zip(ALPHABET, options, strict=False):
        words = regex.findall(r"[^\W_]+", unicodedata.normalize("NFKC", option).replace("’", "'"))
        if len(words) == 1 and words[0].casefold() in PLAIN:
            plain[words[0].casefold()] = letter
        elif len("".join(words)) > 1:
            articles = r"(?:(?:an?|the)\s+)?"
            while len(words) > 1 and words[0].casefold() in ("a", "an", "the"):
                del words[0]
            text = _BETWEEN_WORDS.join(map(re.escape, words))
            if [word.casefold() for word in words] == _NONE_ABOVE:
                text += r"|none of (?:them|these|those)(?=\s*(?:[.;,:!]|\Z))"
            patterns.append((len("".join(words)), f"{articles}(?P<{letter}>{text})"))
    longest_first = [pattern for _, pattern in sorted(patterns, reverse=True)]
    if not longest_first:
        return plain, None
    # In `regex`, vowel signs are parts of words.
    return plain, regex.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)", regex.IGNORECASE)


def mark_mentions(text: str, pattern: regex.Pattern[str] | None, count: int) -> str:
    """Return an answer with one private character in the place of each option that it names; see `find_options`."""
    if pattern:
        text = pattern.sub(lambda found: chr(OPTION + ALPHABET.index(str(found.lastgroup))), text)
    text = _PATTERNS["enclosed"].sub(lambda found: f" {_letter(ENCLOSED_LETTER, found[1])} ", text)
    text = _PATTERNS["marks"].sub("", text)
    if text.count(" ") < _SHORT and not _PATTERNS["upper_alone"].search(text):
        text = _PATTERNS["lower_alone"].sub(lambda found: found[0].upper(), text)
    text = _PATTERNS["lower_label"].sub(lambda found: found[0].upper(), text)
    text = _PATTERNS["lower"].sub(lambda found: found[1] + _letter(BARE_LETTER, found[2]), text)
    text = re.sub(rf"\b([{ALPHABET[count:]}]) (?=(?!is\b|was\b)[a-z])", lambda found: found[0].lower(), text)
    text = _BARE[count > _FEW].sub(lambda found: _letter(ENCLOSED_LETTER if found[2] else BARE_LETTER, found[1]), text)
    return _PATTERNS["colon"].sub(": ", _PATTERNS["pair"].sub(_join, _PATTERNS["space"].sub(" ", text)))


def _letter(start: int, letter: str) -> str:
    return chr(start + ALPHABET.index(letter.upper()))


def _join(pair: re.Match[str]) -> str:
    """Return one mention for a letter and its own text; leave those that differ as a list if one explains the other."""
    first, between, second = (part for part in pair.groups() if part is not None)
    if ord(first) >= OPTION and "." in between:
        return pair[0]
    if named_letter(first) == named_letter(second):
        return chr(LETTER_AND_TEXT + ALPHABET.index(named_letter(first)))
    ends = pair.string[pair.end() : pair.end() + 1] in ("", ".", "\n")
    return f"{first} {second}" if "\n" not in between and (ends or "." not in between) else pair[0]


def named_letter(mention: str) -> str:
    """Return the letter of a private character."""
    return ALPHABET[ord(mention) % 32]
