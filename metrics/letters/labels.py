"""Read the label that an answer gives, of a closed set such as emotions, by rule.

A label is named by its own name and by the words that its task lists for it. A word counts if it is a whole word of the
answer and is not denied in its clause; of two labels, "not" before one names the other. An answer gives the label that
it states last ("the answer is", "so"), else the one that it begins with, else the only one that it says something to
be, else the only one that it names. Otherwise it is unparsed (`?`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain

from speechiq.metrics.letters.mentions import WORDS, compile_pattern, strip_answer
from speechiq.metrics.letters.options import UNPARSED
from speechiq.metrics.letters.reading import CLAUSE, SENTENCE, STATES

__all__ = ["UNPARSED", "parse_label"]

_NAME = "[\ue000-\uf8ff]"
#: Denials in front of the name of a label.
_DENIAL = (
    r"(?:\b(?:not(?! only| just| merely)|never|no(?! doubt| question)|none|neither|nor|nothing(?! but)|nobody|hardly|"
    r"than|without(?! (?:a |any )?doubt)|instead of|as opposed to|unlike|far from|anything but|lack(?:s|ing)?|"
    r"absence of|devoid of|free (?:of|from)|exclud\w+|rul\w+ out)|n't)(?!\w)"
)
#: A denial holds for a few words, but not beyond a word that begins a new statement.
_WORDS = r"(?:\s+(?!(?:but|so|because|since|and|as|yet|though)\b)[\w'-]+){0,5}?"
_ANOTHER = rf"(?:(?:\s*,\s*{_NAME})*(?:\s*,?\s+n?or|\s+and|\s*/)\s*(?:\s(?:an?|any|the|even)\s+)?{_NAME})"
_DENIED = re.compile(rf"{_DENIAL}{_WORDS}\s*({_NAME}{_ANOTHER}*)", re.IGNORECASE)
_DENIED_AFTER = re.compile(
    rf"({_NAME})(?:\s*\?\s*no\b|\s+(?:(?:is|was|seems|can|does)\s+)?(?:(?:be|clearly|also)\s+)?"
    r"(?:not|isn't|wasn't|doesn't|can't|cannot|absent|wrong|incorrect|unlikely|missing|ruled out|excluded)\b)",
    re.IGNORECASE,
)
# What stands between "not" or "is" and the name of a label that is said of something.
_VERY = r"(?:\s+(?:an?|the|to|be|seem|sound|look|appear|very|quite|at all|\w+ly))*\s*"
_NOT = re.compile(rf"(?:\bnot(?! only| just| merely)|n't){_VERY}({_NAME})(?!{_ANOTHER})", re.IGNORECASE)
_IS = re.compile(rf"(?:\b(?:is|was|are|were|seems|sounds|looks|appears)|'s){_VERY}({_NAME})[\s.!]*$", re.IGNORECASE)
_IF = compile_pattern(WORDS["if"])
# "No" is a label at the beginning, and where its statement ends; elsewhere it stands before a noun.
_NO = r"(?:(?<![\s\S])no|no(?! (?!because\b|since\b|as\b)\w))"
_MARKS = re.compile(r"[*_`\"“”()\[\]]+")


def parse_label(answer: str, labels: Mapping[str, Sequence[str]]) -> str:
    """Return the only label that an answer names, or `?`; each label has further words that name it.

    Reasoning up to `</think>` is left out.

    >>> labels = {"joy": ["happy", "joyful"], "anger": ["angry"], "neutral": []}
    >>> parse_label("She sounds **happy**, not angry.", labels), parse_label("Joy or anger.", labels)
    ('joy', '?')
    >>> parse_label("Neither joy nor anger; neutral.", labels), parse_label("Not a hint of joy.", labels)
    ('neutral', '?')
    >>> parse_label("Unhappy!", labels), parse_label("", labels)
    ('?', '?')
    """
    names, pattern = _find_names(tuple((label, *words) for label, words in labels.items()))
    signs = {label: chr(0xE000 + number) for number, label in enumerate(labels)}
    lines = _MARKS.sub(" ", strip_answer(answer)).splitlines()
    text = "\n".join(" ".join(line.split()) for line in lines)
    text = pattern.sub(lambda found: signs[names[found[0].casefold()]], text)
    if len(labels) == 2:
        one, other = signs.values()
        text = _NOT.sub(lambda found: other if found[1] == one else one, text)
    for denied in (_DENIED, _DENIED_AFTER):
        text = denied.sub(" ", text)
    sign = _read(text)
    return next((label for label in labels if signs[label] == sign), UNPARSED)


def _read(text: str) -> str:
    """Return the sign of the label that an answer gives, whose labels are signs; empty if none is clear."""
    sentences = [sentence.strip() for sentence in SENTENCE.split(text) if re.search(rf"\w|{_NAME}", sentence)]
    statements = [sentence for sentence in sentences if not sentence.endswith("?")]
    if stated := list(_list_stated(statements)):
        return stated[-1]
    first = statements[0] if statements else ""
    begins = re.findall(_NAME, first) if re.match(rf"\W*{_NAME}", first) else []
    claims = [sentence for sentence in statements if not _IF.search(sentence)]
    said = [found[1] for found in map(_IS.search, _list_clauses(claims)) if found]
    for named in (begins, said, re.findall(_NAME, text)):
        if len(set(named)) == 1:
            return str(named[0])
    return ""


def _list_stated(statements: Sequence[str]) -> Iterator[str]:
    """Yield the sign of each label that stands behind words such as "the answer is"; a list states none."""
    for clause in _list_clauses(statements):
        before, *texts = re.split(rf"({_NAME}{_ANOTHER}*)", clause)
        for named, behind in zip(texts[::2], texts[1::2], strict=True):
            if len(named) == 1 and STATES.search(before):
                yield named
            before = behind


def _list_clauses(sentences: Sequence[str]) -> Iterator[str]:
    return chain.from_iterable(map(CLAUSE.split, sentences))


@lru_cache(maxsize=64)
def _find_names(labels: tuple[tuple[str, ...], ...]) -> tuple[dict[str, str], re.Pattern[str]]:
    """Return name in lower case -> its label, and a pattern that finds names, the longest first."""
    names = {name.casefold(): label for label, *words in labels for name in (label, *words)}
    longest_first = sorted(names, key=len, reverse=True)
    choices = "|".join(_NO if name == "no" else re.escape(name) for name in longest_first)
    return names, re.compile(rf"(?<!\w)(?:{choices})(?!\w)", re.IGNORECASE)
