"""Read the letter that an answer to a multiple-choice question gives.

An answer is stripped of its markup (`metrics/letters/text.py`), each mention of an option becomes one character
(`letters/mentions.py`), and the text is split into sentences and clauses. A clause claims a letter only in words
that are all known to state an answer (`metrics/letters/clauses.py`, `metrics/letters/words.py`); other clauses leave it
open. The text of an option may be part of any sentence. The clearest claim that is neither contradicted nor withdrawn
is the answer.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from speechiq.metrics.letters import words
from speechiq.metrics.letters.clauses import BARE, PAIRED, SENTENCE, SPOKEN, STATED, Clause, split_clauses
from speechiq.metrics.letters.mentions import MENTION, find_options, mark_mentions, named_letter
from speechiq.metrics.letters.options import ALPHABET, UNPARSED
from speechiq.metrics.letters.text import strip_answer

__all__ = ["UNPARSED", "parse_letter"]

_CUT_OFF = re.compile(r"[.!?]\s.*[^\W\d_]{2}\Z", re.DOTALL)
# A question in Greek ends with a semicolon.
_QUESTION = re.compile(r"[?؟]\W*$|[\u0370-\u03ff][^.!]*;\W*$")
_ALONE = re.compile(r"[\W_]*([A-Za-z])[\W_]*")
_LETTER_ALONE = re.compile(r"[\s().,:;!]*([\ue000-\ue01f\ue040-\ue0ff])[\s().,:;!]*")
_OPTION_ALONE = re.compile(r"[\s().,:!]*[\ue020-\ue03f][\s().,:!]*")
_WITH_WORD = re.compile(r"\W*([A-Z])[^\w?]+([A-Za-z]+)\W*|\W*([A-Za-z]+)[^\w?]+([A-Z])\W*")
_HEAD = re.compile(r"(?:(?:the )?(?:correct )?answer(?: is)?\W{0,3})?([a-z]+)(?=\s*(?:[.,;!]|$))", re.IGNORECASE)
#: Words up to which the text of an option alone counts as an answer; longer answers may repeat the speech.
_SHORT = 50


@dataclass
class _Reading:
    """Hold the state of reading one answer.

    Attributes:
        claims: Letter -> how clear its claim is.
        topic: The letters named last.
        turned: Whether the answer took back all that came before.
        is_short: Whether the answer has so few words that the text of an option counts as an answer.
        undecided: Letters of clauses that neither claim nor exclude them.
        supposed: Whether the last sentence is an assumption, so that one that begins with "then" claims nothing.
    """

    claims: dict[str, int] = field(default_factory=dict)
    topic: set[str] = field(default_factory=set)
    turned: bool = False
    is_short: bool = True
    supposed: bool = False
    undecided: set[str] = field(default_factory=set)

    def claim(self, letters: set[str], strength: int, concludes: bool) -> None:
        if len(letters) > 1:
            strength = min(strength, BARE)
        elif concludes or self.turned:
            self.claims, self.turned = {}, False
        for letter in letters:
            self.claims[letter] = max(strength, self.claims.get(letter, 0))
        self.topic = letters

    def exclude(self, letters: set[str], kept: int = STATED + 1) -> None:
        """Exclude letters whose claim is less clear than `kept`."""
        for letter in letters:
            if self.claims.get(letter, kept) < kept:
                del self.claims[letter]

    def answer(self) -> str:
        best = max(self.claims.values(), default=0)
        clearest = [letter for letter, strength in self.claims.items() if strength == best]
        if len(clearest) != 1 or (best == SPOKEN and self.undecided.difference(clearest)):
            return UNPARSED
        return clearest[0]


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
    reading = _Reading(is_short=text.count(" ") < _SHORT and not (_CUT_OFF.search(text) or words.DECLINES.search(text)))
    marked = mark_mentions(text, pattern, len(options))
    sentences = SENTENCE.split(marked)
    for letter in _read_alone(sentences):
        reading.claim({letter}, STATED, False)
    for sentence in sentences:
        _read_sentence(sentence, reading)
    if not re.search(MENTION, marked) and (head := _HEAD.match(text)):
        return plain.get(head[1].casefold(), UNPARSED)
    found = reading.answer()
    return found if found in letters else UNPARSED


def _read_alone(sentences: Sequence[str]) -> Iterator[str]:
    """Yield the letter that is the whole first line or sentence, or the last; none if another is alone, too."""
    alone = [_LETTER_ALONE.fullmatch(sentence) for sentence in sentences]
    letters = {named_letter(found[1]) for found in alone if found}
    lists_options = any(_OPTION_ALONE.fullmatch(sentence) for sentence in sentences)
    if len(letters) == 1 and (alone[0] or (alone[-1] and not lists_options)):
        yield from letters


def _read_sentence(sentence: str, reading: _Reading) -> None:
    is_question = bool(_QUESTION.search(sentence))
    before = set(reading.claims)
    concludes = named = doubtful = retracted = False
    supposed = reading.supposed and sentence.lower().startswith(("then ", "in that case"))
    for clause in split_clauses(sentence):
        if clause.retracts:
            reading.claims, reading.turned = {}, True
            retracted = True
        concludes |= clause.concludes
        supposed = clause.supposes or (supposed and not clause.contrasts and not clause.concludes)
        reading.supposed = supposed
        doubtful = doubtful and not (clause.contrasts or clause.concludes or clause.retracts)
        if clause.text.startswith("While ") and named:  # what comes before it is a heading
            reading.exclude(reading.topic, STATED)
        if not clause.at:
            _read_remark(clause, named, reading)
            doubtful |= not named and not retracted and not clause.introduces
            continue
        named, reading.topic = True, clause.letters
        if is_question or supposed:
            continue
        if clause.denies:
            reading.exclude(clause.letters, STATED + 1 if clause.is_known else BARE)
            reading.topic = set()
            continue
        strength = 0 if doubtful else clause.stated
        if not (strength := strength or (0 if doubtful and clause.in_other_script else clause.spoken)):
            reading.undecided |= clause.letters
        elif strength > (0 if reading.is_short else PAIRED):
            hedges = strength > PAIRED and not words.HEDGES.isdisjoint(clause.tokens)
            if hedges and reading.claims.keys() - clause.letters:
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
    opens = same_sentence and clause.first in words.LINKS | words.DENIALS
    if clause.denies and (
        words.VERDICTS.issuperset(clause.tokens) or (opens and not words.DENIALS.isdisjoint(clause.tokens[:3]))
    ):
        reading.exclude(reading.topic)
    elif words.AFFIRMING.fullmatch(clause.text) and len(reading.topic) == 1:
        reading.claim(set(reading.topic), STATED, False)
    elif clause.first in words.AFFIRMS and len(clause.tokens) <= 3 and len(reading.topic) == 1:
        reading.claim(set(reading.topic), BARE, False)
