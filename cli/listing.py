"""Define `siq list`: what a system can be made of, the tasks, and the norms."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import AsJson, complete_norms, complete_tasks
from speechiq.core.checkpoints.names import DEMO, demo_folder
from speechiq.core.console import count_of, show
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import shorten
from speechiq.core.suggestions import suggest
from speechiq.engines.registry import KINDS, Backend, list_backends
from speechiq.reducer.output.terminal import print_grid
from speechiq.reducer.stats.grid import Column, Grid

if TYPE_CHECKING:
    from speechiq.reducer.scores.norms import Norms
    from speechiq.siq_tasks.index import TaskInfo


def print_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table with a title; None is an empty cell, and a column without any text is left out."""
    cells, filled = [], set()
    for row in rows:
        texts = {heading: str(cell) for heading, cell in zip(headings, row, strict=True) if cell is not None}
        filled |= {heading for heading, text in texts.items() if text}
        cells.append(dict.fromkeys(headings, "") | texts)
    print_grid(Grid(title, [Column(heading, heading) for heading in headings if heading in filled], cells))


def print_json(content: Any) -> None:
    """Print JSON, indented; what is not printable is escaped."""
    print(json.dumps(content, indent=1, allow_nan=False))


#: Kind of engine -> what it is, and how its options begin.
STAGES = {
    "asr": ("recognizer: the first of several stages, or alone for tasks that want transcripts", "asr_"),
    "text": ("language model: the last stage, or the corrector between two stages", "llm_ or ger_"),
    "audio": ("audio model: a system of one stage", ""),
    "speech": ("voice: speaks texts, for speaks=ENGINE:MODEL and `siq data speak`", ""),
    "reply": ("audio model that answers aloud by itself, for speaks=own", "speaks_"),
}
SPECS = {
    "demo": "whisper-tiny.en and SmolLM2-135M-Instruct, made by `siq demo fetch`",
    "openai/whisper-large-v3+Qwen/Qwen2-7B-Instruct": "recognizer and language model from the hub",
    "openai/whisper-large-v3+Qwen/Qwen2-7B-Instruct+Qwen/Qwen2-7B-Instruct": "with a corrector between them (GER)",
    "Qwen/Qwen2-Audio-7B-Instruct": "audio model alone",
    "openai:gpt-4o-audio-preview": "audio model of an endpoint",
    "transcripts:FILE+Qwen/Qwen2-7B-Instruct": "transcripts that another program wrote",
    "transcripts:FILE": "the same for tasks that want transcripts, as does any recognizer alone",
    "gold+LLM": "ceiling: the references are the transcripts",
    "silence+LLM": "floor: every transcript is empty",
    "people:FILE": "what a person saved from the page of `siq data exam`; a folder has a system per file",
    "letter:B": "control that gives one letter to every question and transcribes nothing",
}
SET_COLUMNS = ("Set", "Measures", "Clips", "Languages", "Needs")
TASK_COLUMNS = ("Task", "Level", "Clips", "Measure (better)", "Needs")
#: Need of a set in the list of sets -> word in the needs of its tasks.
NEEDS = {"Hub": "from the Hub", "questions": "question file (missing", "judge": "judge", "speech": "siq data speak"}
#: Most languages that are named, and most data sets that are described at once.
MOST_NAMES, MOST_SETS = 6, 12
LEVEL_COLUMNS = ("Level", "Column", "Mean", "Std of systems", "Spread of raw scores", "Weight", "Clips", "Questions")


def _list_engines() -> list[Backend]:
    return [backend for kind in KINDS for _, backend in sorted(list_backends(kind).items())]


def _complete_engine(incomplete: str) -> list[str]:
    return sorted({each.engine for each in _list_engines() if each.engine.startswith(incomplete)})


