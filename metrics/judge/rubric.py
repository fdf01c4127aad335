"""Read rubrics: files that say what a judge is asked and on which scale it answers.

A rubric is a YAML file with `name`, `version`, `kind` (`score`, `pairwise` or `letter`), for scores `scale` ([lowest,
highest]) and `grades` (number -> what it means), and `prompt`. The prompt contains the names of what is judged in
braces; `{grades}` is the list of grades. Files of users have the same form. See docs/concepts/judges.md.

The verdict of a judge is read from its reply by rule. A rubric asks for one form: a last line "Score: N" or
"Better: first", or a JSON object. These are read, with markup, with the scale behind the number ("4/5", "4 out of 5"),
or with a reason behind them. A reply from which a careful reader could not take exactly one score of the scale is
unparsed, with the reason.
"""

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from speechiq.core.endpoint.replies import FILTERED
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import content_sha256
from speechiq.core.files.plain import expand, is_file, read_plain, reading
from speechiq.core.files.yaml_text import load_yaml, read_patterns
from speechiq.core.response import drop_reasoning
from speechiq.core.suggestions import did_you_mean, suggest
from speechiq.metrics.rules.refusal import is_refusal

HERE = Path(__file__).with_name("rubrics")
SUFFIXES = (".yaml", ".yml")
#: Name of the rubric for transcripts, and of each such rubric of a user, and the column that its judge adds.
MEANING = "meaning"
#: Bytes of the largest rubric file.
LARGEST = 2**16
#: Kind -> placeholders that its prompt must have, and those that it may have.
PLACEHOLDERS = {
    "score": (("answer",), ("question", "reference", "checklist", "grades")),
    "pairwise": (("first", "second"), ("question", "reference")),
    "letter": (("answer", "options"), ("question",)),
}
#: Score of each verdict of a pairwise rubric.
VERDICTS = {"first": 1, "equal": 0, "second": -1}
#: Most grades of a scale.
MOST_GRADES = 101
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class Rubric(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Describe what a judge is asked, and the scale of its answer.

    Attributes:
        kind: `score` (one answer is graded), `pairwise` (two answers are compared) or `letter` (an option is named).
        scale: Lowest and highest score; of a pairwise rubric -1 (the second is better) and 1 (the first is better).
        grades: Number -> what it means; need not have all numbers of the scale.
        prompt: The message to the judge, with placeholders in braces.
    """

    name: Annotated[str, Meta(min_length=1)]
    version: Annotated[int, Meta(ge=1)]
    kind: Literal["score", "pairwise", "letter"]
    prompt: str
    scale: tuple[int, int] = (0, 0)
    grades: dict[int, str] = {}

    @property
    def sha256(self) -> str:
        """Return the sha256 of the content, independent of the file's layout."""
        return content_sha256(msgspec.to_builtins(self, str_keys=True))

    @property
    def labels(self) -> dict[str, int]:
        """Return what a judge writes as its verdict -> the score that it means, lowest number first for grades."""
        if self.kind == "pairwise":
            return VERDICTS
        lowest, highest = self.scale
        return {str(grade): grade for grade in range(lowest, highest + 1)}

    def has(self, placeholder: str) -> bool:
        """Return whether the prompt shows a placeholder."""
        return placeholder in _PLACEHOLDER.findall(self.prompt)

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the prompt with a value in the place of each placeholder; braces in values stay as they are.

        Values may have `grades`, from `list_grades`, in the place of those of the rubric.
        """
        listed = {"grades": _list_lines(self.grades), **values}
        return _PLACEHOLDER.sub(lambda found: listed[found[1]].strip() or "(none)", self.prompt)

    def list_grades(self, meanings: Sequence[str]) -> str:
        """Return the grades of one case as the prompt lists them: what each score means, the lowest first.

        >>> read_rubric("right_wrong").list_grades(["another city", "Lima"]).splitlines()
        ['0: another city', '1: Lima']
        """
        return _list_lines(dict(zip(self.labels.values(), meanings, strict=True)))

    def as_share(self, score: float) -> float:
        """Return a score as a share of the scale, 0 for the lowest and 1 for the highest."""
        lowest, highest = self.scale
        return (score - lowest) / (highest - lowest)

    def take(self, score: float, other: "Rubric") -> float:
        """Return a score by another rubric on the scale of this one."""
        lowest, highest = self.scale
        return score if other.scale == self.scale else lowest + other.as_share(score) * (highest - lowest)


def _list_lines(grades: Mapping[int, str]) -> str:
    return "\n".join(f"{grade}: {meaning}" for grade, meaning in grades.items())


def shipped_rubrics() -> list[str]:
    """Return the names of the rubrics of speechiq, sorted.

    >>> shipped_rubrics()[:5]
    ['grade_0_5', 'letter', 'meaning', 'pairwise', 'points_1_10']
    """
    return sorted(file.stem for file in HERE.glob("*.yaml"))


def read_rubric(name: str) -> Rubric:
    """Return a rubric of `shipped_rubrics()` by its name, or that of a YAML file; refuse what is not one.

    >>> read_rubric("grade_0_5").scale
    (0, 5)
    """
    if name in shipped_rubrics():
        return _read(HERE / f"{name}.yaml", f"rubric {name}")
    file = expand(name)
    if not is_file(file) and file.suffix not in SUFFIXES:
        raise SpeechIQError(f"judge_rubric={name}", "unknown", f"{suggest(name, shipped_rubrics())}, and YAML files")
    return _read(file, f"judge_rubric={name}")


def _read(file: Path, called: str) -> Rubric:
    with reading(called):
        text = read_plain(file, LARGEST)
    try:
        content = load_yaml(text)
    except ValueError as error:
        raise SpeechIQError(called, f"not valid YAML ({error!s:.200})", "correct the file") from error
    try:
        rubric = msgspec.convert(content, Rubric, strict=True)
    except msgspec.ValidationError as error:
        raise SpeechIQError(
            called,
            f"not a rubric ({error})",
            "a rubric has name, version, kind, scale, grades and prompt, as those in metrics/rubrics",
        ) from error
    if rubric.kind == "pairwise":
        rubric = msgspec.structs.replace(rubric, scale=(-1, 1))
    _check(rubric, content, called)
    return rubric


def _check(rubric: Rubric, content: Mapping[str, Any], called: str) -> None:
    if rubric.kind != "score" and (given := {"scale", "grades"} & content.keys()):
        raise SpeechIQError(called, f"{min(given)}: a {rubric.kind} rubric has none", "remove it")
    if rubric.kind == "score" and "scale" not in content:
        raise SpeechIQError(called, "no scale", "add a line such as `scale: [0, 5]`")
    lowest, highest = rubric.scale
    if rubric.kind == "score" and not lowest < highest < lowest + MOST_GRADES:
        raise SpeechIQError(
            called,
            f"scale: [{lowest}, {highest}]: not the lowest and the highest of at most {MOST_GRADES} whole numbers",
            "write, for example, [0, 5]",
        )
    if outside := [grade for grade in rubric.grades if not lowest <= grade <= highest]:
        raise SpeechIQError(
            called, f"grades: {outside[0]} is outside the scale from {lowest} to {highest}", "correct one of them"
        )
    needed, allowed = PLACEHOLDERS[rubric.kind]
    found = _PLACEHOLDER.findall(rubric.prompt)
    for name in found:
        if name not in (*needed, *allowed):
            known = ", ".join(f"{{{each}}}" for each in (*needed, *allowed))
            raise SpeechIQError(
                called,
                f"prompt: {{{name}}} is not a placeholder of a {rubric.kind} rubric",
                f"{did_you_mean(name, (*needed, *allowed))}known are {known}",
            )
    if missing := [name for name in needed if name not in found]:
        raise SpeechIQError(called, f"prompt: has no {{{missing[0]}}}, so the judge would not see it", "add it")


EMPTY, UNFINISHED, BLOCKED, REFUSED = "empty reply", "nothing but reasoning", "content filter", "the judge refused"
NOTHING, SEVERAL = "no score in the last line", "several scores"
OUTSIDE, BROKEN, OTHER = "score outside the scale", "not a whole number", "score on another scale"

_PATTERNS = read_patterns(Path(__file__).with_name("verdict.yaml"))
_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_NUMBERS = {word: float(number) for number, word in enumerate(_WORDS)}
_FIRST, _SECOND = ("first", "1st", "1", "a"), ("second", "2nd", "2", "b")
_JSON = json.JSONDecoder()
#: Characters of a line, from its end, in which a score is searched, and braces at which a JSON object may begin.
_LINE, _BRACES = 1000, 50


class Verdict(NamedTuple):
    """Describe what a reply states: a score on the scale of the rubric, or NaN and the reason why it is unparsed."""

    score: float
    reason: str = ""


def read_reply(reply: str, rubric: Rubric) -> Verdict:
    r"""Return the score that a judge's reply states.

    >>> from speechiq.metrics.judge.rubric import read_rubric
    >>> rubric = read_rubric("grade_0_5")
    >>> read_reply("Right in substance.\n**Score: 4/5**", rubric)
    Verdict(score=4.0, reason='')
    >>> read_reply("It names 4 of the 5 cities.", rubric)
    Verdict(score=nan, reason='no score in the last line')
    >>> read_reply('{"better": "second", "reason": "The first is wrong."}', read_rubric("pairwise")).score
    -1.0
    """
    if reply.strip() == FILTERED:
        return Verdict(math.nan, BLOCKED)
    text = drop_reasoning(reply)
    before, fields, behind = _split_json(text)
    lines = [*_clean(before), *_name_fields(fields, rubric), *_clean(behind)] or [""]
    if not re.search(r"\w", text):
        return Verdict(math.nan, UNFINISHED if re.search(r"\w", reply) and not text.strip() else EMPTY)
    verdict = _read_pair(lines, rubric) if rubric.kind == "pairwise" else _read_lines(lines, rubric)
    if verdict.reason == NOTHING and is_refusal(text):
        return Verdict(math.nan, REFUSED)
    return verdict


def _clean(text: str) -> list[str]:
    """Return the lines that have words and do not only open or close a block of code, without markup."""
    plain = _PATTERNS["result"].sub("\nResult: ", _PATTERNS["tag"].sub(" ", text))
    plain = unicodedata.normalize("NFKC", plain).replace("’", "'")
    lines = [line for line in plain.splitlines() if not _PATTERNS["fence"].fullmatch(line)]
    lines = [" ".join(_PATTERNS["markup"].sub(" ", line).split()) for line in lines]
    return [line[-_LINE:] for line in lines if re.search(r"\w", line)]


def _split_json(text: str) -> tuple[str, dict[str, str], str]:
    """Return the fields of the last JSON object of a text, with the text before and behind it."""
    found, end = (text, dict[str, str](), ""), 0
    for brace in islice(_PATTERNS["brace"].finditer(text), _BRACES):
        if brace.start() >= end:
            try:
                value, end = _JSON.raw_decode(text, brace.start())
                found = text[: brace.start()], dict(_flatten(value)), text[end:]
            except (ValueError, RecursionError):
                continue
    return found


def _flatten(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the fields of a JSON value, with the names of all levels and the text of each value."""
    if isinstance(value, dict):
        for key, content in value.items():
            yield from _flatten(content, f"{name} {key}".replace("_", " ").lower())
    elif isinstance(value, str | int | float):
        yield name, str(value)


def _name_fields(fields: dict[str, str], rubric: Rubric) -> list[str]:
    """Return the verdict of a JSON object as a line; none without one.

    >>> from speechiq.metrics.judge.rubric import read_rubric
    >>> _name_fields({" score": "4", " max score": "5"}, read_rubric("grade_0_5"))
    ['Score: 4/5']
    """

    def named(pattern: str) -> dict[str, str]:
        return {name: value for name, value in fields.items() if _PATTERNS[pattern].search(name)}

    if rubric.kind == "pairwise":
        return [f"Better: {value}" for value in named("json_better").values()]
    limits = named("json_limit")
    scores = {name: value for name, value in named("json_score").items() if name not in limits}
    whole = {name: value for name, value in scores.items() if _PATTERNS["json_whole"].search(name)}
    if not scores and rubric.scale == (0, 1):
        return [
            f"Score: {int(value == 'True')}" for value in named("json_right").values() if value in ("True", "False")
        ]
    highest = {re.split(r"\D+", value)[-1] for value in limits.values()}
    behind = f"/{highest.pop()}" if len(highest) == 1 else ""
    line = ", ".join(f"Score: {value}{behind}" for value in (whole or scores).values())
    return [line] if line else []


def _read_lines(lines: list[str], rubric: Rubric) -> Verdict:
    """Return the score of the last line; without one, the only score that has a line of its own before it."""
    verdict = _read_score(lines[-1], rubric)
    stated = [_read_score(line, rubric) for line in lines if _PATTERNS["score_line"].match(line)]
    scores = {found.score for found in stated if not found.reason}
    if verdict.reason == NOTHING and len(scores) == 1 and not _PATTERNS["hedge"].search(lines[-1]):
        return Verdict(scores.pop())
    if len(scores) > 1 and _PATTERNS["score_line"].match(lines[-1]) and not _PATTERNS["last_word"].match(lines[-1]):
        return Verdict(math.nan, SEVERAL)
    return verdict


def _read_score(line: str, rubric: Rubric) -> Verdict:
    """Return the score that a line states."""
    found: set[str] = set()
    verdict, start = Verdict(math.nan, NOTHING), 0
    while score := _PATTERNS["score"].search(line, start):
        start = score.end("number")
        is_remark = score["alone"] is not None and score["behind"].strip(" .!")
        if not score["scale"] and (score["scaled"] or is_remark):
            continue
        verdict = _as_grade(score, line, rubric)
        found.add(str(verdict))
    return verdict if len(found) < 2 else Verdict(math.nan, SEVERAL)


def _as_grade(found: re.Match[str], line: str, rubric: Rubric) -> Verdict:
    """Return the verdict of a number, by the text before and behind it."""
    lowest, highest = rubric.scale
    behind = found["behind"]
    remark = behind.partition(")")[0] if behind.startswith(("(", "on ")) else ""
    stated = _PATTERNS["scale"].findall(f"{line[: found.start('number')]} {remark}")
    tops = [next(filter(None, groups)) for groups in stated]
    if any(_number(top) != highest for top in (*tops, *filter(None, [found["top"]]))):
        return Verdict(math.nan, OTHER)
    if not _PATTERNS["end"].match(behind):
        if not _PATTERNS["reason"].match(behind):
            return Verdict(math.nan, NOTHING)
        if _PATTERNS["hedge"].search(behind) or _PATTERNS["doubted"].match(behind):
            return Verdict(math.nan, SEVERAL)
    score = _number(found["number"])
    if not lowest <= score <= highest:
        return Verdict(math.nan, OUTSIDE)
    return Verdict(score) if score.is_integer() else Verdict(math.nan, BROKEN)


def _number(text: str) -> float:
    word = text.lower()
    return _NUMBERS[word] if word in _NUMBERS else float(word.replace("−", "-").replace(",", "."))


def _read_pair(lines: list[str], rubric: Rubric) -> Verdict:
    """Return which of two answers the last line calls better."""
    found = _PATTERNS["better"].fullmatch(lines[-1])
    if not found:
        return Verdict(math.nan, NOTHING)
    place = found[1].lower()
    label = "equal"
    if place in _FIRST:
        label = "first"
    elif place in _SECOND:
        label = "second"
    return Verdict(float(rubric.labels[label]))
