"""Show a ranking as pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from speechiq.reducer.runs.samples import FLAGS
from speechiq.reducer.stats.interval import Interval

if TYPE_CHECKING:
    import pandas as pd

    from speechiq.reducer.scores.ranking import Ranking


def score_frame(ranking: Ranking) -> pd.DataFrame:
    """Return one row per system, best first; see `Ranking.to_frame`."""
    import pandas as pd

    scores, context = ranking.scores, ranking.context
    bootstrap = context.bootstrap
    has_siq = context.remarks.no_siq is None
    columns: dict[str, Any] = {"rank": pd.array(scores.ranks if has_siq else [None] * len(scores.siq), dtype="Int64")}
    columns |= {"siq": scores.siq} | _ends("siq", bootstrap.siq if bootstrap and has_siq else None, scores.siq)
    for level, level_scores in scores.levels.items():
        show = context.levels[level].show
        columns[level] = show(level_scores.raw) + 0.0  # no negative zero
        columns |= _ends(level, bootstrap and Interval(*map(show, bootstrap.raw[level])), level_scores.raw)
        columns[f"{level}_z"] = level_scores.z
        scored = bootstrap is not None and not np.isnan(level_scores.z).all()
        columns |= _ends(f"{level}_z", bootstrap.z[level] if bootstrap and scored else None, level_scores.z)
    for flag in context.systems[0].flags._fields if context.systems else ():
        columns[flag] = np.array([getattr(system.flags, flag) for system in context.systems], dtype=float)
    columns["control"] = [system.control for system in context.systems] or ""
    frame = pd.DataFrame(columns, index=pd.Index(scores.systems, name="system"))
    frame.columns.name = "score"
    frame.attrs["units"] = {level: context.levels[level].unit for level in scores.levels}
    return frame.iloc[np.lexsort((np.array(scores.systems), scores.ranks))]


def sample_frame(ranking: Ranking) -> pd.DataFrame:
    """Return one row per system, level and item; see `Ranking.samples`."""
    import pandas as pd

    rows = []
    for system in ranking.context.systems:
        flags = {(task.level, item): (task, row) for task in system.flag_values for row, item in enumerate(task.items)}
        for level, scores in system.scores.items():
            category = system.levels[level]
            for item, score in scores.items():
                task, row = flags.get((level, item), (None, 0))
                given = {name: float(values[row]) for name, values in task.columns.items()} if task else {}
                rows.append(
                    {
                        "system": system.name,
                        "level": level,
                        "clip": item[0],
                        "question": item[1] if len(item) > 1 else None,
                        "dataset": system.datasets.get(item[0]),
                        "score": category.show(score) + 0.0,
                        "unit": category.unit,
                        **{flag: given.get(flag, np.nan) for flag in FLAGS},
                    }
                )
    columns = ["system", "level", "clip", "question", "dataset", "score", "unit", *FLAGS]
    return pd.DataFrame(rows, columns=columns)


def _ends(name: str, interval: Interval | None, like: np.ndarray) -> dict[str, np.ndarray]:
    """Return the two columns of an interval, the lower end first; NaN without one."""
    if interval is None:
        return dict.fromkeys((f"{name}_low", f"{name}_high"), np.full(len(like), np.nan))
    return {f"{name}_low": np.minimum(*interval) + 0.0, f"{name}_high": np.maximum(*interval) + 0.0}
