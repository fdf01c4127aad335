"""List the commands of `siq`, and import each one when it is called."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, get_args, get_origin

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

from speechiq.core.console import say

HEADING = "[bold]Examples[/bold]"
PROMPT = "$ "
#: Exit code after Ctrl-C: 128 and the number of the signal.
STOPPED_BY_HAND = 130
Function = TypeVar("Function", bound=Callable[..., None])


class Command(NamedTuple):
    """Hold a command: its place, `MODULE:FUNCTION` below `speechiq.cli` (empty for a group), and its help."""

    place: str
    help: str


#: Words after `siq` -> the command; those of a group follow it.
COMMANDS = {
    "eval": Command("evaluation.command:evaluate", "Run systems, print their ranking and write a report."),
    "plan": Command("cluster.command:plan", "Show which work of a plan is left, and about how many hours it takes."),
    "launch": Command("cluster.command:launch", "Run the shards of a plan as jobs, and show how far each is."),
    "run": Command("main:run_harness", "Run lm_eval with this suite; takes all options of `lm_eval run`."),
    "demo": Command("", "Fetch the models of the demo, and run it."),
    "demo fetch": Command("demo:fetch_demo", "Fetch the demo's models (370 MB, once) and convert them."),
    "demo run": Command("demo:run_demo", "Run five systems on the demo set, print their SIQ and write a report."),
    "import": Command("imports:import_runs", "Turn outputs that other programs wrote into runs, and score them."),
    "score": Command("score:score", "Score the systems in RUNS, print the ranking, and write files or a page."),
    "view": Command("evaluation.view:view", "Open the report of RUNS in a browser."),
    "compare": Command("score:compare", "Compare two systems, and show the clips that decide."),
    "judge": Command("", "Judge stored answers again, and measure how often a judge is right."),
    "judge run": Command("judge:judge_answers", "Judge the stored answers of RUNS again; no system runs."),
    "judge check": Command("judge:compare_judge", "Compare the judge of RUNS with human scores."),
    "judge agree": Command("judge:agree", "Measure how far two judges of the same answers agree."),
    "study": Command("", "Study sizes of samples and systems, conditions, entities, and failed or unanswerable tasks."),
    "study power": Command("studies:power", "Plan how many clips show a difference between two systems."),
    "study robustness": Command("studies:robustness", "Show how scores change with a condition."),
    "study listen": Command("studies:listen", "Show whether systems answer from the audio."),
    "study architecture": Command(
        "studies:architecture", "Show whether a cascade or an end-to-end model is better, and why."
    ),
    "study entities": Command("studies:entities", "Show error rates by class of entity, such as MONEY."),
    "study size": Command("studies:size", "Score systems given their size, as norms by age do."),
    "study predict": Command("predict:predict_failures", "Measure how well each metric predicts failed tasks."),
    "study labels": Command("predict:labels", "Label each answer in RUNS as a success or a failure."),
    "study unanswerable": Command(
        "studies:unanswerable",
        "Find unanswerable questions, and count the systems that answer them.",
    ),
    "publish": Command("", "Publish results that others can check, and freeze norms."),
    "publish runs": Command("publish:runs", "Write the results of systems in a form that others can check."),
    "publish check": Command("publish:check_all", "Check published results: compute every score again from its rows."),
    "publish site": Command("publish:site", "Show published results as a static site."),
    "publish init": Command("publish:init", "Write the files of a repository of results, such as its checks."),
    "publish norms": Command("publish:publish_norms", "Freeze norms under a name and an edition."),
    "list": Command("", "List systems, tasks and norms, or show one of them."),
    "list systems": Command("listing:systems", "List engines, demo models, controls and voices."),
    "list tasks": Command("listing:tasks", "List the sets of tasks, or show tasks and their data sets."),
    "list norms": Command("listing:list_norms", "List the norms of the package, or show some norms."),
    "data": Command("", "Make data sets of recordings or texts, and questions about them."),
    "data new": Command("data.sets:new", "Make three tasks, one per level, of your own clips and references."),
    "data pack": Command("data.sets:pack_tasks", "Make one archive of a folder of tasks that a colleague can run."),
    "data speak": Command("data.voices:speak", "Speak texts and write a data set of them."),
    "data questions": Command("data.questions:write_by_models", "Write three questions per clip from its reference."),
    "data check": Command(
        "data.questions:check_data", "Check a question file, or whether the sources of data sets exist."
    ),
    "data exam": Command("data.exam:write_exam", "Write a page on which people take the test, offline."),
    "data croissant": Command(
        "data.questions:croissant", "Describe a question file in Croissant, for data set search."
    ),
    "paper": Command("", "Reproduce analyses of the SpeechIQ paper."),
    "paper questions": Command("data.questions:join_questions", "Join released questions to the clips of a data set."),
    "paper rank": Command("studies:write_ranking", "Write a page on which people rank the transcripts of systems."),
    "paper correlate": Command("studies:correlate_with_people", "Correlate SIQ and metrics with ranks by people."),
    "paper references": Command("studies:references", "Compare error rates on original and cleaned references."),
    "doctor": Command("doctor:doctor", "Examine this machine; exit code 1 if nothing can run."),
    "store": Command("", "List, remove and exchange what runs have stored."),
    "store list": Command("store:list_rows", "List what runs have stored."),
    "store remove": Command("store:remove", "Remove what is old."),
    "store export": Command(
        "store:export_all", "Write what runs have stored into one archive, to merge it on another machine."
    ),
    "store merge": Command("store:merge_all", "Add what the archives of other machines have; nothing is overwritten."),
}  # fmt: skip
#: Heading in `siq --help` -> the commands below it.
PANELS = {
    "Run": ("eval", "run", "demo", "plan", "launch"),
    "Score": ("import", "score", "view", "compare", "judge", "study", "publish"),
    "Prepare": ("list", "data", "paper"),
    "Machine": ("doctor", "store"),
}
PANEL_OF = {command: panel for panel, commands in PANELS.items() for command in commands}
#: Type of an option without a metavar -> what its help writes for the value.
VALUES = {Path: "PATH", int: "N", float: "NUMBER"}
#: Settings of commands; options that `siq run` does not know are those of lm_eval.
SETTINGS: dict[str, dict[str, Any]] = {
    "main:run_harness": {
        "context_settings": {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
        "add_help_option": False,
    }
}


def write_examples(*commands: str) -> str:
    """Return the foot of a help: complete command lines, which a test parses, one per line."""
    return "\n".join([HEADING, *(PROMPT + escape(command) for command in commands)])


def examples(*commands: str) -> Callable[[Function], Function]:
    """Return a decorator that gives the function of a command its examples."""

    def mark(function: Function) -> Function:
        function.__dict__["epilog"] = write_examples(*commands)
        return function

    return mark


@contextmanager
def stop_in_one_line(advice: str = "") -> Iterator[None]:
    """End the command with one line after Ctrl-C, without waiting for other threads; `advice` says how to go on."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        say(f"stopped by hand; {advice}" if advice else str(interrupt) or "stopped by hand")
        raise typer.Exit(STOPPED_BY_HAND) from None


