"""Write the references of tasks and metrics from the YAMLs of the suite."""

from __future__ import annotations

from importlib import import_module
from itertools import groupby
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from docs.hooks.tables import code, write_table
from speechiq.metrics.columns import columns_of
from speechiq.siq_tasks.index import TaskInfo, list_tasks, read_tasks

TASKS = """# Tasks

Names for `lm_eval run --tasks`. `siq list tasks` prints them, and whether the question files are on this machine.
[Data sets](datasets.md) describes the sets, and [Metrics](metrics.md) what each task measures.

"""
METRICS = """# Metrics

Every metric is a number in each sample row, and NaN where it is not defined. `siq score` reads the measure of a level;
`--metrics LEVEL=COLUMN` takes one of the alternatives instead.

"""


#: Measure -> its formula, if it is more than a share of right answers.
FORMULAS = {
    "wer": r"\mathrm{wer} = \frac{\mathrm{substitutions} + \mathrm{deletions} + \mathrm{insertions}}{\mathrm{words}}",
    "similarity": r"\mathrm{similarity} = \min (\cos(t_1, r_1), \cos(t_2, r_2))",
    "llm_semdist_eowl": r"d(t, r) = 1 - \cos(t, r)",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    tasks = list_tasks(check_files=False)
    files.append(File.generated(config, "reference/tasks.md", content=TASKS + describe_tasks(tasks)))
    files.append(File.generated(config, "reference/metrics.md", content=METRICS + describe_metrics(tasks)))
    return files


def describe_tasks(tasks: list[TaskInfo]) -> str:
    """Return a section per data set, and the table of groups; of a set in many languages those of its group."""
    groups: dict[str, list[str]] = {}
    sections = []
    tasks = [task for task in tasks if not task.is_outside_short_lists]
    for dataset, found in groupby(tasks, key=lambda task: task.dataset):
        members = list(found)
        first = members[0]
        facts = [f"{first.clips or 'All'} clips", first.source, first.revision and f"revision {code(first.revision)}"]
        rows = (
            (code(one.name), f"[{one.level}](metrics.md#{one.level})", code(one.measure), one.direction, one.needs)
            for one in members
        )
        table = write_table(["task", "level", "measure", "better", "needs"], rows)
        sections.append(f"## {dataset}\n\n{'; '.join(filter(None, facts))}.\n\n{table}\n")
        for task in members:
            for group in task.groups:
                groups.setdefault(group, []).append(task.name)
    listed = ((code(name), ", ".join(map(code, tasks_of))) for name, tasks_of in sorted(groups.items()))
    table = write_table(["group", "tasks"], listed)
    return f"{''.join(sections)}## Groups\n\n{table}"


def describe_metrics(tasks: list[TaskInfo]) -> str:
    """Return a section per level or task type: its measure, its metrics, and the docstring of what computes them."""
    sections: dict[str, str] = {}
    known = read_tasks()
    for info in tasks:
        if info.level not in sections:
            sections[info.level] = _describe_category(info.level, known[info.name])
    return "\n".join(sections.values())


def _describe_category(category: str, task: dict[str, Any]) -> str:
    measure = task["metadata"]["measure"]
    alternatives = measure.get("alternatives", {})
    module, _, name = task["process_results"].rpartition(".")
    columns = columns_of(getattr(import_module(module), name))
    rows = (
        (
            code(column.name),
            "higher" if column.higher_is_better else "lower",
            getattr(column.aggregation, "__name__", column.aggregation),
            "the measure" if column.name == measure["column"] else "alternative" * (column.name in alternatives),
        )
        for column in columns
    )
    facts = {
        "column": code(measure["column"]),
        "better": measure["direction"],
        "unit": measure["unit"],
        "range": " to ".join(map(str, measure["range"])),
        "chance": measure.get("chance", ""),
        "one item": ", ".join(map(code, task["metadata"]["item"])),
        "answers per item": task.get("repeats", 1),
    }
    formula = FORMULAS.get(measure["column"], "")
    options = "    options: {show_source: false, show_root_full_path: true, heading_level: 4}"
    return (
        f"## {category.capitalize()}\n\n"
        f"{write_table(['measure', ''], facts.items())}\n"
        f"{write_table(['metric', 'better', 'aggregation', 'in scores'], rows)}\n"
        f"### How {category.capitalize()} is computed\n\n{formula and f'$${formula}$$'}\n\n"
        f"::: {task['process_results']}\n{options}\n"
    )
