"""Define `siq data` and `siq paper questions`: make tasks of your own clips or texts, and questions about them."""

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from speechiq.cli.commands import examples, stop_in_one_line
from speechiq.cli.options import (
    EXPERT,
    AllowCode,
    Force,
    Metadata,
    Seed,
    Yes,
    choose_file,
    complete_tasks,
    output_option,
    read_values,
    split_names,
)
from speechiq.core.checkpoints.names import DEMO, choose_source, demo_folder
from speechiq.core.console import count_of, say, say_error, show
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import (
    OWN_FILE,
    check_output,
    check_output_folder,
    exists,
    is_file,
    is_folder,
    refuse_to_overwrite,
    write_whole,
)
from speechiq.core.suggestions import did_you_mean
from speechiq.engines.registry import Backend, list_backends

#: How many ids are printed.
SHOWN = 5
#: The demo's language model.
SMALL = "SmolLM2-135M-Instruct"


@examples(
    "siq data new calls --audio recordings --text references.csv",
    "siq data new anrufe --audio recordings --text references.csv --language de --force",
    "siq data new calls --text references.csv",
)
def new(
    name: Annotated[str, typer.Argument(help="Name of the data set: lower-case letters, digits and '_'.")],
    text: Annotated[
        Path,
        typer.Option(
            help="CSV, TSV or JSONL file with the columns audio, text and, optionally, id, cluster, entities; or a "
            "manifest of NeMo, or a text file of Kaldi with an id and its words per line."
        ),
    ],
    audio: Annotated[
        Path | None, typer.Option(help="Folder of audio files; without it, a set for transcripts in files alone.")
    ] = None,
    output: Annotated[Path | None, output_option("Folder for the tasks; by default named after the set.")] = None,
    embedder: Annotated[
        str | None,
        typer.Option(help="Language model that Understand compares texts with; by default the small one of the demo."),
    ] = None,
    group_by: Annotated[
        str | None, typer.Option(help="Columns with groups of clips, such as gender,accent, for scores by group.")
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="Code of the language of the clips, such as de; without it, English.")
    ] = None,
    assistant: Annotated[
        str | None,
        typer.Option(help="Language model of an assistant; also makes the task siq_NAME_distance with its distances."),
    ] = None,
    force: Force = False,
) -> None:
    """Make three tasks, one per level, of your own clips and references."""
    from speechiq.metrics.distance.readers import DEFAULT_EMBEDDER
    from speechiq.siq_tasks.catalog.new import create, read_set_name

    if (dataset := read_set_name(name)) != name:
        say(f"the data set is called {dataset}: names of tasks have no capitals and no '-'")
    folder = output or Path(dataset)
    small = choose_source(SMALL)
    groups = split_names(group_by)
    made = create(dataset, audio, text, folder, embedder or small, assistant, groups, language, force=force)
    for warning in made.warnings:
        say(warning)
    if embedder is None:
        say(f"Understand compares texts with {small}; that of the paper is --embedder {DEFAULT_EMBEDDER} (gated)")
    more = f" and {len(made.ids) - SHOWN} more" if len(made.ids) > SHOWN else ""
    place = shlex.quote(str(folder))
    system = "demo" if language is None else f"{choose_source('whisper-base')}+{small},llm_answer=likelihood"
    if audio is None:
        say("the set has no audio: its systems are transcripts:FILE, with +LLM for Apply, gold and silence")
        system = f"transcripts:FILE+{small},llm_answer=likelihood"
    run = f"siq eval {system} --include-path {place} --output {shlex.quote(f'runs/{dataset}')} --tasks"
    fetch = [] if is_file(demo_folder(small.removeprefix(DEMO)) / "config.json") else ["  siq demo fetch"]
    show(
        f"{', '.join(made.tasks)} are in {folder}.",
        f"Ids of the clips: {', '.join(made.ids[:SHOWN])}{more}; `siq list tasks {place}` lists all. Next:",
        *fetch,
        f"  {run} {','.join(made.tasks[:2])}",
        "Apply needs questions: a model writes them (`siq data questions --help`), or you. Then run all three:",
        f"  siq data questions --dataset {place} --template",
        f"  {run} siq_{dataset}",
    )


