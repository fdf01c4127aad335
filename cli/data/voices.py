"""Define `siq data speak`: speak texts with one or more voices, and write a data set of the clips."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from speechiq.cli.commands import examples, stop_in_one_line
from speechiq.cli.options import Seed, output_option, read_values
from speechiq.core.console import count_of, say, show
from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.engines.registry import Backend, list_backends


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
        f"  dataset_path={output / METADATA}, audio_column=file_name, text_column=text, id_column=id, "
        "cluster_column=none",
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


def _speak(texts: Sequence[dict[str, Any]], voices: Mapping[str, Any], seed: int) -> list[Any]:
    """Return all texts with their speech, in their order; one voice after the other works."""
    from speechiq.engines._shared.speech import LONGEST_S
    from speechiq.siq_tasks.catalog.spoken import Spoken, choose_seed, choose_voice

    spoken = {}
    chosen = {text["id"]: choose_voice(text["id"], list(voices)) for text in texts}
    for name, engine in voices.items():
        own = [text for text in texts if chosen[text["id"]] == name]
        seeds = [choose_seed(text["id"], seed) for text in own]
        for text, number, clip in zip(own, seeds, engine.speak([text["text"] for text in own], seeds), strict=True):
            if clip.duration >= LONGEST_S:
                raise SpeechIQError(text["id"], f"takes {name} longer than {LONGEST_S:g} s to speak", "split the text")
            spoken[text["id"]] = Spoken({**text, "voice": name, "seed": number}, clip)
    if silent := [id for id, each in spoken.items() if not each.clip.samples.any()]:
        say(f"warning: digital silence in {count_of(len(silent), 'clip')}, {silent[0]!r} among them; listen to them")
    return [spoken[text["id"]] for text in texts]
