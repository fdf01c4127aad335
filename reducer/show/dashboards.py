"""Write SIQ as lm-eval's own output files, for the tools that show them: its table printer, Weights & Biases, Zeno.

A folder a system, named as lm-eval names it, holds `results_<date>.json` with the group `siq` and a task a level
(`siq_remember`, ...), and a `samples_<task>_<date>.jsonl` a task, with each clip's raw score. The tasks' metadata name
no level, so that `siq score` never takes these files for a run.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from speechiq.core.files import write_whole
from speechiq.core.frozen import digest
from speechiq.reducer.read.flags import Flags
from speechiq.reducer.read.measure import Category
from speechiq.reducer.siq.ranking import Ranking
from speechiq.reducer.stats.pool import Pool

GROUP = "siq"
VERSION = 1.0
UNKNOWN = "N/A"
FAILURES = ("unparsed", "not_heard_in_full", "loops")
SOURCE = "speechiq"
LONGEST_NAME = 160
ADVICE = "name a folder that is yours"

_SEPARATORS = re.compile(r'["<>:/|\\?*\[\]]+')


def write_harness(ranking: Ranking, folder: Path) -> list[Path]:
    """Write every system's files; those of earlier calls stay, under their own dates.

    Args:
        ranking: Without a bootstrap standard errors are `N/A`, as lm-eval writes it.
        folder: Made where needed; gets a folder a system, with a mark where one of that name holds another's results.

    Returns:
        The results files.

    Raises:
        SpeechIQError: A file cannot be written.
    """
    now = time.time()
    stamp = datetime.fromtimestamp(now).isoformat(timespec="microseconds").replace(":", "-")
    asked = _asked(ranking.pool)
    written = []
    for j, (system, name) in enumerate(folder_names(ranking.scores.systems).items()):
        if _holds_another(folder / name, system):
            name = _mark(system, name)
        results = as_harness(ranking, j) | {"date": now, "model_name_sanitized": name}
        path = folder / name / f"results_{stamp}.json"
        for level, raw in ranking.pool.raw.items():
            rows = map(partial(_sample, ranking.context.levels[level]), asked[level], raw[j])
            _write(path.with_name(f"samples_{_task(level)}_{stamp}.jsonl"), rows)
        _write(path, [results], indent=2)
        written.append(path)
    return written


def as_harness(ranking: Ranking, j: int) -> dict[str, Any]:
    """Return one system's results in the schema of lm-eval 0.4.13 (`lm_eval.result_schema.EvalResults`).

    Args:
        ranking: As for `write_harness`.
        j: The system's place in `ranking.scores.systems`.

    Returns:
        `results` has `siq,none` of the group, and per level its metric as lm-eval's own tasks have it (`wer,none`
        falls with ability) and `z,none`; each with a standard error. The group also has the shares of failures
        that SIQ hides (`flags.Flags`).
    """
    pool, scores, context = ranking
    system, bootstrap = scores.systems[j], context.bootstrap
    flags = context.systems[j].flags if context.systems else Flags()
    clips = {level: len(pool.clips[level]) for level in scores.levels}
    deviations = {level: _as_value(bootstrap and bootstrap.raw_std[level][j]) for level in scores.levels}
    columns = {level: context.levels[level].column for level in scores.levels}
    group = {
        "name": GROUP,
        "alias": GROUP,
        "sample_len": sum(clips.values()),
        "siq,none": _as_value(scores.siq[j]),
        "siq_stderr,none": _as_value(None if math.isnan(scores.siq[j]) else bootstrap and bootstrap.siq_std[j]),
        **{f"{flag},none": _as_value(share) for flag, share in flags._asdict().items()},
    }
    tasks = {
        _task(level): {
            "name": _task(level),
            "alias": _task(level),
            "sample_len": clips[level],
            f"{columns[level]},none": _shown(context.levels[level], of.raw[j]),
            f"{columns[level]}_stderr,none": deviations[level],
            "z,none": _as_value(of.z[j]),
            "z_stderr,none": UNKNOWN,
        }
        for level, of in scores.levels.items()
    }
    better = {
        _task(level): {columns[level]: context.levels[level].measure.direction == "higher", "z": True}
        for level in clips
    }
    named = [GROUP, *tasks]
    return {
        "results": tasks | {GROUP: group},
        "groups": {GROUP: group},
        "group_subtasks": {GROUP: list(tasks)},
        "configs": {_task(level): _config(level, system, ranking) for level in clips},
        "versions": dict.fromkeys(named, VERSION),
        "n-shot": dict.fromkeys(named, 0),
        "higher_is_better": better | {GROUP: {"siq": True} | dict.fromkeys(FAILURES, False)},
        "n-samples": {_task(level): {"original": count, "effective": count} for level, count in clips.items()},
        "config": {
            "model": SOURCE,
            "model_args": {"pretrained": system},
            "bootstrap_iters": bootstrap.draws if bootstrap else 0,
            "limit": None,
        },
        "lm_eval_version": version("lm_eval"),
        "task_hashes": {_task(level): digest(pool.clips[level]) for level in clips},
        "model_source": SOURCE,
        "model_name": system,
    }


def folder_names(systems: Iterable[str]) -> dict[str, str]:
    """Each system's folder, named as lm-eval does where that is one folder, and that system's alone.

    A name that leads elsewhere (`..`), is too long, does not print, or falls together with another's (also where
    capitals do not count) gets the first digits of its sha256.

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