@examples("siq data pack calls", "siq data pack calls -o shared/calls.zip --force")
def pack_tasks(
    folder: Annotated[Path, typer.Argument(help="Folder of tasks, as `siq data new` makes it.")],
    output: Annotated[
        Path | None, output_option("Archive to write, FILE.zip; by default named after the folder.")
    ] = None,
    force: Force = False,
) -> None:
    """Make one archive of a folder of tasks that a colleague can run.

    It has the tasks, the table of clips, the audio and the questions.
    """
    from speechiq.siq_tasks.catalog.folders import check_archive, list_contents, write_archive

    contents = list_contents(folder)
    archive = output or Path(f"{contents.root.name}.zip")
    check_archive(archive, force)
    write_archive(contents, archive)
    for file in contents.missing:
        say(f"{folder / file} is not written yet, so Apply does not run: see `siq data questions`")
    name = shlex.quote(contents.root.name)
    clips = f"{count_of(contents.clips, 'clip')} among them, " if contents.clips else ""
    show(
        f"wrote {archive}: {count_of(len(contents.files), 'file')}, {clips}"
        f"{archive.stat().st_size / 1e6:.1f} MB. A colleague types:",
        f"  python -m zipfile -e {shlex.quote(archive.name)} .",
        f"  siq eval SYSTEM --include-path {name} --tasks {','.join(contents.names)} --output runs/{name}",
    )


@examples(
    "siq data speak queries.txt --voice flite:slt --output spoken",
    "siq data speak queries.jsonl --voice espeak-ng:en-gb --voice flite:awb --option flite.duration_stretch=1.2 -o "
    "spoken",
)
def speak(
    texts: Annotated[
        Path,
        typer.Argument(
            help="Texts: a .jsonl or .csv file with the column text and optionally id and others, or a text per line."
        ),
    ],
    voice: Annotated[
        list[str], typer.Option(help="Voice, ENGINE:MODEL; with several, the id of a text chooses its voice.")
    ],
    output: Annotated[Path, output_option("New folder for the audio and its table.")],
    option: Annotated[
        list[str] | None,
        typer.Option(help="Option of the voices, NAME=VALUE, or of those of one engine, ENGINE.NAME=VALUE."),
    ] = None,
    device: Annotated[str, typer.Option(help="Device of voices that are models.")] = "cpu",
    seed: Seed = 0,
) -> None:
    """Speak texts and write a data set of them.

    It has audio, references, and the voice and seed of each clip. What was spoken is in the response cache, so that
    the same command continues where a stopped one ended.
    """
    from speechiq.siq_tasks.catalog.folders import refuse_content
    from speechiq.siq_tasks.catalog.spoken import METADATA, read_spoken_texts, write_spoken_set

    refuse_content(output)
    found = read_spoken_texts(texts)
    voices = _open_voices(list(dict.fromkeys(voice)), option or (), device)
    with stop_in_one_line("the same command continues with what is in the response cache"):
        spoken = _speak(found, voices, seed)
        identities = {name: engine.engine.identity() for name, engine in voices.items()}
        write_spoken_set(output, spoken, identities)
    seconds = sum(each.clip.duration for each in spoken)
    show(
        f"{count_of(len(spoken), 'clip')} ({seconds:.0f} s) in {output}. As a data set of tasks:",
        f"  dataset_path={output / METADATA}, audio_column=file_name, id_column=id",
    )


