"""Count the work of a run, or do a share of it: `python -m speechiq.harness_patch.work count|fill PLAN`.

To count is to check systems and tasks as a run would, without loading a model. It is a process of its own because the
program that starts it must not occupy memory and accelerator during the runs. The docs of all tasks are built, and each
system gets all requests of a run, which it checks. Where it would compute, it counts what the response cache has and
ends. The result is the work of the run: tasks, clips, hours of audio, rows.

To fill is to compute the rows of a shard into the response cache. A shard needs no other process: rows depend neither
on the process nor on the batch, so a later run that finds all of them computes nothing and writes what one process
alone would write.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from speechiq.core.cache.stage_cache import (
    EMBED,
    STAGES,
    MissingRows,
    StageCount,
    Stopped,
    counting,
    limited_to,
    stop_after_batch,
)
from speechiq.core.console import log_with_names
from speechiq.core.errors import SpeechIQError, print_in_one_line
from speechiq.core.files.json_text import content_sha256
from speechiq.core.suggestions import did_you_mean
from speechiq.harness_patch import _lm_eval, foreign_code, plugins
from speechiq.harness_patch.plan import Plan, Samples
from speechiq.siq_tasks.conditions.spec import CONDITION, LISTEN

#: The seed of torch in `lm_eval` without `--seed`.
SEED = 1234
#: Types of tasks that embed texts.
EMBEDDED = ("understand", "distance")
#: Exit code of a shard that SIGTERM ended after a batch.
CONTINUE = 75


class TaskWork(Struct, frozen=True):
    """Count the docs of one task that are run, the different clips among them, and their seconds of audio.

    `category` is its column in the table of its suite, for SIQ the level. A task of another package has neither.
    """

    task: str
    docs: int
    clips: int
    seconds: float
    suite: str = ""
    category: str = ""


class SystemWork(Struct, frozen=True):
    """State what the response cache has of one system: its stages, up to the first one with missing rows."""

    system: str
    name: str
    stages: list[StageCount]
    complete: bool


class PlannedWork(Struct, frozen=True):
    """Describe the work of a run: tasks, systems, clips, their seconds, and the docs of tasks that run in part."""

    tasks: list[TaskWork]
    systems: list[SystemWork]
    clips: int
    seconds: float
    samples: Samples


def list_work(
    docs: Mapping[str, Sequence[Mapping[str, Any]]],
    about: Mapping[str, Mapping[str, Any]],
    systems: Sequence[SystemWork],
    samples: Samples,
) -> PlannedWork:
    """Return the work of a run; docs of tasks of other packages may have any form.

    `about` is the metadata of each task. All docs of a task without `samples` are run.
    """
    tasks, all_clips = [], dict[tuple[Any, Any], float]()
    for task, task_docs in docs.items():
        chosen = [task_docs[i] for i in samples.get(task, range(len(task_docs)))]
        clips = _clips_of(chosen)
        suite, category = (str(about[task].get(key, "")) for key in ("suite", "category"))
        tasks.append(TaskWork(task, len(chosen), len(clips), sum(clips.values()), suite, category))
        all_clips |= clips
    return PlannedWork(tasks, list(systems), len(all_clips), sum(all_clips.values()), samples)


def refuse_other_names(about: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a condition or a variant of one data set beside another set of its suite; `about` is as in `list_work`.

    Both are part of the system's name in results, where no system would then have run all data sets.
    """
    for setting in (CONDITION, LISTEN):
        suites: dict[str, dict[str, set[str]]] = {}
        for metadata in about.values():
            sets = suites.setdefault(str(metadata.get("suite", "")), {})
            sets.setdefault(str(metadata.get("dataset")), set()).add(str(metadata.get(setting) or "none"))
        suites.pop("", None)
        for sets in suites.values():
            (first, usual), *others = sets.items()
            for name, values in others:
                if values != usual:
                    raise SpeechIQError(
                        f"--metadata {setting}",
                        f"it is {', '.join(sorted(values))} for data set {name} and {', '.join(sorted(usual))} for "
                        f"{first}, but is part of the system's name in results",
                        "run the data sets in two commands",
                    )


