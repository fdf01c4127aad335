"""How runs become an IQ: lm-eval's output files in, a ranking of speech systems out."""

from speechiq.reducer.levels import LEVELS, Level
from speechiq.reducer.pool import Pool, align
from speechiq.reducer.runs import Runs, System, read_systems
from speechiq.reducer.siq import (
    RULES,
    LevelScale,
    LevelScores,
    Scale,
    Scores,
    calibrate,
    combine,
    competition_ranks,
    score,
)
from speechiq.reducer.table import as_csv, as_json, as_table, write_csv, write_json

__all__ = [
    "LEVELS",
    "RULES",
    "Level",
    "LevelScale",
    "LevelScores",
    "Pool",
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
    "read_systems",
    "score",
    "write_csv",
    "write_json",
]
