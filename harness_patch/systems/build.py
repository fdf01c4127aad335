"""From `--model_args` to a speech system, with every check that needs no weights."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.store import store_folder
from speechiq.engines.asr.controls import NeedsReferences
from speechiq.harness_patch.kept import Kept
from speechiq.harness_patch.systems.answering import Likelihood, way_of_answering
from speechiq.harness_patch.systems.cascade import Cascade
from speechiq.harness_patch.systems.constant import ConstantLetter
from speechiq.harness_patch.systems.corrected import NBEST, Corrected
from speechiq.harness_patch.systems.hearing import HearingSystem
from speechiq.harness_patch.systems.instructed import Instructed, TakesPrompts
from speechiq.harness_patch.systems.spelling import DEMO_SYSTEM, build_stage, find_options, parse
from speechiq.harness_patch.systems.system import SpeechSystem

ALIASES = {"demo": (DEMO_SYSTEM, {"llm_answer": "likelihood"})}


def spell_out(spelling: str) -> str:
    """Return the stages that an alias stands for, so that a system has one name; any other spelling as it is.

    >>> spell_out("demo"), spell_out("gold+org/model")
    ('demo:whisper-tiny.en+demo:SmolLM2-135M-Instruct', 'gold+org/model')
    """
    return ALIASES.get(spelling, (spelling,))[0]


def build_system(
    spelling: str,
    options: Mapping[str, Any],
    *,
    device,
    batch_size,
    seed: int,
    references: Mapping[Clip, str] = MappingProxyType({}),
) -> SpeechSystem:
    """The system spelled so, no model loaded yet.

    Args:
        spelling: `pretrained`, as `spelling.parse` reads it, or `demo`.
        options: stage options, `<role>_<option>`, without a prefix for a model that hears alone; the last
            stage's `answer` is `generate` (default), `likelihood` or `argmax`. A corrector implies `asr_nbest=5`
            where the recogniser has it, and takes `ger_max_gen_toks`.
        device: where the models run.
        batch_size: items a batch, or `auto`.
        seed: of the sampled answers.
        references: texts of the clips under work, for an engine that needs them.

    Raises:
        SpeechIQError: anything in the spelling or the options that cannot run.
    """
    spelling, implied = ALIASES.get(spelling, (spelling, {}))
    options = {**implied, **options}
    stages = parse(spelling)
    if stages[0].role == "whole":
        if options:
            raise SpeechIQError(f"{next(iter(options))}: no such model argument; {spelling} has none, leave it out")
        return ConstantLetter(stages[0].model)
    answer = f"{stages[-1].prefix}answer"
    answering = way_of_answering(options.pop(answer, "generate"), answer)
    prefixes = tuple(stage.prefix for stage in stages)
    if foreign := [name for name in options if not name.startswith(prefixes)]:
        raise SpeechIQError(
            f"{foreign[0]}: no such model argument; options begin with their stage, {' or '.join(prefixes)}, "
            f"such as {prefixes[-1]}dtype=bfloat16"
        )
    correcting = "ger" in [stage.role for stage in stages]
    limit = options.pop("ger_max_gen_toks", None) if correcting else None
    if correcting and "nbest" in find_options(stages[0], options)[0]:
        options.setdefault("asr_nbest", NBEST)
    own = {stages[-1].role: ("answer",), "ger": ("max_gen_toks",)}
    engines = [
        _place(
            build_stage(stage, options, also=own.get(stage.role, ()), device=device, batch_size=batch_size),
            stage.role,
            references,
        )
        for stage in stages
    ]
    if correcting:
        asr, ger, llm = engines
        engines = [Corrected(asr, ger, max_gen_toks=limit), llm]
    if isinstance(answering, Likelihood) and not getattr(engines[-1], "weighs", True):
        model = f"{stages[-1].engine}:{stages[-1].model}"
        raise SpeechIQError(f"{answer}={answering.describe()['way']}: {model} weighs no texts; use {answer}=generate")
    return HearingSystem(HEARERS[len(engines)](*engines), answering, seed)


def _place(engine, role: str, references: Mapping[Clip, str]):
    """Return the engine as its role needs it, with its work kept; a control and a file of transcripts have none."""
    if isinstance(engine, NeedsReferences):
        engine.references = references
    kept = Kept(engine, store_folder()) if hasattr(engine, "identity") else engine
    return Instructed(kept) if role == "asr" and isinstance(engine, TakesPrompts) else kept


def _alone(engine):
    return engine


HEARERS = {1: _alone, 2: Cascade}