def _open_voices(names: Sequence[str], options: Sequence[str], device: str) -> dict[str, Any]:
    """Return the cached engine of each voice, after every check that needs no speech."""
    from speechiq.core.files.folders import store_folder
    from speechiq.engines.base import Setup
    from speechiq.engines.cached import CachedEngine
    from speechiq.engines.registry import build_engine

    engines = {name.partition(":")[0] for name in names}
    given = _read_options(options, engines)
    opened = {}
    for name in names:
        engine, _, model = name.partition(":")
        backend = _find_backend(engine)
        if not model and backend.takes_model:
            raise SpeechIQError(f"--voice {name}", "no model", f"write ENGINE:MODEL, such as {backend.example}")
        built = build_engine("speech", model, given[engine], Setup(engine=engine, device=device))
        opened[name] = CachedEngine(built, store_folder())
    return opened


def _find_backend(engine: str) -> Backend:
    known = list_backends("speech")
    if engine not in known:
        raise SpeechIQError(
            engine,
            "no engine that speaks",
            f"{did_you_mean(engine, known)}write ENGINE:MODEL with one of {', '.join(known)}",
        )
    return known[engine]


def _read_options(options: Sequence[str], engines: set[str]) -> dict[str, dict[str, Any]]:
    """Return the options by engine."""
    given: dict[str, dict[str, Any]] = {engine: {} for engine in engines}
    for name, value in read_values("--option", options).items():
        engine, dot, own = name.partition(".")
        if dot and engine not in engines:
            raise SpeechIQError(
                f"--option {name}={value}", f"no --voice is of the engine {engine!r}", "name one of them"
            )
        for each in [engine] if dot else engines:
            given[each][own if dot else name] = value
    return given


def _speak(texts: Sequence[Any], voices: Mapping[str, Any], seed: int) -> list[Any]:
    """Return all texts with their speech, in their order; one voice after the other works."""
    from speechiq.engines._shared.speech import LONGEST_S
    from speechiq.siq_tasks.catalog.spoken import Spoken, choose_seed, choose_voice

    spoken = {}
    chosen = {text.id: choose_voice(text, list(voices)) for text in texts}
    for name, engine in voices.items():
        own = [text for text in texts if chosen[text.id] == name]
        seeds = [choose_seed(text, seed) for text in own]
        for text, number, clip in zip(own, seeds, engine.speak([text.text for text in own], seeds), strict=True):
            if clip.duration >= LONGEST_S:
                raise SpeechIQError(text.id, f"takes {name} longer than {LONGEST_S:g} s to speak", "split the text")
            spoken[text.id] = Spoken(text, name, number, clip)
    if silent := [id for id, each in spoken.items() if not each.clip.samples.any()]:
        say(f"warning: digital silence in {count_of(len(silent), 'clip')}, {silent[0]!r} among them; listen to them")
    return [spoken[text.id] for text in texts]


