"""Read the letter that an answer to a multiple-choice question gives.

An answer is stripped of its markup (`metrics/answer_text.py`), each mention of an option becomes one character
(`metrics/answer_mentions.py`), and the text is split into sentences and clauses. Each clause that names options claims
one, excludes some, lists several or leaves them open (`metrics/answer_clauses.py`); the words around the mention decide
which (`metrics/answer_words.py`). The clearest claim that is neither contradicted nor withdrawn is the answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from speechiq.metrics import answer_words as words
from speechiq.metrics.answer_clauses import BARE, SENTENCE, SPOKEN, STATED, Clause, split_clauses
from speechiq.metrics.answer_mentions import find_options, mark_mentions, named_letter
from speechiq.metrics.answer_text import strip_answer
from speechiq.metrics.option_letters import ALPHABET, UNPARSED

__all__ = ["UNPARSED", "parse_letter"]

_QUESTION = re.compile(r"\?\W*$")
_ALONE = re.compile(r"[\W_]*([A-Za-z])[\W_]*")
_LETTER_ALONE = re.compile(r"[\s().,:!]*([\ue000-\ue01f\ue040-\ue0ff])[\s().,:!]*")
_WITH_WORD = re.compile(r"\W*([A-Z])[^\w?]+([A-Za-z]+)\W*|\W*([A-Za-z]+)[^\w?]+([A-Z])\W*")
_HEAD = re.compile(r"(?:(?:the )?(?:correct )?answer(?: is)?\W{0,3})?([a-z]+)(?=\s*(?:[.,;!]|$))", re.IGNORECASE)
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
        supposed: Whether the last sentence is an assumption, so that one that begins with "then" claims nothing.
    """

    claims: dict[str, int] = field(default_factory=dict)
    topic: set[str] = field(default_factory=set)
    turned: bool = False
    is_short: bool = True
    supposed: bool = False

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
    sentences = SENTENCE.split(mark_mentions(text, pattern, len(options)))
    if first := _read_first(sentences):
        reading.claim({first}, STATED, False)
    for sentence in sentences:
        _read_sentence(sentence, reading)
    if not reading.topic and (head := _HEAD.match(text)):
        return plain.get(head[1].casefold(), UNPARSED)
    found = reading.answer()
    return found if found in letters else UNPARSED


def _read_first(sentences: Sequence[str]) -> str | None:
    """Return the letter that is the whole first line or sentence, unless a later line is another letter alone."""
    alone = [_LETTER_ALONE.fullmatch(sentence) for sentence in sentences]
    letters = {named_letter(found[1]) for found in alone if found}
    return letters.pop() if alone[0] and len(letters) == 1 else None


def _read_sentence(sentence: str, reading: _Reading) -> None:
    is_question = bool(_QUESTION.search(sentence))
    before = set(reading.claims)
    concludes = named = False
    supposed = reading.supposed and sentence.lower().startswith(("then ", "in that case"))
    for clause in split_clauses(sentence):
        if clause.retracts:
            reading.claims, reading.turned = {}, True
        concludes |= clause.concludes
        supposed = clause.supposes or (supposed and not clause.contrasts and not clause.concludes)
        reading.supposed = supposed
        if not clause.at:
            _read_remark(clause, named, reading)
            continue
        if named and clause.first == "while":
            reading.exclude_vague()
        named, reading.topic = True, clause.letters
        if is_question or supposed or clause.leaves_open:
            continue
        if clause.denies:
            reading.exclude(clause.letters)
        elif (strength := clause.strength) > (0 if reading.is_short else SPOKEN):
            if not words.HEDGES.isdisjoint(clause.tokens) and reading.claims.keys() - clause.letters:
                strength = max(strength, *reading.claims.values())
            elif clause.contrasts and strength >= BARE:
                reading.exclude(reading.claims.keys() - before)
            reading.claim(clause.letters, strength, concludes)


def _read_remark(clause: Clause, same_sentence: bool, reading: _Reading) -> None:
    """Read a clause without an option: it may judge the option named before it."""
    if clause.first == "none":
        return
    if clause.first in ("but", "and", "so"):
        clause = Clause(clause.text.partition(" ")[2])
    if same_sentence and clause.first in words.OPEN:
        reading.exclude_vague()
    opens = same_sentence and clause.first in words.LINKS | words.DENIALS
    if clause.denies and (words.VERDICTS.issuperset(clause.tokens) or (opens and clause.denies_all)):
        reading.exclude(reading.topic)
    elif clause.first in words.AFFIRMS and len(clause.tokens) <= 3 and len(reading.topic) == 1:
        reading.claim(set(reading.topic), BARE, False)
