"""Name the judge of a task, from what its run recorded."""

from collections.abc import Iterable, Mapping
from typing import Any

from speechiq.core.console import count_of, printable
from speechiq.core.files.checksummed import shorten
from speechiq.metrics.judge.rubric import read_rubric, shipped_rubrics
from speechiq.reducer.runs.results_file import TaskRun

#: Keys of metadata that say who judged and how.
KEYS = (
    "judge",
    "judge_rubric",
    "judge_rubric_sha256",
    "judge_draws",
    "judge_seed",
    "judge_by",
    "judge_identity",
)
EXACT_MATCH = "exact_match"
FIX = "judge the stored answers again with one judge (`siq judge run RUNS --judge ENGINE:MODEL`)"


def name_judge(metadata: Mapping[str, Any]) -> str:
    """Return the judge of a task in words.

    >>> name_judge({"judge": "openai:gpt-4o", "judge_rubric": "grade_0_5", "judge_draws": 3})
    'judged by openai:gpt-4o, rubric grade_0_5, 3 judgments'
    >>> name_judge({"judge": "exact_match"})
    'exact_match: no model'
    """
    judge = metadata.get("judge")
    if judge in (None, EXACT_MATCH):
        return f"{EXACT_MATCH}: no model" if judge else "judge not recorded"
    draws = metadata.get("judge_draws", 1)
    by = "by likelihood" if metadata.get("judge_by") == "likelihood" else count_of(draws, "judgment")
    return printable(f"judged by {judge}, rubric {_name_rubric(metadata)}, {by}")


def _name_rubric(metadata: Mapping[str, Any]) -> str:
    """Return the name of the rubric with its version if it is one of speechiq, else with the digits of its sha256."""
    name, digest = str(metadata.get("judge_rubric", "not recorded")), metadata.get("judge_rubric_sha256")
    if name in shipped_rubrics() and read_rubric(name).sha256 == digest:
        return f"{name} v{read_rubric(name).version}"
    return f"{name} {shorten(str(digest))}" if digest else name


def name_judges(tasks: Iterable[TaskRun]) -> str:
    """Return the judges of some tasks in words, each once."""
    return "; ".join(sorted({name_judge(task.metadata) for task in tasks}))
