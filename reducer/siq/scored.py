"""Score SIQ for `siq score`: the ranking, and with `--by-dataset` that of each data set and their mean."""

from __future__ import annotations

from collections.abc import Iterable

from speechiq.reducer.read.runs import System
from speechiq.reducer.show import records, table
from speechiq.reducer.show.scored import Scored
from speechiq.reducer.siq import unanswerable
from speechiq.reducer.siq.by_dataset import MACRO, macro_average, macro_caption, rank_by_dataset
from speechiq.reducer.siq.export import export
from speechiq.reducer.siq.norms import Norms
from speechiq.reducer.siq.ranking import rank
from speechiq.reducer.siq.unanswerable import ConfirmedSet


def score(
    systems: Iterable[System],
    *,
    rule: str,
    norms: Norms | None,
    exclude: ConfirmedSet,
    allow_mismatch: bool,
    draws: int,
    seed: int,
    by_dataset: bool,
) -> Scored:
    """Rank systems that ran SIQ.

    Args:
        systems: As `read_systems` gives them.
        rule: As for `ranking.rank`.
        norms: As for `ranking.rank`.
        exclude: Questions to leave out of Apply.
        allow_mismatch: As for `ranking.rank`.
        draws: As for `ranking.rank`.
        seed: As for `ranking.rank`.
        by_dataset: Whether each data set is scored by itself as well.

    Raises:
        SpeechIQError: What `ranking.rank` refuses.
    """
    kept = unanswerable.leave_out(systems, exclude)
    ranking = rank(kept, norms=norms, rule=rule, allow_mismatch=allow_mismatch, draws=draws, seed=seed)
    context = ranking.context._replace(excluded=len(exclude))
    ranking = ranking._replace(context=context)
    sets = {}
    if by_dataset:
        sets = rank_by_dataset(context.systems, rule=rule, allow_mismatch=allow_mismatch, draws=draws, seed=seed)
    rows = {dataset: records.rows_of(of.scores, of.context) for dataset, of in sets.items()}
    tables = [table.as_table(ranking.scores, context)]
    tables += [table.as_table(of.scores, of.context, dataset) for dataset, of in sets.items()]
    if by_dataset:
        rows[MACRO] = macro_average(sets)
        tables.append(table.rows_as_table(rows[MACRO], context, MACRO, macro_caption(sets)))
    parts = {
        "by_dataset": {dataset: records.as_json(of.scores, of.context) for dataset, of in sets.items()} or None,
        "macro_average": rows.get(MACRO),
    }
    return Scored(
        tables=tables,
        content=records.as_json(ranking.scores, context) | parts,
        rows=lambda common: records.csv_rows(ranking.scores, context, rows, **common),
        export=export(ranking),
        warnings=list(context.remarks.warnings()),
    )
