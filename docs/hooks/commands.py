"""Write the reference of commands: `siq` as typer documents it, and what `lm_eval run` takes for speech systems."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import AnchorLink

from docs.hooks.tables import code, write_table
from speechiq.engines.options import OptionInfo
from speechiq.harness_patch.audio_api import AudioAPI
from speechiq.harness_patch.hf_audio import HFAudio
from speechiq.harness_patch.run import speech_help
from speechiq.metrics.settings import Subject
from speechiq.siq_tasks.conditions.spec import QuestionSettings, RunSettings
from speechiq.siq_tasks.loaders.clips import SUBJECTS
from speechiq.siq_tasks.loaders.passages import PassageSettings
from speechiq.siq_tasks.settings import TASK_TYPES

PAGE = "reference/commands.md"
INTRODUCTION = """# Commands

The options of every `siq` command, and what `lm_eval run` takes for speech systems. In a terminal, `--help` after any
command prints the same.

"""
_COMMANDS = re.compile(r"\*\*Commands\*\*:\n\n(?:\* .*\n)+\n?")
_COMMAND = re.compile(r"^(#+) `(siq[a-z ]*)`$")
#: An option as typer writes it: its names, the word for its value, `None` for a flag, and its help.
_OPTION = re.compile(r"^\* `(-[^`]*?)(?: [A-Z][^`]*)?`: (.+)$")
_EXAMPLES = re.compile(r"\[bold\]Examples\[/bold\]\n+((?:\$ .*\n+)+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page."""
    files.append(File.generated(config, PAGE, content=INTRODUCTION + describe_siq() + describe_lm_eval()))
    return files


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leave the options out of the table of contents."""
    if page.file.src_uri == PAGE:
        _drop_options(page.toc.items)
    return content


def _drop_options(links: list[AnchorLink]) -> None:
    links[:] = [link for link in links if "--" not in link.id]
    for link in links:
        _drop_options(link.children)


def describe_siq() -> str:
    """Return the help of every command of `siq` as Markdown."""
    ask = [sys.executable, "-m", "typer", "speechiq.cli.main", "utils", "docs", "--name", "siq"]
    written = subprocess.run(ask, check=True, capture_output=True, text=True).stdout
    written = written.replace("&#x27;", "'").replace("&quot;", '"')
    written = _EXAMPLES.sub(_write_examples, _COMMANDS.sub("", written))
    return "\n".join(_head_options(re.sub(r"^#", "##", written, flags=re.MULTILINE).splitlines())) + "\n"


def _head_options(lines: list[str]) -> Iterator[str]:
    """Yield the lines of the reference, each option but `--help` with a heading of its own, which the search finds."""
    marks = command = ""
    for line in lines:
        if section := _COMMAND.match(line):
            marks, command = section.groups()
        option = _OPTION.match(line)
        if option is None:
            yield line
        elif option[1] != "--help":
            names, meaning = option.groups()
            anchor = f"{command} {names.split(', ')[-1].split()[0]}".replace(" ", "-")
            yield f'{marks}# <span class="command">{command} </span>`{names}` {{ #{anchor} .option }}\n\n{meaning}\n'


def _write_examples(found: re.Match[str]) -> str:
    lines = [line.removeprefix("$ ").replace(r"\[", "[") for line in found[1].splitlines() if line]
    return "\n".join(["**Examples**:", "", "```bash", *lines, "```", ""])


def describe_lm_eval() -> str:
    """Return what `lm_eval run` takes in addition to its own options."""
    summary = textwrap.dedent(speech_help()).strip("\n")
    types = "".join(
        f"\n### Model arguments of `{name}`\n\n::: {model.__module__}.{model.__qualname__}\n"
        "    options: {members: false, show_root_heading: false, show_root_toc_entry: false, show_bases: false, "
        "show_source: false}\n"
        for name, model in (("hf-audio", HFAudio), ("audio-api", AudioAPI))
    )
    return (
        "\n## `lm_eval run`\n\nIts own options are those of `lm_eval run --help`. speechiq adds two model types:\n"
        f"\n```text\n{summary}\n```\n{types}"
        "\nThe options of stages are in [Extras and engines](extras.md#options-of-engines).\n"
        f"\n### Keys of `--metadata`\n\n{_describe_metadata()}"
    )


def _describe_metadata() -> str:
    """Return a table of the keys, from the records by which tasks read them."""
    asking = Subject(QuestionSettings)
    readers: dict[str, list[Subject]] = {"every task": [Subject(RunSettings)], "every task with a question": [asking]}
    readers |= {f"task type {name}": [*task_type.subjects] for name, task_type in TASK_TYPES.items()}
    readers["sets that are prepared from rows"] = [*SUBJECTS]
    readers["sets of passages"] = [Subject(PassageSettings)]
    infos: dict[str, OptionInfo] = {}
    read_by = defaultdict[str, list[str]](list)
    for reader, subjects in readers.items():
        for info in chain.from_iterable(subject.describe() for subject in subjects):
            infos[info.name] = info
            read_by[info.name].append(reader)
    rows = []
    for key, info in infos.items():
        # Escaped, since a brace begins the attributes of a cell.
        kind = info.type.removeprefix("value of the type any").replace("{", r"\{")
        values = [kind, info.default and f"default {info.default}"]
        rows.append((code(key), "; ".join(filter(None, values)), info.description, ", ".join(read_by[key])))
    others = "Keys that begin with `judge_`, `reader_` or `reply_asr_` are also the options of that model's engine."
    return f"{write_table(['key', 'values', 'meaning', 'read by'], rows)}\n{others}\n"
