"""Read the settings of a judge from metadata, and refuse judges that cannot work before any system runs."""

from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from speechiq.core.batches import OnResult
from speechiq.core.cache.stage_cache import cached
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import content_sha256, shorten
from speechiq.core.suggestions import did_you_mean, find_nearest
from speechiq.core.usage import counted_as
from speechiq.engines.cached import CachedEngine
from speechiq.engines.options import Count, OpenOptions, Options, list_names, pick_prefixed, read_options
from speechiq.engines.registry import KINDS, list_backends
from speechiq.metrics.judge.rubric import Rubric, read_rubric
from speechiq.metrics.models import open_engine
from speechiq.metrics.rules import exact_match
from speechiq.metrics.settings import Subject, Text, read_record

JUDGE, PREFIX = "judge", "judge_"
#: The role of a model that reads letters (`reader.py`); like a judge it has a key of metadata and a prefix.
READER = "reader"
#: The judge that is a rule.
EXACT_MATCH = "exact_match"
LIKELIHOOD = "likelihood"
#: Most tokens of a reply; a model that reasons first needs more.
REPLY = 512
#: How similar an option must be to one of the judge to count as a typing error (`difflib` ratio).
SIMILAR = 0.8
#: Engine -> options that its judges have unless they are given: each draw is a call of its own with a seed.
IMPLIED = {"openai": {"seed_per_call": True}}

Temperature = Annotated[float, Meta(ge=0, le=10)]
Share = Annotated[float, Meta(gt=0, le=1)]


class JudgeSettings(Options, frozen=True, kw_only=True):
    """Define what scores free answers."""

    judge: Annotated[
        Text,
        Meta(
            description="What scores free answers: the rule `exact_match`, or a language model, `ENGINE:MODEL` with "
            "any text engine ([judges](../concepts/judges.md))."
        ),
    ] = "exact_match"


class ReaderSettings(Options, frozen=True, kw_only=True):
    """Define what reads the answers to options from which no rule reads a letter."""

    reader: Annotated[
        Text | None,
        Meta(
            description="Language model, `ENGINE:MODEL` with any text engine, that reads the answers to options from "
            "which no letter can be read "
            "([a reader](../how-to/audiobench.md#a-model-that-reads-what-the-rules-leave-unread))."
        ),
    ] = None


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
    checklist: Annotated[
        Literal["on", "off"], Meta(description="Whether the judge is shown the checklist of each question.")
    ] = "on"


class ReaderOptions(OpenOptions, frozen=True, kw_only=True):
    """Define the options of every reader; all others are options of its engine."""

    max_gen_toks: Annotated[Count, Meta(description="Most tokens of a reply.")] = REPLY


#: Role of a model -> the options that it has besides those of its engine.
ROLES: dict[str, type[OpenOptions]] = {JUDGE: JudgeOptions, READER: ReaderOptions}
#: Options that change how replies are sampled.
SAMPLING = ("temperature", "top_p", "top_k")
GENERATION = (*SAMPLING, "max_gen_toks")
#: The option by which the prompt has no checklist.
CHECKLIST = "checklist"
#: What the metadata of judged tasks set; `judge_*` and `reader_*` are also the options of the model's engine.
JUDGED = (Subject(JudgeSettings), Subject(JudgeOptions, PREFIX))
READ = (Subject(ReaderSettings), Subject(ReaderOptions, f"{READER}_"))
#: Fields of `Judging.record` that are computed, not given, without the prefix.
DERIVED = ("rubric_sha256", "identity")
#: Settings that are recorded one by one; `judging` has the rest.
RECORDED = ("judge", "judge_rubric", "judge_draws", "judge_seed", "judge_by")


