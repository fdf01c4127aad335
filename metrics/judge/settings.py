"""Read the settings of a judge from metadata, and refuse judges that cannot work before any system runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.checksummed import content_sha256, shorten
from speechiq.core.suggestions import find_nearest
from speechiq.engines.cached import CachedEngine
from speechiq.engines.options import Count, OpenOptions, list_names, read_options
from speechiq.metrics.judge.engine import EXACT_MATCH, PREFIX, open_judge, require_loglikelihood, require_sampling
from speechiq.metrics.judge.rubric import Rubric, read_rubric
from speechiq.metrics.rules import exact_match

JUDGE = "judge"
GENERATE, LIKELIHOOD = "generate", "likelihood"
#: Most tokens of a reply; a model that reasons first needs more.
REPLY = 512
#: How similar an option must be to one of the judge to count as a typing error (`difflib` ratio).
SIMILAR = 0.8


Temperature = Annotated[float, Meta(ge=0, le=10)]
Share = Annotated[float, Meta(gt=0, le=1)]


class JudgeOptions(OpenOptions, frozen=True, kw_only=True):
    """Define the options of every judge; all others are options of its engine."""

    rubric: Annotated[str, Meta(description="Rubric by name, or a YAML file.")] = ""
    draws: Annotated[int, Meta(ge=1, le=1000, description="Replies per answer; more than one are sampled.")] = 1
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1, description="Seed of the draws.")] = 1
    by: Annotated[
        Literal["generate", "likelihood"],
        Meta(description="Whether the score is read from a reply, or expected by the probabilities of all grades."),
    ] = "generate"
    temperature: Annotated[
        Temperature | None, Meta(description="Temperature; without it that of the model, or 0 for one draw.")
    ] = None
    top_p: Annotated[Share | None, Meta(description="Probability mass to sample from.")] = None
    top_k: Annotated[Count | None, Meta(description="Number of tokens to sample from.")] = None
    max_gen_toks: Annotated[Count, Meta(description="Most tokens of a reply.")] = REPLY


#: Options that change how replies are sampled.
SAMPLING = ("temperature", "top_p", "top_k")
GENERATION = (*SAMPLING, "max_gen_toks")
#: Keys of metadata that every judged task reads; `judge_*` are also the options of the judge's engine.
KEYS = frozenset({JUDGE, *(PREFIX + name for name in list_names(JudgeOptions)), f"{PREFIX}*"})
#: Fields of `Judging.record` that are computed, not given.
DERIVED = ("judge_rubric_sha256", "judge_identity")
#: Settings that are recorded one by one; `judging` has the rest.
RECORDED = ("judge", "judge_rubric", "judge_draws", "judge_seed", "judge_by")


class Judging(Struct, frozen=True, kw_only=True):
    """The settings of a judge.

    Attributes:
        judge: `exact_match`, or `ENGINE:MODEL`.
        rubric_name: Name or file of the rubric, as it was given.
        rubric: The rubric.
        draws: Number of judgments per answer.
        seed: Seed of the draws.
        by: `generate` or `likelihood`.
        settings: Generation settings; empty if no reply is generated.
        engine_options: Options of the engine, by their names without `judge_`, as they were given.
        generation: Options about the replies (`temperature`, ...), as they were given.
        identity: Digest of everything that judgments depend on in addition to the rubric, the draws and the seed.
    """

    judge: str
    rubric_name: str
    rubric: Rubric
    draws: int
    seed: int
    by: str
    settings: dict[str, Any] = {}
    engine_options: dict[str, Any] = {}
    generation: dict[str, Any] = {}
    identity: str = ""

    def record(self) -> dict[str, Any]:
        """Return what docs and results record: one field per setting, and `judging` with the scale and the options."""
        scale = {"scale": list(self.rubric.scale)}
        options = self.engine_options | self.generation
        return {
            "judge": self.judge,
            "judge_rubric": self.rubric_name,
            "judge_rubric_sha256": self.rubric.sha256,
            "judge_draws": self.draws,
            "judge_seed": self.seed,
            "judge_by": self.by,
            "judge_identity": self.identity,
            "judging": scale | ({"options": options} if options else {}),
        }


def read_judging(metadata: Mapping[str, Any], default_rubric: str = "grade_0_5") -> Judging:
    """Return the judge that a task's metadata describe; the rest of the metadata is ignored.

    Args:
        metadata: `judge` (default `exact_match`), `judge_*`: see `JudgeOptions`.
        default_rubric: Rubric if the metadata name none; a named one must be of the same kind.

    Raises:
        SpeechIQError: A setting is invalid or unknown, or the judge cannot run; one line.

    >>> read_judging({"judge_rubric": "right_wrong"}).rubric.scale
    (0, 1)
    """
    defaults = {JUDGE: EXACT_MATCH, f"{PREFIX}rubric": default_rubric}
    own = {key: value for key, value in metadata.items() if key == JUDGE or key.startswith(PREFIX)}
    given = {key: value for key, value in (defaults | own).items() if key not in DERIVED}
    judge = given.pop(JUDGE)
    if not isinstance(judge, str) or not judge:
        raise SpeechIQError(f"judge={judge!r:.80}: not a judge; write openai:MODEL, hf:MODEL or exact_match")
    values = {key.removeprefix(PREFIX): value for key, value in given.items()}
    _refuse_similar(values.keys() - list_names(JudgeOptions))
    options = read_options(JudgeOptions, values, engine=JUDGE, prefix=PREFIX)
    rubric, wanted = read_rubric(options.rubric), read_rubric(default_rubric).kind
    if rubric.kind != wanted:
        raise SpeechIQError(
            f"judge_rubric={options.rubric}: a {rubric.kind} rubric, but one of kind {wanted} is needed here, such as "
            f"{default_rubric}"
        )
    judging = Judging(
        judge=judge, rubric_name=options.rubric, rubric=rubric, draws=options.draws, seed=options.seed, by=options.by
    )
    if judge == EXACT_MATCH:
        _check_match(rubric, options)
        return msgspec.structs.replace(judging, identity=f"exact_match {exact_match.VERSION}")
    engine = open_judge(judge, options.others, list_names(JudgeOptions))
    settings = _check_likelihood(judge, engine, options) if options.by == LIKELIHOOD else _settle(engine, options)
    effective = engine.effective(settings) if settings else LIKELIHOOD
    identity = {"engine": engine.identity(), "settings": effective}
    return msgspec.structs.replace(
        judging,
        settings=settings,
        engine_options=options.others,
        generation=_given_generation(options),
        identity=shorten(content_sha256(identity)),
    )


def read_settings(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what docs and results of a judged task record; the `read_settings` of the form `judged`.

    Raises:
        SpeechIQError: As for `read_judging`.
    """
    return read_judging(metadata).record()


