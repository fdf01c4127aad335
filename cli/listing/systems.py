"""Define `siq list systems`: what a system can be made of, what is installed here, and the voices."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import AsJson
from speechiq.cli.tables import print_json, print_table
from speechiq.core.checkpoints.names import DEMO, demo_folder
from speechiq.core.console import show
from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.engines.registry import KINDS, Backend, list_backends

SPEECH = "speech"
STAGES = {
    "asr": "recognizer: the first of several stages",
    "text": "language model: the last stage, or the corrector between two stages",
    "audio": "audio model: a system of one stage",
    "speech": "voice: speaks texts, for speaks=ENGINE:MODEL and `siq data speak`",
    "reply": "audio model that answers aloud by itself, for speaks=own",
}
#: How the options of a stage begin, by kind.
PREFIXES = {"asr": "asr_", "text": "llm_ or ger_", "audio": "", "speech": "", "reply": "speaks_"}
CONTROLS = (
    ("gold+LLM", "ceiling: the references are the transcripts"),
    ("silence+LLM", "floor: every transcript is empty"),
    ("letter:B", "gives one letter to every question and transcribes nothing"),
)
SPECS = (
    ("demo", "whisper-tiny.en and SmolLM2-135M-Instruct, made by `siq demo fetch`"),
    ("openai/whisper-large-v3+Qwen/Qwen2-7B-Instruct", "recognizer and language model from the hub"),
    ("openai/whisper-large-v3+Qwen/Qwen2-7B-Instruct+Qwen/Qwen2-7B-Instruct", "with a corrector between them (GER)"),
    ("Qwen/Qwen2-Audio-7B-Instruct", "audio model alone"),
    ("openai:gpt-4o-audio-preview", "audio model of an endpoint"),
    ("transcripts:FILE+Qwen/Qwen2-7B-Instruct", "transcripts that another program wrote"),
)


def _complete_engine(incomplete: str) -> list[str]:
    return [name for name in _list_engines() if name.startswith(incomplete)]


@examples("siq list systems", "siq list systems hf", "siq list systems flite --json")
def systems(
    engine: Annotated[
        str | None,
        typer.Argument(help="Show one engine in detail, with its options.", autocompletion=_complete_engine),
    ] = None,
    json: AsJson = False,
) -> None:
    """List engines, demo models, controls and voices.

    With ENGINE, show the options of one engine, and its voices on this machine.
    """
    if engine is not None:
        _show_engine(engine, json)
        return
    backends = [backend for kind in KINDS for _, backend in sorted(list_backends(kind).items())]
    models = [(f"{DEMO}{name}", _find_state(name)) for name in _list_demo_models()]
    if json:
        print_json(
            {
                "engines": [_as_row(backend) for backend in backends],
                "demo_models": [{"model": name, "present": not state} for name, state in models],
                "controls": [dict(zip(("spec", "meaning"), control, strict=True)) for control in CONTROLS],
                "examples": [dict(zip(("spec", "meaning"), spec, strict=True)) for spec in SPECS],
            }
        )
        return
    for kind in KINDS:
        rows = [(each.engine, each.example, find_missing(each) or "yes") for each in backends if each.kind == kind]
        print_table(f"{kind} engines ({STAGES[kind]})", ["Engine", "Stage", "Installed"], rows)
    print_table("Demo models", ["Model", "Present"], [(name, state or "yes") for name, state in models])
    print_table("Controls", ["System", "Meaning"], CONTROLS)
    print_table("Examples of SYSTEM", ["System", "Meaning"], SPECS)
    show(
        "A stage without an engine is of the engine hf: a hub id, a folder, or demo:NAME. A text stage may also be a "
        "model type of lm-eval.",
        "Options and voices of an engine: siq list systems ENGINE. Every system also has "
        "llm_answer=generate, likelihood or argmax (answer= if it is an audio model), and store=FOLDER or off.",
    )


def _list_engines() -> list[str]:
    return sorted({name for kind in KINDS for name in list_backends(kind)})


def _show_engine(engine: str, json: bool) -> None:
    found = [backends[engine] for kind in KINDS if engine in (backends := list_backends(kind))]
    if not found:
        names = _list_engines()
        raise SpeechIQError(
            f"siq list systems {engine}: no such engine; {did_you_mean(engine, names)}there are {', '.join(names)}"
        )
    if json:
        print_json([_as_row(backend) | _describe(backend) for backend in found])
        return
    for backend in found:
        _show_backend(backend)


def _show_backend(backend: Backend) -> None:
    """Print an engine, what it misses and its options."""
    show(f"{backend.kind} engine {backend.engine}, {STAGES[backend.kind]}")
    show(f"  stage: {backend.example}", f"  installed: {find_missing(backend) or 'yes'}")
    details = _describe(backend)
    if (voices := details.get("voices")) is not None:
        show(f"  voices here: {', '.join(voices) or 'not known; name a model as above'}")
    prefix = PREFIXES[backend.kind]
    title = f"Options (written with {prefix} before the name)" if prefix else "Options"
    if details["options"]:
        rows = [tuple(option.values()) for option in details["options"]]
        print_table(title, ["Option", "Values", "Default", "Meaning"], rows)
    else:
        show("  options: none", "")


def _describe(backend: Backend) -> dict[str, list[Any]]:
    """Return the options of an engine, and the voices of one that speaks; imports the engine."""
    details: dict[str, list[Any]] = {"options": [option._asdict() for option in backend.list_options()]}
    if backend.kind == SPEECH:
        from speechiq.engines.base import SpeechEngine

        details["voices"] = [] if backend.missing() else cast(type[SpeechEngine], backend.load()).list_voices()
    return details


def _as_row(backend: Backend) -> dict[str, Any]:
    return {
        "kind": backend.kind,
        "engine": backend.engine,
        "stage": backend.example,
        "installed": not backend.missing(),
        "missing": backend.missing(),
        "extra": backend.extra,
    }


def find_missing(backend: Backend) -> str:
    """Return which packages or programs an engine misses and how they are installed; empty if none."""
    missing = backend.missing()
    return f"no: {', '.join(missing)} missing, {backend.installation}" if missing else ""


def _list_demo_models() -> list[str]:
    from speechiq.siq_tasks.demo.fetch import MODELS

    return list(MODELS)


def _find_state(name: str) -> str:
    """Return why a demo model cannot be used; empty if it is there. `siq doctor` also compares its files."""
    return "" if demo_folder(name).joinpath("config.json").is_file() else "no: siq demo fetch"
