"""Read which judge and which rubrics some judged tasks had."""

from collections.abc import Sequence
from typing import NamedTuple

from speechiq.core.console import printable
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.checksummed import content_sha256, shorten
from speechiq.metrics.judge.rubric import Rubric, read_rubric
from speechiq.reducer.runs.results_file import TaskRun

#: Keys of metadata on which a judge's scores depend, in addition to those of the rubric.
KEYS = ("judge", "judge_by", "judge_draws", "judge_seed", "judge_identity")


class JudgeSettings(NamedTuple):
    """Hold the judge (`ENGINE:MODEL` or `exact_match`), a short digest of its settings, and the rubric of each task."""

    name: str
    sha256: str
    rubrics: dict[tuple[str, str], Rubric]

    def rubric_of(self, task: TaskRun) -> Rubric:
        """Return the rubric of a task."""
        return self.rubrics[task.results, task.task]


def read_settings(tasks: Sequence[TaskRun]) -> JudgeSettings:
    """Return the judge of some tasks, which is the same for all of them, and the rubric of each."""
    first = tasks[0]
    settings = {key: first.metadata.get(key) for key in KEYS}
    for task in tasks:
        for key, value in settings.items():
            if task.metadata.get(key) != value:
                raise SpeechIQError(
                    f"{task.results!r}, task {task.task!r}",
                    f"{key} is {task.metadata.get(key)!r:.80}, but {value!r:.80} in {first.results!r}",
                    "give runs of one judge, or judge all of them again with `siq judge run RUNS --judge ...`",
                )
    rubrics = {(task.results, task.task): _read_rubric(task) for task in tasks}
    return JudgeSettings(printable(str(first.metadata["judge"])), shorten(content_sha256(settings)), rubrics)


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
