"""Turn the requests of lm-eval into jobs, and share these among processes.

One process does everything that concerns a clip.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, NamedTuple, TypeVar

from accelerate.utils import gather_object
from lm_eval.api.instance import Instance

from speechiq.core.checkpoints.opening import first_line
from speechiq.core.clip import Clip, as_clip, as_text_clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import NO_PROMPTS, PROMPTS, OwnPrompts, Prompt
from speechiq.engines.languages import FIELD
from speechiq.harness_patch._lm_eval import normalize_settings
from speechiq.harness_patch.systems.answering import TRANSCRIBE, Question
from speechiq.siq_tasks.conditions.spec import LISTEN, TEXT, TIMING
from speechiq.siq_tasks.loaders.audio import AudioItems

Shared = TypeVar("Shared")
Result = TypeVar("Result")
_NOTHING = object()
LENGTHS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")


class SystemVariant(NamedTuple):
    """Name what a system is built for: the language of the clips, if their data set names one, and own prompts."""

    language: str | None = None
    prompts: OwnPrompts = NO_PROMPTS


class Job(NamedTuple):
    """Describe a request without the parts that only its own process needs.

    Attributes:
        question: What the system is asked; the purpose `transcribe` asks for a transcript.
        repeats: Number of answers.
        reference: Reference of the clips if the doc has one, for engines that need it.
        variant: What the system is built for.
    """

    question: Question
    repeats: int
    reference: str | None
    variant: SystemVariant = SystemVariant()

    @classmethod
    def to_generate(cls, request: Instance) -> Job:
        """Return the job of a request for answers."""
        settings = dict(request.args[1])
        is_timed = settings.pop(TIMING, None) is not None
        job = cls._of(request, read_gen_kwargs(settings))
        return job._replace(question=replace(job.question, is_timed=is_timed))

    @classmethod
    def to_score(cls, request: Instance) -> Job:
        """Return the job of a request for the log-likelihood of a continuation."""
        return cls._of(request, {}, (request.args[1],))

    @classmethod
    def _of(cls, request: Instance, settings: Mapping[str, Any], continuation: tuple[str, ...] = ()) -> Job:
        given: Any = next((args["audio"] for args in request.args[2:] if args.get("audio") is not None), [])
        audio = list(given) if isinstance(given, list | tuple) else [given]
        name = request.doc.get("id")
        name = f"{request.task_name}/{request.doc_id}" if name is None else str(name)
        prompt = Prompt.about(request.args[0], [_read_clip(item, name) for item in audio])
        items = audio[0] if audio and isinstance(audio[0], Mapping) else {}
        options = continuation or tuple(items.get("options") or ())
        reference = request.doc.get("text")
        transcript = reference if items.get(LISTEN) == TEXT else None
        asked, purpose = items.get("question") or "", items.get("purpose") or ""
        question = Question(prompt, settings, asked, options, purpose, transcript)
        own = request.doc.get(PROMPTS) or {}
        variant = SystemVariant(request.doc.get(FIELD), OwnPrompts(*(own.get(key) or "" for key in OwnPrompts._fields)))
        return cls(question, request.repeats or 1, reference, variant)


def _read_clip(audio: Any, name: str) -> Clip:
    """Return the clip of a request; that of a doc of the suite may have no audio."""
    has_sound = not {"sha256", "bytes", "array"}.isdisjoint(audio) if isinstance(audio, AudioItems) else True
    return as_clip(audio, name) if has_sound else as_text_clip(name)


def group_questions(jobs: Sequence[Job]) -> dict[int, dict[int, Question]]:
    """Return the questions that do not ask for a transcript: number of answers -> place in `jobs` -> question."""
    groups: dict[int, dict[int, Question]] = defaultdict(dict)
    for i, job in enumerate(jobs):
        if job.question.purpose != TRANSCRIBE:
            groups[job.repeats][i] = job.question
    return groups


def group_variants(jobs: Sequence[Job]) -> dict[SystemVariant, list[int]]:
    """Return variant of the system -> places in `jobs`."""
    groups: dict[SystemVariant, list[int]] = defaultdict(list)
    for i, job in enumerate(jobs):
        groups[job.variant].append(i)
    return groups


def first_clip(job: Job) -> tuple[str, float]:
    """Return the key of a job's first clip, or its text if it has no clip, and the duration (s); 1 s without audio."""
    prompt = job.question.prompt
    return next(((clip.key, clip.duration or 1.0) for clip in prompt.clips), (prompt.text, 1.0))


