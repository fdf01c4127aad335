"""Read the verdict of a judge from its reply, by rule, from the last line only.

Reasoning up to `</think>`, markup, code fences and empty lines are dropped; the last line that is left must state the
score: after a word such as "Score", alone, with the scale behind it ("4/5", "4 out of 5"), as the result of a sum, or
in a JSON object. A reply from which a careful reader could not take exactly one score of the scale is unparsed, with
the reason.
"""

import json
import math
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, NamedTuple

from speechiq.core.endpoint.replies import FILTERED
from speechiq.core.response import drop_reasoning
from speechiq.metrics.judge.rubric import Rubric
from speechiq.metrics.rules.refusal import is_refusal

EMPTY, UNFINISHED, BLOCKED, REFUSED = "empty reply", "reasoning did not end", "content filter", "the judge refused"
NOTHING, SEVERAL = "no score in the last line", "several scores in the last line"
OUTSIDE, BROKEN, OTHER = "score outside the scale", "not a whole number", "score on another scale"

_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_NUMBERS = {word: str(number) for number, word in enumerate(_WORDS)}
_LABEL = (
    r"(?:\b(?:s[core]{4}s?|grades?|ratings?|rated|verdict|(?:gesamt)?(?:punktzahl|bewertung)|puntuación|puntaje|"
    r"calificación|pontuação|punteggio|valutazione|évaluation|beoordeling|оценка|балл)\b|评分|評分|得分|分数|分數|スコア|評価|점수|평점)"
)
#: Words that label a score only if nothing but its scale or unit follows.
_WEAK_LABEL = r"\b(?:overall|total|final|assessment|evaluation|judge?ment|result|note|nota|voto|cijfer)\b"
_NUMBER = r"(?<![A-Za-z\d_.])[-+−]?\d+(?:[.,]\d+)?(?![\w])"
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
_STRUCK = re.compile(r"~~[^~]*~~")
_CELLS = re.compile(r"(?<=[^|\s])\s*\|\s*(?=[^|\s])")
_MARKUP = re.compile(r"[*_`#<>~|\"“”‘\[\]]|(?<!\w)'|'(?!\w)")
_COUNTED = re.compile(r"(\d)\s*(?:分|点|點|점|です)")
#: The steps of a sum before its result.
_SUM = re.compile(
    r"(?<![\w.])(?:\([^()=]{1,60}\)\s*/\s*\d+|"
    r"\d[\d.,]*(?:\s*\([^()=]{1,40}\))?(?:\s*[-+−–*×]\s*\d[\d.,]*(?:\s*\([^()=]{1,40}\))?)+)\s*=\s*(?=\d)"
)
_JSON_KEY = re.compile(rf"[\"']\s*((?:\w+[ _-])*(?:{_LABEL}|points?|marks?))\s*[\"']\s*:", re.IGNORECASE)
_KEY = re.compile(rf"(?:{_LABEL}|\b(?:points?|marks?))$", re.IGNORECASE)
_LIMIT = re.compile(r"\b(?:max|maximum|out of|scale|highest|possible)\b")
_WHOLE = re.compile(r"\b(?:overall|total|final)\b|^ \w+$")
_AFTER_LABEL = re.compile(
    rf"(?:{_LABEL}(?: i (?:would )?(?:assign|give|award))?(?:\s*\([^()]*\))?\s*(?:(?:[:=→–—]|->|-(?=\s)|"
    rf"(?:is|ist|es|est|é|è|of|von|de|would be|should be|"
    rf"between|from)\b(?: (?:therefore|thus|then|now|still|only)\b)?|[为為是は])\s*)+|^\W*{_LABEL}\s*|"
    rf"\b(?:points?|marks?|punkte|puntos)\s*[:=]\s*)({_NUMBER})(.*)$",
    re.IGNORECASE,
)
_OF = r"(?:/|(?:out of|of|von|sur|de|su|van|из)\b)"
_SCALE = rf"\s*{_OF}\s*\d+(?:\.\d+)?(?!\w)"
_UNIT = r"\s*(?:points?|stars?|marks?|punkten?|puntos|pontos|punti|punten|баллов|балла)"
#: What may follow a number that has no label: its scale or unit, and then the end, punctuation or a reason.
_END = r"(?:\W*$|\s*[.;,:(–—-]\s|\s+(?:because|since|as|for)\b)"
_TAIL = rf"(?:{_SCALE}(?:{_UNIT})?{_END}|{_UNIT}{_SCALE}{_END}|(?:{_UNIT})?\W*$|:\s|\s[-–—]\s)"
_GIVEN = re.compile(
    rf"\b(?:i(?: would|'d|d)? (?:give|rate|grade|score|assign|award|mark|put|go with)|"
    rf"i(?: am|'m) (?:giving|going with)|"
    rf"(?:answer|response|reply|this|it) (?:deserves|earns|receives|merits)|ich gebe|je donne|(?:le )?doy|dou)\b"
    rf"(?:(?!\b(?:less|more|not|than|least|most|fewer)\b)\D){{0,40}}?({_NUMBER})(?={_TAIL})(.*)$",
    re.IGNORECASE,
)
_ALONE = re.compile(rf"^\W*?({_NUMBER})(?={_TAIL})(.*)$", re.IGNORECASE)
_RATED = re.compile(
    rf"\b(?:i(?: would|'d) say|(?:this|it|that)(?: is|'s)|gets|worth)\s+(?:an?\s+)?({_NUMBER})(?={_SCALE}{_END})(.*)$",
    re.IGNORECASE,
)
_WEAK = re.compile(
    rf"{_WEAK_LABEL}(?: (?:{_LABEL}|final\w*|globale?))?\s*[:=–—-]\s*({_NUMBER})(?={_TAIL})(.*)$", re.IGNORECASE
)
_SCALE_BEHIND = re.compile(rf"^\s*{_OF}\s*(\d+(?:\.\d+)?)(?!\w)(.*)$", re.IGNORECASE)
#: A statement of a scale, before a score or in brackets behind it.
_SCALE_STATED = re.compile(
    r"(?:\b(?:scale|range)\b|\bfrom\b|\()\s*(?:of |from |is )?\d+\s*(?:-|–|—|to|and|\.\.+)\s*(\d+)|"
    r"\b(?:out of|max(?:imum)?:?(?: of)?|highest:?)\s*(\d+)|\b(\d+)[- ]point\b|(?:满分|滿分)\s*(\d+)",
    re.IGNORECASE,
)
_IN_BRACKETS = re.compile(
    rf"^(?:{_UNIT})?\s*[(,]?\s*((?:on (?:a|the)|in the|scale|range|out of|max|highest|from|满分|滿分)[^().]*)",
    re.IGNORECASE,
)
_CORRECTED = re.compile(
    rf"(?:\b(?:correction|corrected|wait|actually|sorry|rather|revised|maybe|perhaps|possibly|make (?:it|that)|"
    rf"changed? (?:it )?to|"
    rf"reflection|second thoughts?|reconsider\w*|instead)\b|\bno(?=[,:])|[.;]\s(?!.*{_LABEL}))\D{{0,30}}{_NUMBER}",
    re.IGNORECASE,
)
#: A line that is a score and nothing else, or the score of a part.
_SCORE_LINE = re.compile(rf"\W*(?:for [^:]{{1,30}}:\s*)?{_LABEL}\W{{1,6}}({_NUMBER})[^\w\n]*", re.IGNORECASE)
_PERCENT = re.compile(r"^\s*(?:%|percent\b)", re.IGNORECASE)
_ALTERNATIVE = re.compile(
    rf"^\s*(?:or|oder|o|ou|to|-|–|—|/|,|and|&|\.\.+|vs\.?|[+×*→]|->|=>)\s*{_NUMBER}", re.IGNORECASE
)
_VERDICT_LABEL = re.compile(
    r"\b(?:better|best|winner|verdict|preferred|preference|result)(?: answer| one)?\s*(?:[:=→–—-]|\bis\b)(.*)$",
    re.IGNORECASE,
)


