"""Read the letter that an answer to a multiple-choice question gives, in three steps.

1. The answer states a letter or an option: alone, in brackets, in JSON, after "the answer is", at its beginning or its
   end. A later statement replaces earlier ones.
2. Otherwise, if exactly one option is named in the whole answer, by its letter or by its words, and is not denied, it
   is that option. A refusal names none.
3. Otherwise the answer is unread.

Each mention of an option becomes one private character, which patterns can name. The file words.yaml has the words that
claim an option or deny it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

from speechiq.metrics.letters.mentions import (
    MARK,
    TEXT,
    WITHOUT_SPACES,
    WORDS,
    compile_pattern,
    find_options,
    mark_mentions,
    name_mark,
    strip_answer,
)
from speechiq.metrics.letters.options import ALPHABET, UNPARSED
from speechiq.metrics.rules.refusal import is_refusal

__all__ = ["UNPARSED", "parse_letter"]

#: Number of spaces from which an answer may repeat the speech, so that the words of an option in it say nothing.
LONG = 80
#: Number of characters behind an option that are about it.
NEAR = 25
_MARKS = rf"{MARK}(?:&{MARK})*"
_ALONE = regex.compile(r"[\W_]*([A-Za-z])[\W_]*")
_FIRST_WORD = compile_pattern(r"(?:(?:the )?(?:correct )?answer(?: is)?\W{0,3})?([a-z]+)(?=\W|$)")
SENTENCE = regex.compile(rf"\n+|(?<=[.!?。！？।])(?=\s|$|{MARK}|[{WITHOUT_SPACES}])|;")
CLAUSE = compile_pattern(
    rf",(?!\d)|[、،]|(?={WORDS['but']}|(?<!not ){WORDS['because']}|"
    r"(?<![\w'])(?:so|therefore|instead of|rather than|if)(?!\w))"
)
_NOT, _BUT = compile_pattern(WORDS["not"]), compile_pattern(rf"\W*(?:and )?{WORDS['but']}")
# Conditions, what others say, and what was thought before.
_IF = compile_pattern(
    rf"{WORDS['if']}|\b(?:some|others|many|people|you|one)(?: \w+)? (?:might|may|would|could|say|think)\b|"
    r"\b(?:tempting|initial(?:ly)?|at first|almost|first (?:instinct|thought|guess|glance)|would have)\b"
)
STATES = compile_pattern(
    rf"{WORDS['answer']}.{{0,80}}$|{WORDS['choose']}.{{0,30}}$|"
    rf"(?:{WORDS['option']}.*{WORDS['praise']}|{WORDS['praise']}.*{WORDS['option']}).{{0,60}}$|"
    rf"^\W*(?:and )?{WORDS['so']}\W+(?:[\w']+\W+){{0,3}}$"
)
_PRAISES = compile_pattern(rf"^.{{0,25}}?(?:{WORDS['praise']}|{WORDS['choose']}|{WORDS['answer']})")
_IT_IS = compile_pattern(r"^\W*(?:it'?s|it is|it must be|must be|i think it'?s)\W+$")


@dataclass(frozen=True)
class _Mention:
    """Hold an option that an answer names.

    Attributes:
        letter: Its letter.
        by_words: Whether it is named by its words alone.
        is_alone: Whether it is the whole sentence.
        is_first: Whether it is in the first sentence.
        leads: Whether its sentence begins with it.
        stated: Whether it is stated to be the answer.
        praised: Whether it is said to be right.
        denied: Whether it is denied.
    """

    letter: str
    by_words: bool
    is_alone: bool
    is_first: bool
    leads: bool
    stated: bool
    praised: bool
    denied: bool


def parse_letter(answer: str, options: Sequence[str]) -> str:
    """Return the letter that `answer` gives, or `?`.

    Args:
        answer: The system's answer; a model's reasoning is dropped. An empty answer is unparsed.
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
    marked, refuses = mark_mentions(text, pattern, letters), is_refusal(text)
    found = _read(marked, refuses)
    if not found and (word := _FIRST_WORD.match(text)):
        found = plain.get(word[1].lower(), "")
    return found if found and found in letters else UNPARSED


def _read(marked: str, refuses: bool) -> str:
    """Return the letter that an answer gives, whose mentions are marked; empty if none is clear."""
    mentions = list(_list_mentions(marked))
    claimed = [mention for mention in mentions if not mention.denied]
    stated = [mention.letter for mention in claimed if mention.stated]
    if stated:
        return stated[-1]
    if claimed and claimed[0].leads and claimed[0].is_first:
        rivals = {mention.letter for mention in claimed if mention.leads or mention.is_first}
        if claimed[0].is_alone:
            rivals = {mention.letter for mention in claimed if mention.is_alone}
        if len(rivals) == 1:
            return rivals.pop()
    alone = [mention.letter for mention in claimed if mention.is_alone and not mention.by_words]
    if alone and claimed[-1].is_alone and len(set(alone)) == 1:
        return alone[0]
    praised = [mention.letter for mention in claimed if mention.praised]
    if praised:
        return praised[-1]
    if refuses:
        return ""
    denied = {mention.letter for mention in mentions if mention.denied}
    named = [mention for mention in claimed if mention.letter not in denied]
    by_letter = {mention.letter for mention in named if not mention.by_words}
    if len(by_letter) == 1:
        return by_letter.pop()
    by_words = {mention.letter for mention in named}
    return by_words.pop() if len(by_words) == 1 and marked.count(" ") < LONG else ""


def _list_mentions(marked: str) -> Iterator[_Mention]:
    """Yield the options that an answer names; what it asks, and what holds under a condition, is left out."""
    for number, sentence in enumerate(filter(str.strip, SENTENCE.split(marked))):
        is_alone = bool(regex.fullmatch(rf"[\W_]*{_MARKS}[\W_]*", sentence))
        if sentence.rstrip().endswith(("?", "؟")):
            is_labeled = regex.match(rf"\W*{MARK}:", sentence)  # who speaks in a dialogue
            if not is_labeled:
                continue
            is_alone = False
        under_condition = False
        for place, clause in enumerate(filter(str.strip, CLAUSE.split(sentence))):
            if _BUT.match(clause):
                under_condition = False
            if _IF.search(clause):
                under_condition = True
            if not under_condition:
                yield from _read_clause(clause, is_alone, number == 0, place == 0)


def _read_clause(clause: str, is_alone: bool, is_first: bool, begins: bool) -> Iterator[_Mention]:
    """Yield the options that a clause names, each read by the words before and behind it."""
    texts = regex.split(_MARKS, clause)
    for place, marks in enumerate(regex.findall(_MARKS, clause)):
        before, after = texts[place], texts[place + 1]
        letters = {name_mark(mark) for mark in marks[::2]}
        is_one, by_words = len(letters) == 1, ord(marks[0]) >= TEXT
        for letter in sorted(letters):
            yield _Mention(
                letter=letter,
                by_words=by_words,
                is_alone=is_one and is_alone,
                is_first=is_first,
                leads=is_one and begins and not regex.search(r"\w", before) and (not by_words or is_alone),
                stated=is_one and bool(STATES.search(before)),
                praised=is_one and bool(_PRAISES.match(after) or _IT_IS.search(before)),
                denied=bool(_NOT.search(before)) or _denies(after),
            )


def _denies(after: str) -> bool:
    """Return whether the words behind an option deny it; a sentence of its own is what the option says."""
    is_sentence = regex.match(r"\s*[A-Z]", after)
    return not is_sentence and _NOT.search(after[:NEAR]) is not None