@examples("siq list systems", "siq list systems hf", "siq list systems flite --json")
def systems(
    engine: Annotated[
        str | None, typer.Argument(help="Show one engine in detail, with its options.", autocompletion=_complete_engine)
    ] = None,
    json: AsJson = False,
) -> None:
    """List engines, demo models, controls and voices.

    With ENGINE, show the options of one engine, and its voices on this machine.
    """
    from speechiq.siq_tasks.demo.fetch import MODELS

    if engine is not None:
        return _show_engine(engine, json)
    backends = _list_engines()
    present = {f"{DEMO}{name}": demo_folder(name).joinpath("config.json").is_file() for name in MODELS}
    if json:
        models = [{"model": name, "present": state} for name, state in present.items()]
        specs = [{"spec": spec, "meaning": meaning} for spec, meaning in SPECS.items()]
        return print_json({"engines": list(map(_record, backends)), "demo_models": models, "examples": specs})
    rows = [(each.kind, each.engine, each.example, _find_missing(each) or "yes") for each in backends]
    print_table("Engines", ["Kind", "Engine", "Stage", "Installed"], rows)
    show(*(f"{kind}: {meaning}" for kind, (meaning, _) in STAGES.items()), "")
    states = [(name, "yes" if state else "no: siq demo fetch") for name, state in present.items()]
    print_table("Demo models", ["Model", "Present"], states)
    print_table("Examples of SYSTEM", ["System", "Meaning"], SPECS.items())
    show(
        "A stage without an engine is of the engine hf: a hub id, a folder, or demo:NAME. A text stage may also be a "
        "model type of lm-eval.",
        "Options and voices of an engine: siq list systems ENGINE. Every system also has store=FOLDER or off, and one "
        "that answers questions llm_answer=generate, likelihood or argmax (answer= if it is an audio model).",
    )


def _show_engine(engine: str, json: bool) -> None:
    backends = [each for each in _list_engines() if each.engine == engine]
    if not backends:
        raise SpeechIQError(f"siq list systems {engine}", "no such engine", suggest(engine, _complete_engine("")))
    if json:
        return print_json([_record(each) | _describe(each) for each in backends])
    for each in backends:
        meaning, prefix = STAGES[each.kind]
        details = _describe(each)
        show(f"{each.kind} engine {engine}, {meaning}", f"  stage: {each.example}")
        show(f"  installed: {_find_missing(each) or 'yes'}")
        if (voices := details.get("voices")) is not None:
            show(f"  voices here: {', '.join(voices) or 'not known; name a model as above'}")
        if not details["options"]:
            show("  options: none", "")
            continue
        title = f"Options (written with {prefix} before the name)" if prefix else "Options"
        print_table(title, ["Option", "Values", "Default", "Meaning"], [row.values() for row in details["options"]])


def _describe(backend: Backend) -> dict[str, list[Any]]:
    """Return the options of an engine, and the voices of one that speaks; imports the engine."""
    details: dict[str, list[Any]] = {"options": [option._asdict() for option in backend.list_options()]}
    if backend.kind == "speech":
        from speechiq.engines.base import SpeechEngine

        details["voices"] = [] if backend.missing() else cast(type[SpeechEngine], backend.load()).list_voices()
    return details


def _record(backend: Backend) -> dict[str, Any]:
    names = {"kind": backend.kind, "engine": backend.engine, "stage": backend.example}
    return names | {"installed": not backend.missing(), "missing": backend.missing(), "extra": backend.extra}


def _find_missing(backend: Backend) -> str:
    """Return which packages or programs an engine misses and how they are installed; empty if none."""
    missing = backend.missing()
    return f"no: {', '.join(missing)} missing, {backend.installation}" if missing else ""


@examples("siq list tasks", "siq list tasks demo", "siq list tasks choice", "siq list tasks siq_demo_apply --json")
def tasks(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Task, group or data set to show, a folder of `siq data new`, or a word to search for.",
            autocompletion=complete_tasks,
        ),
    ] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Fetch the clips of a data set that is on the Hub.")] = False,
    json: AsJson = False,
) -> None:
    """List the sets of tasks, or show tasks and their data sets.

    With NAME, show its tasks, and the rows, columns, questions and clips of its data set. If NAME is only a part of
    names, or what tasks measure or need, list these tasks.
    """
    from speechiq.siq_tasks.catalog.data_sets import describe_data_set
    from speechiq.siq_tasks.index import ON_HUB, find_tasks, list_tasks, search_tasks

    if name is None:
        listed = list_tasks()
        if json:
            return print_json([task._asdict() for task in listed])
        print_table("Tasks, for `siq eval --tasks` and `lm_eval --tasks`", SET_COLUMNS, _list_sets(listed))
        return show("The tasks of a set, or those with a word such as choice, judge or zh: siq list tasks NAME")
    try:
        listed = find_tasks(name)
        datasets = list(dict.fromkeys(task.dataset for task in listed)) or [name]
    except SpeechIQError:
        listed, datasets = search_tasks(name), []
        if not listed:
            raise
    if json:
        sets = {dataset: list(describe_data_set(dataset, fetch=fetch)) for dataset in datasets}
        return print_json({"tasks": [task._asdict() for task in listed], "data_sets": sets})
    if listed:
        rows = [
            (task.name, task.level, task.clips, f"{task.measure} ({task.direction})", task.needs.replace(ON_HUB, "Hub"))
            for task in listed
        ]
        print_table(name, TASK_COLUMNS, rows)
    if len(datasets) > MOST_SETS:
        return show(f"{len(datasets)} data sets: siq list tasks NAME describes one")
    for dataset in datasets:
        show(*describe_data_set(dataset, fetch=fetch))


