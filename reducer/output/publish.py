"""Print results, and write the files that the user names, each in the format of its ending and with its origin."""

import csv
import io
import json
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from speechiq.core.console import printable, say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.page import Page, check_page, write_page
from speechiq.core.files.plain import OWN_FILE, check_output, check_output_folder, is_folder, refuse_same, write_whole
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.output.markup import as_latex, as_markdown
from speechiq.reducer.output.terminal import choose_notes, open_console, print_grid, print_unbroken
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.stats.estimate import plain
from speechiq.reducer.stats.grid import flatten
from speechiq.reducer.studies.result import StudyResult

SCHEMA_VERSION = 1
#: Format -> the ending of its files.
ENDINGS = {"json": ".json", "csv": ".csv", "markdown": ".md", "latex": ".tex", "page": ".html", "labels": ".jsonl"}
#: The format of a folder with results files of lm-eval.
HARNESS = "harness"


class Output(NamedTuple):
    """Name a file to write, and its format."""

    path: Path
    format: str


def list_outputs(paths: Sequence[Path] | None, formats: Collection[str], force: bool) -> list[Output]:
    """Return the files to write, each in the format of its ending; refuse one that cannot or must not be written."""
    outputs = [Output(path, _read_format(path, formats)) for path in paths or ()]
    refuse_same(output.path for output in outputs)
    for path, format in outputs:
        if format == HARNESS:
            check_output_folder(path, OWN_FILE)
        else:
            check_output(path, force, OWN_FILE)
        if format == "page":
            check_page(path)
    return outputs


def publish(
    result: StudyResult,
    outputs: Iterable[Output],
    runs: Iterable[Path],
    explain: bool = True,
    *,
    page: Callable[[], Page] | None = None,
    write_folder: Callable[[Path], None] | None = None,
) -> None:
    """Print results, with all notes if `explain`, and write them to files, each complete or not at all.

    The files are written also if nobody reads the tables to their end, as in `| head`.
    `page` makes the page of a command with that format; `write_folder` writes the files of the format `HARNESS`.
    """
    about = origin(result.schema, runs, result.tasks)
    try:
        _print_result(result, explain)
    finally:
        for path, format in outputs:
            written = str(path)
            if format == HARNESS and write_folder:
                write_folder(path)
            elif format == "page" and page:
                written = write_page(page(), path)
            else:
                # Half a surrogate pair in a name is written as its escape.
                text = as_text(result, format, about)
                write_whole(path, text.encode(errors="backslashreplace"), OWN_FILE)
            say(f"wrote {written}")


def _print_result(result: StudyResult, explain: bool) -> None:
    console = open_console()
    for grid in result.grids:
        print_grid(grid, console, explain)
    for line in choose_notes(result.lines, explain):
        print_unbroken(console, line)


def as_text(result: StudyResult, format: str, about: Mapping[str, Any]) -> str:
    """Return the text of a file in a format of `ENDINGS`; JSON and CSV have the origin of the results (`about`)."""
    if format == "json":
        return as_json_text({**result.content, **about})
    if format == "csv":
        rows = result.grids[0].records() if result.rows is None else result.rows
        return as_csv([flatten(row) | as_columns(about) for row in rows])
    write = {"markdown": as_markdown, "latex": as_latex}[format]
    return "\n".join(map(write, result.grids))


def as_json_text(content: Mapping[str, Any]) -> str:
    """Return content as the text of a JSON file; unknown numbers are null."""
    return json.dumps(plain(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV; a column that a row does not have is empty, as are unknown values.

    A text that a spreadsheet would take for a formula gets a quote in front.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, dict.fromkeys(key for row in rows for key in row), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: without_formula(cell) if isinstance(cell, str) else cell for key, cell in row.items()})
    return text.getvalue()


def without_formula(name: str) -> str:
    """Return a name with a quote in front if a spreadsheet would take it for a formula.

    >>> without_formula("=1+1"), without_formula("openai/whisper-base")
    ("'=1+1", 'openai/whisper-base')
    """
    return f"'{name}" if name.lstrip().startswith(("=", "+", "-", "@")) else name


def _read_format(path: Path, formats: Collection[str]) -> str:
    """Return the format that the ending of a name chooses; for another folder or a name without one `HARNESS`."""
    endings = {ENDINGS[name]: name for name in formats if name != HARNESS}
    if path.suffix.lower() not in endings:
        if HARNESS in formats and (is_folder(path) or not path.suffix):
            return HARNESS
        raise SpeechIQError(
            f"--output {path}",
            "its ending names no format",
            f"{did_you_mean(path.suffix, endings)}"
            f"end the name in {' or '.join(endings)}"
            + (", or name a folder, for results files of lm-eval" if HARNESS in formats else ""),
        )
    return endings[path.suffix.lower()]


def origin(schema: str, runs: Iterable[Path], tasks: Sequence[TaskRun] = ()) -> dict[str, Any]:
    """Return the keys that every JSON file of results has in addition to its results."""
    return {
        "schema": schema,
        "schema_version": SCHEMA_VERSION,
        "speechiq": version("speechiq"),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "runs": [printable(str(run)) for run in runs],
        "command": command_line(),
        "run_dates": run_dates(tasks),
        "run_versions": run_versions(tasks),
        "datasets": sorted({task.dataset for task in tasks}),
    }


def as_columns(about: Mapping[str, Any]) -> dict[str, str]:
    """Return `origin` as cells of a CSV file, lists with semicolons between their parts.

    >>> as_columns({"date": "2026-01-01", "runs": ["a", "b"], "run_versions": {"lm-eval": ["0.4.12", "0.4.13"]}})
    {'date': '2026-01-01', 'runs': 'a; b', 'run_versions': 'lm-eval 0.4.12; lm-eval 0.4.13'}
    """
    return {name: _cell(value) for name, value in about.items()}


def run_dates(tasks: Iterable[TaskRun]) -> list[str]:
    """Return when the first and the last run began, UTC; empty without tasks."""
    dates = [task.date for task in tasks]
    ends = (min(dates), max(dates)) if dates else ()
    return [datetime.fromtimestamp(date, UTC).isoformat(timespec="seconds") for date in ends]


def run_versions(tasks: Iterable[TaskRun]) -> dict[str, list[str]]:
    """Return package -> its versions in the runs, each once."""
    found: dict[str, set[str]] = {}
    for task in tasks:
        for package, number in task.versions.items():
            found.setdefault(package, set()).add(number)
    return {package: sorted(found[package]) for package in sorted(found)}


def command_line() -> str:
    """Return the `siq` command that runs, as a user would type it."""
    return printable(shlex.join(["siq", *sys.argv[1:]]))


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{package} {number}" for package, numbers in value.items() for number in numbers)
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)
