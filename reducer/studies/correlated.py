"""Correlate SIQ and plain metrics with the ranks that people, or other metrics, give to the systems.

The coefficients are Pearson, Spearman and Kendall, with 95 % intervals and p-values.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.tables import check_columns, read_field, read_number, read_table
from speechiq.core.suggestions import suggest
from speechiq.reducer.runs.systems import System
from speechiq.reducer.runs.texts import read_clip_transcripts
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.agreement import ORDERS
from speechiq.reducer.stats.estimate import CONFIDENCE, ROUNDING, UNDEFINED, Estimate
from speechiq.reducer.stats.grid import Cell, Column, Grid
from speechiq.reducer.studies.result import StudyResult

#: The fewest systems for which an interval is given: below it the normal approximation has no meaning.
FEWEST = 5
SYSTEM = "system"
FEWEST_SYSTEMS = 3
#: The level whose responses are transcripts.
WRITTEN = "remember"

COEFFICIENTS = ("pearson", "spearman", "kendall")


def correlate(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, tuple[Estimate, float]]:
    """Return how well two lists of scores of the same systems agree; in both, more is better.

    Each coefficient, from -1 to 1, is followed by its two-sided p-value for no association: from all orders of the
    systems up to seven of them, and from `ORDERS` random ones above; for Kendall's, scipy's own, which is exact without
    ties.

    Intervals are Fisher's for Pearson, those of Bonett and Wright (2000) for Spearman, and those of Fieller, Hartley
    and Pearson (1957) for Kendall. They cover the choice of the systems, not that of the clips. A coefficient is
    undefined if one of the lists has one value only, its interval for fewer than `FEWEST` systems and for 1 and -1.

    >>> correlation = correlate([1, 2, 3, 4, 5], [1, 2, 3, 5, 4])
    >>> [round(coefficient.value, 2) for coefficient, p in correlation.values()]
    [0.9, 0.9, 0.8]
    """
    from scipy import stats

    a, b = np.asarray(ours, float), np.asarray(theirs, float)
    n = len(a)
    return {
        "pearson": _coefficient(_permute, a, b, lambda r: 1 / math.sqrt(n - 3)),
        "spearman": _coefficient(
            _permute, stats.rankdata(a), stats.rankdata(b), lambda r: math.sqrt((1 + r * r / 2) / (n - 3))
        ),
        "kendall": _coefficient(stats.kendalltau, a, b, lambda r: math.sqrt(0.437 / (n - 4))),
    }


def _permute(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Return Pearson's coefficient, and its p-value over the orders of one list."""
    from scipy import stats

    test = stats.pearsonr(a, b, method=stats.PermutationMethod(n_resamples=ORDERS, rng=np.random.default_rng(0)))
    return float(test.statistic), float(test.pvalue)


def _coefficient(
    test: Callable[..., tuple[float, float]], a: np.ndarray, b: np.ndarray, error: Callable[[float], float]
) -> tuple[Estimate, float]:
    """Return a coefficient and its p-value; `error` gives the standard error of its Fisher transform."""
    from scipy.special import ndtri

    n = len(a)
    if n < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return UNDEFINED, math.nan
    value, p = map(float, test(a, b))
    if n < FEWEST or abs(value) > 1 - ROUNDING:
        return Estimate(value, n=n, clusters=n), p
    middle, half = math.atanh(value), float(ndtri((1 + CONFIDENCE) / 2)) * error(value)
    return Estimate(value, math.tanh(middle - half), math.tanh(middle + half), n, n), p


class SystemScores(NamedTuple):
    """Hold a score of each system, of which more is better, and the number of clips that it was computed on."""

    scores: Mapping[str, float]
    clips: int | None = None


def list_scores(scoreboard: Scoreboard) -> dict[str, SystemScores]:
    """Return metric -> its scores: SIQ if there is one, levels with their columns, derived columns, BLEU and chrF."""
    systems, pool = scoreboard.pool.systems, scoreboard.pool
    found = {}
    if scoreboard.has_siq:
        clips = set().union(*pool.clips.values())
        found["SIQ"] = SystemScores(dict(zip(systems, scoreboard.siq.tolist(), strict=True)), len(clips))
    for column, category in scoreboard.columns.items():
        name = f"{column} {category.column}" if column in scoreboard.levels else column
        scored = scoreboard.derived.pool if column in scoreboard.derived.levels else pool
        means = dict(zip(systems, scoreboard.means[column].tolist(), strict=True))
        found[name] = SystemScores(means, len(scored.clips[column]))
    return found | score_texts(scoreboard.systems, pool.clips.get(WRITTEN, ()))


