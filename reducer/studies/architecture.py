"""Compare an end-to-end model with cascades of its base language model, and recognizers with language models.

Four systems answer the same questions: the audio model, which hears and answers by itself (`end to end`), and the base
language model that reads the transcripts of the audio model (`own ears`), of a recognizer (`recognizer`) or of people
(`reference`). Each difference of two changes one thing (SpeechIQ paper, sections 5.4 to 5.6, Tables 4 and 5).

All differences of a category are over the same items and from the same draws of clusters. An item is a clip, or a
question of a clip; the questions of a clip count together as much as any other clip. A difference is tested by
permutations: on each cluster, chance decides which system is which.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.engines.base import CASCADE, CORRECTED, END_TO_END, RECOGNIZER
from speechiq.engines.registry import AS_RECOGNIZER, replace_engine
from speechiq.metrics.measure import Category
from speechiq.reducer.runs.conditions import compare_systems
from speechiq.reducer.runs.results_file import name_under
from speechiq.reducer.runs.systems import System
from speechiq.reducer.runs.tasks import changes
from speechiq.reducer.runs.texts import read_written
from speechiq.reducer.scores.bootstrap import estimate_means
from speechiq.reducer.scores.comparability import NOTHING_SHARED, align_runs, require_equal, restrict_runs
from speechiq.reducer.scores.levels import is_siq
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.score_matrix import ScoreMatrix
from speechiq.reducer.scores.suites import Found
from speechiq.reducer.stats.bootstrap import describe_samples, mean_of_defined, resample
from speechiq.reducer.stats.contrast import contrast
from speechiq.reducer.stats.grid import (
    Cell,
    Column,
    Grid,
    Important,
    count_units,
    name_units,
)
from speechiq.reducer.studies.result import StudyResult

GOLD, SPEAKS = "gold", " speaks "
#: Number of stages of each kind of system.
STAGES = {END_TO_END: 1, RECOGNIZER: 1, CASCADE: 2, CORRECTED: 3}
#: Engines that need not be named, or that run the same model as another one.
SAME_ENGINE = {"hf:": "", **{transcribing: engine for engine, transcribing in AS_RECOGNIZER.items()}}
#: The four systems.
ALONE, OWN, OTHER, REFERENCE = "end to end", "own ears", "recognizer", "reference"
#: Levels of SIQ that are scored by transcripts; all other categories are answered by the last stage.
BY_TRANSCRIPT = ("remember", "understand")
#: The first of the two that are compared, the second, and what their difference says.
DIFFERENCES = (
    (ALONE, OTHER, "which of the two is better; the sum of the next two differences"),
    (ALONE, OWN, "what joint training changes: the same ears, the model's own answers against those of the base model"),
    (OWN, OTHER, "what the ears change: the base model reads the model's transcripts or those of the recognizer"),
    (REFERENCE, OWN, "what errors in the model's transcripts cost the base model"),
    (REFERENCE, OTHER, "what errors in the recognizer's transcripts cost the base model"),
)
LIMIT = "the audio model hears more than its transcript holds, which counts as joint training too"


class Base(NamedTuple):
    """Hold an audio model, the language model that it was trained from, and the recognizer it is compared with."""

    audio_model: str
    language_model: str
    recognizer: str = ""

    @property
    def members(self) -> dict[str, tuple[str, ...]]:
        """Return each of the four systems -> its stages; the recognizer is empty if there is none."""
        ears = {OWN: self.audio_model, OTHER: self.recognizer, REFERENCE: GOLD}
        cascades = {name: (ear, self.language_model) for name, ear in ears.items()}
        return {ALONE: (self.audio_model,), **cascades}


#: Condition of the audio -> stages -> the system.
ByStages = Mapping[str, Mapping[tuple[str, ...], System]]


def study_architecture(
    found: Found, bases: Sequence[tuple[str, str]], recognizer: str | None, runs: Sequence[Path], draws: int
) -> StudyResult:
    """Compare the four systems of each base in every category, and all recognizers with all language models.

    Args:
        bases: Audio models with their base language models, named as in systems.
        recognizer: Recognizer to compare with; None takes the only one that ran with the base language model.
        runs: Folders that the commands of missing systems name.
    """
    suites = {suite: _list_by_stages(found.read(suite)) for suite in found.levels}
    known = [systems for of_suite in suites.values() for systems in of_suite.values()]
    chosen = [_choose_base(known, *pair, recognizer) for pair in bases]
    records: list[dict[str, Any]] = []
    grids, notes = [], dict[str, None]()
    for suite, systems in suites.items():
        for base, (condition, by_stages) in product(chosen, systems.items()):
            members = {name: by_stages[key] for name, key in base.members.items() if key in by_stages}
            for category in found.levels[suite].values():
                if of_category := _compare_members(members, base, condition, category, draws):
                    grids.append(_difference_grid(base, condition, category, of_category))
                    records += of_category
            notes |= dict.fromkeys(_describe_odds(members))
    missing = [line for base in chosen for line in _list_missing(base, known, found, runs)]
    if chosen and not records:
        raise SpeechIQError(f"--base {chosen[0].audio_model}={chosen[0].language_model}", "no two systems", missing[0])
    pairs = [grid for suite, of_suite in suites.items() for grid in _pair_grids(of_suite, found.levels[suite], draws)]
    if not grids and not pairs:
        raise SpeechIQError("no recognizer ran with a language model", fix="give runs of cascades, such as ASR+LLM")
    lines: list[str] = [*map(Important, [*notes, *missing])]
    if draws:
        lines.append(describe_samples(draws, 0, name_units(record["difference"] for record in records)))
    return StudyResult(
        "speechiq-architecture",
        [*grids, *pairs],
        {"differences": records, "pairs": {grid.title: grid.records() for grid in pairs}, "missing": missing},
        records or None,
        lines,
        found.all_tasks,
    )


def plain_stage(stage: str) -> str:
    """Return the name of a stage without an engine that need not be named.

    >>> plain_stage("hf:org/model"), plain_stage("openai-chat:gpt-4o-audio-preview")
    ('org/model', 'openai:gpt-4o-audio-preview')
    """
    return replace_engine(stage, SAME_ENGINE)


def stages_of(system: System) -> tuple[str, ...]:
    """Return the stages of a system as its run recorded them; empty for one of another kind."""
    count = 2 if system.control in (GOLD, "silence") else STAGES.get(system.kind, 0)
    spec = system.name.removesuffix(_condition_of(system)).partition(SPEAKS)[0]
    stages = tuple(map(plain_stage, spec.split("+")))
    return stages if len(stages) == count and not system.imported else ()


def _condition_of(system: System) -> str:
    """Return the part of the name of a system that states the condition and the variant of its run."""
    return name_under("", system.tasks[0].metadata) if system.tasks else ""


def _list_by_stages(systems: Iterable[System]) -> ByStages:
    found: dict[str, dict[tuple[str, ...], System]] = {}
    for system in systems:
        if stages := stages_of(system):
            found.setdefault(_condition_of(system).strip(), {})[stages] = system
    return found


def _choose_base(
    known: Sequence[Mapping[tuple[str, ...], System]], audio_model: str, model: str, recognizer: str | None
) -> Base:
    """Return a base with its recognizer; refuse names that no run has, and several recognizers without a choice."""
    everything = [stages for systems in known for stages in systems]
    ears = {stages[0]: None for stages in everything}
    readers = {stages[-1]: None for stages in everything if len(stages) > 1}
    base = Base(plain_stage(audio_model), plain_stage(model), plain_stage(recognizer or ""))
    _refuse_unknown(f"--base {audio_model}={model}", base.audio_model, "audio model", ears)
    _refuse_unknown(f"--base {audio_model}={model}", base.language_model, "language model", readers)
    if recognizer:
        _refuse_unknown(f"--recognizer {recognizer}", base.recognizer, "recognizer", ears)
        return base
    pairs = dict.fromkeys(stages[0] for stages in everything if stages[1:] == (base.language_model,))
    others = [ear for ear in pairs if ear not in (base.audio_model, GOLD, "silence")]
    if len(others) > 1:
        raise SpeechIQError(
            f"--base {audio_model}={model}",
            f"{len(others)} recognizers ran with {model}: {', '.join(others)}",
            f"choose one, such as --recognizer {others[0]}",
        )
    return base._replace(recognizer="".join(others))


def _refuse_unknown(option: str, name: str, what: str, known: Mapping[str, None]) -> None:
    if name not in known:
        fix = f"{did_you_mean(name, known)}choose from {', '.join(known) or 'none'}, or run it"
        raise SpeechIQError(option, f"no system of these runs has the {what} {name}", fix)


def _compare_members(
    members: Mapping[str, System], base: Base, condition: str, category: Category, draws: int
) -> list[dict[str, Any]]:
    """Return the differences between those of the four systems that have scores of a category.

    A record is in the unit of the category's scores; `better` and `worse` are the numbers of items on which the
    first system has a better or a worse score than the second.
    """
    level, scale = category.name, float(category.show(1.0))
    scored = restrict_runs(members, level)
    pairs = [(a, b) for a, b, _ in DIFFERENCES if a in scored and b in scored]
    if not pairs:
        return []
    kept, pool = _align({name: scored[name] for pair in pairs for name in pair})
    place = [(pool.systems.index(a), pool.systems.index(b)) for a, b in pairs]
    compared = contrast(pool.raw[level], place, pool.clips[level], pool.clusters, draws=draws)
    scores = {system.name: system.scores[level] for system in kept}
    about = {
        "suite": category.suite,
        "category": level,
        "unit": category.unit,
        "direction": category.measure.direction,
        "condition": condition,
        **base._asdict(),
    }
    sample = {"clips": len(pool.clips[level]), "clusters": pool.count_clusters(level)}
    records = []
    for (a, b), raw in zip(pairs, compared.differences, strict=True):
        difference = raw.map(scale)
        signs = [np.sign(score - scores[b][item]) for item, score in scores[a].items()]
        records.append(
            {
                **about,
                "first": a,
                "second": b,
                "first_score": difference.a,
                "second_score": difference.b,
                "difference": difference.estimate,
                "p": difference.p,
                "better": signs.count(1),
                "worse": signs.count(-1),
                "items": len(signs),
                **sample,
            }
        )
    return records


def _align(systems: Mapping[str, System]) -> tuple[list[System], ScoreMatrix]:
    """Return systems by new names with the items that all have, and their scores; refuse other tasks and settings."""
    require_equal(compare_systems([*systems.values()]), shared=NOTHING_SHARED)
    return align_runs(systems)


def _describe_odds(members: Mapping[str, System]) -> Iterator[str]:
    """Yield why a difference may say something else: other transcripts, ways of answering or language models."""
    if ALONE in members and OWN in members:
        yield from _compare_transcripts(members[ALONE], members[OWN])
    ways = {system.name: _part(system, "answering") for system in members.values()}
    shown = ", ".join(f"{name} {way.get('way', 'not recorded')}" for name, way in ways.items())
    if len({str(way) for way in ways.values()}) > 1:
        yield f"not answered in one way ({shown}): give all the same answer="
    readers = [system for name, system in members.items() if name != ALONE]
    for system in readers[1:]:
        if changed := changes(_part(readers[0], "llm"), _part(system, "llm")):
            yield f"the language model of {system.name} has other options than that of {readers[0].name}: {changed}"


def _part(system: System, name: str) -> Mapping[str, Any]:
    """Return a part of what the run of a system recorded, such as its language model; empty without it."""
    part = system.described.get(name)
    return part if isinstance(part, Mapping) else {}


def _compare_transcripts(alone: System, cascade: System) -> Iterator[str]:
    """Yield whether two systems of the same ears have the same transcripts, as far as Remember recorded them."""
    tasks = [task for system in (alone, cascade) for task in system.tasks_at(BY_TRANSCRIPT[0]) if is_siq(task.suite)]
    texts: dict[str, dict[Any, str]] = {alone.name: {}, cascade.name: {}}
    for (system, item), written in read_written(tasks).items():
        texts[system][item] = written.text
    shared = texts[alone.name].keys() & texts[cascade.name].keys()
    differ = sum(texts[alone.name][item] != texts[cascade.name][item] for item in shared)
    if differ:
        yield (
            f"{differ} of {len(shared)} transcripts of {alone.name} alone and in {cascade.name} differ: the ears are "
            "not the same, so run both with the same options"
        )


def _list_missing(
    base: Base, known: Sequence[Mapping[tuple[str, ...], System]], found: Found, runs: Sequence[Path]
) -> Iterator[str]:
    """Yield a line for each of the four systems that no run has, with the command that runs it."""
    ran = {stages: system for systems in known for stages, system in systems.items()}
    tasks = ",".join(sorted({task.task for task in found.all_tasks}))
    ways = [_part(ran[stages], "answering") for stages in base.members.values() if stages in ran]
    way = next((str(way["way"]) for way in ways if "way" in way), "generate")
    place = str(runs[0]) if runs else "runs"
    for name, stages in base.members.items():
        if stages in ran:
            continue
        spec = "+".join(stage or "ASR" for stage in stages)
        prefix = "llm_" if len(stages) > 1 else ""
        answer = "" if way == "generate" else f",{prefix}answer={way}"
        yield f"no run of {spec} ({name}): {shlex.join(['siq', 'eval', spec + answer, '--tasks', tasks, '-o', place])}"


def _difference_grid(base: Base, condition: str, category: Category, records: Sequence[dict[str, Any]]) -> Grid:
    """Return the table of the differences in a category."""
    first, *_ = records
    columns = [
        Column("first", "First"),
        Column("second", "Second"),
        Column("first_score", f"First\n{category.unit}", ".1f"),
        Column("second_score", f"Second\n{category.unit}", ".1f"),
        Column("difference", "Difference", "+.1f"),
        Column("p", "p", ".4f"),
        Column("better", "Items\nbetter", "d"),
        Column("worse", "worse", "d", below="better"),
    ]
    said = {(a, b): meaning for a, b, meaning in DIFFERENCES}
    pairs = [(record["first"], record["second"]) for record in records]
    notes = [
        *map(Important, _sum_up(records)),
        f"{ALONE}: {base.audio_model}; {OWN}: {'+'.join(base.members[OWN])}; "
        f"{OTHER}: {base.recognizer or 'none'}+{base.language_model}; {REFERENCE}: {GOLD}+{base.language_model}",
        *(f"{a} - {b}: {said[a, b]}" for a, b in pairs),
        f"{first['direction']} is better; {count_of(first['items'], 'item')} of "
        f"{count_units(first['clips'], first['clusters'])}",
        LIMIT,
    ]
    if is_siq(category.suite) and category.name in BY_TRANSCRIPT:
        notes.append(f"{title(category.name)} is scored by transcripts: only the ears differ")
    names = f"{base.audio_model} and {base.language_model} {condition}".strip()
    suite = "" if is_siq(category.suite) else f" of suite {category.suite}"
    return Grid(
        f"Cascade or end to end? {names}, {title(category.name)}{suite}: {category.unit}", columns, records, notes
    )


def _sum_up(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the first difference as the sum of the two that explain it, if all three are there."""
    shown = {}
    for record in records:
        shown[record["first"], record["second"]] = f"{record['difference'].value:+.1f} (p {record['p']:.4f})"
    parts = [shown[pair] for pair in ((ALONE, OTHER), (ALONE, OWN), (OWN, OTHER)) if pair in shown]
    if len(parts) == 3:
        whole, training, ears = parts
        yield f"{ALONE} against cascade {whole}: joint training {training}, ears {ears}"


