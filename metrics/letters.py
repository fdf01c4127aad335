"""Read the letter that an answer to a multiple-choice question gives.

An answer is stripped of its markup (`metrics/answer_text.py`) and split into sentences and clauses. Each clause that
names options, by letter or by text, claims one, excludes some or lists several; what it does follows from the words
around the letter (`metrics/answer_words.py`). The clearest claim that is neither contradicted nor withdrawn is the
answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from speechiq.metrics import answer_words as words
from speechiq.metrics.answer_text import strip_answer

UNPARSED = "?"
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# How clear a claim is.
SPOKEN, BARE, STATED = 1, 2, 3

# Characters that stand for a letter in brackets, a letter without, and the text of an option.
_ENCLOSED_LETTER, _BARE_LETTER, _OPTION = 0xE000, 0xE040, 0xE100
_MENTION = "[\ue000-\ue1ff]"
_NO_WORD_BEFORE = r"(?<![^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])(?<!['’])(?<!\w[-.])"
_NO_WORD_AFTER = r"(?![^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|['’]\w|-\w|\.\w)"
# "A", "E", "I" and "O" are words of many languages: a letter only before one of these.
_AFTER_A_LETTER = (
    r"(?=[ \t]*\n|\s*(?:$|[^\w\s'’]|[\ue000-\ue1ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[A-Z]\b|(?:is|was|"
    r"isn't|wasn't|are|as|because|since|"
    r"and|or|nor|not|no|but|it|the|over|than|wählen|fits?|seems?|looks?|would|should|must|might|may|could|can|"
    r"can't|cannot|can't|which|rather|instead|"
    r"matches|corresponds|best|so|if|then|yes|ist|est|es|és|é|è|nicht|oder|"
    r"und|et|ou|o|y|u|e|is|är|er|on|je|jest|to|sondern|sino|mais|mas|ma|maar|als|niet|of|или|а|и|не|неверно|верно|है|"
    r"adalah|đúng|olduğu|doğru)(?!\w)))"
)
_ENCLOSED = re.compile(
    r"(?<!\w)(?:[(\[{\"'“‘«「『【`<]|\*{1,3}|_{1,2}){1,4}\s?([A-Za-z])[.:]?\s?(?:[)\]}\"'”’»」』】`>]|\*{1,3}|"
    r"_{1,2}){1,4}(?!\w)"
)
_MARKS = re.compile(r"\*{1,3}|_{2,}|`+|[\"“”«»「」『』【】]|(?<!\w)'|'(?!\w)")
_COLON = re.compile(r":[ \t]*\n+")
_SPACE = re.compile(r"[^\S\n]+")
_SENTENCE = re.compile(r"\n+|(?<=[.!?;])\s+|(?<=[.!?])(?=[\ue000-\ue1ff])|(?<=[。！？])(?![。！？])|(?<=\.\.)\s*(?=\w)")
_AND = "and|or|nor|&|und|oder|noch|y|o|ni|et|ou|e|of|en|и|или"
_LIST = re.compile(rf"{_MENTION}(?:[\s()]*[,/][\s()]*{_MENTION})*(?:[\s()]*,?\s*(?:{_AND})[\s()]+{_MENTION})?")
_CLAUSE = re.compile(
    rf"(?<=[\ue000-\ue1ff])[\s)]*(?::|\s[-–—]+\s)\s*|,(?!\d)\s*|[;、]|\s*[()]\s*|\s[-–—]+\s|"
    r"(?<!not)(?<!nicht)\s+(?=(?:but|therefore|thus|hence|because|since|although|while|whereas|rather than|"
    r"instead of|so(?!\s+(?:is|are|was|do|does)\b)|"
    rf"sondern|sino|mais|mas|ma|maar|weil|porque|car|perché|omdat|pero|aber)\b|(?:and |but )?not\s+(?:option |"
    rf"answer )?[\s(]*{_MENTION})",
    re.IGNORECASE,
)
_BETTER_THAN = re.compile(
    rf"\b(?:over|than|as opposed to|unlike)\s+(?:option\s+|answer\s+)?(?={_MENTION})", re.IGNORECASE
)
_CHANGED = re.compile(rf"\bfrom\s+{_MENTION}\s+(?=to\s+{_MENTION})", re.IGNORECASE)
_QUESTION = re.compile(r"\?\W*$")
_TO_THE_QUESTION = re.compile(
    r"\b(?:to|for) (?:the|this|your|that)(?: \w+)? question\b|\bof (?:the|all(?: the)?|these) options?\b", re.IGNORECASE
)
_LOWER = re.compile(
    r"(\b(?:answer|option|choice|letter|respuesta|antwort|réponse|resposta|risposta)\b"
    r"(?:\s+(?:is|was|option|letter)){0,2}\s*[:=-]?\s*\(?)([a-z])(?=\)?\s*(?:$|[.,;:!\n]))",
    re.IGNORECASE,
)
_ALONE = re.compile(r"[\W_]*([A-Za-z])[\W_]*")
_BARE = [
    re.compile(rf"{_NO_WORD_BEFORE}([{sure}]|[{risky}]{_AFTER_A_LETTER}){_NO_WORD_AFTER}(\))?")
    for sure, risky in (("BCDFGH", "AE"), ("BCDFGHJ-NP-Z", "AEIO"))
]
_PAIR = re.compile(
    r"([\ue000-\ue0ff])([\s.):,(=–—-]{0,8})([\ue100-\ue1ff])|([\ue100-\ue1ff])([\s.):,(=–—-]{0,8})([\ue000-\ue0ff])"
)
_BETWEEN_WORDS = r"[\W_]{1,3}"
_WITH_WORD = re.compile(r"\W*([A-Z])[^\w?]+([A-Za-z]+)\W*|\W*([A-Za-z]+)[^\w?]+([A-Z])\W*")
_HEAD = re.compile(r"(?:(?:the )?(?:correct )?answer(?: is)?\W{0,3})?([a-z]+)(?=\s*(?:[.,;!]|$))", re.IGNORECASE)
_PLAIN_WORDS = frozenset(
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
_SPLIT_WORDS = re.compile(r"[^\w\s'\u0300-\u036f\u0900-\u097f\u0e00-\u0e7f\ue000-\ue1ff]+")
_MAX_GAP = 7
#: Words up to which an answer that only names an option's text is taken to answer; longer ones may repeat the speech.
_SHORT = 50


@dataclass
class _Reading:
    """The claims so far: letter -> how clear its claim is."""

    claims: dict[str, int] = field(default_factory=dict)
    topic: set[str] = field(default_factory=set)
    turned: bool = False
    is_short: bool = True

    def claim(self, letters: set[str], strength: int, concludes: bool) -> None:
        if len(letters) > 1:
            strength = min(strength, BARE)
        elif concludes or self.turned:
            self.claims, self.turned = {}, False
        for letter in letters:
            self.claims[letter] = max(strength, self.claims.get(letter, 0))
        self.topic = letters

    def exclude(self, letters: set[str]) -> None:
        for letter in letters:
            self.claims.pop(letter, None)

    def exclude_vague(self) -> None:
        """Exclude the options that were only named before a clause that leaves them open."""
        if max(self.claims.values(), default=0) <= BARE:
            self.exclude(self.topic)

    def answer(self) -> str:
        best = max(self.claims.values(), default=0)
        clearest = [letter for letter, strength in self.claims.items() if strength == best]
        return clearest[0] if len(clearest) == 1 else UNPARSED


def parse_letter(answer: str, options: Sequence[str]) -> str:
    """Return the letter that `answer` gives, or `?` if a careful reader could not say which.

    Args:
        answer: The system's answer; reasoning up to `</think>` is left out.
        options: The options' texts, in the order of their letters; from two to twenty-six.

    >>> options = ["a factory fire", "higher diesel prices", "a legal fine", "a strike", "None of the above"]
    >>> parse_letter("The answer is (B). A strike was not mentioned.", options)
    'B'
    >>> parse_letter("It was a legal fine.", options)
    'C'
    >>> parse_letter("(A) no, (C) no. Therefore (B).", options), parse_letter("I rule out (A).", options)
    ('B', '?')
    """
    letters = ALPHABET[: len(options)]
    text = strip_answer(answer)
    if alone := _ALONE.fullmatch(text):
        return alone[1].upper() if alone[1].upper() in letters else UNPARSED
    plain, pattern = _find_options(tuple(options))
    if plain and (pair := _WITH_WORD.fullmatch(text)):
        letter, word = pair[1] or pair[4], pair[2] or pair[3]
        if word.casefold() in plain:
            return letter if plain[word.casefold()] == letter else UNPARSED
    reading = _Reading(is_short=text.count(" ") < _SHORT)
    for sentence in _SENTENCE.split(_mark(text, pattern, len(options))):
        _read_sentence(sentence, reading)
    if not reading.topic and (said := _HEAD.match(text)):
        return plain.get(said[1].casefold(), UNPARSED)
    found = reading.answer()
    return found if found in letters else UNPARSED


@lru_cache(maxsize=4096)
def _find_options(options: tuple[str, ...]) -> tuple[dict[str, str], re.Pattern[str] | None]:
    """Return the options that are words such as "no" (word -> letter), and a pattern of the texts of the others."""
    plain, patterns = {}, []
    for letter, option in zip(ALPHABET, options, strict=False):
        said = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", option).replace("’", "'"))
        if len(said) == 1 and said[0].casefold() in _PLAIN_WORDS:
            plain[said[0].casefold()] = letter
        elif len("".join(said)) > 1:
            articles = r"(?:(?:an?|the)\s+)?"
            while len(said) > 1 and said[0].casefold() in ("a", "an", "the"):
                del said[0]
            patterns.append(
                (len("".join(said)), f"{articles}(?P<{letter}>{_BETWEEN_WORDS.join(map(re.escape, said))})")
            )
    longest_first = [pattern for _, pattern in sorted(patterns, reverse=True)]
    return plain, re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)", re.IGNORECASE) if longest_first else None


def _mark(text: str, pattern: re.Pattern[str] | None, n: int) -> str:
    """Return the text with one private character in the place of each option that it names."""
    if pattern:
        text = pattern.sub(lambda found: chr(_OPTION + ALPHABET.index(str(found.lastgroup))), text)
    text = _ENCLOSED.sub(lambda found: f" {_letter(_ENCLOSED_LETTER, found[1])} ", text)
    text = _LOWER.sub(lambda found: found[1] + _letter(_BARE_LETTER, found[2]), _MARKS.sub("", text))
    text = _BARE[n > 8].sub(lambda found: _letter(_ENCLOSED_LETTER if found[2] else _BARE_LETTER, found[1]), text)
    return _COLON.sub(": ", _PAIR.sub(_join, _SPACE.sub(" ", text)))


def _letter(start: int, letter: str) -> str:
    return chr(start + ALPHABET.index(letter.upper()))


def _join(pair: re.Match[str]) -> str:
    """Return one mention for a letter and its own text; leave those that differ as a list if one explains the other."""
    first, between, second = (part for part in pair.groups() if part is not None)
    if _named(first) == _named(second):
        return chr(_ENCLOSED_LETTER + ALPHABET.index(_named(first)))
    ends = pair.string[pair.end() : pair.end() + 1] in ("", ".", "\n")
    return f"{first} {second}" if "\n" not in between and (ends or "." not in between) else pair[0]


def _named(mention: str) -> str:
    return ALPHABET[ord(mention) % 64]


def _read_sentence(sentence: str, reading: _Reading) -> None:
    asked = bool(_QUESTION.search(sentence))
    sentence = _CHANGED.sub(" ", _BETTER_THAN.sub(" not ", sentence))
    sentence = words.DENYING.sub(" not ", words.HARMLESS.sub(" ", _TO_THE_QUESTION.sub(" ", sentence)))
    sentence = " ".join(sentence.split())
    sentence = _LIST.sub(lambda found: found[0].replace(",", " ").replace("/", " "), sentence)
    concludes = named = supposed = False
    for clause in filter(None, _CLAUSE.split(sentence)):
        said = _SPLIT_WORDS.sub(" ", re.sub(f"({_MENTION})", r" \1 ", clause)).lower().split()
        if words.RETRACTED.search(clause):
            reading.claims, reading.turned = {}, True
        concludes |= not words.CONCLUDES.isdisjoint(said) or bool(words.CONCLUDES_WITHIN.search(clause))
        supposed |= bool(said) and said[0] in words.CONDITIONS
        at = [i for i, word in enumerate(said) if "\ue000" <= word <= "\ue1ff"]
        denied = _denies(clause, said)
        if not at:
            _read_remark(said, denied, named, reading)
            continue
        if named and said[0] == "while":
            reading.exclude_vague()
        letters, named = {_named(said[i]) for i in at}, True
        reading.topic = letters
        would_be = supposed and "would" in said[at[-1] :]
        if asked or would_be or said[0] in words.CONDITIONS or _leaves_open(clause, said):
            continue
        if denied:
            reading.exclude(letters)
        elif (strength := _strength(clause, said, at)) > (0 if reading.is_short else SPOKEN):
            hedged = not words.HEDGES.isdisjoint(said) and reading.claims.keys() - letters
            reading.claim(letters, max(strength, *reading.claims.values()) if hedged else strength, concludes)


def _leaves_open(clause: str, said: Sequence[str]) -> bool:
    return not words.OPEN.isdisjoint(said) or bool(words.OPENING.search(clause))


def _denies(clause: str, said: Sequence[str]) -> bool:
    return (
        not words.DENIALS.isdisjoint(said)
        or any(word.startswith(words.STEMS) for word in said)
        or bool(words.DENIES_WITHIN.search(clause))
    )


def _read_remark(said: Sequence[str], denied: bool, same_sentence: bool, reading: _Reading) -> None:
    """Read a clause that names no option: it may judge the option named before it."""
    if said and said[0] in ("but", "and"):
        said = said[1:]
    if same_sentence and said and said[0] in words.OPEN:
        reading.exclude_vague()
    opens = same_sentence and said and said[0] in words.LINKS | words.DENIALS
    if denied and (words.VERDICTS.issuperset(said) or (opens and _denies_all(said))):
        reading.exclude(reading.topic)
    elif said and said[0] in words.AFFIRMS and len(said) <= 3 and len(reading.topic) == 1:
        reading.claim(set(reading.topic), BARE, False)


def _denies_all(said: Sequence[str]) -> bool:
    """Return whether a remark such as "the speaker does not say this" is about the whole option named before it."""
    return not words.DENIALS.isdisjoint(said[:3]) or (said[-1] in words.ALL_OF_IT and _denies("", said[:6]))


def _strength(clause: str, said: Sequence[str], at: Sequence[int]) -> int:
    """Return how clearly a clause claims the only option, or the list of options, that it names; 0 if it does not."""
    before, after = said[: at[0]], said[at[-1] + 1 :]
    kind = ord(said[at[0]])
    stated = BARE if not words.MODALS.isdisjoint(said) else STATED
    for i in range(len(before) - 1, -1, -1):
        if before[i] in words.NAMES and i == 0:
            return min(BARE, stated)
        if before[i] in words.CUES or before[i] in words.PRAISE:
            return stated
        if before[i] not in words.LINKS and before[i] not in words.CONCLUDES:
            break
    else:
        praised = not words.PRAISE.isdisjoint(after[:_MAX_GAP]) or words.PRAISES_WITHIN.search(clause)
        if praised or after == ["it", "is"]:
            return stated
        if kind < _OPTION and (not after or kind < _BARE_LETTER or not after[0].isascii()):
            return BARE
    if words.CUE_AT_END.search(re.split(_MENTION, clause, maxsplit=1)[0].rstrip(" (")):
        return stated
    if kind >= _OPTION:
        return SPOKEN
    return SPOKEN if not after and (kind < _BARE_LETTER or (before and before[-1] in words.LINKS)) else 0