class Judging(Struct, frozen=True, kw_only=True):
    """Hold the settings of a judge.

    Attributes:
        settings: Generation settings; empty if no reply is generated.
        identity: Digest of everything that judgments depend on in addition to the rubric, the draws and the seed.
        role: `judge`, or `reader` for a model that reads letters.
    """

    judge: str
    rubric: Rubric
    options: JudgeOptions
    settings: dict[str, Any] = {}
    identity: str = ""
    role: str = JUDGE

    def record(self) -> dict[str, Any]:
        """Return what docs and results record: one field per setting, and `judging` with the scale and the options."""
        scale = {"scale": list(self.rubric.scale)}
        options = self.options.others | _list_given(self.options, (*GENERATION, CHECKLIST))
        return {
            "judge": self.judge,
            "judge_rubric": self.options.rubric,
            "judge_rubric_sha256": self.rubric.sha256,
            "judge_draws": self.options.draws,
            "judge_seed": self.options.seed,
            "judge_by": self.options.by,
            "judge_identity": self.identity,
            "judging": scale | ({"options": options} if options else {}),
        }


def read_judging(metadata: Mapping[str, Any], default_rubric: str = "grade_0_5") -> Judging:
    """Return the judge that a task's metadata describe, ignoring the rest; refuse invalid or unknown settings.

    They are `judge` (default `exact_match`) and `judge_*`, see `JudgeOptions`. A rubric that they name must be of the
    same kind as the default one.

    >>> read_judging({"judge_rubric": "right_wrong"}).rubric.scale
    (0, 1)
    """
    judge = read_record(JudgeSettings, metadata).judge
    given = {name: value for name, value in pick_prefixed(metadata, PREFIX).items() if name not in DERIVED}
    values = {"rubric": default_rubric} | given
    refuse_similar(values.keys() - list_names(JudgeOptions), list_names(JudgeOptions), JUDGE)
    options = read_options(JudgeOptions, values, engine=JUDGE, prefix=PREFIX)
    rubric, wanted = read_rubric(options.rubric), read_rubric(default_rubric).kind
    if rubric.kind != wanted:
        raise SpeechIQError(
            f"judge_rubric={options.rubric}",
            f"a {rubric.kind} rubric, but one of kind {wanted} is needed here, such as {default_rubric}",
        )
    if judge == EXACT_MATCH:
        _check_match(rubric, options)
        return Judging(judge=judge, rubric=rubric, options=options, identity=f"exact_match {exact_match.VERSION}")
    if options.checklist == "off" and not rubric.has(CHECKLIST):
        raise SpeechIQError("judge_checklist=off", f"the rubric {options.rubric} shows none", "leave it out")
    engine = open_judge(judge, options.others)
    settings = _check_likelihood(judge, engine, options) if options.by == LIKELIHOOD else settle(engine, options)
    effective = engine.effective(settings) if settings else LIKELIHOOD
    identity = {"engine": engine.identity(), "settings": effective, **_list_given(options, [CHECKLIST])}
    digest = shorten(content_sha256(identity))
    return Judging(judge=judge, rubric=rubric, options=options, settings=settings, identity=digest)


def read_settings(metadata: Mapping[str, Any], default_rubric: str = "grade_0_5") -> dict[str, Any]:
    """Return the settings of a judge that docs and results of a task record; see `read_judging`."""
    return read_judging(metadata, default_rubric).record()


def judging_of(doc: Mapping[str, Any]) -> Judging:
    """Return the judge that a doc names by the fields of `Judging.record`; refuse a rubric that was changed since."""
    options = {PREFIX + name: value for name, value in (doc["judging"].get("options") or {}).items()}
    judging = read_judging({key: doc[key] for key in RECORDED} | options, doc["judge_rubric"])
    if judging.rubric.sha256 != doc["judge_rubric_sha256"]:
        raise SpeechIQError(
            f"judge_rubric={judging.options.rubric}", "the file was changed during the run", "run it again"
        )
    return judging


def refuse_similar(names: Collection[str], known: Collection[str], role: str) -> None:
    """Refuse an option that is similar to one of a role, which an engine of lm-eval would take for its own."""
    for name in sorted(names):
        if near := find_nearest(name, sorted(known), SIMILAR):
            raise SpeechIQError(f"{role}_{name}", f"no such option of a {role}", f"did you mean {role}_{near}?")


def _list_given(options: JudgeOptions, names: Collection[str]) -> dict[str, Any]:
    """Return those of some options that differ from their defaults."""
    default = JudgeOptions()
    return {name: value for name in names if (value := getattr(options, name)) != getattr(default, name)}


