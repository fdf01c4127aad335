"""Compute an IQ from runs: lm-eval's output files in, a ranking of speech systems out."""

from speechiq.reducer.read.flags import Flags
from speechiq.reducer.read.measure import Category, Measure
from speechiq.reducer.read.runs import Runs, System
from speechiq.reducer.show.records import as_csv, as_json, write_csv, write_json
from speechiq.reducer.show.table import as_table
from speechiq.reducer.siq.by_dataset import macro_average, rank_by_dataset
from speechiq.reducer.siq.levels import LEVELS
from speechiq.reducer.siq.norms import Norms
from speechiq.reducer.siq.ranking import Context, Ranking, rank
from speechiq.reducer.siq.scale import (
    RULES,
    LevelScale,
    LevelScores,
    Scale,
    Scores,
    calibrate,
    combine,
    competition_ranks,
    score,
    sensitivity,
)
from speechiq.reducer.siq.systems import read_systems
from speechiq.reducer.stats.bootstrap import Bootstrap, leave_one_out, resample
from speechiq.reducer.stats.comparison import Comparison
from speechiq.reducer.stats.interval import Interval
from speechiq.reducer.stats.pool import Pool, align

__all__ = [
    "LEVELS",
    "RULES",
    "Bootstrap",
    "Category",
    "Comparison",
    "Context",
    "Flags",
    "Interval",
    "LevelScale",
    "LevelScores",
    "Measure",
    "Norms",
    "Pool",
    "Ranking",
    "Runs",
    "Scale",
    "Scores",
    "System",
    "align",
    "as_csv",
    "as_json",
    "as_table",
    "calibrate",
    "combine",
    "competition_ranks",
    "leave_one_out",
    "macro_average",
    "rank",
    "rank_by_dataset",
    "read_systems",
    "resample",
    "score",
    "sensitivity",
    "write_csv",
    "write_json",
]
