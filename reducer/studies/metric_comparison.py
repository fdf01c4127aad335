"""Compare two systems on any metrics of their sample rows, on the same draws of clips."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.runs.conditions import compare_systems
from speechiq.reducer.runs.measure import Category, Measure
from speechiq.reducer.runs.samples import Item, SampleTable, join_columns, read_table
from speechiq.reducer.runs.texts import can_pool, read_lengths
from speechiq.reducer.scores import comparability
from speechiq.reducer.scores.suites import ScoringOptions
from speechiq.reducer.stats.bootstrap import describe_samples, number_clusters, resample
from speechiq.reducer.stats.contrast import permute
from speechiq.reducer.stats.estimate import Difference
from speechiq.reducer.stats.grid import caution_lines, caution_of_raw
from speechiq.reducer.studies.comparison import Comparison, Undefined, as_json
from speechiq.reducer.studies.coupled import order_shares, spread_of
from speechiq.reducer.studies.pair_comparison import PARTS, UNIT, Compared, describe_undefined, list_texts
from speechiq.reducer.studies.pairs import Pair

#: The name in the place of a suite in files.
METRICS = "metrics"


def compare_metrics(pairs: Sequence[Pair], metrics: Sequence[str], options: ScoringOptions) -> Compared:
    """Compare two systems on metrics that any of their suites has.

    Rates of errors by words or characters are pooled over clips (`lengths.can_pool`), all others are means over clips.
    Intervals are percentiles of the draws.

    Args:
        metrics: Columns of the sample rows whose direction is known; those of questions are averaged by clip.
    """
    if not options.allow_mismatch:
        comparability.require_equal([mismatch for pair in pairs for mismatch in compare_systems(pair.both)])
    tables_a, tables_b = (
        [read_table(task, columns=task.signs) for pair in pairs for task in pair.both[side].tasks] for side in (0, 1)
    )
    signs = {name: table.task.signs[name] for table in (*tables_a, *tables_b) for name in table.signed}
    for name in metrics:
        if name not in signs:
            near = did_you_mean(name, signs)
            raise SpeechIQError(
                "--metrics", f"no column {name!r} in these runs", f"{near}choose from {', '.join(signs)}"
            )
    if len(set(metrics)) < len(metrics):
        raise SpeechIQError(f"--metrics {','.join(metrics)}", "a metric is named twice", "name each once")
    values = {name: (_by_clip(tables_a, name), _by_clip(tables_b, name)) for name in metrics}
    clips = sorted(set.intersection(*(set(by_clip) for both in values.values() for by_clip in both)))
    if not clips:
        raise SpeechIQError(f"--metrics {','.join(metrics)}", "the two systems share no clip with all of these")
    tasks = [table.task for table in tables_a]
    raw = np.array(
        [[[signs[name] * by_clip[clip] for clip in clips] for by_clip in both] for name, both in values.items()]
    )
    lengths = [read_lengths(tasks, name) if can_pool(name) else {} for name in metrics]
    weights = np.array([[by_clip.get(clip, 1.0) for clip in clips] for by_clip in lengths])
    levels = {name: _describe(name, signs[name]) for name in metrics}
    names = pairs[0].a.name, pairs[0].b.name
    clusters = {clip: name for pair in pairs for system in pair.both for clip, name in system.clusters.items()}
    comparison = _compare(names, [clip for (clip,) in clips], clusters, levels, raw, weights, options)
    caution = caution_of_raw(len(clips), comparison.clusters) if options.draws else None
    return Compared(
        comparison=comparison,
        flags=[],
        notes=list(_notes(comparison, caution)),
        content=as_json(comparison) | {"caution": caution, "pooled": [*filter(can_pool, metrics)]},
        warnings=[],
        unit=UNIT,
        texts=[list_texts([task for pair in pairs for task in pair.both[side].tasks]) for side in (0, 1)],
    )


def _by_clip(tables: Sequence[SampleTable], name: str) -> dict[Item, float]:
    """Return clip -> the mean of a column over its items."""
    values: dict[Item, list[float]] = {}
    for (_, item), value in join_columns(tables, name).items():
        values.setdefault(item[:1], []).append(value)
    return {clip: float(np.mean(items)) for clip, items in values.items()}


def _describe(name: str, sign: float) -> Category:
    measure = Measure(name, "higher" if sign > 0 else "lower", "%" if can_pool(name) else "", undefined="counted")
    return Category(METRICS, name, measure, ("id",))


def _compare(
    names: tuple[str, str],
    clips: Sequence[str],
    clusters: Mapping[str, str],
    levels: dict[str, Category],
    raw: np.ndarray,
    weights: np.ndarray,
    options: ScoringOptions,
) -> Comparison:
    """Compare values of clips that grow with ability, shape (metrics, 2, clips), by their weights (metrics, clips)."""
    undefined = np.isnan(raw)
    both = ~undefined.any(axis=1)
    weights = np.where(both, weights, 0.0)
    sums = np.where(both[:, None], raw, 0.0) * weights[:, None]
    gaps = sums[:, 0] - sums[:, 1]

    def means(counts: np.ndarray) -> np.ndarray:
        above, below = counts @ gaps.T, counts @ weights.T
        return np.asarray(np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0))

    drawn = resample(means, clips, clusters, draws=options.draws, seed=options.seed)
    with np.errstate(invalid="ignore"):
        scores = sums.sum(axis=2) / weights.sum(axis=1)[:, None]
        parts = gaps / weights.sum(axis=1)[:, None]
    p = permute(np.nan_to_num(parts), options.seed, number_clusters(clips, clusters))
    shares = [part / spread_of(values) / len(levels) for part, values in zip(np.nan_to_num(parts), raw, strict=True)]
    counts = {
        name: Undefined(int(absent[0].sum()), int(absent[1].sum()), len(clips), int(defined.sum()))
        for name, absent, defined in zip(levels, undefined, both, strict=True)
        if not defined.all()
    }
    return Comparison(
        a=names[0],
        b=names[1],
        draws=options.draws,
        left_out=0,
        seed=options.seed,
        raw={
            name: Difference(float(score[0]), float(score[1]), estimate.low, estimate.high, chance)
            for name, score, estimate, chance in zip(levels, scores, drawn.estimates, p.tolist(), strict=True)
        },
        z={},
        siq=None,
        asked=tuple(levels),
        clips=order_shares(clips, np.array(shares), [*levels]),
        levels=levels,
        clusters=drawn.clusters,
        undefined=counts,
    )


def _notes(comparison: Comparison, caution: str | None) -> Iterator[str]:
    if comparison.draws:
        yield f"{describe_samples(comparison.draws, comparison.seed, comparison.units)}; all metrics share each sample"
    pooled = [name for name in comparison.levels if can_pool(name)]
    means = [name for name in comparison.levels if not can_pool(name)]
    ways = {"pooled over clips": pooled, "mean over clips": means}
    yield "; ".join(f"{way}: {', '.join(names)}" for way, names in ways.items() if names)
    yield from describe_undefined(comparison)
    yield from caution_lines(caution)
    yield PARTS
