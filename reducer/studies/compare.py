"""Compare two systems by the categories of a suite, by Z and SIQ, or by any metrics, and show the clips that decide."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import shorten
from speechiq.core.suggestions import did_you_mean
from speechiq.metrics.measure import Category, Measure
from speechiq.reducer.runs.conditions import Mismatch, compare_systems, summarize
from speechiq.reducer.runs.judged import name_judges
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.samples import SampleTable, join_columns, read_sample_table
from speechiq.reducer.runs.systems import Flags, System
from speechiq.reducer.runs.table import Item
from speechiq.reducer.runs.texts import ClipTexts, can_pool, differing, read_lengths, read_transcripts
from speechiq.reducer.scores import comparability
from speechiq.reducer.scores.comparability import complete, intersect
from speechiq.reducer.scores.levels import is_siq
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.pairs import SystemPair
from speechiq.reducer.scores.remarks import FLAGS, Remarks, observe, remark, title
from speechiq.reducer.scores.scale import PAPER
from speechiq.reducer.scores.score_matrix import align
from speechiq.reducer.scores.suites import NOTHING, ScoringOptions
from speechiq.reducer.stats.bootstrap import describe_samples
from speechiq.reducer.stats.contrast import contrast
from speechiq.reducer.stats.estimate import CONFIDENCE
from speechiq.reducer.stats.grid import UNKNOWN, Cell, Column, Grid, Important
from speechiq.reducer.studies import unanswerable
from speechiq.reducer.studies.comparison import (
    FEWEST_FOR_VERDICT,
    NO_SCALE,
    SIQ,
    ClipShare,
    Comparison,
    ComparisonRow,
    UndefinedItems,
    compare_scores,
    comparison_content,
    order_shares,
    spread_of,
)
from speechiq.reducer.studies.result import StudyResult

PARTS = (
    "clips: each category's difference is divided by the standard deviation of its scores, over clips and both "
    "systems, since units may differ"
)
UNIT = "standard deviations, mean of the categories"
BRACKETS = "[words] in brackets differ between the two texts; they need not be errors"
SIDES = {1: "A", -1: "B", 0: "neither"}
RULE = "better: the system that the 95 % interval speaks for, if it excludes 0; p (permutation test) has no part in it"
FLAGS_MEAN = "; ".join(f"{name}: {meaning}" for name, meaning in FLAGS.values())
SCHEMA = "speechiq-comparison"
#: The name in the place of a suite in files.
METRICS = "metrics"


def compare_pair(pair: SystemPair, options: ScoringOptions, clips: int = 0) -> StudyResult:
    """Compare two systems of one suite, and show the texts of the `clips` that decide the most.

    The details of the result are a `Comparison`.
    """
    if not pair.has_scale:
        options = options._replace(norms=None, exclude=NOTHING)
    norms = options.norms
    kept, mismatches = intersect(_choose_systems(pair, norms, options), options.allow_mismatch, norms)
    by_name = {system.name: system for system in kept}
    a, b = (by_name[system.name] for system in pair.both)
    if any(category.measure.may_be_undefined for category in a.levels.values()):
        kept = complete(kept)
    matrix = align(kept)
    in_order = sorted(kept, key=lambda system: system.name)
    remarks = remark(matrix, in_order, norms) if pair.has_scale else observe(matrix, in_order)
    comparison = compare_scores(
        matrix,
        a.name,
        b.name,
        scale=norms.scale_of(matrix.clips) if norms else None,
        rule=options.rule,
        required=pair.required,
        draws=options.draws,
        seed=options.seed,
        raw_only=None if pair.has_scale else f"suite {pair.suite}: each category is compared by itself",
    )._replace(undefined=_count_undefined(a, b, kept[0]))
    own_scale = f"the pool of {len(kept)} systems, {options.rule.label}" if comparison.siq else None
    content = comparison_content(comparison) | {
        "scale": norms.title if norms else own_scale,
        "mismatches": [mismatch.text for mismatch in mismatches],
        "excluded": len(options.exclude),
        "excluded_set": options.exclude.sha256,
        "flags": {"a": a.flags._asdict(), "b": b.flags._asdict()},
        "identical": [list(names) for names in remarks.identical],
    }
    notes = [*_notes_of_pair(pair, comparison, content, mismatches, options, remarks)]
    grid = comparison_grid(comparison, notes, [a.flags, b.flags])
    grids = _list_grids(grid, comparison, [pair.a.tasks, pair.b.tasks], clips)
    warnings = list(remarks.warnings()) if pair.has_scale else []
    return StudyResult(SCHEMA, grids, content, details=comparison, warnings=warnings)


def _choose_systems(pair: SystemPair, norms: Norms | None, options: ScoringOptions) -> list[System]:
    """Return A and B; for SIQ with the systems that set its scale, and without the excluded questions."""
    if not pair.has_scale:
        return _restrict(pair.both, pair)
    pool = () if norms else pair.others
    systems = list({system.name: system for system in (*pool, *pair.both)}.values())
    if options.rule != PAPER and not norms and len(systems) < 3:
        raise SpeechIQError(f"weights {options.rule.label}", f"they have no effect here: {NO_SCALE}")
    return _restrict(unanswerable.leave_out(systems, options.exclude), pair)


def _restrict(systems: Sequence[System], pair: SystemPair) -> list[System]:
    """Return the systems with the categories to compare: those that must agree; for SIQ also those that all have."""
    if pair.required is None or (pair.has_scale and SIQ in pair.required):
        return list(systems)
    common: set[str] = set()
    if pair.has_scale:
        common = set(pair.categories).intersection(*(system.by_level for system in systems))
    kept = [name for name in pair.categories if name in pair.required or name in common]
    return [system.restrict(kept) for system in systems] if kept else list(systems)


def _count_undefined(a: System, b: System, compared: System) -> dict[str, UndefinedItems]:
    """Return category -> the items without a score, for categories whose measure counts them.

    Args:
        compared: A system with the items that are compared.
    """
    counts = {}
    for name, category in a.levels.items():
        if category.measure.may_be_undefined:
            without = a.count_undefined(name), b.count_undefined(name)
            counts[name] = UndefinedItems(*without, len(a.by_level[name]), len(compared.by_level[name]))
    return counts


def _list_grids(grid: Grid, comparison: Comparison, tasks: Sequence[Sequence[TaskRun]], count: int) -> list[Grid]:
    """Return the grid of a comparison, and one for each of the `count` most decisive clips.

    These have the reference, both texts with [differences], and answers.

    Args:
        tasks: The tasks of A and of B.
    """
    if not count:
        return [grid]
    shares = [share for share in comparison.clips if share.total][:count]
    a, b = (read_transcripts(_tasks_with_texts(own), [share.clip for share in shares]) for own in tasks)
    whole = f"{sum(share.total for share in comparison.clips):+z.2f} {_unit_of_parts(comparison)}"
    of_clips = [_clip_grid(share, whole, a[share.clip], b[share.clip]) for share in shares]
    return [grid._replace(notes=[*grid.notes, BRACKETS]), *of_clips]


def _unit_of_parts(comparison: Comparison) -> str:
    """Return the unit of the clips' parts in the difference."""
    if comparison.siq:
        return "SIQ"
    category = next(iter(comparison.levels.values()))
    return "points in the mean of the raw scores" if is_siq(category.suite) else UNIT


