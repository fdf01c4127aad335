"""Export a ranking as results of lm-eval: SIQ and Z in addition to the scores of the levels."""

from __future__ import annotations

import math
from typing import Any

from speechiq.reducer.runs.flags import Flags
from speechiq.reducer.scores.levels import SUITE
from speechiq.reducer.scores.ranking import Ranking
from speechiq.reducer.tables.dashboards import UNKNOWN, Export, as_value


def export(ranking: Ranking) -> Export:
    """Return the scores, with `siq,none` per system and `z,none` per level."""
    pool, scores, context = ranking
    bootstrap = context.bootstrap
    rows = range(len(pool.systems))

    def metadata(system: str, level: str) -> dict[str, Any]:
        no_siq = context.remarks.no_siq
        return {
            "rule": None if no_siq else scores.scale.rule,
            "weight": None if no_siq else scores.scale.levels[level].weight,
            "no_siq": no_siq,
            "systems": list(context.norms.systems if context.norms else scores.systems),
            "norms": context.norms and context.norms.title,
            "mismatches": [mismatch.text for mismatch in context.mismatches if mismatch.system == system],
            "excluded": context.excluded,
            "excluded_set": context.excluded_set,
            "interval_caution": bootstrap and bootstrap.caution,
        }

    return Export(
        suite=SUITE,
        pool=pool._replace(levels=context.levels),
        means={level: level_scores.raw for level, level_scores in scores.levels.items()},
        std=bootstrap.raw_std if bootstrap else {},
        draws=bootstrap.draws if bootstrap else 0,
        flags=[scored.flags for scored in context.systems] or [Flags() for _ in rows],
        of_group=[
            {
                "siq,none": as_value(scores.siq[j]),
                "siq_stderr,none": as_value(None if math.isnan(scores.siq[j]) else bootstrap and bootstrap.siq_std[j]),
            }
            for j in rows
        ],
        of_task=[
            {
                level: {"z,none": as_value(level_scores.z[j]), "z_stderr,none": UNKNOWN}
                for level, level_scores in scores.levels.items()
            }
            for j in rows
        ],
        higher=({"siq": True}, {"z": True}),
        metadata=metadata,
    )
