"""Parse system specs, `pretrained=`: stages joined by `+`, each `[engine:]model` (see docs/architecture.md)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from speechiq.core.checkpoints.names import DEMO, ON_DISK, resolve
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import expand, is_file, is_folder
from speechiq.core.files.tables import is_table
from speechiq.core.suggestions import did_you_mean
from speechiq.engines.options import pick_prefixed
from speechiq.engines.registry import list_backends
from speechiq.harness_patch._lm_eval import list_model_types
from speechiq.siq_tasks.questions.exam import ENDING, PEOPLE

REFERENCE = "openai/whisper-large-v2+Qwen/Qwen2-7B-Instruct"
DEMO_SYSTEM = "demo:whisper-tiny.en+demo:SmolLM2-135M-Instruct"
#: Name of a system -> its spec, and the options that the name stands for.
ALIASES = {"demo": (DEMO_SYSTEM, {"llm_answer": "likelihood"})}
DEFAULT_ENGINE = "hf"
#: Number of stages -> their roles; role -> kind of its engine.
ROLES = {1: ("audio",), 2: ("asr", "llm"), 3: ("asr", "ger", "llm")}
KINDS = {"audio": "audio", "asr": "asr", "ger": "text", "llm": "text"}
#: Begins of systems without stages: a constant letter, and the answers of a person.
LETTER = "letter"
WITHOUT_STAGES = {LETTER: "control", PEOPLE: PEOPLE}
#: Parts of names of models that only transcribe behind an endpoint, which does not say what its models do.
TRANSCRIBERS = ("whisper", "transcribe")


class Stage(NamedTuple):
    """Describe one stage of a system, with its engine and the model for it; the model may be empty.

    Its role is `asr`, `ger` (the corrector), `llm`, `audio` (end to end), or that of a system without stages, `control`
    or `people`. The engine of a text stage may also be a model type of lm-eval. A recognizer alone is one stage of the
    role `asr`.
    """

    role: str
    engine: str
    model: str

    @property
    def kind(self) -> str:
        """Return the kind of the stage's engine."""
        return KINDS[self.role]

    @property
    def prefix(self) -> str:
        """Return the prefix of this stage's options; it is empty for an audio model."""
        return "" if self.role == "audio" else f"{self.role}_"

    def pick(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the model arguments of this stage, without its prefix."""
        return pick_prefixed(options, self.prefix)


def parse(spec: str) -> list[Stage]:
    """Return the stages of a system.

    One stage is an audio model unless its engine only transcribes. A checkpoint may still be one of a recognizer, which
    its config says (`build.build_system`).

    >>> parse("demo:whisper-base+Qwen/Qwen2-7B-Instruct")
    [Stage(role='asr', engine='hf', model='demo:whisper-base'), \
Stage(role='llm', engine='hf', model='Qwen/Qwen2-7B-Instruct')]
    >>> parse("silence+demo:SmolLM2-135M-Instruct")[0]
    Stage(role='asr', engine='silence', model='')
    >>> parse("openai/whisper-large-v2+openai:gpt-4o+Qwen/Qwen2-7B-Instruct")[1]
    Stage(role='ger', engine='openai', model='gpt-4o')
    >>> parse("transcripts:mine.jsonl")
    [Stage(role='asr', engine='transcripts', model='mine.jsonl')]
    """
    name, _, model = spec.partition(":")
    if name in WITHOUT_STAGES:
        return [Stage(WITHOUT_STAGES[name], name, model)]
    parts = spec.split("+")
    if len(parts) not in ROLES or not all(parts):
        raise SpeechIQError(
            f"system {spec}",
            f"{len(parts)} stages, some empty or too many",
            f"give one audio model or recognizer, ASR+LLM such as {DEMO_SYSTEM}, or ASR+GER+LLM",
        )
    return [_parse_stage(role, part, spec) for role, part in zip(ROLES[len(parts)], parts, strict=True)]


def list_people(systems: Sequence[str]) -> list[str]:
    """Return systems with each file of a folder of people, `people:FOLDER`, as a system of its own."""
    found: list[str] = []
    for system in systems:
        name, _, place = system.partition(":")
        if name != PEOPLE or not is_folder(expand(place)):
            found.append(system)
            continue
        files = sorted(expand(place).glob(f"*{ENDING}"))
        if not files:
            raise SpeechIQError(system, f"the folder has no {ENDING} file", "put the files of people into it")
        found += [f"{PEOPLE}:{file}" for file in files]
    return found


def check_stages(spec: str) -> None:
    """Refuse an unknown engine, demo model or folder of a system; no package of models is imported for it."""
    spec, _ = ALIASES.get(spec, (spec, {}))
    for stage in parse(spec):
        if stage.engine == DEFAULT_ENGINE and stage.model.startswith(ON_DISK):
            resolve(stage.model)


def _parse_stage(role: str, part: str, spec: str) -> Stage:
    recognizers = list_backends("asr")
    if role == "audio" and _only_transcribes(part):
        role = "asr"
    known = list_backends(KINDS[role])
    if role in ("asr", "audio") and (is_table(Path(part)) or is_file(expand(part))) and ":" not in part:
        raise SpeechIQError(f"pretrained={spec}", f"{part} is a file", f"name transcripts as transcripts:{part}")
    if part in recognizers and not recognizers[part].takes_model:
        engine, model = part, ""
    elif ":" in part and not part.startswith(DEMO):
        engine, model = part.split(":", 1)
    else:
        engine, model = DEFAULT_ENGINE, part
    if part.startswith(f"{DEFAULT_ENGINE}:{DEMO}"):
        raise SpeechIQError(
            f"system {spec}",
            f"{part} has a shorter name, and systems are compared by their names",
            f"write {model}",
        )
    if part in known and known[part].takes_model:
        raise SpeechIQError(f"system {spec}", f"{part} is an engine without a model", f"write {known[part].example}")
    if engine not in known and not (KINDS[role] == "text" and engine in list_model_types()):
        more = ", and any model type of lm-eval" if KINDS[role] == "text" else ""
        alone = {*recognizers, *WITHOUT_STAGES} if role == "audio" else set()
        near = did_you_mean(engine, sorted({*known, *alone}))
        raise SpeechIQError(
            f"system {spec}",
            f"no engine {engine!r} for the {role} stage",
            f"{near}known are {', '.join(sorted(known))}{more} (a hub id or folder alone means hf)",
        )
    return Stage(role, engine, model)


def _only_transcribes(part: str) -> bool:
    """Return whether the engine of a stage, or the name of a model behind an endpoint, says that it only transcribes.

    >>> _only_transcribes("pocketsphinx:en-us"), _only_transcribes("openai:whisper-1"), _only_transcribes("demo:x")
    (True, True, False)
    """
    engine, _, model = part.partition(":")
    if engine == "openai":
        return any(name in model.lower() for name in TRANSCRIBERS)
    return engine in list_backends("asr") and engine not in list_backends("audio")