def _clip_grid(share: ClipShare, whole: str, a: ClipTexts, b: ClipTexts) -> Grid:
    parts = ", ".join(f"{title(level)} {part:+z.2f}" for level, part in share.levels.items())
    marked = [_mark(words) for words in differing(a.text, b.text)]
    rows: list[dict[str, Cell]] = [{"reference": _join(a.reference or b.reference), "a": marked[0], "b": marked[1]}]
    questions = {name: answer.question for texts in (b, a) for name, answer in texts.answers.items()}
    for name in sorted(questions):
        answers = [_join(texts.answers[name].answer) if name in texts.answers else "" for texts in (a, b)]
        rows.append({"reference": _join(questions[name]), "a": answers[0], "b": answers[1]})
    columns = [Column("reference", "Reference"), Column("a", "A"), Column("b", "B")]
    return Grid(f"{_join(share.clip)}: {share.total:+z.2f} of {whole} ({parts})", columns, rows)


def _mark(words: list[tuple[str, bool]]) -> str:
    """Return words as a text, those that differ in brackets."""
    marked = []
    for differs, run in groupby(words, key=lambda word: word[1]):
        text = " ".join(word for word, _ in run)
        marked.append(f"[{text}]" if differs else text)
    return " ".join(marked)


def _join(text: str) -> str:
    """Return text of a run in one line."""
    return " ".join(text.split())


