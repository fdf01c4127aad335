"""Score SIQ for `siq score`: the ranking, and with `--group-by dataset` that of each data set and their mean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.by_dataset import MACRO, macro_average, macro_caption, rank_by_dataset
from speechiq.reducer.scores.ranking import Ranking, rank
from speechiq.reducer.scores.scoring import Options
from speechiq.reducer.studies import unanswerable
from speechiq.reducer.tables import records, table
from speechiq.reducer.tables.scored import Scored
from speechiq.reducer.tables.siq_export import export


def rank_systems(systems: Iterable[System], options: Options) -> Ranking:
    """Rank systems that ran SIQ, without the questions that the options exclude.

    Args:
        systems: As `read_systems` returns them.
        options: How to score.

    Raises:
        SpeechIQError: As for `ranking.rank`.
    """
    ranking = rank(unanswerable.leave_out(systems, options.exclude), norms=options.norms, **_how(options))
    return ranking._replace(context=ranking.context._replace(excluded=len(options.exclude)))


def score(systems: Iterable[System], options: Options) -> Scored:
    """Rank systems that ran SIQ, and prepare what is printed and written.

    Args:
        systems: As `read_systems` returns them.
        options: How to score.

    Raises:
        SpeechIQError: As for `ranking.rank`.
    """
    ranking = rank_systems(systems, options)
    context = ranking.context
    sets = rank_by_dataset(context.systems, **_how(options)) if options.by_dataset else {}
    rows = {dataset: records.rows_of(ranked.scores, ranked.context) for dataset, ranked in sets.items()}
    tables = [table.as_table(ranking.scores, context)]
    tables += [table.as_table(ranked.scores, ranked.context, dataset) for dataset, ranked in sets.items()]
    if options.by_dataset:
        rows[MACRO] = macro_average(sets)
        tables.append(table.rows_as_table(rows[MACRO], context, MACRO, macro_caption(sets)))
    contents = {dataset: records.as_json(ranked.scores, ranked.context) for dataset, ranked in sets.items()}
    parts = {
        "by_dataset": contents or None,
        "macro_average": rows.get(MACRO),
    }
    return Scored(
        tables=tables,
        content=records.as_json(ranking.scores, context) | parts,
        rows=lambda common: records.csv_rows(ranking.scores, context, rows, **common),
        export=export(ranking),
        warnings=list(context.remarks.warnings()),
    )


def _how(options: Options) -> dict[str, Any]:
    return {
        "rule": options.rule,
        "allow_mismatch": options.allow_mismatch,
        "draws": options.draws,
        "seed": options.seed,
    }