def _list_sets(tasks: Iterable[TaskInfo]) -> Iterator[Sequence[object]]:
    """Yield a row per set of tasks: its name, what it measures, its clips, languages and needs."""
    sets: dict[str, list[TaskInfo]] = defaultdict(list)
    for task in tasks:
        sets[task.set_name].append(task)
    for name, members in sets.items():
        measured = dict.fromkeys(task.level for task in members)
        # The categories of a level have different clips of a data set, and its levels the same ones.
        clips: dict[str, Counter[str]] = defaultdict(Counter)
        for dataset, level, _, count in {(task.dataset, task.level, task.category, task.clips) for task in members}:
            clips[dataset][level] += count or 0
        is_known = all(task.clips is not None for task in members)
        total = sum(max(by_level.values()) for by_level in clips.values()) if is_known else None
        languages = dict.fromkeys(task.language for task in members)
        spoken = ", ".join(languages) if len(languages) <= MOST_NAMES else count_of(len(languages), "language")
        needed = "; ".join(task.needs for task in members)
        yield (
            name,
            ", ".join(measured),
            total,
            spoken,
            ", ".join(need for need, word in NEEDS.items() if word in needed),
        )


@examples("siq list norms", "siq list norms demo", "siq list norms norms.json --json")
def list_norms(
    name: Annotated[
        str | None, typer.Argument(help="Norms to show: a name in the list, or a file.", autocompletion=complete_norms)
    ] = None,
    json: AsJson = False,
) -> None:
    """List the norms of the package, or show some norms.

    With NAME, show its population, its levels and the conditions of its tasks.
    """
    from speechiq.reducer.scores.norms import SHIPPED, read_norms

    summaries = [_summarize(read_norms(shown)) for shown in ([name] if name else SHIPPED)]
    if json:
        return print_json(summaries[0] if name else summaries)
    if name is None:
        rows = []
        for each in summaries:
            levels = each["levels"].values()
            names = ", ".join(task["task"] for level in levels for task in level["tasks"])
            clips = max(level["clips"] for level in levels)
            rows.append([each["name"], len(each["population"]), clips, names, shorten(each["sha256"])])
        print_table("Norms", ["Name", "Systems", "Clips", "Tasks", "sha256"], rows)
        return show("Use: siq score RUNS --norms NAME. Details: siq list norms NAME")
    levels = summaries[0].pop("levels")
    listed = [task for about in levels.values() for task in about.pop("tasks")]
    for key, value in summaries[0].items():
        show(f"{key}: {', '.join(value) if isinstance(value, list) else value or 'none'}")
    rows = [[level, *map(_round_number, about.values())] for level, about in levels.items()]
    print_table("Levels (X of eq. 5; error rates count negative)", LEVEL_COLUMNS, rows)
    for task in listed:
        show(", ".join(f"{key}: {value}" for key, value in task.items() if value is not None))


def _round_number(value: Any) -> Any:
    return f"{value:.4f}" if isinstance(value, float) else value


def _summarize(norms: Norms) -> dict[str, Any]:
    """Return the content of norms with numbers of clips and questions in the place of their names."""
    levels = {
        level: about | {"clips": len(about["clips"]), "questions": sum(map(len, about["questions"].values()))}
        for level, about in norms.content["levels"].items()
    }
    return {key: value for key, value in norms.content.items() if key != "schema"} | {
        "name": norms.label,
        "population": norms.systems,
        "levels": levels,
    }