class Verdict(NamedTuple):
    """Describe what a reply states: a score on the scale of the rubric, or NaN and the reason why it is unparsed."""

    score: float
    reason: str = ""


def read_reply(reply: str, rubric: Rubric) -> Verdict:
    r"""Return the score that a judge's reply states in its last line.

    >>> from speechiq.metrics.judge.rubric import read_rubric
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
    line = _read_json(text) or _last_line(text)
    scores = {found[1] for found in map(_SCORE_LINE.fullmatch, text.splitlines()) if found}
    if not line:
        return Verdict(math.nan, UNFINISHED if reply.strip() and not text and "</think" not in reply else EMPTY)
    if _SCORE_LINE.fullmatch(line) and len(scores) > 1:
        return Verdict(math.nan, SEVERAL)
    verdict = _read_verdict(line, rubric) if rubric.kind == "pairwise" else _read_score(line, rubric)
    if verdict.reason == NOTHING and is_refusal(text):
        return Verdict(math.nan, REFUSED)
    return verdict


def _last_line(text: str) -> str:
    """Return the last line that has words and does not only open or close a block of code."""
    plain = unicodedata.normalize("NFKC", _TAG.sub(" ", text)).replace("’", "'")
    lines = [line for line in plain.splitlines() if re.search(r"\w", line) and not _FENCE.fullmatch(line)]
    return lines[-1].strip() if lines else ""


def _read_json(text: str) -> str:
    r"""Return the score of a JSON object that ends the reply, as a line; empty without one.

    >>> _read_json('Fine.\n{"score": 4, "max_score": 5}')
    'Score: 4/5'
    """
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or re.search(r"\w", _FENCE.sub("", text[end + 1 :])):
        return ""
    try:
        fields = dict(_flatten(json.loads(text[start : end + 1])))
    except (ValueError, RecursionError):
        return ""
    limits = [value for name, value in fields.items() if _LIMIT.search(name)]
    scores = {name: value for name, value in fields.items() if _KEY.search(name) and not _LIMIT.search(name)}
    scores = {name: value for name, value in scores.items() if _WHOLE.search(name)} or scores
    behind = f"/{limits[0]}" if len(set(limits)) == 1 else ""
    return ", ".join(f"Score: {value}{behind}" for value in scores.values())


def _flatten(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the fields of a JSON value, with the names of all levels and the text of each value."""
    if isinstance(value, dict):
        for key, content in value.items():
            yield from _flatten(content, f"{name} {key}".replace("_", " ").lower())
    elif isinstance(value, str | int | float):
        yield name, str(value)