def choose_clips(docs: Mapping[str, Sequence[Mapping[str, Any]]], limit: int | None) -> Samples:
    """Return the docs about the first `limit` clips of each data set, so that all its tasks run the same clips.

    Tasks of one data set that have no clip in common take the first of their own. A doc without a clip counts as one.

    >>> a, b = ({"dataset": "x", "id": f"x/{name}"} for name in "ab")
    >>> choose_clips({"remember": [a, b], "apply": [a, a, b]}, 1)
    {'remember': [0], 'apply': [0, 1]}
    """
    if limit is None:
        return {}
    first: dict[Any, dict[Any, None]] = {}
    samples: Samples = {}
    for task, task_docs in docs.items():
        names = [doc.get("id", i) for i, doc in enumerate(task_docs)]
        own = dict.fromkeys(list(dict.fromkeys(names))[:limit])
        chosen = first.setdefault(task_docs[0].get("dataset", task), own) if names else own
        wanted = chosen if chosen.keys() & set(names) else own
        positions = [i for i, name in enumerate(names) if name in wanted]
        if len(positions) < len(names):
            samples[task] = positions
    return samples


def choose_shard(docs: Mapping[str, Sequence[Mapping[str, Any]]], samples: Samples, shard: Sequence[int]) -> Samples:
    """Return the docs of `samples` whose clip falls into a shard, `(number from 1, number of shards)`.

    The digest of the clip's audio decides, so all tasks, systems and conditions on a clip are in one shard, also
    with other clips beside it.

    >>> docs = {"remember": [{"id": f"x/{i}"} for i in range(6)]}
    >>> [choose_shard(docs, {}, (number, 2))["remember"] for number in (1, 2)]
    [[1, 3], [0, 2, 4, 5]]
    """
    number, count = shard
    chosen: Samples = {}
    for task, task_docs in docs.items():
        places = samples.get(task, range(len(task_docs)))
        chosen[task] = [i for i in places if _hash_clip(task_docs[i], f"{task}/{i}") % count == number - 1]
    return chosen


def _hash_clip(doc: Mapping[str, Any], name: str) -> int:
    """Return a number by a doc's clip, or by its id; `name` replaces them in a doc without either."""
    audio = doc.get("audio")
    key = doc.get("id", name)
    if isinstance(audio, Mapping) and "sha256" in audio:
        key = [audio["sha256"], audio.get("offset")]
    return int(content_sha256(key)[:16], 16)


def _clips_of(docs: Sequence[Mapping[str, Any]]) -> dict[tuple[Any, Any], float]:
    """Return the different clips of docs -> their seconds, 0 for a clip without audio."""
    clips: dict[tuple[Any, Any], float] = {}
    for doc in docs:
        audio = doc.get("audio")
        if isinstance(audio, Mapping) and "sha256" in audio:
            clips[audio["sha256"], audio.get("offset")] = float(audio["duration"])
        elif isinstance(audio, Mapping) and {"path", "bytes", "array"}.isdisjoint(audio):
            clips[doc.get("id"), None] = 0.0
    return clips


def find_names(manager: Any, names: Sequence[str]) -> list[str]:
    """Return the names of tasks and groups that match the given names; refuse an unknown one."""
    found: list[str] = []
    for name in names:
        matched = manager.match_tasks([name])
        if not matched and Path(name).is_file():
            matched = [name]
        if not matched:
            raise unknown_task(name, manager.all_tasks)
        found += matched
    return found


def unknown_task(name: str, known: Sequence[str]) -> SpeechIQError:
    """Return the error for a name that is neither a task nor a group."""
    fix = f"{did_you_mean(name, known)}`siq list tasks` lists those of the suite"
    return SpeechIQError(f"--tasks {name}", "no such task", fix)


def open_system(system: str, plan: Plan) -> Any:
    """Build a system without its weights, with the seed of a run."""
    import torch

    from speechiq.harness_patch.hf_audio import HFAudio

    torch.manual_seed(SEED if plan.seed is None else plan.seed)
    options = _lm_eval.parse_arguments(f"pretrained={system}")
    return HFAudio(device=plan.device, batch_size=str(plan.batch_size), **options)


class Evaluation(NamedTuple):
    """Hold the tasks of a run, the metadata of each, and the docs of each that are run if these are not all."""

    manager: Any
    tasks: Mapping[str, Any]
    about: Mapping[str, Mapping[str, Any]]
    docs: dict[str, list[Mapping[str, Any]]]
    samples: Samples
    metadata: Mapping[str, Any]
    gen_kwargs: Mapping[str, Any]

    def run(self, lm: Any, names: Sequence[str] | None = None) -> None:
        """Give a system the requests of the tasks with docs, or of those named; nothing is written.

        Some of the tasks alone may not read all metadata of the user, which have been checked with all of them.
        """
        from lm_eval import simple_evaluate

        metadata, manager = (dict(self.metadata), self.manager) if names is None else ({}, None)
        names = [name for name in names or self.tasks if self.samples.get(name) != []]
        if names:
            simple_evaluate(
                lm,
                tasks=[self.tasks[name] for name in names],
                metadata=metadata,
                task_manager=manager,
                gen_kwargs=dict(self.gen_kwargs) or None,
                samples={name: self.samples[name] for name in names if name in self.samples} or None,
                bootstrap_iters=0,
            )


