"""Build a speech system from `--model_args`, with every check that needs no weights."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from speechiq.core.checkpoints.names import find_recognizer, read_config
from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.folders import store_folder
from speechiq.core.prompt import NO_PROMPTS, PROMPTS, OwnPrompts
from speechiq.engines.asr.controls import Gold
from speechiq.engines.base import ASREngine, AudioEngine, BatchSize, Engine, Setup, TextEngine
from speechiq.engines.cached import with_cache
from speechiq.engines.options import list_names, read_options
from speechiq.engines.registry import build_engine, choose_engine
from speechiq.harness_patch.systems.answering import Likelihood, way_of_answering
from speechiq.harness_patch.systems.cascade import NBEST, Cascade, CorrectedRecognizer, CorrectionOptions, Instructed
from speechiq.harness_patch.systems.people import People
from speechiq.harness_patch.systems.spec import ALIASES, DEFAULT_ENGINE, WITHOUT_STAGES, Stage, parse
from speechiq.harness_patch.systems.system import ConstantLetter, ModelSystem, Recognizer, SpeechSystem, take_voice
from speechiq.siq_tasks.questions.exam import PEOPLE


def system_name(spec: str, voice: Any = None) -> str:
    """Return the name of a system in tables: its spec without an alias, and its voice, if it has one.

    >>> system_name("demo"), system_name("gold+org/model", "flite:slt")
    ('demo:whisper-tiny.en+demo:SmolLM2-135M-Instruct', 'gold+org/model speaks flite:slt')
    """
    name = ALIASES[spec][0] if spec in ALIASES else spec
    return f"{name} speaks {voice}" if voice else name


def build_system(
    spec: str,
    options: Mapping[str, Any],
    *,
    device: Any,
    batch_size: BatchSize,
    seed: int,
    references: Mapping[Clip, str] = MappingProxyType({}),
    language: str | None = None,
    prompts: OwnPrompts = NO_PROMPTS,
) -> SpeechSystem:
    """Return the system of a spec; no model is loaded yet.

    Args:
        spec: `pretrained`, in the form of `spec.parse`, or `demo`.
        options: Stage options, `<role>_<option>`, without a prefix for an audio model. `answer` of the last stage is
            `generate` (default), `likelihood` or `argmax`; a recognizer alone has none. A corrector implies
            `asr_nbest=5` if the recognizer has that option, and takes `ger_max_gen_toks`. `speaks=ENGINE:MODEL` or
            `speaks=own` gives the system a voice for its replies, with options `speaks_*`.
        references: References of the current clips, for an engine that needs them.
        language: Language of the clips, which recognizers are given.
        prompts: The user's own prompts; the system turn is that of the last stage.
    """
    spec, implied = ALIASES.get(spec, (spec, {}))
    options = {**implied, **options}
    stages = parse(spec)
    if stages[0].engine in WITHOUT_STAGES:
        if options:
            raise SpeechIQError(next(iter(options)), "no such model argument", f"{spec} has none, leave it out")
        return (People if stages[0].engine == PEOPLE else ConstantLetter)(stages[0].model)

    def set_up(stage: Stage) -> Setup:
        return Setup(engine=stage.engine, prefix=stage.prefix, device=device, batch_size=batch_size, language=language)

    if (recognizer := _find_recognizer(stages, options)) is not None:
        return _build_recognizer(spec, recognizer, options, set_up(recognizer), references, prompts)
    answer = f"{stages[-1].prefix}answer"
    answering = way_of_answering(options.pop(answer, "generate"), answer)
    voice = take_voice(options, stages, device, batch_size)
    _refuse_unknown(options, stages)
    setups = {stage.role: set_up(stage) for stage in stages}
    given = {stage.role: stage.pick(options) for stage in stages}
    correction = CorrectionOptions()
    if "ger" in given:
        own = {name: given["ger"].pop(name) for name in list_names(CorrectionOptions) & given["ger"].keys()}
        correction = read_options(CorrectionOptions, own, engine=setups["ger"].engine, prefix=setups["ger"].prefix)
        if choose_engine("asr", stages[0].model, given["asr"], setups["asr"]).gives_nbest:
            given["asr"].setdefault("nbest", NBEST)
    _add_system_turn(stages[-1], given[stages[-1].role], setups[stages[-1].role], prompts)
    if isinstance(answering, Likelihood) and "system" in given[stages[-1].role]:
        raise SpeechIQError(
            f"{stages[-1].prefix}system", f"{answer}={answering.way} has no system turn",
            f"leave it out, or give {answer}=generate",
        )  # fmt: skip
    read_here = {stages[-1].role: {"answer"}, "ger": list_names(CorrectionOptions)}
    engines = [
        _open(stage, given[stage.role], setups[stage.role], references, prompts, also=read_here.get(stage.role, ()))
        for stage in stages
    ]
    engine = _combine(engines, correction, prompts)
    if isinstance(answering, Likelihood) and not engine.has_loglikelihood():
        model = f"{stages[-1].engine}:{stages[-1].model}"
        raise SpeechIQError(f"{answer}={answering.way}", f"{model} has no log-likelihoods", f"use {answer}=generate")
    if voice:
        return voice.system(engine, answering, seed, voice.build(given[stages[-1].role]))
    return ModelSystem(engine, answering, seed)


def _add_system_turn(stage: Stage, given: dict[str, Any], setup: Setup, prompts: OwnPrompts) -> None:
    """Add the user's own system turn to the options of the last stage; refuse an engine without system turns."""
    if not prompts.system:
        return
    where = f"--metadata {PROMPTS}: system"
    if "system" in given:
        raise SpeechIQError(where, f"{stage.prefix}system is given too", "leave one of the two out")
    if "system" not in list_names(choose_engine(stage.kind, stage.model, given, setup).record):
        raise SpeechIQError(where, f"the {stage.engine} engine has no system turn", "leave it out, or use hf or openai")
    given["system"] = prompts.system


