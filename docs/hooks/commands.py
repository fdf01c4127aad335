"""Write the reference of commands: `siq` as typer documents it, and what `lm_eval run` takes for speech systems."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import AnchorLink

from docs.hooks.tables import code, write_table
from speechiq.engines.languages import AUTO
from speechiq.harness_patch.audio_api import AudioAPI
from speechiq.harness_patch.hf_audio import HFAudio
from speechiq.harness_patch.run import speech_help
from speechiq.metrics.distance.embedder import DEFAULT_EMBEDDER, OPTIONS
from speechiq.metrics.distance.language_model import DTYPES, TEMPLATES
from speechiq.metrics.distance.readers import DEFAULT_ASSISTANT, DEFAULT_ENCODER
from speechiq.metrics.distance.semantic import OPTIONS as SEMDIST
from speechiq.metrics.judge.rubric import read_rubric, shipped_rubrics
from speechiq.metrics.judge.settings import REPLY
from speechiq.metrics.words.normalizer import NAMES
from speechiq.metrics.words.units import UNITS
from speechiq.siq_tasks.conditions.spec import KINDS
from speechiq.siq_tasks.conditions.variants import LISTEN, STREAM, TIMING, VARIANTS
from speechiq.siq_tasks.loaders.clips import load
from speechiq.siq_tasks.metadata import COMMON, DECLARED
from speechiq.siq_tasks.task_types import TASK_TYPES

PAGE = "reference/commands.md"
INTRODUCTION = """# Commands

The options of every `siq` command, and what `lm_eval run` takes for speech systems. In a terminal, `--help` after any
command prints the same.

