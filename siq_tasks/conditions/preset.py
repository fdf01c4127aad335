"""Run a task with the prompt and settings behind numbers that others print.

The presets are data, the files of `quoted/presets/`.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import suggest
from speechiq.metrics.judge.settings import EXACT_MATCH

#: The key of metadata that names a preset.
PRESET = "preset"
FOLDER = Path(__file__).parents[1] / "quoted" / "presets"


class TaskSettings(msgspec.Struct, forbid_unknown_fields=True):
    """Hold the settings of one task, or of those that a pattern names: its prompt, generation settings and metadata."""

    doc_to_text: str | None = None
    generation_kwargs: dict[str, Any] = {}
    metadata: dict[str, Any] = {}


class Preset(msgspec.Struct, forbid_unknown_fields=True):
    """Describe how others run and score tasks: where they say so, and a line for each difference that remains.

    `tasks` maps patterns of names, with spaces between them, to settings; later ones precede. `metrics` maps a category
    to the column by which they score.
    """

    source: str
    tasks: dict[str, TaskSettings]
    metrics: dict[str, str]
    differences: list[str]


def list_presets() -> list[str]:
    """Return the names of the presets of the package.

    >>> list_presets()
    ['lmms-eval', 'voicebench']
    """
    return sorted(file.stem.removeprefix("_") for file in FOLDER.glob("_*.yaml"))


@cache
def read_preset(name: str) -> Preset:
    """Return a preset, or refuse an unknown one."""
    if name not in list_presets():
        raise SpeechIQError(f"--metadata {PRESET}={name:.80}", "unknown", suggest(name, list_presets()))
    return msgspec.yaml.decode(FOLDER.joinpath(f"_{name}.yaml").read_bytes(), type=Preset)


def find_settings(name: str, task: str) -> TaskSettings:
    """Return the settings of a task, or refuse one that the preset does not know.

    >>> find_settings("lmms-eval", "mmau_mini").generation_kwargs
    {'max_gen_toks': 128}
    >>> find_settings("voicebench", "mmau_mini")
    Traceback (most recent call last):
    ...
    speechiq.core.errors.SpeechIQError: --metadata preset=voicebench: has no settings for task mmau_mini; leave out \
the task or the preset, which is for voicebench_*
    """
    known = read_preset(name).tasks
    found = [known[names] for names in known if _matches(task, names.split())]
    if not found:
        patterns = dict.fromkeys(" ".join(known).split())
        widest = [pattern for pattern in patterns if not _matches(pattern, patterns.keys() - {pattern})]
        raise SpeechIQError(
            f"--metadata {PRESET}={name}",
            f"has no settings for task {task}",
            f"leave out the task or the preset, which is for {', '.join(widest)}",
        )
    merged = TaskSettings()
    for settings in found:
        merged = TaskSettings(
            settings.doc_to_text or merged.doc_to_text,
            merged.generation_kwargs | settings.generation_kwargs,
            merged.metadata | settings.metadata,
        )
    return merged


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def with_preset(task: Mapping[str, Any], metadata: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a task's configuration and its `metadata` with the settings of the preset that the metadata name.

    `given` are those of the user, which precede the preset's.
    """
    settings = find_settings(str(metadata[PRESET]), str(task.get("task")))
    prompt = {} if settings.doc_to_text is None else {"doc_to_text": settings.doc_to_text}
    generation = {"generation_kwargs": task.get("generation_kwargs", {}) | settings.generation_kwargs}
    own = settings.metadata
    if given.get("judge") == EXACT_MATCH:  # A rule has none of the options of the preset's judge.
        own = {key: value for key, value in own.items() if not key.startswith("judge")}
    return {**task, **prompt, **generation, "metadata": {**metadata, **own, **given}}


def describe_preset(name: str, categories: Iterable[str]) -> list[str]:
    """Return lines with the source of a preset, what still differs from it, and the metrics of these categories."""
    preset = read_preset(name)
    metrics = [f"{category}={preset.metrics[category]}" for category in categories if category in preset.metrics]
    scored = [f"printed numbers are those of --metrics {','.join(metrics)}"] if metrics else []
    return [f"preset {name} ({preset.source})", *(f"differs: {line}" for line in preset.differences), *scored]
