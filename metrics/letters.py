"""Read the letter that an answer to a multiple-choice question gives.

An answer is stripped of its markup (`metrics/answer_text.py`), each mention of an option becomes one character
(`metrics/answer_mentions.py`), and the text is split into sentences and clauses. Each clause that names options claims
one, excludes some or lists several; the words around the mention decide which (`metrics/answer_words.py`). The clearest
claim that is neither contradicted nor withdrawn is the answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from speechiq.metrics import answer_words as words
from speechiq.metrics.answer_mentions import BARE_LETTER, MENTION, OPTION, find_options, mark_mentions, named_letter
from speechiq.metrics.answer_text import strip_answer
from speechiq.metrics.option_letters import ALPHABET, UNPARSED

__all__ = ["UNPARSED", "parse_letter"]

# How clear a claim is.
SPOKEN, BARE, STATED = 1, 2, 3

_SENTENCE = re.compile(r"\n+|(?<=[.!?;])\s+|(?<=[.!?])(?=[\ue000-\ue1ff])|(?<=[。！？])(?![。！？])|(?<=\.\.)\s*(?=\w)")
_AND = "and|or|nor|&|und|oder|noch|y|o|ni|et|ou|e|of|en|и|или"
_LIST = re.compile(rf"{MENTION}(?:[\s()]*[,/][\s()]*{MENTION})*(?:[\s()]*,?\s*(?:{_AND})[\s()]+{MENTION})?")
_CLAUSE = re.compile(
    rf"(?<=[\ue000-\ue1ff])[\s)]*(?::|\s[-–—]+\s)\s*|,(?!\d)\s*|[;、]|\s*[()]\s*|\s[-–—]+\s|"
    r"(?<!not)(?<!nicht)\s+(?=(?:but|therefore|thus|hence|because|since|although|while|whereas|rather than|"
    r"instead of|so(?!\s+(?:is|are|was|do|does)\b)|"
    rf"sondern|sino|mais|mas|ma|maar|weil|porque|car|perché|omdat|pero|aber)\b|(?:and |but )?not\s+(?:option |"
    rf"answer )?[\s(]*{MENTION})",
    re.IGNORECASE,
)
_BETTER_THAN = re.compile(
    rf"\b(?:over|than|as opposed to|unlike)\s+(?:option\s+|answer\s+)?(?={MENTION})", re.IGNORECASE
)
_CHANGED = re.compile(rf"\bfrom\s+{MENTION}\s+(?=to\s+{MENTION})", re.IGNORECASE)
_QUESTION = re.compile(r"\?\W*$")
_TO_THE_QUESTION = re.compile(
    r"\b(?:to|for) (?:the|this|your|that)(?: \w+)? question\b|\bof (?:the|all(?: the)?|these) options?\b", re.IGNORECASE
)
_ALONE = re.compile(r"[\W_]*([A-Za-z])[\W_]*")
_WITH_WORD = re.compile(r"\W*([A-Z])[^\w?]+([A-Za-z]+)\W*|\W*([A-Za-z]+)[^\w?]+([A-Z])\W*")
_HEAD = re.compile(r"(?:(?:the )?(?:correct )?answer(?: is)?\W{0,3})?([a-z]+)(?=\s*(?:[.,;!]|$))", re.IGNORECASE)
_SPLIT_WORDS = re.compile(r"[^\w\s'\u0300-\u036f\u0900-\u097f\u0e00-\u0e7f\ue000-\ue1ff]+")
_MAX_GAP = 7
#: Words up to which the text of an option alone counts as an answer; longer answers may repeat the speech.
_SHORT = 50


@dataclass
class _Reading:
    """The state of reading one answer.

    Attributes:
        claims: Letter -> how clear its claim is.
        topic: The letters named last.
        turned: Whether the answer took back all that came before.
        is_short: Whether the answer has so few words that the text of an option counts as an answer.
    """

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
        """Exclude the options that were only named, before a clause that leaves them open."""
        if max(self.claims.values(), default=0) <= BARE:
            self.exclude(self.topic)

    def answer(self) -> str:
        best = max(self.claims.values(), default=0)
        clearest = [letter for letter, strength in self.claims.items() if strength == best]
        return clearest[0] if len(clearest) == 1 else UNPARSED


def parse_letter(answer: str, options: Sequence[str]) -> str:
    """Return the letter that `answer` gives, or `?` if a careful reader could not decide.

    Args:
        answer: The system's answer; reasoning up to `</think>` is left out. An empty answer is unparsed.
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
    plain, pattern = find_options(tuple(options))
    if plain and (pair := _WITH_WORD.fullmatch(text)):
        letter, word = pair[1] or pair[4], pair[2] or pair[3]
        if word.casefold() in plain:
            return letter if plain[word.casefold()] == letter else UNPARSED
    reading = _Reading(is_short=text.count(" ") < _SHORT)
    for sentence in _SENTENCE.split(mark_mentions(text, pattern, len(options))):
        _read_sentence(sentence, reading)
    if not reading.topic and (head := _HEAD.match(text)):
        return plain.get(head[1].casefold(), UNPARSED)
    found = reading.answer()
    return found if found in letters else UNPARSED


