"""Define `siq score` and `siq compare`: rank systems, and test whether one of two is better."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import (
    AllowMismatch,
    Explain,
    Force,
    Runs,
    Samples,
    output_option,
    read_path,
    say_warnings,
    split_names,
)
from speechiq.cli.scoring import (
    Call,
    ClipWeights,
    Exclude,
    Levels,
    Metrics,
    NormsFile,
    Weights,
    choose_scale,
    read_set,
    study,
)
from speechiq.core.console import count_of, say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import shorten
from speechiq.core.files.page import Page
from speechiq.core.files.plain import OWN_FILE, check_output, exists, refuse_same
from speechiq.reducer.output.harness import write_harness
from speechiq.reducer.output.publish import HARNESS, command_line, list_outputs, publish
from speechiq.reducer.output.scoreboard_records import join_contents
from speechiq.reducer.output.side_tables import cost_grid, gather_side_tables, speed_grid
from speechiq.reducer.output.suite_scores import SuiteScores, score_suite
from speechiq.reducer.runs.run_record import read_costs, read_cut_replies, read_prices, read_speeds
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores import suites
from speechiq.reducer.scores.levels import LEVELS, SUITE
from speechiq.reducer.scores.norms import build_norms, write_norms
from speechiq.reducer.scores.pairs import choose_system, pair_up, select_runs
from speechiq.reducer.scores.suites import ScoringOptions
from speechiq.reducer.stats.bootstrap import check_draws
from speechiq.reducer.stats.grid import Important
from speechiq.reducer.studies import unanswerable
from speechiq.reducer.studies.compare import METRICS, SCHEMA, compare_metrics, compare_pair
from speechiq.reducer.studies.comparison import SIQ
from speechiq.reducer.studies.result import StudyResult

FORMATS = ("json", "csv", "markdown", "latex", "page", HARNESS)
#: The field of `--group-by` that every suite has.
DATASET = "dataset"


@examples(
    "siq score runs",
    "siq score runs --output report.html --output siq.json --output siq.csv",
    "siq score runs/my_system --norms demo",
    "siq score runs --metrics remember=cer --group-by dataset",
    "siq score runs --save-norms norms.json",
    "siq score runs --speed --prices prices.csv",
)
def score(
    runs: Runs,
    output: Annotated[
        list[Path] | None,
        output_option(
            "File to write; its ending chooses the format: .html (a page with charts and every clip), .json (scores), "
            ".csv (a row per system), .md or .tex (the table); a folder, or a name without an ending, gets results "
            "files of lm-eval. Give it once per file.",
        ),
    ] = None,
    norms_file: NormsFile = None,
    levels: Levels = None,
    metrics: Metrics = None,
    group_by: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="Add a table of the scores by group: dataset, or a field of the suite's items such as noise.",
        ),
    ] = None,
    speed: Annotated[
        bool,
        typer.Option("--speed", help="Add a table of seconds of audio per second of work (RTFx)."),
    ] = False,
    prices: Annotated[
        Path | None,
        typer.Option(
            help="Add a table of tokens, work and cost by a table (.csv, .tsv or .jsonl) of prices: system, input and "
            "output per million tokens, hour."
        ),
    ] = None,
    save_norms: Annotated[
        Path | None,
        typer.Option(help="Store the scale of these systems as norms, a JSON file that --norms takes."),
    ] = None,
    exclude: Exclude = None,
    allow_mismatch: AllowMismatch = False,
    force: Force = False,
    explain: Explain = False,
    weights: Weights = None,
    clip_weights: ClipWeights = None,
    bootstrap: Samples = 1000,
) -> None:
    """Score the systems in RUNS, print the ranking, and write files or a page.

    The systems are scored against each other, or on the scale of norms.
    """
    outputs = list_outputs(output, FORMATS, force)
    if save_norms is not None:
        refuse_same([save_norms, *(file.path for file in outputs)])
        check_output(save_norms, force, OWN_FILE)
    rule, norms = choose_scale(norms_file, weights, clip_weights)
    priced = read_prices(prices) if prices else {}
    _refuse_pairs(norms_file, group_by, save_norms, levels)
    by_dataset = group_by == DATASET
    field = None if by_dataset else group_by
    options = ScoringOptions(
        rule, norms, read_set(exclude), allow_mismatch, bootstrap, by_dataset=by_dataset, group_by=field
    )
    found = suites.find_suites(runs, allow_mismatch, options, measures=split_names(metrics), levels=levels)
    suites.refuse_unknown_field(found, field)
    rules = {"weights": weights, "clip-weights": clip_weights}
    suites.refuse_options_of_siq(found, **rules, norms=norms_file, exclude=exclude, **{"save-norms": save_norms})
    systems = {suite: found.read(suite) for suite in found.levels}
    scale = save_norms and build_norms(
        unanswerable.leave_out(systems[SUITE], options.exclude), save_norms.stem, options.rule
    )
    tasks = found.all_tasks
    costs = read_costs(tasks, priced) if priced else []
    scored, options, no_bars = _score_suites(systems, options)
    warnings = [*found.warnings, *chain.from_iterable(each.warnings for each in scored.values())]
    boards = {suite: each.scoreboard for suite, each in scored.items()}
    beside = gather_side_tables(tasks, found.languages, boards, options.draws)
    page = Page("")
    if any(file.format == "page" for file in outputs):
        from speechiq.reducer.output.page.build import compose_report

        page, more = compose_report(found, scored, beside, options, command_line(), costs)
        warnings += more
    say_warnings(warnings)
    content = join_contents({suite: each.content for suite, each in scored.items()}, SUITE)
    grids = [grid for each in scored.values() for grid in each.grids]
    grids += [*beside.languages, *beside.people.values()]
    if beside.languages:
        content["languages"] = {grid.title: grid.records() for grid in beside.languages}
    if beside.people:
        content["people"] = {suite: grid.records() for suite, grid in beside.people.items()}
    cut = read_cut_replies(tasks)
    if cut:
        content["cut_replies"] = [each._asdict() for each in cut]
    first = list(map(Important, [*no_bars, *[each.describe() for each in cut]]))
    grids[0] = grids[0]._replace(notes=[*first, *grids[0].notes])
    if speed:
        speeds = read_speeds(tasks)
        grids.append(speed_grid(speeds))
        content["speeds"] = speeds
    if costs:
        grids.append(cost_grid(costs))
        content["costs"] = grids[-1].records()
    for key, added in {"translations": beside.translations, "latencies": beside.times}.items():
        for grid in added:
            grids.append(grid)
            content[key] = grid.records()
    rows = [
        ({} if [*scored] == [SUITE] else {"suite": suite}) | row for suite, each in scored.items() for row in each.rows
    ]

    def write_folder(folder: Path) -> None:
        for each in scored.values():
            write_harness(each.scoreboard, folder)

    result = StudyResult("speechiq-scores", grids, content, rows, tasks=tasks)
    if save_norms and scale:
        write_norms(scale, save_norms)
    publish(result, outputs, runs, explain, page=lambda: page, write_folder=write_folder)
    if save_norms and scale:
        clips = max(len(level.clips) for level in scale.levels.values())
        size = f"{count_of(len(scale.systems), 'system')} on {count_of(clips, 'clip')}"
        if scale.excluded:
            size += f", without {count_of(len(options.exclude), 'question')} of set {shorten(scale.excluded)}"
        say(f"wrote {save_norms}: {scale.title} of {size}")


def _score_suites(
    systems: Mapping[str, Sequence[System]], options: ScoringOptions
) -> tuple[dict[str, SuiteScores], ScoringOptions, list[str]]:
    """Return the scores of each suite and the options used: without error bars, with a note, if there are few clips."""
    if options.draws:
        check_draws(options.draws)

    def score_all(used: ScoringOptions) -> dict[str, SuiteScores]:
        return {suite: score_suite(suite, scored, used) for suite, scored in systems.items()}

    try:
        return score_all(options), options, []
    except SpeechIQError as error:
        without = options._replace(draws=0)
        try:
            return score_all(without), without, [f"{error}; so there are none here"]
        except SpeechIQError:
            raise error from None


def _refuse_pairs(norms_file: str | None, group_by: str | None, save_norms: Path | None, levels: str | None) -> None:
    """Refuse options that exclude each other, in an error that names both."""
    if norms_file and group_by == DATASET:
        raise SpeechIQError(
            f"--group-by {DATASET} and --norms {norms_file}",
            "norms have one scale for all their data sets",
            "leave one of the two out, or save norms of each data set and score each by itself",
        )
    for option, value in {"norms": norms_file, "levels": levels}.items():
        if save_norms and value:
            raise SpeechIQError(
                f"--save-norms {save_norms} and --{option} {value}",
                "norms are the scale of these systems on all levels",
                "leave one of the two out",
            )


@study(
    "explain weights clip_weights bootstrap",
    formats=("json",),
    output="File to write: the comparison as .json.",
    examples=(
        "siq compare runs/one runs/other",
        "siq compare whisper-base whisper-tiny.en runs/demo --clips 3",
        "siq compare whisper-base whisper-tiny.en runs/demo --levels remember --output comparison.json",
        "siq compare whisper-base whisper-tiny.en runs/demo --metrics wer,similarity",
    ),
    takes_runs=False,
)
def compare(
    call: Call,
    a: Annotated[
        str,
        typer.Argument(
            metavar="A", help="Folder or results file of one system, or a part of its name if RUNS are given."
        ),
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="The same for the other system.")],
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders or results files with the named systems and the other systems that set the SIQ scale.",
            parser=read_path,
            metavar="RUNS",
        ),
    ] = None,
    *,
    norms_file: NormsFile = None,
    levels: Annotated[
        str | None,
        typer.Option(help=f"Use only some of {','.join([*LEVELS, SIQ])} in the verdict: all of them must agree."),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Use other columns of the sample rows, with commas between them: LEVEL=COLUMN scores a level by it, "
            "such as remember=cer; names alone, such as wer,similarity, are compared as they are, and a system is "
            "better only if it is on all of them."
        ),
    ] = None,
    clips: Annotated[
        int, typer.Option(min=0, help="Show texts and answers of this many clips, those that decide the most.")
    ] = 0,
    exclude: Exclude = None,
) -> StudyResult:
    """Compare two systems, and show the clips that decide.

    `siq compare RUN_A RUN_B`, or `siq compare NAME_A NAME_B RUNS`.
    """
    call.runs.extend([Path(a), Path(b), *(runs or [])])
    scaling = {"weights": call.weights, "clip-weights": call.clip_weights, "norms": norms_file, "exclude": exclude}
    measures, columns = _split_metrics(metrics, levels=levels, **scaling)
    rule, norms = choose_scale(norms_file, call.weights, call.clip_weights)
    options = ScoringOptions(rule, norms, read_set(exclude), call.allow_mismatch, draws=call.draws)
    find = partial(select_runs, options=options, allow_missing=call.allow_mismatch, measures=measures)
    if runs and exists(Path(a)) and not exists(runs[-1]):
        raise SpeechIQError(
            f"siq compare {a} {b} {runs[-1]}", "RUNS come last", f"write siq compare {b} {runs[-1]} {a}"
        )
    named = find(runs) if runs else None
    chosen_a, chosen_b = (choose_system(place, named, find) for place in (a, b))
    read = [*filter(None, [named]), chosen_a, chosen_b]
    say_warnings(chain.from_iterable(each.found.warnings for each in read))
    for each in read:
        suites.refuse_options_of_siq(each.found, **scaling)
    required = None if levels is None else split_names(levels)
    pairs = list(pair_up(chosen_a, chosen_b, named, required, (a, b)))
    if columns:
        results = {METRICS: compare_metrics(pairs, columns, options, clips)}
    else:
        results = {pair.suite: compare_pair(pair, options, clips) for pair in pairs}
    return StudyResult(
        SCHEMA,
        [grid for result in results.values() for grid in result.grids],
        join_contents({suite: result.content for suite, result in results.items()}, SIQ),
        tasks=[task for each in read for task in each.found.all_tasks],
        warnings=[warning for result in results.values() for warning in result.warnings],
    )


def _split_metrics(metrics: str | None, **others: object) -> tuple[list[str], list[str]]:
    """Return the columns of levels, `LEVEL=COLUMN`, or those to compare as they are; refuse both forms together."""
    names = split_names(metrics)
    measures = [name for name in names if "=" in name]
    if measures and len(measures) < len(names):
        raise SpeechIQError(
            f"--metrics {metrics}",
            "columns of levels and columns alone",
            "write LEVEL=COLUMN for all of them or for none",
        )
    for option, value in others.items():
        if names and not measures and value is not None:
            raise SpeechIQError(
                f"--{option} {value}", f"--metrics {metrics} compares columns as they are", "leave one of the two out"
            )
    return measures, [] if measures else names