@examples(
    "siq data questions --dataset calls --template",
    "siq data questions --dataset medasr --writer openai:gpt-4o --checker openai:gpt-4o-mini --dry-run",
    "siq data questions --dataset calls --writer openai:gpt-4o --checker hf:Qwen/Qwen2-7B-Instruct --yes",
)
def write_by_models(
    dataset: Annotated[str, typer.Option(help="Data set of the suite, or a folder of `siq data new`.")],
    writer: Annotated[
        str | None,
        typer.Option(help="Author as ENGINE:MODEL, such as hf:NAME or openai:gpt-4o,base_url=URL,key_variable=NAME."),
    ] = None,
    checker: Annotated[
        list[str] | None,
        typer.Option(help="Model as ENGINE:MODEL that must answer every question right; give it once per model."),
    ] = None,
    template: Annotated[
        bool, typer.Option("--template", help="Write a CSV to fill in by hand instead, three rows per clip.")
    ] = False,
    output: Annotated[Path | None, output_option("File to write; by default the one that the tasks read.")] = None,
    force: Force = False,
    metadata: Metadata = None,
    yes: Yes = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the cost, and stop.")] = False,
    tries: Annotated[
        int,
        typer.Option(
            min=1, help="Set how often each checker answers; more than half must be right.", rich_help_panel=EXPERT
        ),
    ] = 3,
    rewrites: Annotated[
        int, typer.Option(min=0, help="Set how often a question that failed is written again.", rich_help_panel=EXPERT)
    ] = 3,
    workers: Annotated[
        int, typer.Option(min=1, help="Set how many clips are worked on at the same time.", rich_help_panel=EXPERT)
    ] = 8,
    seed: Seed = 0,
) -> None:
    """Write three questions per clip from its reference.

    A model writes them and others check them, or you write them into a CSV (--template). A partial file is completed,
    and a stopped run goes on.
    """
    if template:
        if writer or checker:
            raise SpeechIQError("--template", "the questions are written by hand", "leave --writer and --checker out")
        return _write_template(dataset, metadata, output, force)
    if writer is None or not checker:
        missing = "--writer" if writer is None else "--checker"
        raise SpeechIQError(missing, "missing", "name a model, or write the questions by hand with --template")
    from speechiq.siq_tasks import index
    from speechiq.siq_tasks.questions import file
    from speechiq.siq_tasks.questions import write as writing
    from speechiq.siq_tasks.questions.authors import StoredAnswers, parse_authors

    authors: dict[str, Any] = parse_authors([writer, *checker])
    clips = read_clips(dataset, metadata)
    if not dry_run:
        authors = {name: spec.open() for name, spec in authors.items()}
    plan = writing.WritingPlan(authors[writer], [authors[name] for name in checker], tries, rewrites, seed)
    output = output or index.place_questions(dataset)
    file.refuse_special(output)
    if is_file(written := file.by_hand(output)) and written != output:
        raise SpeechIQError(written, "has questions by hand, which take the place of others", "move or rename it")
    check_output_folder(output.parent, "name a file in a folder that is yours, with --output")
    todo = writing.list_unfinished(clips, file.read_questions(output) if output.is_file() else [])
    say(f"{len(todo)} of {len(clips)} clips have no or too few questions in {output}")
    say(str(writing.CostEstimate(todo, plan)))
    if (folder := writing.answers_of(output)).is_dir() and (paid := len(StoredAnswers(folder))):
        say(f"{count_of(paid, 'answer')} of an earlier run in {folder}: not paid again")
    if dry_run:
        return
    if not yes:
        typer.confirm("start?", abort=True, err=True)
    with stop_in_one_line():
        outcome = writing.write_missing(clips, plan, output, dataset, workers)
    left_out = sum("left_out" in row for row in outcome.rows)
    say(
        f"wrote {output}: {count_of(len(outcome.rows) - left_out, 'question')}, {left_out} left out; "
        f"{count_of(outcome.asked, 'request')}; right letters: {writing.show_letters(outcome.rows)}"
    )
    for reason, times in outcome.failures.most_common():
        say(f"failed attempts: {times} x {reason}")


def _write_template(dataset: str, metadata: list[str] | None, output: Path | None, force: bool) -> None:
    from speechiq.siq_tasks import index
    from speechiq.siq_tasks.questions import file

    place = index.place_questions(dataset)
    table = output or file.by_hand(place)
    if table.suffix.lower() != ".csv":
        raise SpeechIQError(f"--output {table}", "does not end with .csv", f"write {table.stem}.csv")
    if output is None and is_file(place):
        raise SpeechIQError(dataset, f"its questions are in {place}", "name another file with --output")
    refuse_to_overwrite(table, force)
    clips = read_clips(dataset, metadata)
    file.write_template(table, clips)
    named = shlex.quote(min(str(table), os.path.relpath(table), key=len))
    show(
        f"wrote {named}: {count_of(len(clips) * file.PER_CLIP, 'row')} for {count_of(len(clips), 'clip')}. Write a "
        "question, four options A to D, and the letter or the text of the right one into each. Then:",
        f"  siq data check {named} --dataset {shlex.quote(dataset)}",
    )