def _pair_grids(systems: ByStages, levels: Mapping[str, Category], draws: int) -> Iterator[Grid]:
    """Yield the scores of all recognizers with all language models (Table 7), for categories that these answer."""
    answered = [
        category for category in levels.values() if not (is_siq(category.suite) and category.name in BY_TRANSCRIPT)
    ]
    for condition, by_stages in systems.items():
        cascades = {"+".join(stages): system for stages, system in by_stages.items() if len(stages) > 1}
        for category in answered:
            if scored := restrict_runs(cascades, category.name):
                yield _pair_grid(scored, condition, category, draws)


def _pair_grid(cascades: Mapping[str, System], condition: str, category: Category, draws: int) -> Grid:
    """Return the table of one category: a row per recognizer, with its corrector if it has one."""
    _, pool = _align(cascades)
    level, measure = category.name, category.measure
    raw, clips = pool.raw[level], pool.clips[level]
    drawn = resample(mean_of_defined(raw), clips, pool.clusters, draws=draws)
    scale = float(category.show(1.0))
    rows: dict[str, dict[str, Cell]] = {}
    for name, mean in zip(pool.systems, estimate_means(pool, level, drawn), strict=True):
        ears, _, reader = name.rpartition("+")
        rows.setdefault(ears, {"recognizer": ears})[reader] = mean.map(scale)
    readers = sorted({name.rpartition("+")[2] for name in pool.systems})
    columns = [Column("recognizer", "Recognizer"), *(Column(name, name, ".1f") for name in readers)]
    notes = [f"{measure.direction} is better; {count_units(len(clips), pool.count_clusters(level))}"]
    suite = "" if is_siq(category.suite) else f" of suite {category.suite}"
    about = f"{title(level)}{suite} {condition}".strip()
    return Grid(
        f"Recognizers and language models, {about}: {category.unit}",
        columns,
        [rows[ears] for ears in sorted(rows)],
        notes,
    )