def _task(level: str) -> str:
    return f"{GROUP}_{level}"


def _holds_another(folder: Path, system: str) -> bool:
    """Whether results of another system lie there; those that cannot be read are another's."""
    try:
        return any(json.loads(path.read_bytes())["model_name"] != system for path in folder.glob("results_*.json"))
    except (OSError, ValueError, LookupError, TypeError):
        return True


def _as_value(number: Any) -> float | str:
    return UNKNOWN if number is None or math.isnan(number) else float(number)


def _config(level: str, system: str, ranking: Ranking) -> dict[str, Any]:
    """Return the task's config; its metadata hold what the SIQ depends on, and never the key `level`."""
    _, scores, context = ranking
    measure = context.levels[level].measure
    metric = {"metric": measure.column, "aggregation": "mean", "higher_is_better": measure.direction == "higher"}
    return {
        "task": _task(level),
        "group": GROUP,
        "output_type": "generate_until",
        "metric_list": [metric],
        "num_fewshot": 0,
        "repeats": 1,
        "should_decontaminate": False,
        "metadata": {
            "version": VERSION,
            "rule": None if context.remarks.no_siq else scores.scale.rule,
            "weight": None if context.remarks.no_siq else scores.scale.levels[level].weight,
            "no_siq": context.remarks.no_siq,
            "systems": list(context.norms.systems if context.norms else scores.systems),
            "norms": context.norms and context.norms.title,
            "mismatches": [of.text for of in context.mismatches if of.system == system],
            "excluded": context.excluded,
            "excluded_set": context.excluded_set,
            "interval_caution": context.bootstrap and context.bootstrap.caution,
        },
    }


def _asked(pool: Pool) -> dict[str, list[dict[str, Any]]]:
    """Return level -> what the sample rows of all systems share, clip by clip."""
    return {
        level: [
            {
                "doc_id": number,
                "doc": {"id": clip},
                "target": "",
                "arguments": {"gen_args_0": {"arg_0": clip, "arg_1": {}}},
                "doc_hash": digest({"id": clip}),
                "prompt_hash": digest(clip),
                "target_hash": digest(""),
            }
            for number, clip in enumerate(pool.clips[level])
        ]
        for level in pool.clips
    }


def _sample(category: Category, asked: dict[str, Any], raw: float) -> dict[str, Any]:
    metric, value = category.column, _shown(category, raw)
    said = {"resps": [[str(value)]], "filtered_resps": [str(value)], "filter": "none"}
    return asked | said | {"metrics": [metric], metric: value}


def _shown(category: Category, raw: float) -> float:
    """Return the raw score as the category's column has it: a word error rate falls with ability."""
    return category.measure.sign * float(raw) + 0.0


def _write(path: Path, objects: Iterable[Mapping[str, Any]], indent: int | None = None) -> None:
    text = "".join(json.dumps(one, indent=indent, allow_nan=False) + "\n" for one in objects)
    write_whole(path, text.encode(), ADVICE, make_folders=True)