@examples(
    "siq data exam siq_demo -o exam.html",
    "siq data exam siq_demo --limit 3 -o exam.html",
    "siq data exam siq_calls --include-path calls -o calls.html --force",
)
def write_exam(
    tasks: Annotated[
        str,
        typer.Argument(
            help="Tasks or groups, with commas between them, that want transcripts or have options.",
            autocompletion=complete_tasks,
        ),
    ],
    output: Annotated[Path, output_option("Page to write, such as exam.html.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Take only the first clips of each data set.")] = None,
    metadata: Metadata = None,
    include_path: Annotated[
        Path | None, typer.Option(help="Folder with further tasks, such as one of `siq data new`.")
    ] = None,
    allow_code: AllowCode = False,
    force: Force = False,
) -> None:
    """Write a page on which people take the test, offline.

    A person hears each clip, writes down what is said, answers its questions, and saves a file. `siq eval people:FILE`
    scores it like a system. The page has the sound inside, and neither references nor right letters.
    """
    from speechiq.cli.evaluation.checks import check_plan
    from speechiq.harness_patch.exam import open_exam
    from speechiq.harness_patch.plan import Plan, eval_command
    from speechiq.reducer.output.page.exam import render_exam

    endings = (".html", ".htm")
    page = choose_file([output], endings, force, "the exam is a page", "name one such as exam.html")
    names = split_names(tasks)
    folder = None if include_path is None else str(include_path)
    plan = Plan(
        systems=(),
        tasks=tuple(names),
        output=str(page.parent),
        limit=limit,
        metadata=tuple(metadata or ()),
        include_path=folder,
        allow_code=allow_code,
    )
    check_plan(plan, None, False)
    command = shlex.join(eval_command(plan.change(systems=("people:NAME.jsonl",), output="runs/people")))
    with stop_in_one_line():
        exam = open_exam(plan)
        text = render_exam(exam, names, command)
    write_whole(page, text.encode(errors="replace"), OWN_FILE)
    asked = f" and {count_of(exam.questions, 'question')}" if exam.questions else ""
    show(
        f"wrote {page}: {count_of(len(exam.clips), 'clip')}{asked}, {page.stat().st_size / 1e6:.1f} MB. "
        "Each person opens it in a browser and saves a file, for:",
        f"  {command}",
    )


@examples(
    "siq data croissant questions.jsonl --license CC-BY-4.0 --url https://example.org/questions --output croissant.json"
)
def croissant(
    file: Annotated[Path, typer.Argument(help="Question file.")],
    license: Annotated[str, typer.Option(help="License of the questions, such as CC-BY-4.0.")],
    url: Annotated[str, typer.Option(help="Page of the data set.")],
    output: Annotated[Path, output_option("File to write: a .json beside the question file.")],
    force: Force = False,
) -> None:
    """Describe a question file in Croissant, for data set search.

    Croissant is JSON-LD that search engines and loaders of data sets read. The file belongs beside the questions.
    """
    from speechiq.siq_tasks.questions.check import describe_croissant
    from speechiq.siq_tasks.questions.file import read_questions

    check_output(output, force, OWN_FILE)
    content = describe_croissant(file, read_questions(file), license, url)
    write_whole(output, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode(), OWN_FILE)
    say(f"wrote {output}")