def _tasks_with_texts(tasks: Sequence[TaskRun]) -> list[TaskRun]:
    """Return the tasks whose rows have the texts to show; those of Understand repeat the texts of Remember."""
    return [task for task in tasks if not (is_siq(task.suite) and task.level == "understand")]


def _notes_of_pair(
    pair: SystemPair,
    comparison: Comparison,
    content: Mapping[str, Any],
    mismatches: Sequence[Mismatch],
    options: ScoringOptions,
    remarks: Remarks,
) -> Iterator[str]:
    if mismatches:
        yield Important(f"not on equal terms: {summarize(mismatches)}")
    yield Important(comparison.no_siq) if comparison.no_siq else f"SIQ on the scale of {content['scale']}"
    if comparison.siq and remarks.few:
        yield Important(remarks.few)
    yield from describe_undefined(comparison)
    yield from remarks.counted()
    if comparison.draws:
        yield describe_samples(comparison.draws, comparison.seed, comparison.units)
    if comparison.left_out and pair.has_scale:
        yield f"{count_of(comparison.left_out, 'bootstrap sample')} left out, in which no clip separates the systems"
    for name, category in comparison.levels.items():
        if not category.judged:
            continue
        a, b = (name_judges(system.tasks_at(name)) for system in pair.both)
        yield f"{title(name)}: {a if a == b else f'A {a}; B {b}'}"
    if options.exclude:
        which = shorten(options.exclude.sha256 or "")
        yield f"left out of Apply: {count_of(len(options.exclude), 'question')} of the unanswerable set {which}"
    if not pair.has_scale:
        yield PARTS


def comparison_grid(comparison: Comparison, notes: Sequence[str] = (), flags: Sequence[Flags] = ()) -> Grid:
    """Return the grid of differences: the rows of the comparison, then the flags of A and B; verdict and notes below.

    It has four decimals instead of two if the unit of a category is not known.

    Args:
        notes: Lines that follow the verdict.
    """
    digits = 2 if all(category.unit for category in comparison.levels.values()) else 4
    columns = [
        Column("name", ""),
        Column("a", "A", f".{digits}f"),
        Column("b", "B", f".{digits}f"),
        Column("difference", "A - B", f"+.{digits}f"),
        Column("p", "p", ".4f"),
        Column("better", "better"),
    ]
    rows: list[dict[str, Cell]] = []
    styles = []
    for row in comparison.rows:
        name = " ".join(filter(None, (row.label, row.unit)))
        scores: dict[str, Cell] = {"difference": row.difference.estimate}
        scores |= {part: getattr(row.difference, part) for part in ("a", "b", "p")}
        rows.append({"name": name, **scores, "better": better_of(row)})
        styles.append({"Z": "dim", "": "bold"}.get(row.unit, ""))
    flag_rows = [*_flag_rows(flags)]
    notes = [Important(verdict(comparison)), *notes, *_explain_conflicts(comparison), RULE]
    if flags:
        notes.append(FLAGS_MEAN)
    heading = f"A: {comparison.a}\nB: {comparison.b}"
    return Grid(heading, columns, [*rows, *flag_rows], notes, [*styles, *[""] * len(flag_rows)])


def _flag_rows(flags: Sequence[Flags]) -> Iterator[dict[str, Cell]]:
    """Yield a row for each flag that A or B has."""
    for flag, (name, _) in FLAGS.items():
        shares = [getattr(of_system, flag) for of_system in flags]
        if any(share is not None for share in shares):
            a, b = (UNKNOWN if share is None else f"{100 * share:.1f}" for share in shares)
            yield {"name": f"{name} %", "a": a, "b": b}


