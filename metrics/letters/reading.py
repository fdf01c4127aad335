"""Read the letter that an answer to a multiple-choice question gives, in three steps.

1. The answer states a letter or an option: alone, in brackets, in JSON, after "the answer is", at its beginning or its
   end. A later statement replaces earlier ones.
2. Otherwise, if exactly one option is named in the whole answer, by its letter or by its words, and is not denied, it
   is that option. A refusal names none.
3. Otherwise the answer is unread.

Each mention of an option becomes one private character, which patterns can name. `words.yaml` has the words that claim
an option or deny it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

from speechiq.metrics.letters.mentions import LETTER, MARK, PAIRED, TEXT, find_options, mark_mentions, name_mark
from speechiq.metrics.letters.options import ALPHABET, UNPARSED
from speechiq.metrics.letters.text import strip_answer
from speechiq.metrics.letters.words import WITHOUT_SPACES, WORDS, compile_pattern
from speechiq.metrics.rules.refusal import is_refusal

__all__ = ["UNPARSED", "parse_letter"]

#: Number of spaces from which an answer may repeat the speech, so that the words of an option in it say nothing.
LONG = 80
#: Number of characters behind an option that are about it.
NEAR = 25
_MARKS = rf"{MARK}(?:&{MARK})*"
_ALONE = regex.compile(r"[\W_]*([A-Za-z])[\W_]*")
_FIRST_WORD = compile_pattern(r"(?:(?:the )?(?:correct )?answer(?: is)?\W{0,3})?([a-z]+)(?=\W|$)")
# What takes back the answer before it.
_RETRACTED = compile_pattern(
    r"(?:^|[.!?\n,;(—–-]\s*)(?:(?:hmm|oh|no|but),? )*(?:wait|hold on|(?:scratch|strike) that|correction|edit|sorry|"
    r"apologies|on (?:second thought|reflection)|upon (?:closer|further|second)|let me (?:re\w+|correct)|"
    r"i (?:take that back|was wrong|misheard|mean|mixed)|(?:i'm )?(?:chang|switch)\w+ (?:it |my answer |my mind )?to|"
    rf"my mistake|oops|or rather|actually,?(?= {MARK})|no[,:]?(?= (?:it's |not )?{MARK}))\b(?:,? no\b)?[,:]?"
)
_SENTENCE = regex.compile(rf"\n+|(?<=[.!?。！？।])(?=\s|$|{MARK}|[{WITHOUT_SPACES}])|;")
_CLAUSE = compile_pattern(
    rf",(?!\d)|(?<!{MARK})\s[-–—]\s|[()、،]|"
    rf"(?<!^|anything |everything |all )(?={WORDS['but']}|(?<!not ){WORDS['because']}|"
    r"\bas (?:it|this|that|he|she|they|there|both|the|we)\b|"
    r"(?<![\w'])(?:so|therefore|thus|hence|instead of|rather than|as opposed to|unlike|if|"
    rf"(?:and )?not (?:\w+ )?{MARK})(?!\w))"
)
# What others say, and what was thought before.
_OTHERS = (
    r"\b(?:some|others|many|people|you|one|(?:many )?listeners|(?:a )?students?)(?: \w+)? (?:might|may|would|could)\b|"
    r"\b(?:some(?: people)?|others|many|you) (?:say|think|choose|chose|pick|picked)\b|\btempting\b|"
    r"\b(?:initial(?:ly)?|at first|almost|nearly|first (?:instinct|thought|guess|glance)|would have|was about to)\b"
)
_NOT, _MAYBE, _VERB, _ANSWER = (compile_pattern(WORDS[name]) for name in ("not", "maybe", "verb", "answer"))
_IF = compile_pattern(rf"{WORDS['if']}|{_OTHERS}")
_WOULD = compile_pattern(r"\b(?:would|could|might|wäre)\b")
_BUT, _SO = (compile_pattern(rf"\W*(?:and )?{WORDS[name]}") for name in ("but", "so"))
_STATES = compile_pattern(
    rf"{WORDS['answer']}.{{0,80}}$|{WORDS['choose']}.{{0,30}}$|(?:^\W*|\b(?:i|we)\b.{{0,20}}){WORDS['pick']}.{{0,30}}$|"
    rf"(?:{WORDS['option']}.*{WORDS['praise']}|{WORDS['praise']}.*{WORDS['option']}).{{0,60}}$|"
    rf"^\W*(?:and )?{WORDS['so']}\W+(?:[\w']+\W+){{0,3}}$"
)
_PRAISES = compile_pattern(rf"^.{{0,40}}?(?:{WORDS['praise']}|{WORDS['choose']}|{WORDS['answer']})")
_IT_IS = compile_pattern(
    r"^\W*(?:it'?s|it is|it must be|must be|i think it'?s)\W+$|"
    r"\b(?:(?:most|more) likely|(?:reason|cause) (?:is|was))\W+$"
)


@dataclass(frozen=True)
class _Mention:
    """Hold an option that an answer names.

    Attributes:
        letter: Its letter.
        kind: How it is named: `LETTER`, `PAIRED` or `TEXT`.
        sentence: The number of its sentence.
        is_alone: Whether it is the whole sentence.
        leads: Whether the sentence begins with it.
        stated: Whether it is stated to be the answer.
        praised: Whether it is said to be right.
        denied: Whether it is denied.
        certain: Whether no word such as "maybe" is beside it.
        opposed: Whether a word such as "but" was before it.
    """

    letter: str
    kind: int
    sentence: int
    is_alone: bool
    leads: bool
    stated: bool
    praised: bool
    denied: bool
    certain: bool
    opposed: bool


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
    found = ""
    for retracted in list(_RETRACTED.finditer(marked))[-1:]:
        found = _read(marked[retracted.end() :], refuses)
    found = found or _read(marked, refuses)
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
    if letter := _read_beginning(claimed):
        return letter
    alone = [mention.letter for mention in claimed if mention.is_alone and mention.kind == LETTER]
    if alone and claimed[-1].is_alone and len(set(alone)) == 1:
        return alone[0]
    praised = [mention.letter for mention in claimed if mention.praised]
    if praised:
        return praised[-1]
    denied = {mention.letter for mention in mentions if mention.denied}
    named = [mention for mention in claimed if mention.letter not in denied and (mention.opposed or not refuses)]
    return _read_only([mention for mention in named if mention.kind < TEXT]) or (
        "" if marked.count(" ") >= LONG else _read_only(named)
    )


def _read_beginning(claimed: Sequence[_Mention]) -> str:
    """Return the letter that an answer begins with, unless it is one of a list; else an empty text."""
    if not claimed or claimed[0].sentence > 0 or not claimed[0].leads:
        return ""
    first = claimed[0]
    if first.is_alone:
        rivals = [mention for mention in claimed if mention.is_alone]
    else:
        rivals = [mention for mention in claimed if mention.leads or mention.sentence == 0]
    return first.letter if {mention.letter for mention in rivals} == {first.letter} else ""


def _read_only(named: Sequence[_Mention]) -> str:
    """Return the letter of the only option among mentions; those with a word such as "maybe" count if all have one."""
    letters = {mention.letter for mention in named if mention.certain} or {mention.letter for mention in named}
    return letters.pop() if len(letters) == 1 else ""


def _list_mentions(marked: str) -> Iterator[_Mention]:
    """Yield the options that an answer names; what it asks, and what holds under a condition, is left out."""
    opposed = False
    for number, sentence in enumerate(filter(str.strip, _SENTENCE.split(marked))):
        is_alone = bool(regex.fullmatch(rf"[\W_]*{_MARKS}[\W_]*", sentence))
        if sentence.rstrip().endswith(("?", "؟")):
            is_labeled = regex.match(rf"\W*{MARK}:", sentence)  # who speaks in a dialogue
            if not is_labeled and (not is_alone or regex.search("[\ue100-\ue1ff]", sentence)):
                continue
            is_alone = False
        has_condition, under_condition = bool(_IF.search(sentence)), False
        for place, clause in enumerate(filter(str.strip, _CLAUSE.split(sentence))):
            is_opposed = bool(_BUT.match(clause))
            opposed |= is_opposed
            if is_opposed or _SO.match(clause):
                under_condition = False
            under_condition |= bool(_IF.search(clause))
            if under_condition or (has_condition and _WOULD.search(clause)):
                continue
            yield from _read_clause(clause, number, is_alone, place == 0, opposed)


def _read_clause(clause: str, sentence: int, is_alone: bool, is_first: bool, opposed: bool) -> Iterator[_Mention]:
    """Yield the options that a clause names, each read by the words before and behind it."""
    texts = regex.split(_MARKS, clause)
    for place, marks in enumerate(regex.findall(_MARKS, clause)):
        before, after = texts[place], texts[place + 1]
        if place > 0:
            before = _split_between(before)[1]
        if place + 2 < len(texts):
            after = _split_between(after)[0]
        letters = {name_mark(mark) for mark in marks[::2]}
        is_one, kind = len(letters) == 1, max(start for start in (LETTER, PAIRED, TEXT) if start <= ord(marks[0]))
        for letter in sorted(letters):
            yield _Mention(
                letter=letter,
                kind=kind,
                sentence=sentence,
                is_alone=is_one and is_alone,
                leads=is_one and is_first and not regex.search(r"\w", before) and (kind < TEXT or is_alone),
                stated=is_one and bool(_STATES.search(before)),
                praised=is_one and bool(_PRAISES.match(after) or _IT_IS.search(before)),
                denied=bool(_NOT.search(before)) or _denies(after),
                certain=not _MAYBE.search(clause),
                opposed=opposed,
            )


def _split_between(text: str) -> tuple[str, str]:
    """Return the words between two options: those about the first, and those about the second."""
    if answer := _ANSWER.search(text):
        return text[: answer.start()], text[answer.start() :]
    first, joined, second = text.rpartition(" and ")
    if joined:
        return first, second
    is_about_first = _VERB.match(text.lstrip(" ),")) or regex.match(rf"[{WITHOUT_SPACES}]", text)
    return (text, "") if is_about_first else ("", text)


def _denies(after: str) -> bool:
    """Return whether the words behind an option deny it; a sentence of its own is what the option says."""
    denial = _NOT.search(after[:NEAR])
    if denial is None:
        return False
    is_sentence = regex.match(r"\s*[A-Z]", after) is not None
    return not is_sentence or not after[: denial.start()].strip()
