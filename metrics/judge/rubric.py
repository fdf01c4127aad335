"""Read rubrics: files that say what a judge is asked and on which scale it answers.

A rubric is a YAML file with `name`, `version`, `kind` (`score`, `pairwise` or `letter`), for scores `scale` ([lowest,
highest]) and `grades` (number -> what it means), and `prompt`. The prompt contains the names of what is judged in
braces; `{grades}` is the list of grades. Files of users have the same form. See docs/concepts/judges.md.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import content_sha256
from speechiq.core.files.plain import expand, is_file, read_plain
from speechiq.core.files.yaml_text import load_yaml
from speechiq.core.suggestions import did_you_mean

HERE = Path(__file__).with_name("rubrics")
SUFFIXES = (".yaml", ".yml")
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
        """Return the prompt with a value in the place of each placeholder; braces in values stay as they are."""
        listed = {**values, "grades": "\n".join(f"{grade}: {meaning}" for grade, meaning in self.grades.items())}
        return _PLACEHOLDER.sub(lambda found: listed[found[1]].strip() or "(none)", self.prompt)

    def as_share(self, score: float) -> float:
        """Return a score as a share of the scale, 0 for the lowest and 1 for the highest."""
        lowest, highest = self.scale
        return (score - lowest) / (highest - lowest)


def shipped_rubrics() -> list[str]:
    """Return the names of the rubrics of speechiq, sorted.

    >>> shipped_rubrics()
    ['grade_0_5', 'letter', 'pairwise', 'points_1_10', 'points_1_5', 'right_wrong', 'same_task']
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
        known = shipped_rubrics()
        raise SpeechIQError(
            f"judge_rubric={name}",
            "unknown",
            f"{did_you_mean(name, known)}known are {', '.join(known)}, and YAML files",
        )
    return _read(file, f"judge_rubric={name}")


def _read(file: Path, called: str) -> Rubric:
    try:
        content = load_yaml(read_plain(file, LARGEST))
    except OSError as error:
        raise SpeechIQError(called, f"cannot be read ({error.strerror})", "correct the path") from error
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
