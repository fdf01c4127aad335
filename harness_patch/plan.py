"""Define the plan of an evaluation: what runs with which settings, in how many parts, and the commands of all that.

`siq eval` reads a plan from its options, `siq plan` and `siq launch` from a file, and the processes of a run as JSON.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from speechiq.core.files.plain import is_file
from speechiq.siq_tasks.conditions.spec import CONDITION
from speechiq.siq_tasks.index import HERE

#: Docs to run: task -> their positions in the task.
Samples = dict[str, list[int]]
#: The largest seed that numpy takes.
LARGEST_SEED = 2**32 - 1
#: The condition of clips as they are.
CLEAN = "clean"


def split_tasks(given: str | Iterable[str]) -> list[str]:
    """Return the names of tasks, which commas with or without spaces separate.

    >>> split_tasks("siq_demo, siq_all"), split_tasks(["siq_demo", " siq_all", ""])
    (['siq_demo', 'siq_all'], ['siq_demo', 'siq_all'])
    """
    names = ",".join([given] if isinstance(given, str) else given).split(",")
    return [name.strip() for name in names if name.strip()]


class Choices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold what a user chooses for all runs of an evaluation, named like the options of `siq eval`.

    Attributes:
        systems: Each as `SPEC,OPTION=VALUE`.
        output: Folder of the runs.
        limit: Clips per data set.
        allow_code: Whether task files outside of the package may name code.
    """

    systems: tuple[str, ...]
    tasks: tuple[str, ...]
    output: str
    batch_size: int | str = "auto"
    device: str | None = None
    limit: Annotated[int, Meta(ge=1)] | None = None
    seed: Annotated[int, Meta(ge=0, le=LARGEST_SEED)] | None = None
    metadata: tuple[str, ...] = ()
    include_path: str | None = None
    gen_kwargs: tuple[str, ...] = ()
    allow_code: bool = False

    @property
    def folder(self) -> Path:
        """Return the output folder."""
        return Path(self.output)


class Plan(Choices, frozen=True):
    """Hold an evaluation, or the part of one that a process computes.

    Attributes:
        samples: The docs that `limit` leaves, as the check finds them; without them lm-eval counts docs.
        shard: Number (from 1) and count of the shards, if the response cache alone is filled for a share of the clips.
        stages: The stages that a shard computes (`stage_cache.STAGES`); empty for all.
        require_cached: Whether a run refuses to compute rows that are missing in the response cache.
    """

    samples: Samples | None = None
    shard: tuple[int, int] | None = None
    stages: tuple[str, ...] = ()
    require_cached: bool = False

    def change(self, **fields: Any) -> "Plan":
        """Return the plan with other values of some fields."""
        return msgspec.structs.replace(self, **fields)


class PlanFile(Choices, frozen=True):
    """Hold the plan in a file, whose output is on a disk that all machines share.

    Attributes:
        conditions: Values of `--metadata condition=`, and `clean`.
        shards: Their number.
        stages: The stages that all shards compute, with commas between them.
        slurm: Options of `sbatch` as submitit names them, with `time` in minutes.
    """

    conditions: tuple[str, ...] = (CLEAN,)
    shards: Annotated[int, Meta(ge=1)] = 1
    stages: str | None = None
    slurm: dict[str, Any] = {}

    def under(self, condition: str) -> Plan:
        """Return the plan of all runs under a condition."""
        chosen = {name: getattr(self, name) for name in Choices.__struct_fields__}
        if condition != CLEAN:
            chosen["metadata"] = (*self.metadata, f"{CONDITION}={condition}")
        return Plan(**chosen)

    def shard_commands(self, number: int) -> list[list[str]]:
        """Return the words of the commands of one shard, a command per condition."""
        part = ["--shard", f"{number}/{self.shards}"]
        if self.stages:
            part += ["--stages", self.stages]
        return [[*eval_command(self.under(condition)), *part] for condition in self.conditions]

    def collecting_commands(self) -> list[list[str]]:
        """Return the words of the commands that write the results after all shards, a command per condition."""
        return [[*eval_command(self.under(condition)), "--require-cached"] for condition in self.conditions]


def eval_command(plan: Plan) -> list[str]:
    """Return the words of `siq eval` that compute a plan, or collect it after its shards.

    >>> " ".join(eval_command(Plan(("demo",), ("siq_demo",), "runs", limit=2, metadata=("subset=all",))))
    'siq eval demo --tasks siq_demo --output runs --limit 2 --metadata subset=all'
    """
    words = ["siq", "eval", *plan.systems, "--tasks", ",".join(plan.tasks), "--output", plan.output]
    for name in ("limit", "device", "batch_size", "seed", "include_path"):
        value = getattr(plan, name)
        if value not in (None, "auto"):
            words += [f"--{name.replace('_', '-')}", str(value)]
    if plan.allow_code:
        words.append("--allow-code")
    for item in plan.metadata:
        words += ["--metadata", item]
    for item in plan.gen_kwargs:
        words += ["--gen_kwargs", item]
    return words


def lm_eval_command(system: str, plan: Plan) -> list[str]:
    """Return the words of the command that runs one system of a plan.

    >>> " ".join(lm_eval_command("letter:B", Plan((), ("siq_demo",), "runs", limit=2)))
    'lm_eval --model hf-audio --model_args pretrained=letter:B --tasks siq_demo --batch_size auto \
--log_samples --output_path runs --limit 2'
    """
    words = ["lm_eval", "--model", "hf-audio", "--model_args", f"pretrained={system}"]
    words += ["--tasks", ",".join(plan.tasks), "--batch_size", str(plan.batch_size)]
    words += ["--log_samples", "--output_path", plan.output]
    if plan.device is not None:
        words += ["--device", plan.device]
    if plan.samples:
        words += ["--samples", json.dumps(plan.samples)]
    elif plan.limit is not None and plan.samples is None:
        words += ["--limit", str(plan.limit)]
    if plan.seed is not None:
        words += ["--seed", str(plan.seed)]
    if plan.include_path is not None:
        words += ["--include_path", plan.include_path]
    if plan.metadata:
        words += ["--metadata", *plan.metadata]
    if plan.gen_kwargs:
        words += ["--gen_kwargs", *plan.gen_kwargs]
    return words


def has_task_files(plan: Choices) -> bool:
    """Return whether a plan names task files that do not come with the package."""
    return plan.include_path is not None or any(is_file(Path(name)) for name in plan.tasks)


def needs_index(tasks: Sequence[str]) -> bool:
    """Return whether some names may be tasks of lm-eval, whose index takes most of the time of a start.

    A name is not one of them if its first word is that of a file in the task folder, so mistyped names, patterns such
    as `siq_*` and a user's own `siq_NAME` need no index either.

    >>> needs_index(["siq_demo", "audiobench_demo_*"]), needs_index(["siq_demo", "mmlu"])
    (False, True)
    """
    first_words = {file.stem.partition("_")[0] for file in HERE.rglob("[!_]*.yaml")}
    return any(name.partition("_")[0] not in first_words for name in tasks)