def better_of(row: ComparisonRow) -> str:
    """Return the system that the interval speaks for: A, B or neither; a dash without draws."""
    return UNKNOWN if math.isnan(row.difference.low) else SIDES[row.side]


def verdict(comparison: Comparison) -> str:
    """Name the better system by the one rule: every required interval excludes 0 in its favor."""
    if not comparison.draws:
        return "no verdict: it rests on the intervals, which --bootstrap 0 leaves out"
    if comparison.clusters < FEWEST_FOR_VERDICT:
        return (
            f"no verdict: it needs {FEWEST_FOR_VERDICT} clips that no others belong to (calls, speakers), since p "
            f"cannot be below {1 - CONFIDENCE:.2f} with fewer; there are {comparison.units}"
        )
    if comparison.better:
        side = "A" if comparison.better == comparison.a else "B"
        return f"{side} is better beyond chance, by the intervals of {', '.join(comparison.required)}"
    parts = []
    for sign, word in SIDES.items():
        if names := [name for name, each in comparison.sides.items() if each == sign]:
            better = f"{word} is better" if sign else word
            parts.append(f"{better} in {', '.join(names)}")
    needed = f"in all of {', '.join(comparison.required)}" if len(comparison.required) > 1 else "in that row"
    return f"neither is better beyond chance: {'; '.join(parts)}. A system is better only if it is {needed}"


def _explain_conflicts(comparison: Comparison) -> Iterator[str]:
    """Yield why the p value and the interval of a row say different things, if they do."""
    for scaled in (False, True):
        rows = [row for row in comparison.conflicts if (row.unit in ("Z", "")) == scaled]
        names = ", ".join(f"{row.label} {row.unit}".strip() for row in rows)
        if scaled and rows:
            yield Important(
                f"{names}: p asks whether these clips separate A from B on a scale that is held fixed; the interval is "
                "for other clips, which may count more and, without norms, set another scale"
            )
        elif rows:
            yield Important(
                f"{names}: p asks whether swapping A and B clip by clip gives such a difference; the interval is that "
                "of the mean on other clips. With few clips, or one large difference, only more clips decide"
            )


def describe_undefined(comparison: Comparison) -> Iterator[str]:
    """Yield how many items count, for each category on which items may have no score."""
    for name, counts in comparison.undefined.items():
        word = comparison.levels[name].undefined_word
        shares = f"{counts.compared} of {counts.items} items have a score of both"
        line = f"{title(name)}: {shares}; {word}: A {counts.a}, B {counts.b}"
        yield Important(line) if counts.compared < counts.items else line


def compare_metrics(
    pairs: Sequence[SystemPair], metrics: Sequence[str], options: ScoringOptions, count: int = 0
) -> StudyResult:
    """Compare two systems on metrics that any of their suites has.

    Rates of errors by words or characters are pooled over clips (`texts.can_pool`), all others are means over clips.
    Intervals are percentiles of the draws.

    Args:
        metrics: Columns of the sample rows whose direction is known; those of questions are averaged by clip.
        count: Number of the clips whose texts are shown, those that decide the most.
    """
    if not options.allow_mismatch:
        comparability.require_equal([mismatch for pair in pairs for mismatch in compare_systems(pair.both)])
    tasks_a = [task for pair in pairs for task in pair.a.tasks]
    tasks_b = [task for pair in pairs for task in pair.b.tasks]
    tables_a = [read_sample_table(task, columns=task.signs) for task in tasks_a]
    tables_b = [read_sample_table(task, columns=task.signs) for task in tasks_b]
    signs = {name: table.task.signs[name] for table in (*tables_a, *tables_b) for name in table.signed}
    for name in metrics:
        if name not in signs:
            near = did_you_mean(name, signs)
            raise SpeechIQError(
                "--metrics", f"no column {name!r} in these runs", f"{near}choose from {', '.join(signs)}"
            )
    if len(set(metrics)) < len(metrics):
        raise SpeechIQError(f"--metrics {','.join(metrics)}", "a metric is named twice", "name each once")
    columns = [_by_clip(tables, name) for name in metrics for tables in (tables_a, tables_b)]
    clips = sorted(set.intersection(*map(set, columns)))
    if not clips:
        raise SpeechIQError(f"--metrics {','.join(metrics)}", "the two systems share no clip with all of these")
    raw = np.array([[*map(by_clip.__getitem__, clips)] for by_clip in columns]).reshape(len(metrics), 2, len(clips))
    raw *= np.array([signs[name] for name in metrics])[:, None, None]
    weights = np.ones((len(metrics), len(clips)))
    for row, name in enumerate(metrics):
        if can_pool(name):
            lengths = read_lengths(tasks_a, name)
            weights[row] = [lengths.get(clip, 1.0) for clip in clips]
    units = _list_units([*tasks_a, *tasks_b])
    levels = {name: _describe_metric(name, signs[name], units.get(name, "")) for name in metrics}
    names = pairs[0].a.name, pairs[0].b.name
    clusters = {clip: name for pair in pairs for system in pair.both for clip, name in system.clusters.items()}
    comparison = _compare_values(names, [clip for (clip,) in clips], clusters, levels, raw, weights, options)
    grid = comparison_grid(comparison, [*_notes_of_metrics(comparison)])
    grids = _list_grids(grid, comparison, [tasks_a, tasks_b], count)
    content = comparison_content(comparison) | {"pooled": [*filter(can_pool, metrics)]}
    return StudyResult(SCHEMA, grids, content, details=comparison)


