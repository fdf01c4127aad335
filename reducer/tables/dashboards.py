"""Write scores as lm-eval's own output files, for tools that show them: its table printer, Weights & Biases, Zeno.

A folder per system, named as lm-eval names it, holds `results_<date>.json` with a group for the suite and a task for
each category (`siq_remember`, ...), and a `samples_<task>_<date>.jsonl` per task, with each clip's raw score. Their
metadata describe no measure and name no level, so that `siq score` never takes these files for a run.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from importlib.metadata import version
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.files.checksummed import content_sha256
from speechiq.core.files.plain import write_whole
from speechiq.reducer.runs.flags import Flags
from speechiq.reducer.runs.measure import Category
from speechiq.reducer.scores.score_matrix import ScoreMatrix

VERSION = 1.0
UNKNOWN = "N/A"
FAILURES = ("unparsed", "incomplete_audio", "repetition")
SOURCE = "speechiq"
LONGEST_NAME = 160
ADVICE = "name a folder that is yours"

_SEPARATORS = re.compile(r'["<>:/|\\?*\[\]]+')


class Export(NamedTuple):
    """The scores of a suite as lm-eval's files hold them; lists are in the order of the pool's systems.

    Attributes:
        suite: Name of the suite and of its group.
        pool: The systems and their raw scores, with how each category is scored.
        means: category -> mean raw score, shape (systems,).
        std: category -> its standard error, shape (systems,); empty without a bootstrap.
        draws: Of the bootstrap.
        flags: The failures of each system.
        of_group: Values of each system's group in addition to the failures, such as `siq,none`.
        of_task: Further values of each system, category -> values, such as `z,none`.
        higher: Whether a higher value is better, for the metrics that these values add to the group and to its tasks.
        metadata: Metadata of a system's task, from its name and the category.
    """

    suite: str
    pool: ScoreMatrix
    means: Mapping[str, np.ndarray]
    std: Mapping[str, np.ndarray]
    draws: int
    flags: Sequence[Flags]
    of_group: Sequence[Mapping[str, float | str]]
    of_task: Sequence[Mapping[str, Mapping[str, float | str]]]
    higher: tuple[Mapping[str, bool], Mapping[str, bool]]
    metadata: Callable[[str, str], dict[str, Any]]

    def task(self, category: str) -> str:
        """Return the name of a category's task."""
        return f"{self.suite}_{category}"


def write_harness(export: Export, folder: Path) -> list[Path]:
    """Write every system's files; those of earlier calls stay, under their own dates.

    Args:
        export: Without a bootstrap standard errors are `N/A`, as lm-eval writes it.
        folder: Made if needed; gets a folder per system, marked if a folder of that name has another system's results.

    Returns:
        The results files.

    Raises:
        SpeechIQError: A file cannot be written.
    """
    now = time.time()
    stamp = datetime.fromtimestamp(now).isoformat(timespec="microseconds").replace(":", "-")
    asked = _asked(export.pool)
    written = []
    for j, (system, name) in enumerate(folder_names(export.pool.systems).items()):
        if _has_another(folder / name, system):
            name = _mark(system, name)
        results = as_harness(export, j) | {"date": now, "model_name_sanitized": name}
        path = folder / name / f"results_{stamp}.json"
        for category, raw in export.pool.raw.items():
            scored = ((row, of) for row, of in zip(asked[category], raw[j], strict=True) if not math.isnan(of))
            rows = starmap(partial(_sample, export.pool.levels[category]), scored)
            _write(path.with_name(f"samples_{export.task(category)}_{stamp}.jsonl"), rows)
        _write(path, [results], indent=2)
        written.append(path)
    return written


def as_harness(export: Export, j: int) -> dict[str, Any]:
    """Return one system's results in the schema of lm-eval 0.4.13 (`lm_eval.result_schema.EvalResults`).

    Args:
        export: As for `write_harness`.
        j: The system's place in the pool.

    Returns:
        `results` has per category its column as lm-eval's own tasks have it (`wer,none` falls with ability), with a
        standard error, and for the group the shares of failures that scores hide (`flags.Flags`), in addition to the
        values of the export. Clips without a score are in no sample file; `n-samples` has them under `original`.
    """
    pool, group = export.pool, export.suite
    system = pool.systems[j]
    clips = {category: len(of) for category, of in pool.clips.items()}
    scored = {category: int((~np.isnan(raw[j])).sum()) for category, raw in pool.raw.items()}
    shares = {f"{flag},none": as_value(share) for flag, share in export.flags[j]._asdict().items()}
    of_group = {"name": group, "alias": group, "sample_len": sum(scored.values()), **export.of_group[j], **shares}
    tasks = {
        export.task(category): {
            "name": export.task(category),
            "alias": export.task(category),
            "sample_len": scored[category],
            f"{pool.levels[category].column},none": as_value(_shown(pool.levels[category], mean[j])),
            f"{pool.levels[category].column}_stderr,none": as_value(export.std[category][j]) if export.std else UNKNOWN,
            **export.of_task[j].get(category, {}),
        }
        for category, mean in export.means.items()
    }
    of_group_higher, of_task_higher = export.higher
    better = {
        export.task(category): {of.column: of.measure.direction == "higher", **of_task_higher}
        for category, of in pool.levels.items()
        if category in clips
    }
    named = [group, *tasks]
    return {
        "results": tasks | {group: of_group},
        "groups": {group: of_group},
        "group_subtasks": {group: list(tasks)},
        "configs": {export.task(category): _config(export, category, system) for category in clips},
        "versions": dict.fromkeys(named, VERSION),
        "n-shot": dict.fromkeys(named, 0),
        "higher_is_better": better | {group: {**of_group_higher, **dict.fromkeys(FAILURES, False)}},
        "n-samples": {
            export.task(name): {"original": clips[name], "effective": count} for name, count in scored.items()
        },
        "config": {
            "model": SOURCE,
            "model_args": {"pretrained": system},
            "bootstrap_iters": export.draws,
            "limit": None,
        },
        "lm_eval_version": version("lm_eval"),
        "task_hashes": {export.task(category): content_sha256(pool.clips[category]) for category in clips},
        "model_source": SOURCE,
        "model_name": system,
    }