@examples(
    "siq paper questions earning22-gpt-4o-qa.json --dataset paper_earnings22",
    "siq paper questions voxpopuli-gpt-4o-qa.json --dataset paper_voxpopuli --near --output questions.jsonl",
)
def join_questions(
    file: Annotated[Path, typer.Argument(help="Released questions: a JSON list of objects with gold and qa.")],
    dataset: Annotated[str, typer.Option(help="Data set whose clips the questions are about.")],
    output: Annotated[Path | None, output_option("File to write; by default the one that the tasks read.")] = None,
    near: Annotated[
        bool, typer.Option("--near", help="Join near matches of references too.", rich_help_panel=EXPERT)
    ] = False,
    metadata: Metadata = None,
) -> None:
    """Join released questions to the clips of a data set.

    The released questions name no clips. Exit code 1 if fewer than 90 % of them are joined.
    """
    from speechiq.siq_tasks.questions import file as question_file
    from speechiq.siq_tasks.questions import released
    from speechiq.siq_tasks.questions.write import show_letters

    content = released.read_released(file)
    output = output or question_file.place_of(dataset)
    question_file.refuse_special(output)
    outcome = released.join_released(content, read_clips(dataset, metadata), take_near=near)
    show(*released.describe_import(outcome, near), f"right letters: {show_letters(outcome.rows)}")
    if not outcome.is_enough:
        raise SpeechIQError(
            f"{str(file)!r}",
            f"{outcome.joined} of {outcome.entries} entries are about clips of {dataset}, fewer than "
            f"{released.ENOUGH:.0%}",
            "give the questions of this data set, or its source with --metadata",
        )
    question_file.write_questions(output, outcome.rows)
    say(f"wrote {output} from {file} (sha256 {content.sha256[:12]})")


def read_clips(dataset: str, metadata: list[str] | None) -> list[dict[str, Any]]:
    """Return the clips of a data set under the settings of `--metadata`."""
    from speechiq.siq_tasks import index

    settings = read_values("--metadata", metadata or ())
    if "dataset" in settings:
        raise SpeechIQError(
            f"--metadata dataset={settings['dataset']}",
            f"the clips are those of {dataset}",
            "name another data set in its place",
        )
    return index.list_clips(dataset, **settings)


@examples("siq data check calls/questions.jsonl --dataset calls", "siq data check audiobench")
def check_data(
    name: Annotated[
        str,
        typer.Argument(
            help="Question file; or task, group or data set whose source is checked.", autocompletion=complete_tasks
        ),
    ],
    dataset: Annotated[
        str | None, typer.Option(help="Check that the questions fit the clips of this data set.")
    ] = None,
    reader: Annotated[str | None, typer.Option(help="Let a model, ENGINE:MODEL, answer without the speech.")] = None,
    metadata: Metadata = None,
) -> None:
    """Check a question file, or whether the sources of data sets exist.

    Of a question file, schema, balance and duplicates are checked, and guesses without audio are scored; exit code 1
    if a question leaks. Of a data set on the Hub, version, configuration, split and columns are checked without a
    download of audio; exit code 1 if something is missing.
    """
    is_file = exists(Path(name)) and not is_folder(name)
    if is_file or name.endswith(".jsonl") or dataset or reader:
        return _check_questions(Path(name), dataset, reader, metadata)
    _check_sources(name, read_values("--metadata", metadata or ()))


def _check_questions(file: Path, dataset: str | None, reader: str | None, metadata: list[str] | None) -> None:
    from speechiq.siq_tasks.questions.authors import parse_author
    from speechiq.siq_tasks.questions.check import check_file, describe_report

    references = {clip["id"]: clip["text"] for clip in read_clips(dataset, metadata)} if dataset else None
    author = parse_author(reader).open() if reader else None
    with stop_in_one_line():
        report = check_file(file, references, author, dataset or "")
    show(*describe_report(report))
    if report.faults:
        raise typer.Exit(1)


def _check_sources(name: str, settings: dict[str, Any]) -> None:
    from speechiq.siq_tasks.catalog.sources import check_sources

    are_faults = []
    with stop_in_one_line():
        for dataset, outcome in check_sources(name, settings):
            are_faults.append(isinstance(outcome, SpeechIQError))
            (say_error if are_faults[-1] else show)(f"{dataset}: {outcome}")
    if len(are_faults) > 1:
        show(f"{are_faults.count(False)} of {len(are_faults)} data sets have what their tasks read")
    if any(are_faults):
        raise typer.Exit(1)
