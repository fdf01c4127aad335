"""Write the reference of extras and engines: from `setup.cfg` and from the registry of engines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from docs.hooks.tables import code, write_table
from speechiq.core.suggestions import PROGRAMS
from speechiq.engines.registry import KINDS, Backend, list_backends

PAGE = "reference/extras.md"
INTRODUCTION = """# Extras and engines

## Extras

`pip install '.[demo,endpoints]'` installs the package with two extras.

"""
ENGINES = """
## Engines

A stage of a system is written `ENGINE:MODEL`; without an engine it is `hf` ([Speech systems](../how-to/systems.md)).

"""
OPTIONS = """
## Options of engines

In a system of several stages an option begins with the name of its stage: `asr_`, `ger_` or `llm_`.

"""
STAGES = {
    "asr": "recognizer",
    "text": "language model, corrector",
    "audio": "audio model",
    "speech": "voice",
    "reply": "model with a voice of its own",
}
_EXTRA = re.compile(r"^((?:# .*\n)*)([a-z-]+) =\n {4}(.+(?:\n {4}.+)*)", re.MULTILINE)


class Extra(NamedTuple):
    """An extra of the package: its name, purpose and requirements."""

    name: str
    purpose: str
    requirements: list[str]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page."""
    setup = Path(config.config_file_path).with_name("setup.cfg").read_text(encoding="utf-8")
    files.append(File.generated(config, PAGE, content=describe(read_extras(setup))))
    return files


def read_extras(setup: str) -> list[Extra]:
    """Return the extras of `setup.cfg`; the comment above each one says what it is for."""
    section = setup.partition("[options.extras_require]\n")[2].partition("\n[")[0] + "\n"
    return [
        Extra(name, comment.replace("# ", "").replace("\n", " ").strip(), packages.split("\n    "))
        for comment, name, packages in _EXTRA.findall(section)
    ]


def describe(extras: list[Extra]) -> str:
    """Return the page."""
    backends = [backend for kind in KINDS for _, backend in sorted(list_backends(kind).items())]
    rows = ((code(extra.name), extra.purpose, ", ".join(map(code, extra.requirements))) for extra in extras)
    engines = (
        (STAGES[one.kind], code(one.engine), code(one.example), code(one.extra or PROGRAMS.get(one.program, "")))
        for one in backends
    )
    return (
        INTRODUCTION
        + write_table(["extra", "what it is for", "packages"], rows)
        + ENGINES
        + write_table(["stage", "engine", "example", "extra, or the program's installation"], engines)
        + OPTIONS
        + "\n".join(_describe_options(backends))
    )


def _describe_options(backends: list[Backend]) -> Iterator[str]:
    for backend in backends:
        rows = [
            (code(option.name), option.type, code(option.default), option.description)
            for option in backend.list_options()
        ]
        if rows:
            yield f"### {STAGES[backend.kind].split(',')[0].capitalize()}: `{backend.engine}`\n"
            yield write_table(["option", "values", "default", "meaning"], rows)
