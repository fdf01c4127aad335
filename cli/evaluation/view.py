"""Define `siq view`: open the report of runs in a browser, and write it first if it is missing or older than they."""

import os
import shlex
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.evaluation.record import read_evaluation, write_evaluation
from speechiq.cli.evaluation.runs import PAGE
from speechiq.cli.options import AllowMismatch, read_path
from speechiq.cli.score import score
from speechiq.cli.scoring import NormsFile
from speechiq.core.console import count_of, say, show
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.page import name_folder
from speechiq.core.files.plain import hash_file, is_file, is_folder, read_plain
from speechiq.reducer.runs.results_file import list_files

#: Endings of pages.
ENDINGS = (".html", ".htm")
#: What every page of this package has, such as among its versions.
MARK = b"speechiq"
#: Variables of which one is set if windows can be shown, or if the user names a browser; macOS and Windows need none.
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


@examples(
    "siq view runs/first",
    "siq view runs/first --norms demo",
    "siq view report.html",
)
def view(
    runs: Annotated[Path, typer.Argument(help="Folder of runs, or a page (.html).", parser=read_path, metavar="RUNS")],
    norms_file: NormsFile = None,
    allow_mismatch: AllowMismatch = False,
) -> None:
    """Open the report of RUNS in a browser.

    It is report.html in the folder, which is written first if it is missing or older than a result, or if an option is
    given.
    """
    page = runs
    if not _is_page(runs):
        page = runs / PAGE
        if norms_file or allow_mismatch or not _is_newest(page, [*list_files([runs])]):
            _refuse_other_page(page)
            _write_report(runs, norms_file, allow_mismatch)
    _open(page)


def _is_page(path: Path) -> bool:
    """Return whether a path is a page; refuse a file that is none, and a page that does not exist."""
    if path.suffix.lower() in ENDINGS and not is_folder(path):
        if not is_file(path):
            fix = f"correct the path, or write it: siq score RUNS --output {shlex.quote(str(path))}"
            raise SpeechIQError(path, "no such page", fix)
        return True
    if is_file(path):
        raise SpeechIQError(path, "not a folder of runs or a page", "name the folder that it is in, or a .html file")
    return False


def _is_newest(page: Path, results: Sequence[Path]) -> bool:
    """Return whether a page exists and was written after all results."""
    try:
        written = page.stat().st_mtime_ns
        return all(file.stat().st_mtime_ns < written for file in results)
    except OSError:  # no page, or a link to results that are gone, which scoring refuses
        return False


def _refuse_other_page(page: Path) -> None:
    """Refuse to replace a page that this package did not write."""
    if is_file(page) and MARK not in read_plain(page):
        fix = f"move it away, or name another page: siq score {shlex.quote(str(page.parent))} --output PAGE.html"
        raise SpeechIQError(page, "not a report of siq, so it is not replaced", fix)


def _write_report(folder: Path, norms_file: str | None, allow_mismatch: bool) -> None:
    """Score a folder and write its report; of an evaluation, that of the newest settings, on its norms."""
    record = read_evaluation(folder)
    runs = [run for run in record.runs if run.settings == record.runs[-1].settings]
    page = folder / PAGE
    score(
        record.sources(runs, folder),
        [page],
        norms_file=norms_file or record.norms,
        allow_mismatch=allow_mismatch,
        force=True,
    )
    if record.runs:
        record.outputs[PAGE] = hash_file(page)
        write_evaluation(record, folder)
    if others := len(record.runs) - len(runs):
        say(f"the report is of the newest settings; {folder} also has {count_of(others, 'run')} with others")


def _open(page: Path) -> None:
    """Open a page in a browser, or say how to."""
    if _has_display() and _browse(page.resolve().as_uri()):
        say(f"opened {page}")
        return
    show(str(page.absolute()))
    parts = name_folder(page)
    together = f" with the folder {parts.name}" if is_folder(parts) else ""
    say(f"no browser here: open the file in one, or copy it{together} to a machine that has one")


def _has_display() -> bool:
    """Return whether a browser can be shown; without a display a browser of the terminal would take its place."""
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, DISPLAYS))


def _browse(address: str) -> bool:
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False