def _refuse(options: Mapping[str, Any], reason: str) -> None:
    for name, value in options.items():
        raise SpeechIQError(f"{PREFIX}{name}={value}", reason)


def _check_match(rubric: Rubric, options: JudgeOptions) -> None:
    model = "name a model, such as judge=openai:MODEL"
    if rubric.kind != "score":
        raise SpeechIQError("judge=exact_match", "cannot compare two answers", model)
    given = _list_given(options, ("draws", "by", *GENERATION, CHECKLIST)) | options.others
    _refuse(given, f"judge=exact_match is a rule, which has no such option; leave it out, or {model}")


def _check_likelihood(judge: str, engine: CachedEngine, options: JudgeOptions) -> dict[str, Any]:
    """Check a judge that writes no replies; return its generation settings, which are none."""
    given = _list_given(options, ("draws", *GENERATION))
    _refuse(given, "judge_by=likelihood neither samples nor writes a reply; leave it out, or give judge_by=generate")

    def check() -> None:
        if not engine.has_loglikelihood():
            raise SpeechIQError("judge_by=likelihood", f"{judge} has no log-likelihoods", "use judge_by=generate")

    _require(engine, "loglikelihood", {}, check)
    return {}


def settle(engine: CachedEngine, options: JudgeOptions) -> dict[str, Any]:
    """Return the generation settings of the replies; refuse several draws that would be the same."""
    if options.draws > 1 and options.temperature == 0:
        raise SpeechIQError(
            "judge_temperature=0",
            f"all {options.draws} draws would be the same",
            "give a number above 0, or judge_draws=1",
        )
    sampling, do_sample = _list_given(options, SAMPLING), options.draws > 1 or bool(options.temperature)
    if not do_sample:
        sampling.pop("temperature", None)
        _refuse(sampling, "nothing is sampled; give judge_temperature or judge_draws too, or leave it out")
    settings = {"until": [], "do_sample": do_sample, "max_gen_toks": options.max_gen_toks, **sampling}
    engine.sampling(settings)
    if options.draws > 1:
        _require(engine, "sampling", engine.effective(settings), lambda: engine.check_sampling(settings))
    return settings


def open_judge(judge: str, options: Mapping[str, Any], role: str = JUDGE) -> CachedEngine:
    """Return the model of a judge, `ENGINE:MODEL`, without its weights; the same object for the same settings."""
    rules = [EXACT_MATCH] if role == JUDGE else []
    name, colon, model = judge.partition(":")
    if not (name and colon and model):
        raise SpeechIQError(
            f"{role}={judge:.80}",
            "not of the form ENGINE:MODEL",
            f"{did_you_mean(judge, rules)}write openai:MODEL{', hf:MODEL or exact_match' if rules else ' or hf:MODEL'}",
        )
    text = list_backends("text")
    if name not in text:
        _refuse_other_kinds(judge, name, text, role)
    options = IMPLIED.get(name, {}) | dict(options)
    known = list_names(ROLES[role])
    return open_engine("text", name, model, options, prefix=f"{role}_", stage=JUDGE, also=known)


def _require(engine: CachedEngine, ability: str, settings: Mapping[str, Any], check: Callable[[], None]) -> None:
    """Check an ability of a model, unless it was found before: an endpoint is asked once."""

    def compute(_: Any, on_result: OnResult) -> None:
        with counted_as("judging"):
            check()
        on_result([0], [True])

    cached(engine.cache, [[ability, settings]], list, compute, bool)


def _refuse_other_kinds(judge: str, name: str, text: Collection[str], role: str) -> None:
    """Refuse an engine for speech, and a mistyped text engine; other names are model types of lm-eval."""
    for kind in KINDS:
        if name in list_backends(kind):
            raise SpeechIQError(
                f"{role}={judge}",
                f"{name} is an engine for speech ({kind}), a {role} reads text",
                f"use {' or '.join(sorted(text))}, or a text model type of lm-eval",
            )
    if near := find_nearest(name, text):
        raise SpeechIQError(f"{role}={judge}", "unknown engine", f"did you mean {near}?")
