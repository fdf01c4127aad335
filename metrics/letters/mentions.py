"""Replace each option that an answer names, by its letter or by its words, with one private character.

The file words.yaml has the words that stand beside options.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import regex
import yaml

from speechiq.core.response import drop_reasoning
from speechiq.metrics.letters.options import ALPHABET

#: Number of characters that are read of the beginning and of the end of an answer.
BEGINNING, END = 2000, 6000
#: Scripts in which words stand beside each other without spaces, as a set of a regular expression.
WITHOUT_SPACES = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Hangul}"
#: The first of the characters that stand for an option's letter, for its letter with its words, and for its words.
LETTER, PAIRED, TEXT = 0xE000, 0xE020, 0xE100
#: A pattern of any of them.
MARK = "[\ue000-\ue1ff]"
#: Options that are also words of other sentences: they count as the first word of an answer alone.
YES_NO = frozenset(["yes", "no", "true", "false"])


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
#: Name of a list in words.yaml -> a pattern of its words.
WORDS = {
    name: match_any(unicodedata.normalize("NFKC", words).split())
    for name, words in yaml.safe_load(_FILE.read_text(encoding="utf-8")).items()
}
_PRIVATE = dict.fromkeys(range(0xE000, 0xE200), " ")
# A tag or a field of JSON that has the choice.
_CHOICE = re.compile(
    r"<(answer|final_answer|final|choice|conclusion)>(?P<tag>.*?)</\1>|"
    r"""(["'])(?:final_answer|correct_answer|answer|choice|selected|letter|option)\3\s*:\s*"""
    r"""(["'])(?P<field>.{0,200}?)\4(?=\s*[,}\]\n])""",
    re.IGNORECASE | re.DOTALL,
)
_BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_MARKUP = re.compile(
    r"<\|[^|<>]{1,30}\|>|</?[a-z]\w{0,15}(?:\s[^<>]{0,80})?/?>|\\(?:text|textbf|math[a-z]{2}|left|right)\b|\\[\[\]()]|"
    r"[*_`]+|\$(?!\d)|(?m:^[ \t]*(?:[-+•>]|#{1,6}|\d{1,2}[.)])[ \t]+)",
    re.IGNORECASE,
)
_WORDS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
#: A number as a word or in digits -> a pattern of both.
_NUMBERS: dict[str, str] = {}
for _number, _word in enumerate(_WORDS, 2):
    _NUMBERS[_word] = _NUMBERS[str(_number)] = f"(?:{_word}|{_number})"
_ARTICLES = ("a", "an", "the")
_BETWEEN_WORDS = r"[\W_]{1,3}(?:(?:an?|the)\s+)?"
_NEAR_LETTER = rf"[^\W{WITHOUT_SPACES}]"
_BRACKETED = compile_pattern(
    rf"(?<!{_NEAR_LETTER})[(\[{{<\"“'«「【]{{1,2}}([A-Z])[.:]?[)\]}}>\"”'»」】]{{1,2}}(?!{_NEAR_LETTER})"
)
# "A", "E", "I" and "O" are words too: without brackets they stand behind a noun ("option A") or before one of these.
_BEHIND_A_NOUN = (
    rf"(?<=\b(?i:{WORDS['option']}|answer|sentence|statement) )[AEO]|(?<=(?<!(?i:the) )(?i:{WORDS['option']}) )I"
)
_AFTER_A_LETTER = "|".join(WORDS[name] for name in ("verb", "because", "or", "not"))
_BARE = regex.compile(
    rf"(?<!{_NEAR_LETTER}|[&']|N/|\w[-.]|(?i:{WORDS['named']}) )"
    rf"(?:(?:[B-DF-HJ-NP-Z]|{_BEHIND_A_NOUN})(?! (?:major|minor|flat|sharp)\b)|[AEIO]"
    rf"(?=\s*(?:$|[^\w\s]|\n|[\u0370-\u1dff{WITHOUT_SPACES}]|(?i:{_AFTER_A_LETTER})|{MARK}|[B-Z]\b)))"
    rf"(?!{_NEAR_LETTER}|['&-]\w)"
)
_LOWER = compile_pattern(
    rf"((?:{WORDS['answer']}|{WORDS['option']})(?: is| would be)?\W{{1,3}}|\bit'?s )([a-z])(?=\W*(?:$|\n|\. ))"
)
_PAIR = regex.compile(
    rf"[\ue000-\ue0ff](?:[ ):,=–—\"-]{{0,6}}|\. ?){MARK}|[\ue100-\ue1ff][ (),:=–—-]{{0,6}}[\ue000-\ue0ff]"
)
_LIST = compile_pattern(rf"{MARK}(?:[^\S\n]*[,:>&/+-]?[^\S\n]*(?:{WORDS['or']})?[^\S\n]*{MARK})+")
_QUOTED_QUESTION = compile_pattern(r"\b(?:to|of|addressing|regarding) (['\"]).{1,900}?\1(?=,? (?:is|are|the|was)\b)")
_NEXT_QUESTION = compile_pattern(r"(?<=\w\W*)\n\W*(?:question|q|user|human)(?: \d+)?:[\s\S]*")
# What denies nothing, and what is no condition.
_HARMLESS = compile_pattern(
    r"\b(?:no doubt|no question|without (?:a |any )?doubt|not only|nothing else|no (?:other )?\w+ (?:but|except)|"
    r"if (?:i|we|you)(?:'m)?\b(?! had| were)[^,.]{0,40})"
)


def strip_answer(answer: str) -> str:
    r"""Return the plain text of an answer without reasoning; of JSON or an `<answer>` tag, only the choice.

    >>> strip_answer('Here it is: {"why": "not (A)", "answer": "B"}'), strip_answer("So $\\boxed{\\text{B}}$.")
    ('answer: B', 'So answer: ( {B}) .')
    """
    text = drop_reasoning(answer)
    if len(text) > BEGINNING + END:
        text = text[:BEGINNING] + "\n" + text[-END:]
    text = unicodedata.normalize("NFKC", text.translate(_PRIVATE)).replace("’", "'")
    choices = list(_CHOICE.finditer(text))
    if choices:
        text = f"answer: {choices[-1]['tag'] or choices[-1]['field']}"
    text = _MARKUP.sub(" ", _BOXED.sub(r" answer: (\1) ", text))
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def name_mark(mark: str) -> str:
    """Return the letter of the option that a character stands for."""
    return ALPHABET[ord(mark) % 0x20]


@lru_cache(maxsize=4096)
def find_options(options: tuple[str, ...]) -> tuple[dict[str, str], regex.Pattern[str] | None]:
    """Return the options that are words such as "no" (word -> letter), and a pattern of the words of the others."""
    plain, patterns = {}, []
    for letter, option in zip(ALPHABET, options, strict=False):
        words = regex.findall(r"[^\W_]+", unicodedata.normalize("NFKC", option).replace("’", "'").lower())
        length = len("".join(words))
        if len(words) == 1 and words[0] in YES_NO:
            plain[words[0]] = letter
        elif length > 1 or "".join(words).isdigit():
            is_place = words[0] in ("in", "at", "on") and words[1:2] and words[1] in _ARTICLES
            if is_place or (len(words) > 1 and words[0] in _ARTICLES):
                del words[0]
            text = _BETWEEN_WORDS.join(_NUMBERS.get(word, regex.escape(word)) for word in words)
            if words == ["none", "of", "the", "above"]:
                text += r"|none of (?:them|these|those)(?=\s*(?:[.;,:!]|\Z))"
            patterns.append((length, rf"(?:(?:an?|the)\s+)?(?P<{letter}>{text})"))
    if not patterns:
        return plain, None
    longest_first = "|".join(pattern for _, pattern in sorted(patterns, reverse=True))
    return plain, compile_pattern(rf"(?<!{_NEAR_LETTER}|\d[.,:/-])(?:{longest_first})(?!{_NEAR_LETTER}|[.,:/]\d)")


def mark_mentions(text: str, pattern: regex.Pattern[str] | None, letters: str) -> str:
    """Return an answer with a private character in the place of each option, and `&` between those of a list."""
    text = _QUOTED_QUESTION.sub(" ", _NEXT_QUESTION.sub("", text))
    if pattern:
        text = pattern.sub(lambda found: chr(TEXT + ALPHABET.index(str(found.lastgroup))), text)
    text = _LOWER.sub(lambda found: found[1] + found[2].upper(), text)
    text = _BRACKETED.sub(lambda found: f" {_mark_letter(found[1])} ", text)
    text = _BARE.sub(lambda found: _mark_letter(found[0][0]) if found[0][0] in letters else found[0], text)
    text = _PAIR.sub(_join_pair, _HARMLESS.sub(" ", text))
    return str(_LIST.sub(lambda found: "&".join(regex.findall(MARK, found[0])), text))


def _mark_letter(letter: str) -> str:
    return chr(LETTER + ALPHABET.index(letter.upper()))


def _join_pair(found: regex.Match[str]) -> str:
    """Return one character for a letter beside its own option, and a list for a letter beside another option."""
    marks = regex.findall(MARK, found[0])
    names = {name_mark(mark) for mark in marks}
    if len(names) == 1:
        return chr(PAIRED + ALPHABET.index(names.pop()))
    ends_line = regex.match(r"[^\w\n]*(?:\n|$)", found.string[found.end() :])
    is_two_sentences = "." in found[0] and not ends_line
    return found[0] if is_two_sentences or ord(marks[0]) >= TEXT else "&".join(marks)
