"""Replace each option that an answer names, by its letter or by its words, with one private character."""

import unicodedata
from functools import lru_cache

import regex

from speechiq.metrics.letters.options import ALPHABET
from speechiq.metrics.letters.words import WITHOUT_SPACES, WORDS, compile_pattern

#: The first of the characters that stand for an option's letter, for its letter with its words, and for its words.
LETTER, PAIRED, TEXT = 0xE000, 0xE020, 0xE100
#: A pattern of any of them.
MARK = "[\ue000-\ue1ff]"
#: Options that are also words of other sentences: they count as the first word of an answer alone.
PLAIN = frozenset(
    [
        "yes",
        "no",
        "true",
        "false",
        "none",
        "not",
        "correct",
        "incorrect",
        "wrong",
        "right",
        "neither",
        "both",
        "nothing",
    ]
)
_WORDS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
#: A number as a word or in digits -> a pattern of both.
NUMBERS = {name: f"(?:{word}|{number})" for number, word in enumerate(_WORDS, 2) for name in (word, str(number))}
_ARTICLES = ("a", "an", "the")
_BETWEEN_WORDS = r"[\W_]{1,3}(?:(?:an?|the)\s+)?"

_NEAR_LETTER = rf"[^\W{WITHOUT_SPACES}]"
_BRACKETED = compile_pattern(
    rf"(?<!{_NEAR_LETTER})[(\[{{<\"“‘«「『【']{{1,2}} ?([A-Z])[.:]? ?[)\]}}>\"”’»」』】']{{1,2}}(?!{_NEAR_LETTER})"
)
# "A", "E", "I" and "O" are words too: without brackets they stand before one of these.
_AFTER_A_LETTER = "|".join(WORDS[name] for name in ("verb", "because", "so", "or", "not", "but"))
_BARE = regex.compile(
    rf"(?<!{_NEAR_LETTER}|[&'’]|\w[-.]|N/|(?i:{WORDS['named']}) )"
    rf"(?:([B-DF-HJ-NP-Z])(?! (?:major|minor|flat|sharp)\b)|([AEIO])"
    rf"(?=\s*(?:$|[^\w\s]|\n|[\u0370-\u1dff{WITHOUT_SPACES}]|(?i:{_AFTER_A_LETTER})|{MARK}|[B-Z]\b)))"
    rf"(?!{_NEAR_LETTER}|['’-]\w|\.\w\.|&\w)(?:\)|\.(?= [a-z]))?"
)
_LOWER = compile_pattern(
    rf"((?:{WORDS['answer']}|{WORDS['option']})(?: is| would be)?\W{{1,3}}|\bit'?s )([a-z])(?=\W*(?:$|\n|\. ))"
)
_LOWER_LABEL = regex.compile(r"\A\W*[a-h](?=[).:]\s|\n)")
_PAIR = regex.compile(
    rf"[\ue000-\ue0ff](?:[ ):,=–—\"-]{{0,6}}|\. ?){MARK}|[\ue100-\ue1ff][ (),:=–—-]{{0,6}}[\ue000-\ue0ff]"
)
_RUN = regex.compile(rf"{MARK}(?:[\s,.;:/>|()-]{{0,6}}(?:and|or)?[\s(]{{0,3}}{MARK})+")
_LIST = compile_pattern(rf"{MARK}(?:[^\S\n]*[,:>&/+-]?[^\S\n]*(?:{WORDS['verb']} )?(?:{WORDS['or']})?[^\S\n]*{MARK})+")
_QUOTED_QUESTION = compile_pattern(r"\b(?:to|of|addressing|regarding) (['\"]).{1,900}?\1(?=,? (?:is|are|the|was)\b)")
_NEXT_QUESTION = compile_pattern(r"(?<=\w\W*)\n\W*(?:question|q|user|human)(?: \d+)?:[\s\S]*")
_ANSWER_LABEL = regex.compile(r"(?:^|(?<=\s))A:\s*(?=[(\[]?[A-Z](?:[)\].]|\s*$)|[Tt]he answer)")
# What denies nothing, and what is no condition.
_HARMLESS = compile_pattern(
    r"\b(?:no doubt|no question|without (?:a |any )?doubt|not only|nothing else|no (?:other )?\w+ (?:but|except)|"
    r"not (?:entirely |completely |100% )?(?:sure|certain)|sin duda|ohne zweifel|sans doute|senza dubbio|"
    r"if (?:(?:i|we) (?:had|have|must) to|forced|pressed|asked)[^,.]{0,30}|"
    r"if (?:i|we|you)(?:'m)?\b(?! had| were)[^,.]{0,40})"
)


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
        if len(words) == 1 and words[0] in PLAIN:
            plain[words[0]] = letter
        elif length > 1 or "".join(words).isdigit():
            is_place = words[0] in ("in", "at", "on") and words[1:2] and words[1] in _ARTICLES
            if is_place or (len(words) > 1 and words[0] in _ARTICLES):
                del words[0]
            text = _BETWEEN_WORDS.join(NUMBERS.get(word, regex.escape(word)) for word in words)
            if words == ["none", "of", "the", "above"]:
                text += r"|none of (?:them|these|those)(?=\s*(?:[.;,:!]|\Z))"
            patterns.append((length, rf"(?:(?:an?|the)\s+)?(?P<{letter}>{text})"))
    if not patterns:
        return plain, None
    longest_first = "|".join(pattern for _, pattern in sorted(patterns, reverse=True))
    return plain, compile_pattern(rf"(?<!{_NEAR_LETTER}|\d[.,:/-])(?:{longest_first})(?!{_NEAR_LETTER}|[.,:/]\d)")


def mark_mentions(text: str, pattern: regex.Pattern[str] | None, letters: str) -> str:
    """Return an answer with a private character in the place of each option, and `&` between those of a list."""
    text = _ANSWER_LABEL.sub("answer: ", _QUOTED_QUESTION.sub(" ", _NEXT_QUESTION.sub("", text)))
    if pattern:
        text = pattern.sub(lambda found: chr(TEXT + ALPHABET.index(str(found.lastgroup))), text)
    text = _LOWER_LABEL.sub(lambda found: found[0].upper(), text)
    text = _LOWER.sub(lambda found: found[1] + found[2].upper(), text)
    text = _BRACKETED.sub(lambda found: f" {_mark_letter(found[1])} ", text)
    text = _BARE.sub(lambda found: _mark_letter(found[0][0]) if found[0][0] in letters else found[0], text)
    text = _PAIR.sub(_join_pair, _HARMLESS.sub(" ", text))
    text = _RUN.sub(lambda found: _drop_echo(found[0], len(letters)), text)
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


def _drop_echo(run: str, count: int) -> str:
    """Return a run of mentions without the list of the options, with their words, at its beginning."""
    marks = list(regex.finditer(MARK, run))
    length = 0
    for place, mark in enumerate(marks[:count]):
        if ord(mark[0]) < PAIRED or name_mark(mark[0]) != ALPHABET[place]:
            break
        length = place + 1
    return run[marks[length - 1].end() :] if length >= min(3, count) else run
