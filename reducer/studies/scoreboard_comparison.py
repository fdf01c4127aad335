"""Compare two systems by the categories of a suite without a scale of its own, each by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from speechiq.core.console import count_of
from speechiq.reducer.runs.conditions import Mismatch, summarize
from speechiq.reducer.runs.judge_name import name_judges
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores import comparability
from speechiq.reducer.scores.remarks import observe, title
from speechiq.reducer.scores.score_matrix import align, complete
from speechiq.reducer.scores.scoring import Compared, Options, Pair
from speechiq.reducer.stats.coverage import caution_of_raw
from speechiq.reducer.studies import coupled
from speechiq.reducer.studies.comparison import Comparison, Undefined, as_json

#: What the JSON file has of a comparison.
KEYS = ("a", "b", "draws", "left_out", "seed", "measures", "scores", "asked", "clips", "better")
UNIT = "standard deviations, mean of the categories"
PARTS = (
    "clips: each category's difference is divided by the standard deviation of its scores, over clips and both "
    "systems, since units may differ"
)


def compare(pair: Pair, options: Options) -> Compared:
    """Compare two systems of one suite.

    Args:
        pair: The systems.
        options: How to compare.

    Raises:
        SpeechIQError: What `comparability.intersect` or `coupled.compare` refuses.
    """
    asked = None if pair.asked is None or pair.suite in pair.asked else pair.asked
    wanted = [name for name in pair.categories if asked is None or name in asked]
    both = [of.restrict(wanted) for of in pair.both] if wanted else list(pair.both)
    systems, mismatches = comparability.intersect(both, options.allow_mismatch)
    undefined = _count_undefined(pair, systems)
    flags = pair.flags(systems)
    systems = complete(systems)
    pool = align(systems)
    why = f"suite {pair.suite}: each category is compared by itself"
    found = coupled.compare(
        pool,
        pair.one.name,
        pair.other.name,
        asked=asked,
        draws=options.draws,
        seed=options.seed,
        raw_only=why,
    )._replace(undefined={name: of._replace(compared=len(systems[0].scores[name])) for name, of in undefined.items()})
    caution = caution_of_raw(min(map(len, pool.clips.values()))) if options.draws else None
    remarks = observe(pool, sorted(systems, key=lambda system: system.name))
    plain = as_json(found)
    content = {key: plain[key] for key in KEYS} | {
        "caution": caution,
        "mismatches": [of.text for of in mismatches],
        "undefined": {category: of._asdict() for category, of in found.undefined.items()},
        "flags": {side: of._asdict() for side, of in zip("ab", flags, strict=True)},
    }
    return Compared(
        found=found,
        flags=flags,
        notes=[why, *remarks.counted(), *_notes(pair, found, caution, mismatches)],
        content=content,
        warnings=[],
        unit=UNIT,
        texts=[list(of.tasks) for of in pair.both],
    )


def _count_undefined(pair: Pair, systems: Sequence[System]) -> dict[str, Undefined]:
    """Return category -> the items without a score, for categories whose measure counts them."""
    by_name = {system.name: system for system in systems}
    a, b = (by_name[system.name] for system in pair.both)
    return {
        category: Undefined(a.count_undefined(category), b.count_undefined(category), len(a.scores[category]), 0)
        for category, of in a.levels.items()
        if of.measure.may_be_undefined
    }


def _notes(pair: Pair, found: Comparison, caution: str | None, mismatches: Sequence[Mismatch]) -> Iterator[str]:
    if found.draws:
        yield f"{found.draws} draws of {count_of(len(found.clips), 'clip')}, seed {found.seed}"
        yield from filter(None, [caution])
    yield from describe_undefined(found)
    yield from _judges(pair, found)
    if mismatches:
        yield f"not on equal terms: {summarize(mismatches)}"
    yield PARTS


def describe_undefined(found: Comparison) -> Iterator[str]:
    """Yield how many items count, for each category on which items may have no score."""
    for category, of in found.undefined.items():
        word = found.levels[category].undefined_word
        yield f"{title(category)}: {of.compared} of {of.items} items have a score of both; {word}: A {of.a}, B {of.b}"


def _judges(pair: Pair, found: Comparison) -> Iterator[str]:
    """Yield who judged each category."""
    for category in (name for name, of in found.levels.items() if of.judged):
        one, other = (name_judges(task for task in of.tasks if task.level == category) for of in pair.both)
        yield f"{title(category)}: {one if one == other else f'A {one}; B {other}'}"