"""
#: Keys of `--metadata`: their values and meaning. The build fails if a task reads a key that is not described here.
METADATA = {
    "condition": (
        ", ".join(f"`{kind.example}`" for kind in KINDS.values()),
        "Change of the audio before any model receives it; steps are joined by `+`. See "
        "[Conditions](../how-to/conditions.md).",
    ),
    "listen": (
        ", ".join(VARIANTS),
        "What a system gets instead of the audio: the reference transcript, silence of the same length, or another "
        "clip. See [Did it listen?](../how-to/listen.md).",
    ),
    "timing": (
        STREAM,
        "Times each answer until its first token, its first audio and its end. See [How soon does it "
        "answer?](../how-to/latency.md).",
    ),
    "normalizer": (
        ", ".join(NAMES),
        "Rules that write transcript and reference in one form before errors are counted; auto, the default, chooses "
        "them by the language ([languages](../how-to/languages.md)).",
    ),
    "language": (
        "code such as `de` or `zh`",
        "Language of the data set, which recognizers are given; the sets in English need none.",
    ),
    "prompt_language": (
        "en, own; default en",
        "Language of the prompt of Apply: English, or that of the data set ([languages](../how-to/languages.md)).",
    ),
    "preset": (
        "name",
        "Prompts and settings behind printed numbers ([numbers of others](../how-to/numbers_of_others.md)).",
    ),
    "unit": (
        ", ".join((AUTO, *UNITS)),
        "Unit in which errors are counted: words (WER), characters (CER) or both (MER); auto, the default, chooses it "
        "by the language.",
    ),
    "embedder": (
        f"a hub id, a folder or `demo:NAME`; default {DEFAULT_EMBEDDER}",
        "Language model whose hidden states are compared.",
    ),
    "embedder_template": (
        ", ".join(OPTIONS["embedder_template"]),
        "`chat` puts the prompt into the chat template of the model.",
    ),
    "embedder_text": (
        ", ".join(OPTIONS["embedder_text"]),
        "Normalizer that is applied to both texts first; `raw` applies none.",
    ),
    "embedder_dtype": (", ".join(OPTIONS["embedder_dtype"]), "Number format in which the embedder computes."),
    "judge": (
        "`exact_match`, or `ENGINE:MODEL` with any text engine; default exact_match",
        "What scores free answers: a rule, or a language model ([judges](../concepts/judges.md)).",
    ),
    "judge_rubric": (
        ", ".join(f"`{name}`" for name in shipped_rubrics() if read_rubric(name).kind == "score") + ", or a YAML file",
        "What the judge is asked.",
    ),
    "judge_draws": ("number; default 1", "Judgments per answer; more than one are sampled."),
    "judge_seed": ("number; default 1", "Seed of the draws."),
    "judge_by": ("generate, likelihood", "Score from a written reply, or from the probabilities of the grades."),
    "judge_temperature": ("number", "Temperature of the draws; by default that of the model, or 0 for one draw."),
    "judge_top_p": ("number", "Probability mass to sample from."),
    "judge_top_k": ("number", "Number of tokens to sample from."),
    "judge_max_gen_toks": (f"number; default {REPLY}", "Most tokens of a reply of the judge."),
    "reader": (
        "`ENGINE:MODEL` with any text engine; without it none",
        "Language model that reads the answers to options from which no letter can be read "
        "([a reader](../how-to/audiobench.md#a-model-that-reads-what-the-rules-leave-unread)).",
    ),
    "reader_max_gen_toks": (f"number; default {REPLY}", "Most tokens of a reply of the reader."),
    "reader_*": ("value", "Any option of the reader's engine, such as `reader_base_url`."),
    "reply_asr": (
        "`[ENGINE:]MODEL` of any recognizer; default openai/whisper-large-v3",
        "Recognizer that transcribes spoken replies ([spoken replies](../how-to/spoken_replies.md)).",
    ),
    "reply_asr_*": ("value", "Any option of that recognizer's engine."),
    "speech_quality": (
        "distillmos, `utmos:FILE`, off",
        "What rates how spoken replies sound ([UTMOS](../how-to/spoken_replies.md#utmos)).",
    ),
    "judge_*": ("value", "Any option of the judge's engine, such as `judge_base_url`."),
    "assistant": (
        f"a hub id, a folder, `demo:NAME` or `off`; default {DEFAULT_ASSISTANT}",
        "Language model of the assistant whose semantic distances are measured.",
    ),
    "assistant_template": (
        ", ".join(TEMPLATES),
        "How the text of `llm_semdist_prompt` gets into the prompt; `chat` needs a model with a chat template.",
    ),
    "assistant_dtype": (", ".join(DTYPES), "Number format in which the assistant computes."),
    "encoder": (
        f"a hub id, a folder, `demo:NAME` or `off`; default {DEFAULT_ENCODER}",
        "Sentence encoder of `semdist`.",
    ),
    "ner": (
        "a hub id, a folder or `off` (default)",
        "Token-classification model that finds named entities if the data set has no column `entities`.",
    ),
    "rare_words": (
        "a file, `common:FILE`, `wordfreq` or `off`",
        "Words that `rare_wer` counts: those of a file, all but those of a file, or by the package wordfreq, which is "
        "the default if it is installed.",
    ),
    "semdist_text": (
        ", ".join(SEMDIST["semdist_text"]),
        "Normalizer that is applied to both texts before semantic distances; `raw` applies none.",
    ),
    "dataset_path": (
        "Hub id, folder or file",
        "Source of the rows; a file is `.jsonl`, `.csv` or `.tsv`, and `folder:FILE` is beside the task file.",
    ),
    "dataset_name": ("configuration", "Configuration of the data set on the Hub."),
    "dataset_revision": ("branch, tag or commit", "Revision of the data set on the Hub."),
    "split": ("default test", "Split of the data set."),
    "audio_column": ("default audio", "Column of the audio."),
    "text_column": ("default text", "Column of the reference."),
    "id_column": ("column", "Column of the ids; without it, rows are named by their number."),
    "length_column": ("column", "Column with the seconds of audio; without it, they are read from the files."),
    "subset": ("number or all", "Number of clips of the test."),
    "selection": ("longest-audio, longest-text", "Which clips a subset takes."),
    "ties": ("id, order", "Order of clips of one length: by id, or that of the data set."),
    "question_column": ("column", "Column of the questions, for tasks that ask rows."),
    "choices_column": ("column", "Column of the options: a list, or one text such as `(A) yes (B) no`."),
    "answer_column": ("column", "Column of the reference answers."),
    "answer_base": ("0, 1", "Number of the first option, if answers are numbers."),
    "checks_column": ("column", "Column of the names of a reply's checks, for tasks such as IFEval."),
    "check_options_column": ("column", "Column of the options of these checks."),
    "accepted_column": ("column", "Column of further right answers, a text or a list."),
    "checklist_column": ("column", "Column of what a good reply has."),
    "group_columns": (
        "columns with `;` between them; in a YAML also {field: {column: COLUMN, values: [VALUE, ...], "
        "otherwise: GROUP}}",
        "Groups of rows, such as the gender of speakers, for `siq score --group-by FIELD`.",
    ),
    "where": (
        "{column: [value, ...]}, in a YAML or as JSON",
        "Rows to take: those whose columns match one of the values; `*` is any text.",
    ),
    "cluster_column": (
        "column or none",
        "Column with what clips share, such as a speaker ([clusters](../concepts/error_bars.md#clusters)).",
    ),
    "cluster_pattern": (
        "regular expression or none",
        "Its one group finds the cluster of a clip in its id, such as the number of a call.",
    ),
    "leave_out": ("ids", "Rows to leave out, separated by `;`."),
    "instruction": (
        "rotate, all or a number; default rotate",
        "Wording of the instruction: one for each row by a digest of its id, every one, or one for all rows.",
    ),
    "questions": ("file", "Questions of Apply; by default the file that `siq data questions` makes."),
}
_COMMANDS = re.compile(r"\*\*Commands\*\*:\n\n(?:\* .*\n)+\n?")
_COMMAND = re.compile(r"^(#+) `(siq[a-z ]*)`$")
#: An option as typer writes it: its names, the type that the help leaves out, and its help.
_OPTION = re.compile(r"^\* `(-[^`]*?)(?: None)?`: (.+)$")
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
    readers: dict[str, frozenset[str]] = {
        "every task": COMMON - {LISTEN},
        "every task with a question": frozenset({LISTEN, TIMING}),
    }
    readers |= {f"task type {name}": task_type.keys for name, task_type in TASK_TYPES.items()} | {
        "sets that are prepared from rows": DECLARED[load]
    }
    unknown = frozenset().union(*readers.values()) ^ METADATA.keys()
    if unknown:
        raise SystemExit(
            f"docs/hooks/commands.py: METADATA and the tasks differ in {', '.join(sorted(unknown))}; add or remove it"
        )
    rows = (
        (code(key), values, meaning, ", ".join(reader for reader, keys in readers.items() if key in keys))
        for key, (values, meaning) in METADATA.items()
    )
    return write_table(["key", "values", "meaning", "read by"], rows)