def _by_clip(tables: Sequence[SampleTable], name: str) -> dict[Item, float]:
    """Return clip -> the mean of a column over its items."""
    values: dict[Item, list[float]] = {}
    for (_, item), value in join_columns(tables, name).items():
        values.setdefault(item[:1], []).append(value)
    return {clip: float(np.mean(items)) for clip, items in values.items()}


def _list_units(tasks: Sequence[TaskRun]) -> dict[str, str]:
    """Return column -> its unit, of those that some task describes: a per cent sign for one that is read in percent."""
    units: dict[str, str] = {}
    for task in tasks:
        for measure in (task.category.measure, *task.category.extra_columns):
            columns = [measure.by(column) for column in measure.columns]
            units |= {each.column: "%" if each.in_per_cent else each.unit for each in columns}
    return units


def _describe_metric(name: str, sign: float, unit: str) -> Category:
    unit = "%" if can_pool(name) else unit
    measure = Measure(name, "higher" if sign > 0 else "lower", unit, undefined="counted")
    return Category(METRICS, name, measure, ("id",))


def _compare_values(
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
    how = {"draws": options.draws, "seed": options.seed}
    found, shares, counts = {}, [], {}
    for row, name in enumerate(levels):
        values = np.where(both[row], raw[row], np.nan)
        found[name] = contrast(values, [(0, 1)], clips, clusters, weights=weights[row], **how)
        counted = np.where(both[row], weights[row], 0.0)
        parts = np.nan_to_num(values[0] - values[1]) * counted / (counted.sum() or 1.0)
        shares.append(parts / spread_of(raw[row]) / len(levels))
        if not both[row].all():
            absent_a, absent_b = undefined[row].sum(axis=1).tolist()
            counts[name] = UndefinedItems(absent_a, absent_b, len(clips), int(both[row].sum()))
    return Comparison(
        a=names[0],
        b=names[1],
        draws=options.draws,
        left_out=0,
        seed=options.seed,
        raw={name: compared.differences[0] for name, compared in found.items()},
        z={},
        siq=None,
        required=tuple(levels),
        clips=order_shares(clips, np.array(shares), [*levels]),
        levels=levels,
        clusters=found[next(iter(levels))].means.clusters,
        undefined=counts,
    )


def _notes_of_metrics(comparison: Comparison) -> Iterator[str]:
    if comparison.draws:
        yield f"{describe_samples(comparison.draws, comparison.seed, comparison.units)}; all metrics share each sample"
    pooled = [name for name in comparison.levels if can_pool(name)]
    means = [name for name in comparison.levels if not can_pool(name)]
    ways = {"pooled over clips": pooled, "mean over clips": means}
    yield "; ".join(f"{way}: {', '.join(names)}" for way, names in ways.items() if names)
    yield from describe_undefined(comparison)
    yield PARTS
