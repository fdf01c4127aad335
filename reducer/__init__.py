"""Compute an IQ from runs: lm-eval's output files in, a ranking of speech systems out."""

from speechiq.metrics.measure import Category, Measure
from speechiq.reducer.output.scoreboard_records import as_json
from speechiq.reducer.output.scoreboard_table import as_grid
from speechiq.reducer.runs.systems import Flags, Runs, System
from speechiq.reducer.scores.bootstrap import Bars, leave_one_out, resample
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.ranking import macro_average, rank, rank_by_dataset
from speechiq.reducer.scores.scale import (
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
from speechiq.reducer.scores.score_matrix import ScoreMatrix, align
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.scores.suites import read_systems
from speechiq.reducer.stats.estimate import Interval
from speechiq.reducer.studies.comparison import Comparison

__all__ = [
    "LEVELS",
    "RULES",
    "Bars",
    "Category",
    "Comparison",
    "Flags",
    "Interval",
    "LevelScale",
    "LevelScores",
    "Measure",
    "Norms",
    "Runs",
    "Scale",
    "ScoreMatrix",
    "Scoreboard",
    "Scores",
    "System",
    "align",
    "as_grid",
    "as_json",
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
]