def _read_sentence(sentence: str, reading: _Reading) -> None:
    is_question = bool(_QUESTION.search(sentence))
    sentence = _CHANGED.sub(" ", _BETTER_THAN.sub(" not ", sentence))
    sentence = words.DENYING.sub(" not ", words.HARMLESS.sub(" ", _TO_THE_QUESTION.sub(" ", sentence)))
    sentence = " ".join(sentence.split())
    sentence = _LIST.sub(lambda found: found[0].replace(",", " ").replace("/", " "), sentence)
    concludes = named = supposed = False
    for clause in filter(None, _CLAUSE.split(sentence)):
        tokens = _SPLIT_WORDS.sub(" ", re.sub(f"({MENTION})", r" \1 ", clause)).lower().split()
        if words.RETRACTED.search(clause):
            reading.claims, reading.turned = {}, True
        concludes |= not words.CONCLUDES.isdisjoint(tokens) or bool(words.CONCLUDES_WITHIN.search(clause))
        supposed |= bool(tokens) and tokens[0] in words.CONDITIONS
        at = [i for i, word in enumerate(tokens) if "\ue000" <= word <= "\ue1ff"]
        denied = _denies(clause, tokens)
        if not at:
            _read_remark(tokens, denied, named, reading)
            continue
        if named and tokens[0] == "while":
            reading.exclude_vague()
        letters, named = {named_letter(tokens[i]) for i in at}, True
        reading.topic = letters
        would_be = supposed and "would" in tokens[at[-1] :]
        if is_question or would_be or tokens[0] in words.CONDITIONS or _leaves_open(clause, tokens):
            continue
        if denied:
            reading.exclude(letters)
        elif (strength := _strength(clause, tokens, at)) > (0 if reading.is_short else SPOKEN):
            hedged = not words.HEDGES.isdisjoint(tokens) and reading.claims.keys() - letters
            reading.claim(letters, max(strength, *reading.claims.values()) if hedged else strength, concludes)


def _leaves_open(clause: str, tokens: Sequence[str]) -> bool:
    return not words.OPEN.isdisjoint(tokens) or bool(words.OPENING.search(clause))


def _denies(clause: str, tokens: Sequence[str]) -> bool:
    return (
        not words.DENIALS.isdisjoint(tokens)
        or any(word.startswith(words.STEMS) for word in tokens)
        or bool(words.DENIES_WITHIN.search(clause))
    )


def _read_remark(tokens: Sequence[str], denied: bool, same_sentence: bool, reading: _Reading) -> None:
    """Read a clause without an option: it may judge the option named before it."""
    if tokens and tokens[0] in ("but", "and"):
        tokens = tokens[1:]
    if same_sentence and tokens and tokens[0] in words.OPEN:
        reading.exclude_vague()
    opens = same_sentence and tokens and tokens[0] in words.LINKS | words.DENIALS
    if denied and (words.VERDICTS.issuperset(tokens) or (opens and _denies_all(tokens))):
        reading.exclude(reading.topic)
    elif tokens and tokens[0] in words.AFFIRMS and len(tokens) <= 3 and len(reading.topic) == 1:
        reading.claim(set(reading.topic), BARE, False)


def _denies_all(tokens: Sequence[str]) -> bool:
    """Return whether a remark such as "the speaker does not say this" is about the whole option named before it."""
    return not words.DENIALS.isdisjoint(tokens[:3]) or (tokens[-1] in words.ALL_OF_IT and _denies("", tokens[:6]))


def _strength(clause: str, tokens: Sequence[str], at: Sequence[int]) -> int:
    """Return how clearly a clause claims the only option, or the list of options, that it names; 0 if it does not."""
    before, after = tokens[: at[0]], tokens[at[-1] + 1 :]
    kind = ord(tokens[at[0]])
    stated = BARE if not words.MODALS.isdisjoint(tokens) else STATED
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
        if kind < OPTION and (not after or kind < BARE_LETTER or not after[0].isascii()):
            return BARE
    if words.CUE_AT_END.search(re.split(MENTION, clause, maxsplit=1)[0].rstrip(" (")):
        return stated
    if kind >= OPTION:
        return SPOKEN
    return SPOKEN if not after and (kind < BARE_LETTER or (before and before[-1] in words.LINKS)) else 0
