"""From `--model_args` to a speech system, with every check that needs no weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.systems.answering import way_of_answering
from speechiq.harness_patch.systems.cascade import Cascade
from speechiq.harness_patch.systems.constant import ConstantLetter
from speechiq.harness_patch.systems.spelling import DEMO_SYSTEM, ENGINES, build_stage, parse
from speechiq.harness_patch.systems.system import SpeechSystem

ALIASES = {"demo": (DEMO_SYSTEM, {"llm_answer": "likelihood"})}
DEFAULTS = {"llm_answer": "generate"}


def build_system(spelling: str, options: Mapping[str, Any], *, device, batch_size, seed: int) -> SpeechSystem:
    """The system spelled so, no model loaded yet.

    Args:
        spelling: `pretrained`, as `spelling.parse` reads it, or `demo`; `letter:B` is a system whole.
        options: stage options, `<role>_<option>`; `llm_answer` is `generate` or `likelihood`.
        device: where the models run.
        batch_size: items a batch, or `auto`.
        seed: of the sampled answers.

    Raises:
        SpeechIQError: anything in the spelling or the options that cannot run.
    """
    spelling, implied = ALIASES.get(spelling, (spelling, {}))
    options = {**DEFAULTS, **implied, **options}
    for name in options:
        if name.partition("_")[0] not in ENGINES:
            raise SpeechIQError(
                f"{name}: no such model argument; options begin with their stage, "
                f"{' or '.join(f'{role}_' for role in ENGINES)}, such as llm_dtype=bfloat16"
            )
    answering = way_of_answering(options.pop("llm_answer"))
    stages = parse(spelling)
    if stages[0].role == "whole":
        return ConstantLetter(stages[0].model)
    asr, llm = (build_stage(stage, options, device=device, batch_size=batch_size) for stage in stages)
    return Cascade(asr, llm, answering, seed)