def folder_names(systems: Iterable[str]) -> dict[str, str]:
    """Return each system's folder: the name that lm-eval gives it, if that is one folder and unique.

    A name that leads elsewhere (`..`), is too long, does not print, or equals another's if capitals do not count, gets
    the first digits of its sha256.

    >>> list(folder_names(["org/whisper+demo:llm", ".."]).values())
    ['org__whisper+demo__llm', '..-5ec1f7e7']
    """
    plain = {system: _SEPARATORS.sub("__", system) for system in systems}
    shared = Counter(name.casefold() for name in plain.values())
    return {
        system: name if shared[name.casefold()] == 1 and _is_one_folder(name) else _mark(system, name)
        for system, name in plain.items()
    }


def _is_one_folder(name: str) -> bool:
    return name.isprintable() and bool(name.strip(". ")) and len(name.encode()) <= LONGEST_NAME


def _mark(system: str, name: str) -> str:
    kept = "".join(char if char.isprintable() else "_" for char in name)
    kept = kept.encode()[:LONGEST_NAME].decode(errors="ignore")
    return f"{kept}-{hashlib.sha256(system.encode(errors='backslashreplace')).hexdigest()[:8]}"


def _has_another(folder: Path, system: str) -> bool:
    """Return whether a folder has results of another system; results that cannot be read count as another's."""
    try:
        return any(json.loads(path.read_bytes())["model_name"] != system for path in folder.glob("results_*.json"))
    except (OSError, ValueError, LookupError, TypeError):
        return True


def as_value(number: Any) -> float | str:
    """Return a number as lm-eval writes it; `N/A` for an unknown one."""
    return UNKNOWN if number is None or math.isnan(number) else float(number)


def _config(export: Export, category: str, system: str) -> dict[str, Any]:
    """Return the task's config; its metadata name what the score depends on, and no key of a run's task."""
    measure = export.pool.levels[category].measure
    metric = {"metric": measure.column, "aggregation": "mean", "higher_is_better": measure.direction == "higher"}
    return {
        "task": export.task(category),
        "group": export.suite,
        "output_type": "generate_until",
        "metric_list": [metric],
        "num_fewshot": 0,
        "repeats": 1,
        "should_decontaminate": False,
        "metadata": {"version": VERSION, **export.metadata(system, category)},
    }


def _asked(pool: ScoreMatrix) -> dict[str, list[dict[str, Any]]]:
    """Return level -> the part of the sample rows that is the same for all systems, clip by clip."""
    return {
        level: [
            {
                "doc_id": number,
                "doc": {"id": clip},
                "target": "",
                "arguments": {"gen_args_0": {"arg_0": clip, "arg_1": {}}},
                "doc_hash": content_sha256({"id": clip}),
                "prompt_hash": content_sha256(clip),
                "target_hash": content_sha256(""),
            }
            for number, clip in enumerate(pool.clips[level])
        ]
        for level in pool.clips
    }


def _sample(category: Category, asked: dict[str, Any], raw: float) -> dict[str, Any]:
    metric, value = category.column, _shown(category, raw)
    response = {"resps": [[str(value)]], "filtered_resps": [str(value)], "filter": "none"}
    return asked | response | {"metrics": [metric], metric: value}


def _shown(category: Category, raw: float) -> float:
    """Return the raw score as the category's column has it: a word error rate falls with ability."""
    return category.measure.sign * float(raw) + 0.0


def _write(path: Path, objects: Iterable[Mapping[str, Any]], indent: int | None = None) -> None:
    text = "".join(json.dumps(one, indent=indent, allow_nan=False) + "\n" for one in objects)
    write_whole(path, text.encode(), ADVICE, make_folders=True)
