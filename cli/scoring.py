"""Define the options of commands that score runs, and make the commands that answer one question about runs."""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from inspect import Parameter
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from speechiq.cli.commands import examples as show_examples
from speechiq.cli.options import (
    EXPERT,
    AllowMismatch,
    Explain,
    Force,
    Runs,
    Samples,
    output_option,
    say_warnings,
    split_names,
)
from speechiq.core.files.page import Page
from speechiq.reducer.output.publish import command_line, list_outputs, publish
from speechiq.reducer.runs.tasks import warn_of_variants
from speechiq.reducer.scores import norms, suites
from speechiq.reducer.scores import scale as siq
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.suites import NOTHING, ConfirmedSet, ScoringOptions
from speechiq.reducer.studies import unanswerable
from speechiq.reducer.studies.result import StudyResult

#: Formats of commands whose output is tables.
TABLES = ("json", "csv", "markdown", "latex")
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help=f"Choose the rule of the level weights: {', '.join(siq.RULES)}, or three numbers for Remember, Understand "
        f"and Apply such as 0.04,0.75,0.21; {siq.DEFAULT_RULE} (the paper's eq. 6) by default.",
        rich_help_panel=EXPERT,
    ),
]
ClipWeights = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help=f"Choose the rule of the clip weights: {siq.VARIANCE} (the paper's eq. 3, the default), or {siq.EQUAL}, "
        "by which all clips weigh the same (SIQ_rm of the paper).",
        rich_help_panel=EXPERT,
    ),
]
NormsFile = Annotated[
    str | None,
    typer.Option(
        "--norms",
        metavar="NORMS",
        help="Score on the scale of norms: a file of `siq score --save-norms`, or a name that `siq list norms` shows.",
    ),
]
Exclude = Annotated[
    Path | None,
    typer.Option(help="Leave out of Apply the questions of a set, a file of `siq study unanswerable --review`."),
]
Levels = Annotated[
    str | None,
    typer.Option("--levels", metavar="NAMES", help=f"Use only some of {','.join(LEVELS)}; SIQ needs all of them."),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        metavar="LEVEL=COLUMN",
        help="Score levels by other columns of the sample rows: LEVEL=COLUMN, with commas between them. "
        + "; ".join(f"{level}: {', '.join(each.measure.columns)}" for level, each in LEVELS.items())
        + ".",
    ),
]


def choose_scale(
    norms_file: str | None, weights: str | None, clip_weights: str | None
) -> tuple[siq.Weighting, Norms | None]:
    """Return the rules of the weights, and the norms that `--norms` names, None without it.

    Refuse rules that are invalid or not those of the norms.
    """
    rule = siq.Weighting.read(weights, clip_weights)
    if norms_file is None:
        return rule, None
    scale = norms.read_norms(norms_file)
    return norms.choose_weighting(scale, {"--weights": weights, "--clip-weights": clip_weights}), scale


def read_set(exclude: Path | None) -> ConfirmedSet:
    """Return the set that `--exclude` names, or an empty one without it."""
    return unanswerable.read_confirmed(exclude) if exclude else NOTHING


#: Shared option of the studies -> its type and default, in the order of the help; all have the mismatch and the force.
SHARED: dict[str, tuple[Any, Any]] = {
    "norms_file": (NormsFile, None),
    "levels": (Levels, None),
    "metrics": (Metrics, None),
    "allow_mismatch": (AllowMismatch, False),
    "force": (Force, False),
    "explain": (Explain, False),
    "weights": (Weights, None),
    "clip_weights": (ClipWeights, None),
    "bootstrap": (Samples, DRAWS),
}


class Call(NamedTuple):
    """Hold what the user gave to a study: runs and shared options."""

    runs: list[Path]
    draws: int
    allow_mismatch: bool
    norms_file: str | None
    levels: str | None
    metrics: str | None
    weights: str | None
    clip_weights: str | None

    def find(self, *, with_variants: bool = False) -> tuple[suites.Found, ScoringOptions]:
        """Return the suites in the runs with the chosen levels and columns, and the options of scoring; print warnings.

        Args:
            with_variants: Whether the study is about runs with `listen` as well, so that none is left out.
        """
        rule, norms = choose_scale(self.norms_file, self.weights, self.clip_weights)
        options = ScoringOptions(rule, norms, allow_mismatch=self.allow_mismatch, draws=self.draws)
        measures = split_names(self.metrics)
        found = suites.find_suites(self.runs, self.allow_mismatch, options, measures=measures, levels=self.levels)
        left_out = warn_of_variants([*chain.from_iterable(found.variants.values())]) if with_variants else []
        say_warnings(line for line in found.warnings if line not in left_out)
        return found, options


def study(
    shared: str, *, formats: Sequence[str], output: str, examples: Sequence[str], takes_runs: bool = True
) -> Callable[[Callable[..., StudyResult]], Callable[..., None]]:
    """Return a decorator that makes a command of a function from a `Call` and its own options to a result.

    Options of the function are shown before `--output`, those after `*` behind it, then the shared ones.

    Args:
        shared: Names of `SHARED` that not all studies have.
        formats: Formats of its files.
        output: Help of `--output`.
        examples: Complete command lines.
        takes_runs: Whether RUNS are declared; a function with other arguments adds their paths to `Call.runs`.
    """
    names = [name for name in SHARED if name in ("allow_mismatch", "force", *shared.split())]

    def make(function: Callable[..., StudyResult]) -> Callable[..., None]:
        def command(output: list[Path] | None, force: bool, **given: Any) -> None:
            outputs = list_outputs(output, formats, force)
            values = {name: default for name, (_, default) in SHARED.items() if name != "force"}
            # An option of the function itself may have the name of a shared one, and another meaning.
            values |= {name: given.pop(name) for name in names if name in values}
            explain = values.pop("explain") or "explain" not in names
            runs = given.pop("runs") if takes_runs else []
            call = Call(runs, values.pop("bootstrap"), **values)
            result = function(call, **given)
            say_warnings(result.warnings)
            publish(result, outputs, call.runs, explain, page=partial(_make_page, result))

        _, *own = inspect.signature(function).parameters.values()
        files = Annotated[list[Path] | None, output_option(output)]
        parameters = [_option("runs", Runs)] if takes_runs else []
        parameters += [option for option in own if option.kind is not Parameter.KEYWORD_ONLY]
        parameters.append(_option("output", files, None))
        parameters += [option for option in own if option.kind is Parameter.KEYWORD_ONLY]
        parameters += [_option(name, *SHARED[name]) for name in names]
        parameters = [option.replace(kind=Parameter.KEYWORD_ONLY) for option in parameters]
        command.__dict__["__signature__"] = inspect.Signature(parameters)
        command.__annotations__ = {option.name: option.annotation for option in parameters}
        command.__doc__ = function.__doc__
        return show_examples(*examples)(command)

    return make


def _make_page(result: StudyResult) -> Page:
    from speechiq.reducer.output.page.studies import render_study

    return Page(render_study(result, command_line()))


def _option(name: str, annotation: Any, default: Any = Parameter.empty) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
