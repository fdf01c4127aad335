"""Compare two systems by SIQ and its levels, on the scale of norms or of the pool."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.checksummed import shorten
from speechiq.reducer.runs.conditions import Mismatch, summarize
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.ranking import intersect
from speechiq.reducer.scores.remarks import Remarks, remark
from speechiq.reducer.scores.score_matrix import align
from speechiq.reducer.scores.scoring import Compared, Options, Pair
from speechiq.reducer.studies import coupled, unanswerable
from speechiq.reducer.studies.comparison import SIQ, Comparison, as_json
from speechiq.reducer.studies.unanswerable import ConfirmedSet


def compare(pair: Pair, options: Options) -> Compared:
    """Compare two systems that ran SIQ.

    Args:
        pair: The systems; further ones set the scale without norms.
        options: How to compare.

    Raises:
        SpeechIQError: Level weights without a scale, or an error of `ranking.intersect` or `coupled.compare`.
    """
    norms, excluded = options.norms, options.exclude
    names = {system.name: system for system in (*([] if norms else pair.others), *pair.both)}
    if options.weights and not norms and len(names) < 3:
        raise SpeechIQError(f"--weights {options.weights} has no effect here: {coupled.NO_SCALE}")
    pooled = _restrict(unanswerable.leave_out(names.values(), excluded), pair.asked)
    systems, mismatches = intersect(pooled, norms, options.allow_mismatch)
    pool = align(systems)
    remarks = remark(pool, sorted(systems, key=lambda system: system.name), norms)
    found = coupled.compare(
        pool,
        pair.one.name,
        pair.other.name,
        scale=norms.scale_of(pool.clips) if norms else None,
        rule=options.rule,
        asked=pair.asked,
        draws=options.draws,
        seed=options.seed,
    )
    scale_name = norms.title if norms else f"the pool of {len(systems)} systems, {options.rule}" if found.siq else None
    flags = pair.flags(systems)
    content = as_json(found) | {
        "scale": scale_name,
        "mismatches": [mismatch.text for mismatch in mismatches],
        "excluded": len(excluded),
        "excluded_set": excluded.sha256,
        "flags": {side: counted._asdict() for side, counted in zip("ab", flags, strict=True)},
        "identical": [list(names) for names in remarks.identical],
    }
    return Compared(
        found=found,
        flags=flags,
        notes=list(_notes(found, scale_name, mismatches, excluded, remarks)),
        content=content,
        warnings=list(remarks.warnings()),
        unit="SIQ" if found.siq else "points in the mean of the raw scores",
        # Rows of Understand repeat the texts of Remember.
        texts=[[task for task in system.tasks if task.level != "understand"] for system in pair.both],
    )


def _notes(
    found: Comparison,
    scale_name: str | None,
    mismatches: Sequence[Mismatch],
    excluded: ConfirmedSet,
    remarks: Remarks,
) -> Iterator[str]:
    yield found.no_siq or f"SIQ on the scale of {scale_name}"
    if found.siq and remarks.few:
        yield remarks.few
    yield from remarks.counted()
    if found.draws:
        yield f"{found.draws} draws of {count_of(len(found.clips), 'clip')}, seed {found.seed}"
        yield from filter(None, [found.caution])
    if found.left_out:
        yield f"{count_of(found.left_out, 'draw')} left out, in which no clip separates the systems"
    if excluded:
        which = shorten(excluded.sha256 or "")
        yield f"left out of Apply: {count_of(len(excluded), 'question')} of the unanswerable set {which}"
    if mismatches:
        yield f"not on equal terms: {summarize(mismatches)}"


def _restrict(systems: Sequence[System], asked: Collection[str] | None) -> list[System]:
    """Return the systems without the levels that some of them miss, unless these levels or SIQ must agree."""
    if asked is None or SIQ in asked:
        return list(systems)
    levels = [level for level in LEVELS if level in asked or all(level in system.scores for system in systems)]
    return [system.restrict(levels) for system in systems]