def _read_score(line: str, rubric: Rubric) -> Verdict:
    line = _JSON_KEY.sub(r" \1: ", _STRUCK.sub(" ", line))
    line = " ".join(_MARKUP.sub(" ", _CELLS.sub(" : ", _TEX.sub(" ", line))).split())
    line = _SUM.sub("", _drop_own_scale(_COUNTED.sub(r"\1 points ", line), rubric))
    line = re.sub(rf"\b({'|'.join(_NUMBERS)})\b", lambda word: _NUMBERS[word[1].lower()], line, flags=re.IGNORECASE)
    found: list[tuple[str, str]] = []
    rest = line
    while labeled := _AFTER_LABEL.search(rest):
        found.append((labeled[1], labeled[2]))
        rest = labeled[2]
    if not found and (single := _ALONE.match(line) or _WEAK.search(line) or _GIVEN.search(line) or _RATED.search(line)):
        found.append((single[1], single[2]))
    if found and _names_other_scale(line.removesuffix(found[0][1]), rubric):
        return Verdict(math.nan, OTHER)
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
    if (bracket := _IN_BRACKETS.match(behind)) and _names_other_scale(bracket[1], rubric):
        return Verdict(math.nan, OTHER)
    if _ALTERNATIVE.match(behind) or _CORRECTED.search(behind):
        return Verdict(math.nan, SEVERAL)
    score = float(number.replace("−", "-").replace(",", "."))
    if not lowest <= score <= highest:
        return Verdict(math.nan, OUTSIDE)
    return Verdict(score) if score.is_integer() else Verdict(math.nan, BROKEN)


def _names_other_scale(text: str, rubric: Rubric) -> bool:
    """Return whether a text states a scale that does not end as the rubric's does."""
    stated = [int(next(filter(None, scale))) for scale in _SCALE_STATED.findall(text)]
    return any(highest != rubric.scale[1] for highest in stated)


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
