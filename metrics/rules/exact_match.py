"""Match free answers with accepted answers by rule, without a model: exact words, words within the answer, overlap.

Both texts are brought into one form: Whisper's English rules (`words/normalizer.py`) write numbers in digits and drop
case and punctuation; then articles and a lead such as "the answer is" are dropped. An answer matches if it then equals
the reference or an accepted answer. If an accepted answer is one number, the last number of the answer decides; a code
such as "101B", a time or a range is not a number.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from speechiq.core.files.yaml_text import read_patterns
from speechiq.metrics.words.normalizer import normalize

#: Raised if the rules change; recorded as the identity of `judge=exact_match`.
VERSION = 2
#: Between two forms of one keyword.
OR = "|"
_PATTERNS = read_patterns(Path(__file__).with_name("exact_match.yaml"))
#: Endings of nouns and the endings that replace them, from singular to plural and back.
_ENDINGS = [
    (re.compile(pattern), ending)
    for pattern, ending in (
        ("$", "s"),
        ("(?:(?<=[sxzo])|(?<=[cs]h))$", "es"),
        ("(?<=[^aeiou])y$", "ies"),
        ("(?<=[^s])s$", ""),
        ("(?:(?<=[sxzo])|(?<=[cs]h))es$", ""),
        ("ies$", "y"),
    )
]
#: Shorter words have no other number, as "gas" or "he".
_SHORTEST_NOUN = 3
_UNIT = r"[$£€¢]?\s*%s\s*(?:%%|percent|[$£€¢]|[a-z]+s?)?"


def exact_match(answer: str, reference: str, accepted: Sequence[str] = ()) -> float:
    """Return 1 if the answer is the reference or an accepted answer by rule, else 0; NaN if there is neither.

    >>> exact_match("It took 3 buses, 21 people each: 63", "sixty three people")
    1.0
    >>> exact_match("a red car", "The red car!"), exact_match("blue", "red", ["blue"]), exact_match("", "red")
    (1.0, 1.0, 0.0)
    """
    targets = [text for text in (reference, *accepted) if text.strip()]
    if not targets:
        return math.nan
    given = simplify(answer)
    return float(any(given == simplify(target) or _same_number(answer, target) for target in targets))


def contains_answer(answer: str, reference: str, accepted: Sequence[str] = ()) -> float:
    """Return 1 if the answer contains the reference or an accepted answer, or matches it exactly, else 0.

    Whole words are compared, each in the singular or the plural, without articles and signs of currencies. An accepted
    answer that is denied ("not Lima") counts too. NaN as for `exact_match`.

    >>> contains_answer("It lives in the big caves of Peru.", "a cave"), contains_answer("It is Limassol.", "Lima")
    (1.0, 0.0)
    """
    matched = exact_match(answer, reference, accepted)
    if matched != 0:
        return matched
    # Text in brackets is a remark in an accepted answer, but a part of an answer.
    given = f" {_list_words(_PATTERNS['bracket'].sub(', ', answer))} "
    targets = filter(None, map(_list_words, (reference, *accepted)))
    return float(any(re.search(_describe_phrase(target), given) for target in targets))


def _list_words(text: str) -> str:
    return _PATTERNS["sign"].sub("", simplify(text))


def _describe_phrase(phrase: str) -> str:
    """Return a pattern of the words of a phrase, each in the singular or the plural."""
    words = ["|".join(map(re.escape, _list_numbers(word))) for word in phrase.split()]
    return " " + " ".join(f"(?:{forms})" for forms in words) + " "


def _list_numbers(word: str) -> list[str]:
    """Return a word as it is, and as its singular or plural if it were a noun.

    >>> _list_numbers("city"), _list_numbers("boxes"), _list_numbers("gas")
    (['city', 'citys', 'cities'], ['boxes', 'boxess', 'boxeses', 'boxe', 'box'], ['gas', 'gass', 'gases'])
    """
    if not word.isalpha() or len(word) < _SHORTEST_NOUN:
        return [word]
    others = [pattern.sub(ending, word, count=1) for pattern, ending in _ENDINGS]
    return list(dict.fromkeys([word, *(other for other in others if len(other) >= _SHORTEST_NOUN)]))


def f1(answer: str, reference: str, accepted: Sequence[str] = ()) -> float:
    """Return how well the words of the answer overlap with those of the most similar accepted answer.

    The harmonic mean of precision and recall of words, from 0 to 1; NaN if there is nothing to compare with.

    >>> f1("a big red car", "The red car"), f1("", "red")
    (0.8, 0.0)
    """
    targets = [simplify(text) for text in (reference, *accepted) if text.strip()]
    return max((_overlap(simplify(answer), target) for target in targets), default=math.nan)


def count_keywords(answer: str, keywords: Sequence[str]) -> float:
    """Return the share of the keywords that an answer contains as whole words; NaN without keywords.

    Args:
        keywords: Words, or several forms of one joined by `|`: one of them is enough.

    >>> count_keywords("Take the number 21 bus.", ["bus|coach", "twenty one", "ticket"])
    0.6666666666666666
    >>> count_keywords("business", ["bus"])
    0.0
    """
    if not keywords:
        return math.nan
    text = f" {simplify(answer)} "
    found = 0
    for keyword in keywords:
        forms = filter(str.strip, keyword.split(OR))
        found += any(f" {simplify(form)} " in text for form in forms)
    return found / len(keywords)


def simplify(text: str) -> str:
    """Return a text in the form in which answers are compared; one without words, such as "a" or "?", as it is written.

    >>> simplify("The answer is: the Eiffel Tower.")
    'eiffel tower'
    """
    words = " ".join(_PATTERNS["articles"].sub(" ", _normalize(text)).split())
    return " ".join(_PATTERNS["lead"].sub("", words).split()) or text.strip().lower()


def _normalize(text: str) -> str:
    """Return the normalized text; Whisper's rules would drop the sign of a negative number."""
    return normalize(_PATTERNS["minus"].sub("minus ", text))


def _same_number(answer: str, target: str) -> bool:
    """Return whether the target is one number, perhaps with a unit, and the last number of the answer is the same."""
    target = simplify(_PATTERNS["part"].sub("code", target))
    numbers = _PATTERNS["number"].findall(target)
    if len(numbers) != 1 or not re.fullmatch(_UNIT % re.escape(numbers[0]), target):
        return False
    found = _PATTERNS["number"].findall(_normalize(_PATTERNS["part"].sub("code", answer)))
    return bool(found) and math.isclose(_value(found[-1]), _value(numbers[0]), rel_tol=1e-9)


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _overlap(answer: str, target: str) -> float:
    given, wanted = Counter(answer.split()), Counter(target.split())
    common = (given & wanted).total()
    return 2 * common / (given.total() + wanted.total()) if common else 0.0
