"""Write scores as lm-eval's own output files, for tools that show them: its table printer, Weights & Biases, Zeno.

A folder per system, named as lm-eval names it, holds `results_<date>.json` with a group for the suite and a task for
each category (`siq_remember`, ...), and a `samples_<task>_<date>.jsonl` per task, with each clip's raw score. Their
metadata describe no measure and name no level, so that `siq score` never takes these files for a run.
"""

import hashlib
import json
import math
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from speechiq.core.files.json_text import content_sha256
from speechiq.core.files.plain import write_whole
from speechiq.metrics.measure import Category
from speechiq.reducer.output.scoreboard_records import rows_of
from speechiq.reducer.scores.scoreboard import Scoreboard

VERSION = 1.0
UNKNOWN = "N/A"
FAILURES = ("unparsed", "incomplete_audio", "repetition", "wrong_language")
SOURCE = "speechiq"
LONGEST_NAME = 160

_SEPARATORS = re.compile(r'["<>:/|\\?*\[\]]+')


def write_harness(scoreboard: Scoreboard, folder: Path) -> list[Path]:
    """Write every system's files; those of earlier calls stay, under their own dates.

    Args:
        scoreboard: Without a bootstrap standard errors are `N/A`, as lm-eval writes it.
        folder: Made if needed; gets a folder per system, marked if a folder of that name has another system's results.
    """
    now = time.time()
    stamp = datetime.fromtimestamp(now).isoformat(timespec="microseconds").replace(":", "-")
    pool = scoreboard.pool
    asked = {category: _list_asked(clips) for category, clips in pool.clips.items()}
    records = {record["system"]: record for record in rows_of(scoreboard)}
    written = []
    for j, (system, name) in enumerate(folder_names(pool.systems).items()):
        if _has_another(folder / name, system):
            name = _mark(system, name)
        results = as_harness(scoreboard, records[system]) | {"date": now, "model_name_sanitized": name}
        path = folder / name / f"results_{stamp}.json"
        for category, raw in pool.raw.items():
            pairs = zip(asked[category], raw[j].tolist(), strict=True)
            rows = [_sample(pool.levels[category], row, score) for row, score in pairs if not math.isnan(score)]
            _write(path.with_name(f"samples_{_task(scoreboard, category)}_{stamp}.jsonl"), rows)
        _write(path, [results], indent=2)
        written.append(path)
    return written


