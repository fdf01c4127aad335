"""Read the verdict of a judge from its reply, by rule, from the last line only.

Reasoning up to `</think>`, markup, code fences and empty lines are dropped; the last line that is left must state the
score: after a word such as "Score", alone, or with the scale behind it ("4/5", "4 out of 5"). A reply from which a
careful reader could not take exactly one score of the scale is unparsed, with the reason.
"""

from __future__ import annotations

import math
import re
import unicodedata
from typing import NamedTuple

from speechiq.core.replies import FILTERED
from speechiq.core.response import drop_reasoning
from speechiq.metrics.refusal import is_refusal
from speechiq.metrics.rubric import Rubric

EMPTY, UNFINISHED, BLOCKED, REFUSED = "empty reply", "reasoning did not end", "content filter", "the judge refused"
NOTHING, SEVERAL = "no score in the last line", "several scores in the last line"
OUTSIDE, BROKEN, OTHER = "score outside the scale", "not a whole number", "score on another scale"

_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_NUMBERS = {word: str(number) for number, word in enumerate(_WORDS)}
_LABEL = r"(?:scores?|grades?|ratings?|rated|verdict)"
_NUMBER = r"(?<![\w.])[-+−]?\d+(?:[.,]\d+)?(?![\w])"
_VERDICT = {
    "first": "first", "1": "first", "1st": "first", "a": "first",
    "second": "second", "2": "second", "2nd": "second", "b": "second",
    "equal": "equal", "equally": "equal", "tie": "equal", "tied": "equal", "both": "equal", "neither": "equal",
    "same": "equal", "draw": "equal",
}  # fmt: skip
_NEGATED = frozenset({"not", "no", "than", "nor"})
_FENCE = re.compile(r"\s*(?:```\w*|_+)\s*")
_TAG = re.compile(r"<\|[^|<>]{1,30}\|>|</?[A-Za-z]\w{0,15}>")
_TEX = re.compile(r"\\(?:boxed|text|textbf|mathbf|mathrm|bf)\b|\\[\[\]()]|[{}$]")
_MARKUP = re.compile(r"[*_`#<>~|\"'“”‘’\[\]]")
_JSON_KEY = re.compile(rf"[\"']\s*((?:\w+[ _-])*(?:{_LABEL}|points?|marks?))\s*[\"']\s*:", re.IGNORECASE)
_AFTER_LABEL = re.compile(
    rf"(?:\b{_LABEL}\b(?:\s*\([^()]*\))?\s*(?:(?:[:=→–—]|->|-(?=\s)|is|of|would be|should be|between|from)\s*)+|"
    rf"^\W*{_LABEL}\s+|\b(?:points?|marks?)\s*[:=]\s*)({_NUMBER})(.*)$",
    re.IGNORECASE,
)
_SCALE = r"\s*(?:/|out of|of)\s*\d+(?:\.\d+)?(?!\w)"
_UNIT = r"\s*(?:points?|stars?|marks?)"
#: What may follow a number that has no label: its scale or unit, and then the end, punctuation or a reason.
_END = r"(?:\W*$|\s*[.;,:(–—-]\s|\s+(?:because|since|as|for)\b)"
_TAIL = rf"(?:{_SCALE}(?:{_UNIT})?{_END}|{_UNIT}{_SCALE}{_END}|(?:{_UNIT})?\W*$|:\s|\s[-–—]\s)"
_GIVEN = re.compile(
    rf"\b(?:i(?: would|'d|d)? (?:give|rate|grade|score|assign|award|mark)|"
    rf"(?:answer|response|reply) (?:deserves|earns|receives))\b"
    rf"(?:(?!\b(?:less|more|not|than|least|most|fewer)\b)\D){{0,40}}?({_NUMBER})(?={_TAIL})(.*)$",
    re.IGNORECASE,
)
_ALONE = re.compile(rf"^\W*?({_NUMBER})(?={_TAIL})(.*)$", re.IGNORECASE)
_SCALE_BEHIND = re.compile(r"^\s*(?:/|out of|of)\s*(\d+(?:\.\d+)?)(?!\w)(.*)$", re.IGNORECASE)
_PERCENT = re.compile(r"^\s*(?:%|percent\b)", re.IGNORECASE)
_ALTERNATIVE = re.compile(rf"^\s*(?:or|to|-|–|—|/|,|and|&|\.\.+|vs\.?)\s*{_NUMBER}", re.IGNORECASE)
_VERDICT_LABEL = re.compile(
    r"\b(?:better|best|winner|verdict|preferred|preference|result)(?: answer| one)?\s*(?:[:=→–—-]|\bis\b)(.*)$",
    re.IGNORECASE,
)


class Verdict(NamedTuple):
    """What a reply states.

    Attributes:
        score: On the scale of the rubric; NaN if the reply is unparsed.
        reason: Why it is unparsed; empty if it is not.
    """

    score: float
    reason: str = ""


