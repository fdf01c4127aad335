"""Read which part of an evaluation a command computes; refuse missing rows, and shards with different options."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from speechiq.cli.evaluation.record import FIX, describe
from speechiq.core.cache.stage_count import StageCount
from speechiq.core.cache.stage_limits import STAGES, name_stage
from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.checksummed import content_sha256
from speechiq.core.files.folders import store_folder
from speechiq.core.files.json_text import read_record, write_record
from speechiq.core.suggestions import did_you_mean
from speechiq.harness_patch.inventory import Inventory
from speechiq.harness_patch.processes import Settings
from speechiq.reducer.runs.results_file import CONDITION
from speechiq.siq_tasks.conditions.variants import LISTEN

FOLDER = "shards"


class ShardOptions(msgspec.Struct, frozen=True):
    """Hold the options that all shards in an output folder share: systems, and settings without conditions."""

    systems: tuple[str, ...]
    settings: dict[str, Any]


def read_shard(shard: str | None, stages: str | None) -> tuple[int, int] | None:
    """Return number and count of a shard; stages alone are those of the only one.

    >>> print(read_shard(None, None))
    None
    """
    if shard is None and stages is None:
        return None
    option = f"--stages {stages}" if shard is None else f"--shard {shard}"
    numbers = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", shard or "1/1")
    if numbers is None or int(numbers[1]) > int(numbers[2]):
        raise SpeechIQError(option, "not I/N", "write the number of the shard, from 1, and their count, such as 2/4")
    if store_folder() is None:
        raise SpeechIQError(option, "the response cache is off", "set SIQ_STORE to a folder, or leave it unset")
    return int(numbers[1]), int(numbers[2])


def read_stages(stages: str | None) -> tuple[str, ...]:
    """Return the stages in their order; empty for all.

    >>> read_stages("judge,asr"), read_stages(None)
    (('asr', 'judge'), ())
    """
    names = [] if stages is None else [name.strip() for name in stages.split(",")]
    if unknown := [name for name in names if name not in STAGES]:
        advice = did_you_mean(unknown[0], list(STAGES))
        raise SpeechIQError(
            f"--stages {stages}", f"{unknown[0]!r} is not a stage", f"{advice}known are {', '.join(STAGES)}"
        )
    return tuple(name for name in STAGES if name in names)


def describe_options(systems: Sequence[str], settings: Settings) -> ShardOptions:
    """Return the options of a shard as they are recorded; conditions may differ."""
    kept = [item for item in settings.metadata if item.partition("=")[0].rpartition(".")[2] not in (CONDITION, LISTEN)]
    return ShardOptions(tuple(systems), describe(settings._replace(metadata=tuple(kept))))


def record_options(options: ShardOptions, output: Path, *, force: bool) -> None:
    """Record the options of a shard beside those of others, or in their place (`force`)."""
    name = content_sha256(msgspec.to_builtins(options))[:16]
    for file in (output / FOLDER).glob("*.json") if force else ():
        file.unlink(missing_ok=True)
    write_record(options, output / FOLDER / f"{name}.json", FIX)


def check_options(options: ShardOptions, output: Path) -> None:
    """Refuse a shard with other options than those of the shards in the same folder."""
    if difference := find_difference(options, output):
        own, recorded = difference
        raise SpeechIQError(
            own,
            f"shards in {output} have {recorded}",
            "give the options that they have, name another --output, or begin anew with --force",
        )


def find_difference(options: ShardOptions, output: Path) -> tuple[str, str] | None:
    """Return the first option that shards in a folder have with another value: as it is here, and as they have it."""
    for file in sorted((output / FOLDER).glob("*.json")):
        recorded = read_record(file, ShardOptions, FIX)
        for name, value in options.settings.items():
            if value != recorded.settings.get(name):
                return _in_words(name, value), _in_words(name, recorded.settings.get(name))
        for system in set(options.systems) - set(recorded.systems):
            for other in recorded.systems:
                if system.partition(",")[0] == other.partition(",")[0]:
                    return system, other
    return None


def _in_words(name: str, value: Any) -> str:
    """Return an option as it is typed.

    >>> _in_words("include_path", "mine"), _in_words("tasks", ["a", "b"]), _in_words("limit", None)
    ('--include-path mine', '--tasks a,b', 'no --limit')
    """
    option = f"--{name.replace('_', '-')}"
    text = ",".join(map(str, value)) if isinstance(value, list) else value
    return f"no {option}" if text in (None, "") else f"{option} {text}"


def check_cached(inventory: Inventory, require_cached: bool, options: ShardOptions, output: Path) -> None:
    """Say which rows of stages that were begun are missing in the response cache; refuse them if all are required."""
    difference = find_difference(options, output)
    reason = f" ({difference[0]}, but shards in {output} have {difference[1]})" if difference else ""
    for system in inventory.systems:
        for stage in system.stages:
            missing = stage.rows - stage.cached
            if missing and require_cached:
                raise SpeechIQError(
                    f"--require-cached: {system.system}",
                    _describe_missing(stage) + reason,
                    "compute them, by the same command with --shard I/N or without --require-cached",
                )
            if missing and stage.cached:
                say(f"{system.system}: {_describe_missing(stage)}{reason}, and are computed now")


def _describe_missing(stage: StageCount) -> str:
    name = name_stage({"stage": stage.stage})
    return f"{stage.rows - stage.cached} of {stage.rows} rows of stage {name} are not in the response cache"
