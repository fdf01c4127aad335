"""Define the options that several commands of `siq` share; each has one meaning in all of them."""

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import OWN_FILE, check_output

EXPERT = "Expert options"
MAX_SAMPLES = 1_000_000
CONTROLS = ("gold+", "silence+", "letter:A", "letter:B", "letter:C", "letter:D", "letter:E")


def read_path(text: str) -> Path:
    """Return a path of runs; refuse an empty one, which `Path` would read as the current folder."""
    if not text:
        raise SpeechIQError(
            "RUNS", "the path is empty", "set the variable that it comes from, or write . for the current folder"
        )
    return Path(text)


def say_warnings(warnings: Iterable[str]) -> None:
    """Print each warning once on stderr."""
    for warning in dict.fromkeys(warnings):
        say(f"warning: {warning}")


def output_option(help: str) -> Any:
    """Return the option that names what a command writes."""
    return typer.Option("--output", "-o", help=help)


def choose_file(output: Sequence[Path] | None, endings: Collection[str], force: bool, fault: str, fix: str) -> Path:
    """Return the one file to write; refuse any other number of files, another ending, and a file that exists."""
    if not output or len(output) > 1 or output[0].suffix.lower() not in endings:
        raise SpeechIQError(f"--output {' '.join(map(str, output or ())) or 'nothing'}", fault, fix)
    check_output(output[0], force, OWN_FILE)
    return output[0]


Runs = Annotated[
    list[Path],
    typer.Argument(
        help="Folders of runs (lm_eval with --log_samples), or single results files.", parser=read_path, metavar="RUNS"
    ),
]
AllowMismatch = Annotated[
    bool,
    typer.Option(
        "--allow-mismatch",
        help="If runs differ in clips or settings, use what they share and mark it; leave out runs without results.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Explain = Annotated[
    bool, typer.Option("--explain", help="Print all lines below the tables: what each number is and how it was made.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        help="Run the code that task files of --include-path name; without it they may name only code of speechiq.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Start without asking.")]
Samples = Annotated[
    int,
    typer.Option(
        "--bootstrap",
        min=0,
        max=MAX_SAMPLES,
        help="Set the number of bootstrap samples of the clips for the intervals; 0 leaves the intervals out.",
        rich_help_panel=EXPERT,
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, help="Set the seed of all random numbers of this command.", rich_help_panel=EXPERT)
]
JudgeOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--judge-option",
        metavar="NAME=VALUE",
        help="Option of the judge, NAME=VALUE, such as rubric=FILE, draws=3, by=likelihood, temperature=0.7 or "
        "base_url=URL; give it once per option.",
    ),
]
Metadata = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="Setting of the tasks, KEY=VALUE, as for lm_eval --metadata, such as subset=all; give it once per key.",
    ),
]


def split_names(names: str | None) -> list[str]:
    """Return the names of an option that takes several, with commas between them; none if it is not given."""
    return [] if names is None else [name.strip() for name in names.split(",")]


def tidy_system(system: str) -> str:
    """Return a system without the spaces around its spec and its options.

    >>> tidy_system("openai:m, base_url=http://127.0.0.1:8000/v1 ")
    'openai:m,base_url=http://127.0.0.1:8000/v1'
    """
    return ",".join(split_names(system))


def read_pairs(option: str, items: Iterable[str]) -> dict[str, str]:
    """Return the texts of an option such as `--metadata` by their keys; refuse what is not one, or is given twice."""
    given: dict[str, str] = {}
    for item in items:
        if not re.match(r"[^=\s]+=.", item):
            raise SpeechIQError(f"{option} {item}", "not a key with a value", "write KEY=VALUE")
        key, _, value = item.partition("=")
        if key in given:
            raise SpeechIQError(f"{option} {item}", f"{key}={given[key]} is given too", "give each key once")
        given[key] = value
    return given


def read_values(option: str, items: Iterable[str]) -> dict[str, Any]:
    """Return the values of an option of `read_pairs`, as lm-eval reads them."""
    from speechiq.harness_patch._lm_eval import parse_value

    return {key: parse_value(text) for key, text in read_pairs(option, items).items()}


def read_judge_options(items: Iterable[str] | None) -> dict[str, Any]:
    """Return the metadata keys of `--judge-option`."""
    values = read_values("--judge-option", items or ())
    return {f"judge_{name.removeprefix('judge_')}": value for name, value in values.items()}


def complete_system(incomplete: str) -> list[str]:
    """Return specs that begin like the given text: the demo, its models, engines and controls.

    Models of further stages are completed after each `+`.
    """
    from speechiq.core.checkpoints.names import DEMO
    from speechiq.core.files.folders import cache_dir
    from speechiq.engines.registry import STAGES, list_backends

    before, plus, last = incomplete.rpartition("+")
    models = [f"{DEMO}{file.parent.name}" for file in cache_dir("models").glob("*/config.json")]
    engines = [f"{name}:" for kind in STAGES for name, each in list_backends(kind).items() if each.takes_model]
    names = {"demo", *CONTROLS, *models, *engines} if not plus else {*models, *engines}
    return sorted(f"{before}{plus}{name}" for name in names if name.startswith(last))


def complete_tasks(incomplete: str) -> list[str]:
    """Return tasks and groups of the suite that begin like the last of the given names."""
    from speechiq.siq_tasks.index import list_names

    before, comma, last = incomplete.rpartition(",")
    return sorted(f"{before}{comma}{name}" for name in list_names() if name.startswith(last))


def complete_norms(incomplete: str) -> list[str]:
    """Return the norms of the package that begin like the given text."""
    from speechiq.reducer.scores.norms import SHIPPED

    return sorted(name for name in SHIPPED if name.startswith(incomplete))