def as_harness(scoreboard: Scoreboard, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results of a system in the schema of lm-eval 0.4.13 (`lm_eval.result_schema.EvalResults`).

    Args:
        record: The record of the system (`rows_of`).

    Returns:
        `results` has per category its column as lm-eval's own tasks have it (`wer,none` falls with ability), with a
        standard error, and for the group SIQ or the mean rank, the derived columns, and the shares of failures that
        scores hide (`systems.Flags`). Clips without a score are in no sample file; `n-samples` counts them under
        `original`.
    """
    pool, group, system = scoreboard.pool, scoreboard.suite, record["system"]
    j = pool.systems.index(system)
    values, direction = _describe_group(scoreboard, record)
    results: dict[str, dict[str, Any]] = {}
    higher: dict[str, dict[str, bool]] = {}
    configs, counts, hashes = {}, {}, {}
    for category, cell in record["categories"].items():
        task, measure = _task(scoreboard, category), pool.levels[category].measure
        scored = int((~np.isnan(pool.raw[category][j])).sum())
        results[task] = {"name": task, "alias": task, "sample_len": scored, **_score(measure.column, cell)}
        higher[task] = {measure.column: measure.direction == "higher"}
        if "z" in cell:
            results[task] |= {"z,none": as_value(cell["z"]), "z_stderr,none": UNKNOWN}
            higher[task] |= {"z": True}
        if "undefined" in cell:
            results[task] |= {"undefined,none": float(cell["undefined"])}
        configs[task] = _config(scoreboard, category, record["mismatches"])
        counts[task] = {"original": len(pool.clips[category]), "effective": scored}
        hashes[task] = content_sha256(pool.clips[category])
    higher[group] = direction
    total = sum(count["effective"] for count in counts.values())
    of_group = {"name": group, "alias": group, "sample_len": total, **values}
    return {
        "results": results | {group: of_group},
        "groups": {group: of_group},
        "group_subtasks": {group: list(results)},
        "configs": configs,
        "versions": dict.fromkeys((group, *results), VERSION),
        "n-shot": dict.fromkeys((group, *results), 0),
        "higher_is_better": higher,
        "n-samples": counts,
        "config": {
            "model": SOURCE,
            "model_args": {"pretrained": system},
            "bootstrap_iters": scoreboard.bars.draws if scoreboard.bars else 0,
            "limit": None,
        },
        "lm_eval_version": version("lm_eval"),
        "task_hashes": hashes,
        "model_source": SOURCE,
        "model_name": system,
    }


def _task(scoreboard: Scoreboard, category: str) -> str:
    return f"{scoreboard.suite}_{category}"


def _describe_group(
    scoreboard: Scoreboard, record: Mapping[str, Any]
) -> tuple[dict[str, float | str], dict[str, bool]]:
    """Return SIQ or the mean rank, derived columns, hallucination and failures, and whether higher is better."""
    if scoreboard.scale:
        values = {"siq,none": as_value(record["siq"]), "siq_stderr,none": as_value(record["siq_std"])}
        higher = {"siq": True}
    else:
        values, higher = {"mean_rank,none": as_value(record["mean_rank"])}, {"mean_rank": False}
    for column, cell in record["derived"].items():
        values |= _score(column, cell)
        higher[column] = cell["direction"] == "higher"
    if counts := record.get("hallucination"):
        values["hallucination,none"] = as_value(counts["rate"])
        higher["hallucination"] = False
    values |= {f"{flag},none": as_value(share) for flag, share in record["flags"].items()}
    return values, higher | dict.fromkeys(FAILURES, False)


def _score(name: str, cell: Mapping[str, Any]) -> dict[str, float | str]:
    """Return the score of a system in a column and its standard error, as lm-eval names both."""
    return {f"{name},none": as_value(cell["score"]), f"{name}_stderr,none": as_value(cell["std"])}


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


def _config(scoreboard: Scoreboard, category: str, mismatches: list[str]) -> dict[str, Any]:
    """Return the task's config; its metadata name what the score depends on, and no key of a run's task."""
    measure, scale, norms = scoreboard.levels[category].measure, scoreboard.scale, scoreboard.norms
    metric = {"metric": measure.column, "aggregation": "mean", "higher_is_better": measure.direction == "higher"}
    depends: dict[str, Any] = {
        "systems": list(scoreboard.pool.systems),
        "mismatches": mismatches,
        "interval_caution": scoreboard.caution,
    }
    if scale:
        no_siq = scoreboard.remarks.no_siq
        depends |= {
            "rule": None if no_siq else scale.rule.levels,
            "clip_weights": None if no_siq else scale.rule.clips,
            "weight": None if no_siq else scale.levels[category].weight,
            "no_siq": no_siq,
            "systems": list(norms.systems if norms else scoreboard.pool.systems),
            "norms": norms and norms.title,
            "excluded": scoreboard.excluded,
            "excluded_set": scoreboard.excluded_set,
        }
    return {
        "task": _task(scoreboard, category),
        "group": scoreboard.suite,
        "output_type": "generate_until",
        "metric_list": [metric],
        "num_fewshot": 0,
        "repeats": 1,
        "should_decontaminate": False,
        "metadata": {"version": VERSION, **depends},
    }


def _list_asked(clips: Sequence[str]) -> list[dict[str, Any]]:
    """Return the part of the sample rows that is the same for all systems, clip by clip."""
    return [
        {
            "doc_id": number,
            "doc": {"id": clip},
            "target": "",
            "arguments": {"gen_args_0": {"arg_0": clip, "arg_1": {}}},
            "doc_hash": content_sha256({"id": clip}),
            "prompt_hash": content_sha256(clip),
            "target_hash": content_sha256(""),
        }
        for number, clip in enumerate(clips)
    ]


def _sample(category: Category, asked: dict[str, Any], raw: float) -> dict[str, Any]:
    """Return the sample row of a clip; the score is as its column has it: a word error rate falls with ability."""
    value = category.measure.sign * raw + 0.0
    response = {"resps": [[str(value)]], "filtered_resps": [str(value)], "filter": "none"}
    return asked | response | {"metrics": [category.column], category.column: value}


def _write(path: Path, objects: Iterable[Mapping[str, Any]], indent: int | None = None) -> None:
    text = "".join(json.dumps(one, indent=indent, allow_nan=False) + "\n" for one in objects)
    write_whole(path, text.encode(), "name a folder that is yours", make_folders=True)
