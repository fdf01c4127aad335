"""Find an answer's option that was not offered: a letter that no option has, or its letter with another text.

This is a sign of hallucination in the paper's Appendix C: a model changes the options of the question. Only a letter
that stands like the label of an option is read, such as "(B)", "B." or "B:", at the beginning of a line or a sentence
or after words such as "the answer is", with the text behind it up to the end of the sentence. A long text, and one that
begins with words such as "because", explains the letter and is no option.
"""

from collections.abc import Iterator, Sequence

import regex
from rapidfuzz import fuzz

from speechiq.metrics.letters.mentions import WORDS, compile_pattern, strip_answer
from speechiq.metrics.letters.options import ALPHABET, UNPARSED
from speechiq.metrics.words.content_words import find_content_words, has_word
from speechiq.metrics.words.normalizer import DEFAULT, normalize

__all__ = ["find_unoffered"]

#: Similarity, from 0 to 100, from which on a text is that of an option.
NEARLY = 90
#: How many words more than the longest option a text may have; a longer one is an explanation.
MORE_WORDS = 2
#: How many letters behind the last option are read as such.
BEHIND = 3
_ALONE = compile_pattern(rf"(?:[^.!?]{{0,30}}{WORDS['answer']}(?: is)?)?[\W_]*([A-Z])[\W_]*")
_STATED = rf"(?:{WORDS['answer']}|{WORDS['choose']}|{WORDS['option']})[^.!?\n]{{0,40}}?"
_IN_BRACKETS = r"[(\[](?P<letter>[A-Z])[)\]]"
# At the beginning of a line "B." is a label as well; elsewhere its full stop ends the sentence.
_LABEL = compile_pattern(
    rf"(?:(?:^|\n)[^\w\n(\[]*(?:{_IN_BRACKETS}|(?P<letter>[A-Z])(?=[).:]))[).:]*|"
    rf"(?:[.!?:;]\s|\b(?:is|are|was|means)\s|{_STATED})[^\w\n(\[]*(?:{_IN_BRACKETS}|(?<!\w)(?P<letter>[A-Z])(?=[):]))[):]*)"
    r"(?![.,])[^\S\n]*(?P<text>[^\n]*)"
)
_END = regex.compile(r"[.!?;](?:\s|$)|[(\[][A-Z][)\]]|\b[A-Z]\)")
# What begins an explanation of a letter, not the text of an option.
_VERB = r"\b(?:as|is|are|was|were|does|did|has|had|would|should|must|may|might|can|could|seems|looks|fits|matches)\b"
_EXPLAINS = compile_pattern(
    "|".join([_VERB, *(WORDS[name] for name in ("because", "or", "but", "so", "if", "not", "praise", "answer"))])
)
_DENIES = compile_pattern(WORDS["not"])


def find_unoffered(answer: str, letter: str, options: Sequence[str], rules: str = DEFAULT) -> str:
    """Return the option of an answer that was not offered, such as "B: by train"; empty without one.

    Args:
        answer: The system's answer; a model's reasoning is dropped.
        letter: The letter that it gives; `?` if none was read.
        options: Texts of all options in the order of their letters, the last one that of "None of the above".
        rules: The normalizer by which texts are compared.

    >>> options = ["a factory fire", "higher diesel prices", "a legal fine", "a strike", "None of the above"]
    >>> find_unoffered("The answer is (B) lower sales.", "B", options), find_unoffered("(F) All of them", "?", options)
    ('B: lower sales', 'F: All of them')
    >>> find_unoffered("(B) Higher prices of diesel", "B", options), find_unoffered("(B) since it cost", "B", options)
    ('', '')
    """
    behind = ALPHABET[len(options) :][:BEHIND]
    text = strip_answer(answer)
    if alone := _ALONE.fullmatch(text):
        given = alone[1].upper()
        return given if letter == UNPARSED and given in behind else ""
    for given, claimed in _list_labels(text):
        if letter == UNPARSED and given in behind:
            return f"{given}: {claimed}".rstrip(": ")
        if given == letter and _is_option(claimed, options) and not _is_offered(claimed, letter, options, rules):
            return f"{given}: {claimed}"
    return ""


def _list_labels(text: str) -> Iterator[tuple[str, str]]:
    """Yield each letter of an answer that stands like a label, with the text behind it."""
    for found in _LABEL.finditer(text, overlapped=True):
        end = _END.search(found["text"])
        claimed = found["text"][: end.start()] if end else found["text"]
        yield found["letter"].upper(), claimed.strip(" .,:;()[]\"'-–—=")


def _is_option(claimed: str, options: Sequence[str]) -> bool:
    """Return whether a text may be that of an option: no explanation, and not much longer than the longest one."""
    longest = max(len(option.split()) for option in options[:-1]) + MORE_WORDS
    return bool(claimed) and not _EXPLAINS.match(claimed) and len(claimed.split()) <= longest


def _is_offered(claimed: str, letter: str, options: Sequence[str], rules: str) -> bool:
    """Return whether a text is nearly that of some option, or says what the option of its letter says.

    Any denial is "None of the above".
    """
    place = ALPHABET.index(letter)
    text, written = normalize(claimed, rules), [normalize(option, rules) for option in options]
    if written[place].startswith(text) or text.startswith(tuple(written)):
        return True
    if any(fuzz.ratio(text, option) >= NEARLY for option in written):
        return True
    if place == len(options) - 1:
        return bool(_DENIES.search(claimed))
    words, offered = find_content_words(claimed, rules), find_content_words(options[place], rules)
    has_all = bool(offered) and all(has_word(word, words) for word in offered)
    return has_all or all(has_word(word, offered) for word in words)