class PlainCommand(TyperCommand):
    """Show a help that names the value of each option."""

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters."""
        return _with_values(super().get_params(ctx))


class Group(TyperGroup):
    """Import the commands of a group when they are called; `words` after `siq` name it, none for `siq` itself."""

    def __init__(self, *, words: tuple[str, ...] = (), **settings: Any) -> None:
        super().__init__(**settings)
        self.words = words
        commands = {tuple(name.split()): entry for name, entry in COMMANDS.items()}
        self.entries = {name[-1]: entry for name, entry in commands.items() if name[:-1] == words}
        self.commands = _Commands(words, self.entries)  # type: ignore[assignment]  # typer only reads it

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters."""
        return _with_values(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Return the words after the command; without any, print the help, which is what was asked for."""
        if not args and not ctx.resilient_parsing:
            print(ctx.get_help())
            ctx.exit()
        return list(super().parse_args(ctx, args))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help, from the sentences in the table."""
        commands = self.commands
        self.commands = {
            name: TyperCommand(name, help=entry.help, rich_help_panel=None if self.words else PANEL_OF.get(name))
            for name, entry in self.entries.items()
        }
        super().format_help(ctx, formatter)
        self.commands = commands


class _Commands(Mapping[str, Any]):
    """Name -> command, which is imported when it is read."""

    def __init__(self, words: tuple[str, ...], entries: Mapping[str, Command]) -> None:
        self.words, self.entries = words, entries

    def __getitem__(self, name: str) -> Any:
        place, text = self.entries[name]
        if not place:
            return Group(name=name, words=(*self.words, name), help=text)
        module, _, name_in_module = place.partition(":")
        with stop_in_one_line():
            function = getattr(import_module(f"speechiq.cli.{module}"), name_in_module)
        app = typer.Typer(add_completion=False)
        app.command(name, cls=PlainCommand, epilog=getattr(function, "epilog", None), **SETTINGS.get(place, {}))(
            function
        )
        return typer.main.get_command(app)

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


def _with_values(parameters: Any) -> Any:
    """Return parameters whose help names the value of each option, such as PATH, and no types and ranges else."""
    for parameter in parameters:
        word = _name_value(parameter)
        parameter.display_type_rich = lambda ctx, word=word: word
        parameter._get_number_range_help_str = lambda: None  # noqa: SLF001 (typer has no switch for it)
    return parameters


def _name_value(parameter: Any) -> str | None:
    """Return the word for the value of an option, its `metavar` if it has one; None for a flag and an argument."""
    if parameter.param_type_name != "option" or parameter.is_flag:
        return None
    if parameter.metavar:
        return str(parameter.metavar)
    annotation = parameter.type_descriptor.annotation
    (kind,) = get_args(annotation) if get_origin(annotation) is list else (annotation,)
    return VALUES.get(kind, "TEXT")
