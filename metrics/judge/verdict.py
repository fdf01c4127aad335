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
from pathlib import Path
from typing import Any, NamedTuple

from speechiq.core.endpoint.replies import FILTERED
from speechiq.core.response import drop_reasoning
from speechiq.metrics.judge.rubric import Rubric
from speechiq.metrics.patterns import read_patterns
from speechiq.metrics.rules.refusal import is_refusal

EMPTY, UNFINISHED, BLOCKED, REFUSED = "empty reply", "reasoning did not end", "content filter", "the judge refused"
NOTHING, SEVERAL = "no score in the last line", "several scores in the last line"
OUTSIDE, BROKEN, OTHER = "score outside the scale", "not a whole number", "score on another scale"

_PATTERNS = read_patterns(Path(__file__).with_name("verdict.yaml"))
_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_NUMBERS = {word: str(number) for number, word in enumerate(_WORDS)}
_VERDICT = {
    "first": "first", "1": "first", "1st": "first", "a": "first",
    "second": "second", "2": "second", "2nd": "second", "b": "second",
    "equal": "equal", "equally": "equal", "tie": "equal", "tied": "equal", "both": "equal", "neither": "equal",
    "same": "equal", "draw": "equal",
}  # fmt: skip
_NEGATED = frozenset({"not", "no", "than", "nor"})


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
    scores = {found[1] for found in map(_PATTERNS["score_line"].fullmatch, text.splitlines()) if found}
    if not line:
        return Verdict(math.nan, UNFINISHED if reply.strip() and not text and "</think" not in reply else EMPTY)
    if _PATTERNS["score_line"].fullmatch(line) and len(scores) > 1:
        return Verdict(math.nan, SEVERAL)
    verdict = _read_verdict(line, rubric) if rubric.kind == "pairwise" else _read_score(line, rubric)
    if verdict.reason == NOTHING and is_refusal(text):
        return Verdict(math.nan, REFUSED)
    return verdict


def _last_line(text: str) -> str:
    """Return the last line that has words and does not only open or close a block of code."""
    plain = unicodedata.normalize("NFKC", _PATTERNS["tag"].sub(" ", text)).replace("’", "'")
    lines = [line for line in plain.splitlines() if re.search(r"\w", line) and not _PATTERNS["fence"].fullmatch(line)]
    return lines[-1].strip() if lines else ""


def _read_json(text: str) -> str:
    r"""Return the score of a JSON object that ends the reply, as a line; empty without one.

    >>> _read_json('Fine.\n{"score": 4, "max_score": 5}')
    'Score: 4/5'
    """
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or re.search(r"\w", _PATTERNS["fence"].sub("", text[end + 1 :])):
        return ""
    try:
        fields = dict(_flatten(json.loads(text[start : end + 1])))
    except (ValueError, RecursionError):
        return ""
    limits = [value for name, value in fields.items() if _PATTERNS["limit"].search(name)]
    scores = {
        name: value
        for name, value in fields.items()
        if _PATTERNS["key"].search(name) and not _PATTERNS["limit"].search(name)
    }
    scores = {name: value for name, value in scores.items() if _PATTERNS["whole"].search(name)} or scores
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
    line = _PATTERNS["json_key"].sub(r" \1: ", _PATTERNS["struck"].sub(" ", line))
    line = " ".join(
        _PATTERNS["markup"].sub(" ", _PATTERNS["cells"].sub(" : ", _PATTERNS["tex"].sub(" ", line))).split()
    )
    line = _PATTERNS["sum"].sub("", _drop_own_scale(_PATTERNS["counted"].sub(r"\1 points ", line), rubric))
    line = re.sub(rf"\b({'|'.join(_NUMBERS)})\b", lambda word: _NUMBERS[word[1].lower()], line, flags=re.IGNORECASE)
    found: list[tuple[str, str]] = []
    rest = line
    while labeled := _PATTERNS["after_label"].search(rest):
        found.append((labeled[1], labeled[2]))
        rest = labeled[2]
    if not found and (
        single := _PATTERNS["alone"].match(line)
        or _PATTERNS["weak"].search(line)
        or _PATTERNS["given"].search(line)
        or _PATTERNS["rated"].search(line)
    ):
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
    if _PATTERNS["percent"].match(behind):
        return Verdict(math.nan, OTHER)
    if scale := _PATTERNS["scale_behind"].match(behind):
        if float(scale[1]) != highest:
            return Verdict(math.nan, OTHER)
        behind = scale[2]
    if (bracket := _PATTERNS["in_brackets"].match(behind)) and _names_other_scale(bracket[1], rubric):
        return Verdict(math.nan, OTHER)
    if _PATTERNS["alternative"].match(behind) or _PATTERNS["corrected"].search(behind):
        return Verdict(math.nan, SEVERAL)
    score = float(number.replace("−", "-").replace(",", "."))
    if not lowest <= score <= highest:
        return Verdict(math.nan, OUTSIDE)
    return Verdict(score) if score.is_integer() else Verdict(math.nan, BROKEN)


def _names_other_scale(text: str, rubric: Rubric) -> bool:
    """Return whether a text states a scale that does not end as the rubric's does."""
    stated = [int(next(filter(None, scale))) for scale in _PATTERNS["scale_stated"].findall(text)]
    return any(highest != rubric.scale[1] for highest in stated)


def _read_verdict(line: str, rubric: Rubric) -> Verdict:
    line = " ".join(_PATTERNS["markup"].sub(" ", _PATTERNS["tex"].sub(" ", line)).split())
    labeled = _PATTERNS["verdict_label"].search(line)
    words = re.findall(r"\w+", (labeled[1] if labeled else line).lower())
    if _NEGATED.intersection(words) or (not labeled and len(words) > 2):
        return Verdict(math.nan, NOTHING)
    stated = {_VERDICT[word] for word in words if word in _VERDICT and (word not in "ab" or len(words) <= 2)}
    if len(stated) > 1:
        return Verdict(math.nan, SEVERAL)
    return Verdict(float(rubric.labels[stated.pop()])) if stated else Verdict(math.nan, NOTHING)