def read_gen_kwargs(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return `settings` as lm-eval's own model types read them, always with `max_gen_toks`, `do_sample` and `until`.

    A temperature above 0 means sampling unless `do_sample` is given. Without a temperature the model uses its own.

    >>> read_gen_kwargs({"max_new_tokens": 8, "temperature": 0.5, "until": "."})
    {'temperature': 0.5, 'until': ['.'], 'do_sample': True, 'max_gen_toks': 8}
    """
    given = {name: value for name, value in settings.items() if value is not None}
    lengths = [name for name in LENGTHS if name in given]
    if len(lengths) > 1:
        first, second = lengths[:2]
        raise SpeechIQError(
            f"--gen_kwargs {second}={given[second]}",
            f"{first}={given[first]} is given too",
            f"give --gen_kwargs {first}={given[second]}",
        )
    sampled = {"temperature": 1.0} if given.get("do_sample") else {}  # without it lm-eval warns of a temperature of 0
    try:
        normal = normalize_settings(sampled | given)
    except (TypeError, ValueError) as error:
        values = ", ".join(f"{name}={given[name]}" for name in ("temperature", *lengths) if name in given)
        raise SpeechIQError(f"--gen_kwargs {values}", first_line(error), "give numbers") from error
    if normal["max_gen_toks"] < 1:
        raise SpeechIQError(f"--gen_kwargs max_gen_toks={normal['max_gen_toks']}", "allows no token", "give 1 or more")
    if "temperature" not in given:
        normal.pop("temperature", None)
    return normal


def share_work(
    jobs: Sequence[Shared],
    work: Callable[[list[Shared]], Sequence[Result]],
    *,
    clip: Callable[[Shared], tuple[Hashable, float]],
    rank: int,
    ranks: int,
) -> list[Result]:
    """Return the results of this process's `jobs`, each computed by the process that owns its clip.

    Every process calls this at the same time. Jobs and results are sent between processes; clips are references. `work`
    takes jobs of any process; `clip` returns the clip of a job and its duration (s).
    """
    if ranks == 1:
        return list(work(list(jobs)))
    counts = gather_object([len(jobs)])
    pooled = gather_object(list(jobs))
    owner = assign(dict(map(clip, pooled)), ranks)
    owned = [i for i, job in enumerate(pooled) if owner[clip(job)[0]] == rank]
    done = gather_object([dict(zip(owned, work([pooled[i] for i in owned]), strict=True))])
    results = {i: result for part in done for i, result in part.items()}
    start = sum(counts[:rank])
    return [results[i] for i in range(start, start + len(jobs))]


def in_doc_order(parts: Sequence[Any]) -> Any:
    """Merge the lists (or dicts of lists, to any depth) of all processes into the order of the docs.

    >>> in_doc_order([{"wer": [0, 2, 4]}, {"wer": [1, 3]}])
    {'wer': [0, 1, 2, 3, 4]}
    """
    if isinstance(parts[0], dict):
        return {key: in_doc_order([part[key] for part in parts]) for key in parts[0]}
    rounds = zip_longest(*parts, fillvalue=_NOTHING)
    return [item for items in rounds for item in items if item is not _NOTHING]


class AtMost(list[Any]):
    """Limit a list to a length: lm-eval sends the last request of a process again if other processes have more.

    >>> five = AtMost(2, ["a"]); five.append("b"); five.append("c"); five
    ['a', 'b']
    """

    def __init__(self, length: int, items: Iterable[Any] = ()) -> None:
        super().__init__(items)
        self.length = length

    def append(self, item: Any) -> None:
        """Append an item unless the list is full."""
        if len(self) < self.length:
            super().append(item)


def assign(costs: Mapping[Hashable, float], ranks: int) -> dict[Hashable, int]:
    """Return a process per clip: the longest clips first, each to the process with the least work.

    >>> assign({"a": 9.0, "b": 5.0, "c": 5.0}, 2)
    {'a': 0, 'b': 1, 'c': 1}
    """
    load = [0.0] * ranks
    owner = {}
    for key in sorted(costs, key=lambda key: (-costs[key], str(key))):
        owner[key] = load.index(min(load))
        load[owner[key]] += costs[key]
    return owner
