"""Read the scores that people gave the answers of a judge on the page of `siq judge check`.

A line of the file is one answer: `{"id": of the answer, "score": on the scale of the rubric, "person": name, "note":
text, "judge": name, "judging": digest of its settings, "rubric": name, "rubric_sha256": ...}`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from speechiq.core.console import printable
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import content_sha256, read_objects, shorten
from speechiq.metrics.judge.rubric import Rubric, read_rubric
from speechiq.reducer.runs.judged import JudgedRow, name_judge
from speechiq.reducer.runs.results_file import TaskRun

#: Keys of metadata on which a judge's scores depend, in addition to those of the rubric.
JUDGE_SETTINGS = ("judge", "judge_by", "judge_draws", "judge_seed", "judge_identity")
FIX_SCORES = "correct the line, or export the scores from the page again"
#: Person -> id of an answer -> score on the scale of the rubric.
HumanScores = dict[str, dict[str, float]]


class StoredJudge(NamedTuple):
    """Hold the judge (`ENGINE:MODEL` or `exact_match`), a short digest of its settings, its tasks and their rubrics."""

    name: str
    sha256: str
    tasks: Sequence[TaskRun]
    rubrics: dict[tuple[str, str], Rubric]

    def rubric_of(self, task: TaskRun) -> Rubric:
        """Return the rubric of a task."""
        return self.rubrics[task.results, task.task]


def read_judge_settings(tasks: Sequence[TaskRun]) -> StoredJudge:
    """Return the judge of some tasks, which is the same for all of them, and the rubric of each."""
    first = tasks[0]
    settings = {key: first.metadata.get(key) for key in JUDGE_SETTINGS}
    for task in tasks:
        for key, value in settings.items():
            if task.metadata.get(key) != value:
                raise SpeechIQError(
                    f"{task.results!r}, task {task.task!r}",
                    f"{key} is {task.metadata.get(key)!r:.80}, but {value!r:.80} in {first.results!r}",
                    "give runs of one judge, or judge all of them again with `siq judge run RUNS --judge ...`",
                )
    rubrics = {(task.results, task.task): _read_rubric(task) for task in tasks}
    return StoredJudge(printable(str(first.metadata["judge"])), shorten(content_sha256(settings)), tasks, rubrics)


def digest_settings(task: TaskRun) -> str:
    """Return a short digest of the settings of a task's judge, and of the number of transcripts that it is given."""
    return shorten(content_sha256([task.metadata.get(key) for key in (*JUDGE_SETTINGS, "reply_asr_rounds")]))


def name_settings(task: TaskRun) -> str:
    """Return the judge of a task in words, with the number of transcripts of each spoken reply if it is not 1."""
    rounds = task.metadata.get("reply_asr_rounds")
    return name_judge(task.metadata) + (f", {rounds} transcripts of a reply" if rounds else "")


def _read_rubric(task: TaskRun) -> Rubric:
    name = task.metadata.get("judge_rubric")
    rubric = read_rubric(str(name))
    recorded = task.metadata.get("judge_rubric_sha256")
    if recorded not in (None, rubric.sha256):
        raise SpeechIQError(
            f"{task.results!r}, task {task.task!r}",
            f"judge_rubric {printable(str(name))!r} has another content now "
            f"(sha256 {shorten(rubric.sha256)}) than in the run ({shorten(str(recorded))})",
            "restore the file, or judge the run again",
        )
    return rubric


class _ScoreLine(msgspec.Struct):
    """Hold the fields that are read of a line."""

    id: str
    score: float
    judging: str
    rubric_sha256: str
    judge: str = ""
    rubric: str = ""
    person: str = ""


def read_human_scores(
    files: Sequence[Path], answers: Mapping[str, JudgedRow], settings: StoredJudge, allow_mismatch: bool = False
) -> HumanScores:
    """Return the scores of each person, of whom one without a name is named after the file.

    Args:
        answers: Id -> answer, for all judged answers of the runs.
        allow_mismatch: Whether the scores may come from a page about another judge of the same answers.
    """
    by_person: HumanScores = {}
    for file in files:
        rows = list(read_objects(file, FIX_SCORES))
        if not rows:
            raise SpeechIQError(file, "has no scores", "score some answers on the page and save them")
        for _, where, row in rows:
            try:
                line = msgspec.convert(row, _ScoreLine)
            except ValueError as error:
                raise SpeechIQError(f"{where} is not a score of `siq judge check` ({error})", fix=FIX_SCORES) from error
            _check_line(line, where, answers, settings, allow_mismatch)
            scores = by_person.setdefault(printable(line.person.strip()) or file.stem, {})
            if line.id in scores:
                raise SpeechIQError(where, f"answer {line.id!r} was already scored by this person", "delete one line")
            scores[line.id] = line.score
    return by_person


def _check_line(
    line: _ScoreLine, where: str, answers: Mapping[str, JudgedRow], settings: StoredJudge, allow_mismatch: bool
) -> None:
    if line.id not in answers:
        raise SpeechIQError(
            where, f"no answer in these runs is {line.id!r:.40}", "give the runs that the page was made from"
        )
    if line.judging != settings.sha256 and not allow_mismatch:
        raise SpeechIQError(
            where,
            f"scored on a page about judge {line.judge!r:.80} (settings {line.judging:.12}), but these runs "
            f"were judged by {settings.name!r} ({settings.sha256})",
            "give those runs, or add --allow-mismatch: the person's score is about the answer",
        )
    rubric = settings.rubric_of(answers[line.id].task)
    if line.rubric_sha256 != rubric.sha256:
        raise SpeechIQError(
            where,
            f"scored by rubric {line.rubric!r:.80}, but these runs were judged by {rubric.name!r} with another sha256",
            "give the runs that the page was made from",
        )
    low, high = rubric.scale
    if not (low <= line.score <= high and line.score == round(line.score)):
        raise SpeechIQError(
            where,
            f"score {line.score:g} is not a whole number from {low:g} to {high:g}, the scale of rubric {rubric.name!r}",
            FIX_SCORES,
        )
