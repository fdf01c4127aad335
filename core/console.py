"""Print to the terminal: lines, counts, and progress bars; and end a program at once."""

from __future__ import annotations

import atexit
import io
import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

#: What each line on stderr begins with.
NOTE = "siq: "
#: What the one line of an error begins with.
ERROR = f"{NOTE}error: "


def open_closed_streams() -> None:
    """Put a file that keeps nothing in the place of each standard stream that the shell closed, as `>&-` does.

    Without it, stdout is None, what goes to stderr is printed on stdout, and the next file that is opened becomes it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115


def escape_output() -> None:
    """Print a character that stdout or stderr cannot encode, as with `LC_ALL=C`, by its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def prepare_quick_end() -> Callable[[], None]:
    """Return a function to call when the work of this process is done, which then ends without destroying its objects.

    Destroying them takes as long as a short command, and copies the memory that forks share. What else is to happen at
    the end happens first, if it is registered after this call.
    """
    done: list[bool] = []

    def end() -> None:
        if done:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)

    atexit.register(end)
    return lambda: done.append(True)


def show(*lines: str) -> None:
    """Print lines of a result on stdout."""
    print(*map(printable, lines), sep="\n")


def say(line: str) -> None:
    """Print a line on stderr; stdout is for results alone."""
    print(f"{NOTE}{printable(line)}", file=sys.stderr)


def say_error(line: str) -> None:
    """Print the one line of an error on stderr; `ERROR` finds it in a log."""
    print(f"{ERROR}{printable(line)}", file=sys.stderr)


def log_with_names() -> None:
    """Log with level and module, by which `siq eval` finds warnings of speechiq in a log; lm-eval formats its own."""
    form = "%(asctime)s %(levelname)-8s [%(name)s:%(lineno)d] %(message)s"
    logging.basicConfig(format=form, datefmt="%Y-%m-%d:%H:%M:%S")


def count_of(number: int, noun: str) -> str:
    """Return a number of things with their noun, in the plural unless it is one.

    >>> count_of(1, "clip"), count_of(0, "clip"), count_of(2, "entry")
    ('1 clip', '0 clips', '2 entries')
    """
    plural = f"{noun[:-1]}ies" if noun.endswith(("ry", "ty")) else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def list_some(texts: Sequence[str], most: int = 3, separator: str = ", ") -> str:
    """Return the first of some texts, and how many more there are.

    >>> list_some(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    shown = separator.join(texts[:most])
    return shown if len(texts) <= most else f"{shown} and {len(texts) - most} more"


def printable(text: str) -> str:
    r"""Replace each character that does not print with U+FFFD, so that no name from a file controls a terminal.

    >>> printable("whisper\x1b[2J")
    'whisper�[2J'
    """
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


#: Set by a program that starts this process and draws the bars itself: the file descriptor to report them to.
VARIABLE = "SIQ_PROGRESS"
#: Seconds between two lines about one stage where stderr is no terminal.
LINE_S = 60.0


@dataclass(frozen=True)
class Progress:
    """Hold the state of a bar: how many items (counted in `unit`) are done.

    `verb` says which stage does what, such as `demo:whisper-base transcribing`.
    """

    verb: str
    done: float
    total: float
    unit: str


class ReportedBar(tqdm):  # type: ignore[type-arg] # it takes no type argument when it runs
    """Write the state of a bar to a file descriptor, a line of JSON each time, instead of drawing it."""

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        """Report the state; called by tqdm at most ten times a second."""
        state = Progress(self.desc.removesuffix(": "), self.n, self.total or 0, self.unit)
        os.write(int(os.environ[VARIABLE]), json.dumps(asdict(state)).encode() + b"\n")


class LineBar(tqdm):  # type: ignore[type-arg] # it takes no type argument when it runs
    """Print the state of a bar as a line each minute instead of drawing it; work that takes less prints nothing."""

    _shown: float = -1

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        """Print the state if it is another than before; called by tqdm once in `LINE_S`, and where a step begins."""
        whole, seconds = count_of(int(self.total or 0), self.unit), self.format_dict["elapsed"]
        if self.n == self._shown or seconds < LINE_S:
            return
        self._shown = self.n
        say(f"{self.desc.removesuffix(': ')}: {self.n:g} of {whole} after {seconds:.0f} s")


def progress_bar(items: Iterable[Any] | None = None, *, total: int, verb: str, unit: str) -> tqdm[Any]:
    """Return a bar over `items`, or one to be updated; shown by the first process alone. See `Progress`.

    Where stderr is no terminal, such as in the log of a cluster, it is a line each minute.
    """
    about: dict[str, Any] = {"total": total, "desc": verb, "unit": unit}
    if not is_first_process():
        return tqdm(items, disable=True, **about)
    if VARIABLE in os.environ:
        return ReportedBar(items, file=io.StringIO(), **about)
    if has_terminal():
        return tqdm(items, **about)
    return LineBar(items, file=io.StringIO(), mininterval=LINE_S, maxinterval=LINE_S, **about)


def has_terminal() -> bool:
    """Return whether stderr is a terminal, on which bars can be drawn."""
    return sys.stderr.isatty()


def is_first_process() -> bool:
    """Return whether this process prints for all processes of a run."""
    return os.environ.get("RANK", "0") == "0"
