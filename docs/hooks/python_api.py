"""Write the reference of the Python API by topic: directives for mkdocstrings, which renders the docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

import speechiq
from docs.hooks.tables import code, write_table
from speechiq import reducer


class Topic(NamedTuple):
    """Hold a page of the reference: what it is for, and its public names, by module; None takes those of `__all__`."""

    title: str
    purpose: str
    names: dict[str, list[str] | None]


INDEX = "reference/python.md"
#: Page -> its topic. A name that is not here is not public and may change.
TOPICS = {
    "reference/python_results.md": Topic(
        "Python: rank, compare and predict",
        "`import speechiq` has what the commands `siq score`, `siq compare` and `siq study predict` do, and figures.",
        {
            "speechiq": sorted(set(speechiq.__all__) - {"__version__", "plot"}),
            "speechiq.reducer.output.page.plot": ["scores", "levels", "compare"],
        },
    ),
    "reference/python_tables.md": Topic(
        "Python: scores, norms and tables",
        "The steps between runs and a ranking, one by one, and the files that are made of them.",
        {
            "speechiq.reducer": sorted(set(reducer.__all__) - set(speechiq.__all__)),
            "speechiq.reducer.scores.norms": ["Norms", "build_norms", "freeze_norms", "read_norms", "write_norms"],
            "speechiq.reducer.studies.prediction.study": ["Prediction"],
            "speechiq.reducer.studies.agreement": ["measure_position_bias", "PositionBias"],
            "speechiq.reducer.output.terminal": ["print_grid"],
            "speechiq.reducer.output.harness": ["write_harness"],
            "speechiq.reducer.output.published": None,
            "speechiq.reducer.output.side_tables": ["SideTables", "gather_side_tables"],
            "speechiq.reducer.output.page.study": ["Study", "gather_report"],
            "speechiq.reducer.output.page.build": ["build_report", "compose_report", "render_report", "write_report"],
        },
    ),
    "reference/python_metrics.md": Topic(
        "Python: metrics",
        "Functions of plain texts and numbers; only embedders, assistants and judges need a model.",
        {
            "speechiq.metrics.words.wer": ["wer", "cer", "count_errors", "pool", "Errors", "ErrorRate", "repetition"],
            "speechiq.metrics.words.wer_audiobench": ["wer_audiobench"],
            "speechiq.metrics.words.word_classes": ["rare_wer", "entity_wer"],
            "speechiq.metrics.words.normalizer": ["normalize"],
            "speechiq.metrics.similarity": ["similarity"],
            "speechiq.metrics.distance.semantic": ["semantic_distance"],
            "speechiq.metrics.choice": ["vote", "Vote"],
            "speechiq.metrics.letters.reading": ["parse_letter"],
            "speechiq.metrics.letters.labels": ["parse_label"],
            "speechiq.metrics.rules.exact_match": ["exact_match", "contains_answer", "f1"],
            "speechiq.metrics.rules.meteor": ["meteor"],
            "speechiq.metrics.rules.refusal": ["is_refusal"],
            "speechiq.metrics.judge.free_answers": ["judge"],
            "speechiq.metrics.evaluate": ["path"],
            "speechiq.metrics.judge.judging": [
                "judge_cases", "judge_pairs", "Case", "Judgment", "PairCase", "PairJudgment",
            ],
        },
    ),
    "reference/python_engines.md": Topic(
        "Python: write an engine or a metric",
        "The protocols that engines subclass ([Add an engine](../tutorials/new_engine.md)), what they receive and "
        "return, and how a metric declares its columns ([Add a suite](../tutorials/new_suite.md)).",
        {
            "speechiq.engines.base": [
                "Setup", "Engine", "ASREngine", "Writer", "TextEngine", "AudioEngine", "SpeechEngine", "ReplyEngine",
            ],
            "speechiq.engines.options": ["Options"],
            "speechiq.core.clip": ["Clip", "file_clip", "as_clip"],
            "speechiq.core.prompt": ["Prompt", "TextPrompt", "Scored"],
            "speechiq.core.response": ["Response"],
            "speechiq.core.errors": ["SpeechIQError"],
            "speechiq.core.batches": ["run_in_batches", "drop"],
            "speechiq.core.console": ["progress_bar"],
            "speechiq.core.usage": ["usage"],
            "speechiq.metrics.columns": ["MetricColumn", "higher", "lower", "returns"],
        },
    ),
}  # fmt: skip
EXAMPLE = """import speechiq

scoreboard = speechiq.rank(speechiq.read_systems("runs"))
print(scoreboard.to_frame())"""
ROOMS = ("core", "engines", "metrics", "siq_tasks", "harness_patch", "reducer", "cli")


@event_priority(100)
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Link the rooms into a folder for mkdocstrings, which would read a virtual environment in the repository too."""
    root = Path(config.config_file_path).resolve().parent
    package = root / "build" / "reference" / "speechiq"
    package.mkdir(parents=True, exist_ok=True)
    for link in package.iterdir():
        link.unlink()
    for source in [*(root / room for room in ROOMS), *root.glob("*.py")]:
        if source.name != "setup.py":
            (package / source.name).symlink_to(source)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    files.append(File.generated(config, INDEX, content=write_index()))
    for page, topic in TOPICS.items():
        files.append(File.generated(config, page, content=write_page(topic)))
    return files


def write_index() -> str:
    """Return the page of all public names: what each one is for, by topic."""
    parts = [f"# Python API\n\nThese names are public; all others may change.\n\n```python\n{EXAMPLE}\n```\n"]
    for page, topic in TOPICS.items():
        place = PurePosixPath(page).name
        rows = (
            (f"[`{name}`]({place}#{module}.{name})", code(module), _summarize(module, name))
            for module, names in list_names(topic)
            for name in names
        )
        parts.append(f"## [{topic.title}]({place})\n\n{write_table(['name', 'module', 'purpose'], rows)}\n")
    return "\n".join(parts)


def write_page(topic: Topic) -> str:
    """Return the page of a topic: a directive per module with its public names."""
    parts = [f"# {topic.title}\n\n{topic.purpose}\n"]
    for module, names in list_names(topic):
        options = "{members: [" + ", ".join(names) + "], show_root_full_path: true, heading_level: 2}"
        parts.append(f"::: {module}\n    options: {options}\n")
    return "\n".join(parts)


def list_names(topic: Topic) -> Iterator[tuple[str, list[str]]]:
    """Yield the modules of a topic with their public names."""
    for module, names in topic.names.items():
        yield module, sorted(import_module(module).__all__) if names is None else names


def _summarize(module: str, name: str) -> str:
    """Return the first sentence of a name's docstring; nothing for a constant."""
    member = getattr(import_module(module), name)
    if not callable(member):
        return ""
    return (inspect.getdoc(member) or "").split("\n\n")[0]
