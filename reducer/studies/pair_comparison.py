"""Compare two systems of a suite: by its categories, and by Z and SIQ if the suite has a scale."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.checksummed import shorten
from speechiq.reducer.runs.conditions import Mismatch, summarize
from speechiq.reducer.runs.judged import name_judges
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.systems import Flags, System
from speechiq.reducer.scores.comparability import complete, intersect
from speechiq.reducer.scores.levels import is_siq
from speechiq.reducer.scores.remarks import Remarks, observe, remark, title
from speechiq.reducer.scores.score_matrix import align
from speechiq.reducer.scores.suites import ScoringOptions
from speechiq.reducer.stats.bootstrap import describe_samples
from speechiq.reducer.stats.grid import Important, caution_lines, caution_of_raw
from speechiq.reducer.studies import coupled, unanswerable
from speechiq.reducer.studies.comparison import SIQ, Comparison, Undefined, as_json
from speechiq.reducer.studies.pairs import Pair

PARTS = (
    "clips: each category's difference is divided by the standard deviation of its scores, over clips and both "
    "systems, since units may differ"
)
UNIT = "standard deviations, mean of the categories"


class Compared(NamedTuple):
    """Hold the comparison of two systems, ready to show and write.

    Attributes:
        warnings: Possible mistakes of the user, one line each.
        unit: Unit of the clips' parts in the difference.
        texts: Tasks of A and of B whose rows have the texts to show.
    """

    comparison: Comparison
    flags: list[Flags]
    notes: list[str]
    content: dict[str, Any]
    warnings: list[str]
    unit: str
    texts: list[list[TaskRun]]


def compare(pair: Pair, options: ScoringOptions) -> Compared:
    """Compare two systems of one suite."""
    has_scale = is_siq(pair.suite)
    norms = options.norms if has_scale else None
    asked = None if not has_scale and pair.suite in (pair.asked or ()) else pair.asked
    pool = pair.others if has_scale and not norms else ()
    systems = list({system.name: system for system in (*pool, *pair.both)}.values())
    if has_scale and options.weights and not norms and len(systems) < 3:
        raise SpeechIQError(f"--weights {options.weights} has no effect here", coupled.NO_SCALE)
    if has_scale:
        systems = unanswerable.leave_out(systems, options.exclude)
    kept, mismatches = intersect(_restrict(systems, pair, asked), options.allow_mismatch, norms)
    a, b = ({system.name: system for system in kept}[system.name] for system in pair.both)
    undefined = _count_undefined(a, b)
    if undefined:
        kept = complete(kept)
    matrix = align(kept)
    in_order = sorted(kept, key=lambda system: system.name)
    remarks = remark(matrix, in_order, norms) if has_scale else observe(matrix, in_order)
    comparison = coupled.compare(
        matrix,
        a.name,
        b.name,
        scale=norms.scale_of(matrix.clips) if norms else None,
        rule=options.rule,
        asked=asked,
        draws=options.draws,
        seed=options.seed,
        raw_only=None if has_scale else f"suite {pair.suite}: each category is compared by itself",
    )._replace(
        undefined={name: counts._replace(compared=len(kept[0].scores[name])) for name, counts in undefined.items()},
    )
    caution = comparison.caution if has_scale else None
    if not has_scale and options.draws:
        caution = caution_of_raw(*matrix.smallest)
    own_scale = f"the pool of {len(kept)} systems, {options.rule}" if comparison.siq else None
    scale_name = norms.title if norms else own_scale
    content = as_json(comparison) | {
        "caution": caution,
        "scale": scale_name,
        "mismatches": [mismatch.text for mismatch in mismatches],
        "excluded": len(options.exclude),
        "excluded_set": options.exclude.sha256,
        "flags": {side: system.flags._asdict() for side, system in zip("ab", (a, b), strict=True)},
        "identical": [list(names) for names in remarks.identical],
    }
    points = "SIQ" if comparison.siq else "points in the mean of the raw scores"
    return Compared(
        comparison=comparison,
        flags=[a.flags, b.flags],
        notes=[*_notes(pair, comparison, scale_name, caution, mismatches, options, remarks)],
        content=content,
        warnings=list(remarks.warnings()) if has_scale else [],
        unit=points if has_scale else UNIT,
        texts=[list_texts(system.tasks) for system in pair.both],
    )


def list_texts(tasks: Sequence[TaskRun]) -> list[TaskRun]:
    """Return the tasks whose rows have the texts to show; those of Understand repeat the texts of Remember."""
    return [task for task in tasks if not (is_siq(task.suite) and task.level == "understand")]


def _restrict(systems: Sequence[System], pair: Pair, asked: Collection[str] | None) -> list[System]:
    """Return the systems with the categories to compare: those that must agree; for SIQ also those that all have."""
    if asked is None or (is_siq(pair.suite) and SIQ in asked):
        return list(systems)
    kept = [
        name
        for name in pair.categories
        if name in asked or (is_siq(pair.suite) and all(name in system.scores for system in systems))
    ]
    return [system.restrict(kept) for system in systems] if kept else list(systems)


def _count_undefined(a: System, b: System) -> dict[str, Undefined]:
    """Return category -> the items without a score, for categories whose measure counts them."""
    return {
        name: Undefined(a.count_undefined(name), b.count_undefined(name), len(a.scores[name]), 0)
        for name, category in a.levels.items()
        if category.measure.may_be_undefined
    }


def _notes(
    pair: Pair,
    comparison: Comparison,
    scale_name: str | None,
    caution: str | None,
    mismatches: Sequence[Mismatch],
    options: ScoringOptions,
    remarks: Remarks,
) -> Iterator[str]:
    if mismatches:
        yield Important(f"not on equal terms: {summarize(mismatches)}")
    yield Important(comparison.no_siq) if comparison.no_siq else f"SIQ on the scale of {scale_name}"
    if comparison.siq and remarks.few:
        yield Important(remarks.few)
    if comparison.draws:
        yield from caution_lines(caution)
    yield from describe_undefined(comparison)
    yield from remarks.counted()
    if comparison.draws:
        yield describe_samples(comparison.draws, comparison.seed, comparison.units)
    if comparison.left_out and is_siq(pair.suite):
        yield f"{count_of(comparison.left_out, 'bootstrap sample')} left out, in which no clip separates the systems"
    for name in (name for name, category in comparison.levels.items() if category.judged):
        a, b = (name_judges(task for task in system.tasks if task.level == name) for system in pair.both)
        yield f"{title(name)}: {a if a == b else f'A {a}; B {b}'}"
    if options.exclude:
        which = shorten(options.exclude.sha256 or "")
        yield f"left out of Apply: {count_of(len(options.exclude), 'question')} of the unanswerable set {which}"
    if not is_siq(pair.suite):
        yield PARTS


def describe_undefined(comparison: Comparison) -> Iterator[str]:
    """Yield how many items count, for each category on which items may have no score."""
    for name, counts in comparison.undefined.items():
        word = comparison.levels[name].undefined_word
        shares = f"{counts.compared} of {counts.items} items have a score of both"
        line = f"{title(name)}: {shares}; {word}: A {counts.a}, B {counts.b}"
        yield Important(line) if counts.compared < counts.items else line