@contextmanager
def open_evaluation(plan: Plan) -> Iterator[tuple[Evaluation, dict[str, Any]]]:
    """Build the tasks of a plan and its systems, name -> model, without weights; runs are inside the block."""
    from lm_eval.tasks import TaskManager

    from speechiq.harness_patch.evaluation import choose_tasks, given_metadata

    metadata = _lm_eval.parse_pairs(plan.metadata)
    manager = TaskManager(include_path=plan.include_path, metadata=metadata)
    names = find_names(manager, plan.tasks)
    systems = {system: open_system(system, plan) for system in plan.systems}
    with given_metadata({"tasks": names, "metadata": metadata}):
        tasks = _lm_eval.unpack_tasks(manager.load(choose_tasks(names)))
        about = {name: task.config.metadata or {} for name, task in tasks.items()}
        refuse_other_names(about)
        docs = {name: list(task.eval_docs) for name, task in tasks.items()}
        samples = choose_clips(docs, plan.limit)
        if plan.shard is not None:
            samples = choose_shard(docs, samples, plan.shard)
        yield Evaluation(manager, tasks, about, docs, samples, metadata, _lm_eval.parse_pairs(plan.gen_kwargs)), systems


def count(plan: Plan) -> PlannedWork:
    """Check the systems of a plan on its tasks, and return the work."""
    with open_evaluation(plan) as (evaluation, built):
        systems = [_count(system, lm, evaluation) for system, lm in built.items()]
    return list_work(evaluation.docs, evaluation.about, systems, evaluation.samples)


def _count(system: str, lm: Any, evaluation: Evaluation) -> SystemWork:
    """Give a system the requests of a run, and return what the response cache has of it."""
    try:
        with counting() as counter:
            evaluation.run(lm)
    except SpeechIQError as error:
        raise SpeechIQError(system, error) from error
    return SystemWork(system, lm.name, counter.counts(), counter.complete)


def fill(plan: Plan) -> None:
    """Compute the rows of a shard of one system.

    With `stages`, tasks run together, which computes most, and then one by one, because the first row that may not be
    computed ends a run. `MissingRows` are rows of an earlier stage that a stage of the shard needs.
    """
    with open_evaluation(plan) as (evaluation, built):
        (lm,) = built.values()
        if not plan.stages:
            evaluation.run(lm)
            return
        with limited_to(plan.stages):
            if _run(evaluation, lm, None) is None:
                return
            ends = {name: _run(evaluation, lm, [name]) for name in evaluation.tasks}
    order = list(STAGES)
    for name, end in ends.items():
        if end and set(plan.stages) & _stages_of(evaluation, name) & set(order[order.index(end.stage) + 1 :]):
            raise end


def _run(evaluation: Evaluation, lm: Any, names: list[str] | None) -> MissingRows | None:
    """Run tasks, all or those named, as far as the stages go; return what ended it."""
    try:
        evaluation.run(lm, names)
    except MissingRows as missing:
        return missing
    return None


def _stages_of(evaluation: Evaluation, name: str) -> set[str]:
    """Return the stages of a task after its transcripts; a task of another package has unknown ones."""
    from speechiq.siq_tasks.settings import name_task_type, read_task_type

    about, docs = evaluation.about[name], evaluation.docs[name]
    kind = name_task_type(about)
    try:
        asks = read_task_type(about).asks_question
    except SpeechIQError:
        return set(STAGES)
    has = {
        "llm": asks,
        "judge": any(key in doc for doc in docs[:1] for key in ("judging", "reply")),
        EMBED: kind in EMBEDDED,
    }
    return {stage for stage, needed in has.items() if needed}


def main(arguments: Sequence[str]) -> None:
    """Count the work of the plan that the arguments give, and print it as JSON; or fill the cache with that of it."""
    what, plan = arguments[0], msgspec.json.decode(arguments[1], type=Plan)
    print_in_one_line()
    if what == "fill":
        stop_after_batch()
    log_with_names()
    plugins.install()
    foreign_code.refuse_if_asked()
    if what == "count":
        print(msgspec.json.encode(count(plan)).decode())
        return
    try:
        fill(plan)
    except Stopped:
        sys.exit(CONTINUE)


if __name__ == "__main__":
    main(sys.argv[1:])
