"""Read runs under conditions and compute the curves of every suite in them."""

from typing import NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.results_file import CONDITION
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.comparability import drop_empty_levels, share
from speechiq.reducer.scores.draws import Clips
from speechiq.reducer.scores.levels import is_siq
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.scale import Scale
from speechiq.reducer.scores.score_matrix import ScoreMatrix, align
from speechiq.reducer.scores.suites import Found
from speechiq.reducer.stats.coverage import caution_lines, caution_of_raw
from speechiq.reducer.studies.robustness.curves import Crossing, Curve, draw_curves, find_crossings, measure
from speechiq.reducer.studies.robustness.series import describe_run, group_series, refuse_other_tasks


class Robustness(NamedTuple):
    """Describe what conditions do to the systems of one suite.

    Attributes:
        clips: Number of clips of all levels, which are drawn together.
        clusters: Number of their clusters, which is that of clips if no two share one.
    """

    suite: str
    curves: list[Curve]
    crossings: list[Crossing]
    clips: int
    clusters: int
    draws: int
    notes: list[str]


def study(found: Found, draws: int, seed: int, norms: Norms | None = None) -> list[Robustness]:
    """Return the curves of every suite whose tasks ran under conditions.

    Without norms, the systems on clean audio are the scale of SIQ. 0 draws leave the intervals out.
    """
    suites = [suite for suite in found.levels if any(task.metadata.get(CONDITION) for task in found.tasks[suite])]
    if not suites:
        group_series([])
    return [_study(suite, found.read(suite), draws, seed, norms) for suite in suites]


def _study(suite: str, systems: list[System], draws: int, seed: int, norms: Norms | None) -> Robustness:
    systems = sorted(share(drop_empty_levels(systems)), key=lambda system: system.name)
    runs = [describe_run(system) for system in systems]
    series = group_series(runs)
    refuse_other_tasks(systems, runs)
    pool = align(systems)
    measures, without = measure(pool, runs, suite, draws, seed, _scale_of(norms, pool) if is_siq(suite) else None)
    curves = [curve for measured in measures for curve in draw_curves(measured, series, runs)]
    crossings = [crossing for measured in measures for crossing in find_crossings(measured, series, runs)]
    notes = [without] * bool(without) + caution_lines(caution_of_raw(*pool.smallest) if draws else None)
    drawn = Clips.of(pool)
    return Robustness(suite, curves, crossings, len(drawn.names), drawn.cluster_count, draws, notes)


def _scale_of(norms: Norms | None, pool: ScoreMatrix) -> Scale | None:
    if norms is None:
        return None
    for level, clips in pool.clips.items():
        if others := set(clips) - norms.levels[level].clips.keys():
            raise SpeechIQError(
                f"norms {norms.label!r} do not have clip {min(others)!r} of these runs",
                fix="leave --norms out, or give norms of the same data set",
            )
    return norms.scale_of(pool.clips)