def judging_of(doc: Mapping[str, Any]) -> Judging:
    """Return the judge that a doc names.

    Args:
        doc: Has the fields of `Judging.record`.

    Raises:
        SpeechIQError: The rubric's file changed since the doc was made.
    """
    options = {PREFIX + name: value for name, value in (doc["judging"].get("options") or {}).items()}
    judging = read_judging({key: doc[key] for key in RECORDED} | options, doc["judge_rubric"])
    if judging.rubric.sha256 != doc["judge_rubric_sha256"]:
        raise SpeechIQError(f"judge_rubric={judging.rubric_name}: the file was changed during the run; run it again")
    return judging


def _refuse_similar(names: Collection[str]) -> None:
    """Refuse an option that is similar to one of the judge, which an engine of lm-eval would take for its own."""
    known = sorted(list_names(JudgeOptions))
    for name in sorted(names):
        if near := find_nearest(name, known, SIMILAR):
            raise SpeechIQError(f"{PREFIX}{name}: no such option of a judge; did you mean {PREFIX}{near}?")


def _given_generation(options: JudgeOptions) -> dict[str, Any]:
    """Return the options about the replies that differ from their defaults."""
    default = JudgeOptions()
    return {name: value for name in GENERATION if (value := getattr(options, name)) != getattr(default, name)}


def _check_match(rubric: Rubric, options: JudgeOptions) -> None:
    model = "name a model, such as judge=openai:MODEL"
    if rubric.kind != "score":
        raise SpeechIQError(f"judge=exact_match: cannot compare two answers; {model}")
    if options.draws > 1:
        raise SpeechIQError(
            f"judge_draws={options.draws}: judge=exact_match is a rule, all draws would be the same; leave it "
            f"out, or {model}"
        )
    if options.by != GENERATE:
        raise SpeechIQError(f"judge_by={options.by}: judge=exact_match has no probabilities; leave it out, or {model}")
    for name, value in (options.others | _given_generation(options)).items():
        raise SpeechIQError(f"{PREFIX}{name}={value}: judge=exact_match has no such option; leave it out, or {model}")


def _check_likelihood(judge: str, engine: CachedEngine, options: JudgeOptions) -> dict[str, Any]:
    """Check a judge that writes no replies; return its generation settings, which are none."""
    if options.draws > 1:
        raise SpeechIQError(
            f"judge_draws={options.draws}: judge_by=likelihood does not sample, all draws would be the same; leave it "
            f"out, or give judge_by=generate"
        )
    for name, value in _given_generation(options).items():
        raise SpeechIQError(f"{PREFIX}{name}={value}: judge_by=likelihood writes no reply; leave it out")
    require_loglikelihood(engine, judge)
    return {}


def _settle(engine: CachedEngine, options: JudgeOptions) -> dict[str, Any]:
    """Return the generation settings of the replies.

    Raises:
        SpeechIQError: Several draws are wanted of a model or of settings that do not sample.
    """
    sampling = {name: value for name, value in _given_generation(options).items() if name in SAMPLING}
    if options.draws > 1 and options.temperature == 0:
        raise SpeechIQError(
            f"judge_temperature=0: all {options.draws} draws would be the same; give a number above 0, or judge_draws=1"
        )
    do_sample = options.draws > 1 or bool(options.temperature)
    for name in sampling.keys() - {"temperature"} if not do_sample else ():
        raise SpeechIQError(
            f"{PREFIX}{name}={sampling[name]}: nothing is sampled; give judge_temperature or judge_draws too, or leave "
            f"it out"
        )
    given = sampling if do_sample else {}
    settings = {"until": [], "do_sample": do_sample, "max_gen_toks": options.max_gen_toks, **given}
    engine.sampling(settings)
    if options.draws > 1:
        require_sampling(engine, settings)
    return settings
