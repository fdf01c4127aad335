"""Read a plan: which systems run on which tasks under which conditions, in how many shards."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from speechiq.cli.evaluation.checks import check_form, check_settings
from speechiq.cli.evaluation.parts import read_shard, read_stages
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import read_plain
from speechiq.core.files.yaml_text import load_yaml
from speechiq.harness_patch.processes import Settings
from speechiq.reducer.runs.results_file import CONDITION

#: The condition of clips as they are.
CLEAN = "clean"
LARGEST_PLAN = 2**20


class Plan(msgspec.Struct, forbid_unknown_fields=True):
    """Hold a plan; keys that are not named here are options of `siq eval`.

    `output` is on a disk that all machines share. `conditions` are values of `--metadata condition=`, and `clean`.
    `shards` is their number. `slurm` has options of `sbatch` as submitit names them, with `time` in minutes.
    """

    systems: tuple[str, ...]
    tasks: tuple[str, ...]
    output: str
    conditions: tuple[str, ...] = (CLEAN,)
    shards: Annotated[int, Meta(ge=1)] = 1
    stages: str | None = None
    limit: Annotated[int, Meta(ge=1)] | None = None
    device: str | None = None
    batch_size: int | str = "auto"
    seed: Annotated[int, Meta(ge=0)] | None = None
    metadata: tuple[str, ...] = ()
    gen_kwargs: tuple[str, ...] = ()
    include_path: str | None = None
    allow_code: bool = False
    slurm: dict[str, Any] = {}

    def settings(self, condition: str) -> Settings:
        """Return the settings of all runs under a condition."""
        place = None if self.include_path is None else Path(self.include_path)
        own = () if condition == CLEAN else (f"{CONDITION}={condition}",)
        tasks, metadata = self.tasks, (*self.metadata, *own)
        return Settings(
            Path(self.output),
            tasks,
            str(self.batch_size),
            self.device,
            self.limit,
            self.seed,
            metadata,
            place,
            gen_kwargs=self.gen_kwargs,
            allow_code=self.allow_code,
        )

    def command(self, condition: str) -> list[str]:
        """Return the words of `siq eval` that compute a condition, or collect it after its shards."""
        options = {name: getattr(self, name) for name in ("limit", "device", "batch_size", "seed", "include_path")}
        words = ["siq", "eval", *self.systems, "--tasks", ",".join(self.tasks), "--output", self.output]
        for name, value in options.items():
            if value not in (None, "auto"):
                words += [f"--{name.replace('_', '-')}", str(value)]
        if self.allow_code:
            words.append("--allow-code")
        for item in self.settings(condition).metadata:
            words += ["--metadata", item]
        for item in self.gen_kwargs:
            words += ["--gen_kwargs", item]
        return words

    def shard_commands(self, number: int) -> list[list[str]]:
        """Return the words of the commands of one shard, a command per condition."""
        part = ["--shard", f"{number}/{self.shards}", *(["--stages", self.stages] if self.stages else [])]
        return [[*self.command(condition), *part] for condition in self.conditions]

    def collecting_commands(self) -> list[list[str]]:
        """Return the words of the commands that write the results after all shards, a command per condition."""
        return [[*self.command(condition), "--require-cached"] for condition in self.conditions]


def read_plan(file: Path) -> Plan:
    """Return the plan in a YAML file, after the checks that need no model; refuse a wrong key by its name."""
    try:
        plan = msgspec.convert(load_yaml(read_plain(file, LARGEST_PLAN)), Plan)
    except OSError as error:
        raise SpeechIQError(f"{str(file)!r} cannot be read", error.strerror, "name a plan, PLAN.yaml") from error
    except ValueError as error:
        keys = ", ".join(Plan.__struct_fields__)
        raise SpeechIQError(f"{str(file)!r} is not a plan", error, f"its keys are {keys}") from error
    if not (plan.systems and plan.conditions):
        raise SpeechIQError(f"{str(file)!r}", "has no system or no condition", "list one")
    try:
        read_shard(f"1/{plan.shards}", None)
        read_stages(plan.stages)
        check_form(plan.systems)
        for condition in plan.conditions:
            check_settings(plan.settings(condition), None, allow_mismatch=False)
    except SpeechIQError as error:
        raise SpeechIQError(f"{str(file)!r}", error) from error
    return plan