def _find_recognizer(stages: Sequence[Stage], options: Mapping[str, Any]) -> Stage | None:
    """Return the stage of a recognizer that stands alone, by its role or by the config of its checkpoint; else None."""
    (first, *others) = stages
    if others or first.role == "asr":
        return None if others else first
    recognizer = first._replace(role="asr")
    if first.engine != DEFAULT_ENGINE:
        return None
    given = first.pick(options) | recognizer.pick(options)
    which = {name: given[name] for name in ("revision", "trust_remote_code") if name in given}
    try:
        config = read_config(first.model, **which)
    except SpeechIQError:  # The engine of audio models says what is wrong.
        return None
    return recognizer if find_recognizer(config) is not None else None


def _build_recognizer(
    spec: str,
    stage: Stage,
    options: Mapping[str, Any],
    setup: Setup,
    references: Mapping[Clip, str],
    prompts: OwnPrompts,
) -> Recognizer:
    if unknown := [name for name in options if not name.startswith(stage.prefix)]:
        raise SpeechIQError(
            unknown[0],
            f"no such model argument: {spec} is a recognizer, whose options begin with {stage.prefix}",
            f"correct it, or add a language model: {spec}+LLM",
        )
    engine = _open(stage, stage.pick(options), setup, references, prompts, also=())
    return Recognizer(spec, cast(ASREngine, engine))


def _refuse_unknown(options: Mapping[str, Any], stages: Sequence[Stage]) -> None:
    prefixes = tuple(stage.prefix for stage in stages)
    if unknown := [name for name in options if not name.startswith(prefixes)]:
        raise SpeechIQError(
            unknown[0],
            "no such model argument",
            f"options begin with their stage, {' or '.join(prefixes)}, such as {prefixes[-1]}dtype=bfloat16",
        )


def _open(
    stage: Stage,
    given: Mapping[str, Any],
    setup: Setup,
    references: Mapping[Clip, str],
    prompts: OwnPrompts,
    also: Collection[str],
) -> Engine:
    """Return the engine of a stage, cached unless it has no identity."""
    engine = build_engine(stage.kind, stage.model, given, setup, also=also)
    if isinstance(engine, Gold):
        engine.references = references
    if prompts.transcribe and engine.kind == "audio" and not cast(AudioEngine, engine).asks_in_words:
        raise SpeechIQError(
            f"--metadata {PROMPTS}: transcribe", f"{stage.model} asks for transcripts by its processor's own request",
            f"give {stage.prefix}asked_by=task, or leave it out",
        )  # fmt: skip
    cached = with_cache(engine, store_folder())
    return (
        Instructed(cast(AudioEngine, cached), prompts.transcribe)
        if (stage.role, engine.kind) == ("asr", "audio")
        else cached
    )


def _combine(engines: Sequence[Engine], correction: CorrectionOptions, prompts: OwnPrompts) -> AudioEngine:
    """Return one engine of those of an audio model, ASR + LLM, or ASR + corrector + LLM."""
    if len(engines) == 1:
        return cast(AudioEngine, engines[0])
    asr, *corrector, llm = engines
    recognizer = cast(ASREngine, asr)
    for ger in corrector:
        limit = correction.max_gen_toks
        recognizer = CorrectedRecognizer(recognizer, cast(TextEngine, ger), max_gen_toks=limit, prompt=prompts.correct)
    return Cascade(recognizer, cast(TextEngine, llm))
