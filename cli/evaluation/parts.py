"""Read which part of an evaluation a command computes, and refuse a run with missing rows."""

import re

from speechiq.core.cache.folder import store_folder
from speechiq.core.cache.stage_count import StageCount
from speechiq.core.cache.stage_limits import STAGES, name_stage
from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.harness_patch.inventory import Inventory


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


def check_part(shard: tuple[int, int] | None, require_cached: bool) -> None:
    """Refuse a shard that may not compute."""
    if shard is not None and require_cached:
        raise SpeechIQError("--require-cached", "a shard computes", "leave one of the two out")


def check_cached(inventory: Inventory, require_cached: bool) -> None:
    """Say which rows of stages that were begun are missing in the response cache; refuse them if all are required.

    Raises:
        SpeechIQError: Naming the first system with missing rows.
    """
    for system in inventory.systems:
        for stage in system.stages:
            missing = stage.rows - stage.cached
            if missing and require_cached:
                raise SpeechIQError(
                    f"--require-cached: {system.system}",
                    _describe_missing(stage),
                    "compute them, by the same command with --shard I/N or without --require-cached",
                )
            if missing and stage.cached:
                say(f"{system.system}: {_describe_missing(stage)}, and are computed now")


def _describe_missing(stage: StageCount) -> str:
    name = name_stage({"stage": stage.stage})
    return f"{stage.rows - stage.cached} of {stage.rows} rows of stage {name} are not in the response cache"