def read_reply(reply: str, rubric: Rubric) -> Verdict:
    r"""Return the score that a judge's reply states in its last line.

    Args:
        reply: The raw text.
        rubric: What the judge was asked.

    >>> from speechiq.metrics.rubric import read_rubric
    >>> rubric = read_rubric("grade_0_5")
    >>> read_reply("Right in substance.\n**Score: 4/5**", rubric)
    Verdict(score=4.0, reason='')
    >>> read_reply("Score: 4\nThe date is wrong.", rubric)
    Verdict(score=nan, reason='no score in the last line')
    >>> read_reply("Both are right.\nBetter: equal", read_rubric("pairwise")).score
    0.0
    """
    if reply.strip() == FILTERED:
        return Verdict(math.nan, BLOCKED)
    text = drop_reasoning(reply)
    line = _last_line(text)
    if not line:
        return Verdict(math.nan, UNFINISHED if reply.strip() and not text and "</think" not in reply else EMPTY)
    verdict = _read_verdict(line, rubric) if rubric.kind == "pairwise" else _read_score(line, rubric)
    if verdict.reason == NOTHING and is_refusal(text):
        return Verdict(math.nan, REFUSED)
    return verdict


def _last_line(text: str) -> str:
    """Return the last line that has words and does not only open or close a block of code."""
    plain = unicodedata.normalize("NFKC", _TAG.sub(" ", text)).replace("’", "'")
    lines = [line for line in plain.splitlines() if re.search(r"\w", line) and not _FENCE.fullmatch(line)]
    return lines[-1].strip() if lines else ""


def _read_score(line: str, rubric: Rubric) -> Verdict:
    line = _JSON_KEY.sub(r" \1: ", line)
    line = " ".join(_MARKUP.sub(" ", _TEX.sub(" ", line)).split())
    line = _drop_own_scale(line, rubric)
    line = re.sub(rf"\b({'|'.join(_NUMBERS)})\b", lambda word: _NUMBERS[word[1].lower()], line, flags=re.IGNORECASE)
    found: list[tuple[str, str]] = []
    rest = line
    while labeled := _AFTER_LABEL.search(rest):
        found.append((labeled[1], labeled[2]))
        rest = labeled[2]
    if not found and (single := _ALONE.match(line) or _GIVEN.search(line)):
        found.append((single[1], single[2]))
    verdicts = [_as_grade(number, behind, rubric) for number, behind in found]
    if not verdicts:
        return Verdict(math.nan, NOTHING)
    return verdicts[0] if len({str(verdict) for verdict in verdicts}) == 1 else Verdict(math.nan, SEVERAL)


def _drop_own_scale(line: str, rubric: Rubric) -> str:
    """Return the line without a statement of the rubric's own scale, such as `(0-5)` or `on a scale from 0 to 5`."""
    lowest, highest = rubric.scale
    limits = rf"{lowest}\s*(?:-|–|—|to|and|\.\.+)\s*{highest}"
    return re.sub(
        rf"\(?\b(?:on (?:a|the) scale )?(?:of |from |between )?(?<!\d){limits}(?!\d)(?:\s+scale)?\)?|"
        rf"\(?\b(?:out of|max(?:imum)?|/)\s*{highest}(?!\d)\)?(?=\s*[:=])",
        " ", line, flags=re.IGNORECASE,
    )  # fmt: skip


def _as_grade(number: str, behind: str, rubric: Rubric) -> Verdict:
    """Return the verdict of a number, by the text behind it."""
    lowest, highest = rubric.scale
    if _PERCENT.match(behind):
        return Verdict(math.nan, OTHER)
    if scale := _SCALE_BEHIND.match(behind):
        if float(scale[1]) != highest:
            return Verdict(math.nan, OTHER)
        behind = scale[2]
    if _ALTERNATIVE.match(behind):
        return Verdict(math.nan, SEVERAL)
    score = float(number.replace("−", "-").replace(",", "."))
    if not lowest <= score <= highest:
        return Verdict(math.nan, OUTSIDE)
    return Verdict(score) if score.is_integer() else Verdict(math.nan, BROKEN)


def _read_verdict(line: str, rubric: Rubric) -> Verdict:
    line = " ".join(_MARKUP.sub(" ", _TEX.sub(" ", line)).split())
    labeled = _VERDICT_LABEL.search(line)
    words = re.findall(r"\w+", (labeled[1] if labeled else line).lower())
    if _NEGATED.intersection(words) or (not labeled and len(words) > 2):
        return Verdict(math.nan, NOTHING)
    stated = {_VERDICT[word] for word in words if word in _VERDICT and (word not in "ab" or len(words) <= 2)}
    if len(stated) > 1:
        return Verdict(math.nan, SEVERAL)
    return Verdict(float(rubric.labels[stated.pop()])) if stated else Verdict(math.nan, NOTHING)
