"""Define `siq voices`: speak texts into a data set, and list the voices of this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from speechiq.cli.examples import examples
from speechiq.cli.options import Force
from speechiq.cli.stopping import stop_in_one_line
from speechiq.cli.systems import find_missing, show_backend
from speechiq.cli.tables import AsJson, print_json, print_table
from speechiq.core.console import count_of, say, show
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_lines import as_lines
from speechiq.core.files.plain import check_output, write_whole
from speechiq.core.suggestions import did_you_mean
from speechiq.engines.registry import Backend, list_backends

app = typer.Typer(no_args_is_help=True, help="Speak texts into a data set, and list the voices of this machine.")

KIND = "speech"
FIX = "name another file with --output"
SPEAK = examples(
    "siq voices speak queries.txt --voice flite:slt --output spoken",
    "siq voices speak queries.jsonl --voice espeak-ng:en-gb --voice flite:awb --option flite.duration_stretch=1.2 -o "
    "spoken",
)


@app.command("list", epilog=examples("siq voices list", "siq voices list flite", "siq voices list --json"))
def list_command(
    engine: Annotated[str | None, typer.Argument(help="Show the voices and the options of one engine.")] = None,
    json: AsJson = False,
) -> None:
    """List the engines that speak, what is installed, and the voices that this machine has."""
    backends = [_find_backend(engine)] if engine else list(list_backends(KIND).values())
    # The other engines do not know their voices, and need seconds to be imported.
    voices = {each.engine: _list_voices(each) if engine or each.program else [] for each in backends}
    if json:
        rows = [
            {"engine": each.engine, "voice": each.example, "missing": each.missing(), "voices": voices[each.engine]}
            for each in backends
        ]
        print_json(rows)
    elif engine:
        show_backend(backends[0])
        show(f"  voices here: {', '.join(voices[engine]) or 'not known; name a model as above'}")
    else:
        table = [
            (each.engine, each.example, find_missing(each) or "yes", len(voices[each.engine]) or None)
            for each in backends
        ]
        title = "Voices, for `siq voices speak --voice ENGINE:MODEL`"
        print_table(title, ["Engine", "Voice", "Usable", "Voices"], table)
        show("Voices and options of an engine: siq voices list ENGINE. Models of hf are fetched from the Hub.")


def _list_voices(backend: Backend) -> list[str]:
    from speechiq.engines.base import SpeechEngine

    return [] if backend.missing() else cast(type[SpeechEngine], backend.load()).list_voices()


@app.command("speak", epilog=SPEAK)
def speak_command(
    texts: Annotated[
        Path,
        typer.Argument(
            help="Texts: a .jsonl or .csv file with the column text and optionally id and others, or a text per line."
        ),
    ],
    voice: Annotated[
        list[str],
        typer.Option(metavar="ENGINE:MODEL", help="Voice; with several, the id of a text chooses its voice."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="New folder for the audio and its table.")
    ],
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="[ENGINE.]NAME=VALUE", help="Option of the voices, or of those of one engine."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed, for voices with random variation.")] = 0,
    device: Annotated[str, typer.Option(help="Device of voices that are models.")] = "cpu",
    format: Annotated[Literal["wav", "flac"], typer.Option(help="Format of the audio files.")] = "wav",
) -> None:
    """Speak texts and write a data set: audio, references, and the voice and seed of each clip.

    What was spoken is in the response cache, so that the same command continues where a stopped one ended.
    """
    from speechiq.siq_tasks.catalog.folders import check_folder
    from speechiq.siq_tasks.catalog.spoken import METADATA, read_texts, write_set

    check_folder(output)
    found = read_texts(texts)
    voices = _open_voices(list(dict.fromkeys(voice)), option or (), device)
    with stop_in_one_line("the same command continues with what is in the response cache"):
        spoken = _speak(found, voices, seed)
        identities = {name: engine.engine.identity() for name, engine in voices.items()}
        write_set(output, spoken, identities, format)
    seconds = sum(each.clip.duration for each in spoken)
    show(
        f"{count_of(len(spoken), 'clip')} ({seconds:.0f} s) in {output}. As a data set of tasks:",
        f"  dataset_path={output / METADATA}, audio_column=file_name, id_column=id",
    )


@app.command("texts", epilog=examples("siq voices texts oasst1 --output queries.jsonl"))
def texts_command(
    name: Annotated[Literal["oasst1"], typer.Argument(help="Where the texts come from.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE.jsonl", help="File for the texts.")],
    source: Annotated[
        str, typer.Option(help="Hub id of OpenAssistant's conversations, or a folder with their parquet files.")
    ] = "OpenAssistant/oasst1",
    split: Annotated[str, typer.Option(help="Split of the data set.")] = "train",
    limit: Annotated[int, typer.Option(min=1, help="Texts have fewer characters.")] = 100,
    force: Force = False,
) -> None:
    """Write short English queries of people, from the conversations of OpenAssistant, for `siq voices speak`."""
    from speechiq.siq_tasks.catalog.oasst import list_queries

    check_output(output, force, FIX)
    found = list_queries(source, split, limit)
    write_whole(output, as_lines(found), FIX)
    show(f"{count_of(len(found), 'text')} in {output}.")


def _open_voices(names: Sequence[str], options: Sequence[str], device: str) -> dict[str, Any]:
    """Return the cached engine of each voice, after every check that needs no speech."""
    from speechiq.core.cache.store import store_folder
    from speechiq.engines.base import Setup
    from speechiq.engines.cached import CachedEngine
    from speechiq.engines.registry import build

    engines = {name.partition(":")[0] for name in names}
    given = _read_options(options, engines)
    opened = {}
    for name in names:
        engine, _, model = name.partition(":")
        backend = _find_backend(engine)
        if not model and backend.takes_model:
            raise SpeechIQError(f"--voice {name}: no model; write ENGINE:MODEL, such as {backend.example}")
        built = build(KIND, model, given[engine], Setup(engine=engine, device=device))
        opened[name] = CachedEngine(built, store_folder())
    return opened


def _find_backend(engine: str) -> Backend:
    known = list_backends(KIND)
    if engine not in known:
        raise SpeechIQError(
            f"{engine}: no engine that speaks; {did_you_mean(engine, known)}write ENGINE:MODEL with one of "
            f"{', '.join(known)}"
        )
    return known[engine]


def _read_options(options: Sequence[str], engines: set[str]) -> dict[str, dict[str, Any]]:
    """Return the options by engine."""
    from speechiq.harness_patch._lm_eval import parse_value

    given: dict[str, dict[str, Any]] = {engine: {} for engine in engines}
    for item in options:
        name, equals, value = item.partition("=")
        if not equals:
            raise SpeechIQError(f"--option {item}: has no value; write NAME=VALUE")
        engine, dot, own = name.partition(".")
        if dot and engine not in engines:
            raise SpeechIQError(f"--option {item}: no --voice is of the engine {engine!r}; name one of them")
        for each in [engine] if dot else engines:
            given[each][own if dot else name] = parse_value(value)
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
                raise SpeechIQError(f"{text.id}: takes {name} longer than {LONGEST_S:g} s to speak; split the text")
            spoken[text.id] = Spoken(text, name, number, clip)
    if silent := [id for id, each in spoken.items() if not each.clip.samples.any()]:
        say(f"warning: digital silence in {count_of(len(silent), 'clip')}, {silent[0]!r} among them; listen to them")
    return [spoken[text.id] for text in texts]
