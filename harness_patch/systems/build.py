"""From `--model_args` to a speech system, with every check that needs no weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.systems.answering import way_of_answering
from speechiq.harness_patch.systems.cascade import Cascade
from speechiq.harness_patch.systems.constant import ConstantLetter
from speechiq.harness_patch.systems.hearing import HearingSystem
from speechiq.harness_patch.systems.spelling import DEMO_SYSTEM, build_stage, parse
from speechiq.harness_patch.systems.system import SpeechSystem

ALIASES = {"demo": (DEMO_SYSTEM, {"llm_answer": "likelihood"})}


def build_system(spelling: str, options: Mapping[str, Any], *, device, batch_size, seed: int) -> SpeechSystem:
    """The system spelled so, no model loaded yet.

    Args:
        spelling: `pretrained`, as `spelling.parse` reads it, or `demo`.
        options: stage options, `<role>_<option>`, without a prefix for a model that hears alone; the last
            stage's `answer` is `generate` (default) or `likelihood`.
        device: where the models run.
        batch_size: items a batch, or `auto`.
        seed: of the sampled answers.

    Raises:
        SpeechIQError: anything in the spelling or the options that cannot run.
    """
    spelling, implied = ALIASES.get(spelling, (spelling, {}))
    options = {**implied, **options}
    stages = parse(spelling)
    if stages[0].role == "whole":
        return ConstantLetter(stages[0].model)
    answering = way_of_answering(options.pop(f"{stages[-1].prefix}answer", "generate"))
    prefixes = tuple(stage.prefix for stage in stages)
    if foreign := [name for name in options if not name.startswith(prefixes)]:
        raise SpeechIQError(
            f"{foreign[0]}: no such model argument; options begin with their stage, {' or '.join(prefixes)}, "
            f"such as {prefixes[-1]}dtype=bfloat16"
        )
    engines = [build_stage(stage, options, device=device, batch_size=batch_size) for stage in stages]
    return HearingSystem(HEARERS[len(engines)](*engines), answering, seed)


def _alone(engine):
    return engine


HEARERS = {1: _alone, 2: Cascade}