def score_texts(systems: Sequence[System], clips: Sequence[str]) -> dict[str, SystemScores]:
    """Return BLEU and chrF of the transcripts of some clips: sacrebleu's scores of the corpus, from 0 to 100.

    Texts are normalized as for the error rate, so that capitals and punctuation do not count.
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    scores: dict[str, dict[str, float]] = {}
    for system in systems if clips else ():
        written = read_clip_transcripts(system.tasks_at(WRITTEN))
        texts, references = zip(*(written[clip].normalized for clip in clips), strict=True)
        for name, metric in (("BLEU", BLEU()), ("chrF", CHRF())):
            scores.setdefault(name, {})[system.name] = metric.corpus_score(texts, [references]).score
    return {name: SystemScores(of_systems, len(clips)) for name, of_systems in scores.items()}


def correlate_ranks(
    metrics: Mapping[str, SystemScores], ranks: Mapping[str, Mapping[str, float]], notes: Sequence[str] = ()
) -> StudyResult:
    """Return a row per metric: its correlation with the first column of ranks (paper, Table 3).

    The other columns of ranks are metrics as well. Systems without a rank or a score are left out.
    """
    first, *others = ranks
    systems = [name for name in ranks[first] if all(name in scored.scores for scored in metrics.values())]
    compared = dict(metrics)
    for name in others:
        label = f"{name} (given)" if name in metrics else name
        compared[label] = SystemScores({system: -rank for system, rank in ranks[name].items()})
    truth = [-ranks[first][name] for name in systems]
    records = []
    for metric, scored in compared.items():
        cells: dict[str, Cell] = {"metric": metric, "systems": len(systems), "clips": scored.clips}
        for name, (coefficient, p) in correlate(truth, [scored.scores[system] for system in systems]).items():
            cells |= {name: coefficient, f"{name}_p": p}
        records.append(cells)
    grid = _as_grid(records, first, len(systems), notes)
    return StudyResult("speechiq-correlation", [grid], {"ranks": first, "correlations": records})


def _as_grid(records: Sequence[Mapping[str, Cell]], ranks: str, systems: int, notes: Sequence[str]) -> Grid:
    """Return a grid with one row per metric: each coefficient with the ranks over its 95 % interval and its p-value."""
    columns = [Column("metric", "Metric"), Column("systems"), Column("clips", "Clips", "d")]
    for name in COEFFICIENTS:
        columns.append(Column(name, name.title(), ".3f", ends=".2f"))
        columns.append(Column(f"{name}_p", "p", ".2g", below=name))
    lines = [
        f"{systems} systems; more is better in every metric, error rates are taken negative",
        "intervals cover the choice of systems, not that of clips; a coefficient of 1 or -1 has none",
        "p: two-sided, from the orders of the systems",
        *notes,
    ]
    if systems < FEWEST:
        lines.insert(2, f"no intervals below {FEWEST} systems")
    return Grid(f"Correlation with {ranks}", columns, records, lines)


def read_ranks(file: Path, systems: Sequence[str]) -> dict[str, dict[str, float]]:
    """Read column -> system -> rank, 1 for the best; equal ranks are allowed.

    Args:
        file: A `.csv`, `.tsv` or `.jsonl` table with the column `system` and one column of ranks or more: the first
            is what all others are correlated with, such as the ranks of people.
    """
    rows = read_table(file)
    check_columns(rows[0], [SYSTEM], file)
    columns = [name for name in rows[0] if name != SYSTEM]
    if not columns:
        raise SpeechIQError(file, "no column of ranks", f"add one next to {SYSTEM!r}, 1 for the best system")
    ranks: dict[str, dict[str, float]] = {name: {} for name in columns}
    for number, row in enumerate(rows, 1):
        where = f"{file} row {number}"
        name = read_field(row, SYSTEM, where)
        if name not in systems:
            raise SpeechIQError(where, f"no run of system {name!r}", suggest(name, systems))
        if name in ranks[columns[0]]:
            raise SpeechIQError(where, f"duplicate system {name!r}", "delete one of the rows")
        for column in columns:
            ranks[column][name] = _read_rank(row, column, where)
    for column, places in ranks.items():
        refuse_few(places, column, file)
    return ranks


def refuse_few(ranks: Mapping[str, float], column: str, file: object) -> None:
    """Raise a `SpeechIQError` if ranks are of too few systems, or all equal."""
    if len(ranks) < FEWEST_SYSTEMS:
        raise SpeechIQError(
            file, f"ranks of {count_of(len(ranks), 'system')}", f"a correlation needs at least {FEWEST_SYSTEMS}"
        )
    if len(set(ranks.values())) == 1:
        raise SpeechIQError(file, f"all systems have the same {column!r}", "a correlation needs different ranks")


def _read_rank(row: Mapping[str, Any], column: str, where: str) -> float:
    value = row.get(column)
    rank = read_number(value)
    if not 0 < rank < math.inf:
        raise SpeechIQError(where, f"{column} is {value!r:.40}, not a rank", "give a number above 0, 1 for the best")
    return rank
