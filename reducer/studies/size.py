"""Relate SIQ to the size of systems, and score each system against what its size lets expect.

The line is the least-squares regression of SIQ on the logarithm of a size over the systems that are not controls. SIQ
given size is 100 + 15 times the distance from the line, in standard deviations of these distances (ddof 0, as in eq.
5): what norms by age are for people (SpeechIQ, section 3.4 and appendix E). Every bootstrap draw of the scoreboard has
a line of its own.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.tables import read_number
from speechiq.core.suggestions import did_you_mean, suggest
from speechiq.reducer.runs.run_record import SYSTEM, read_declared, read_parameters
from speechiq.reducer.scores.draws import Clips
from speechiq.reducer.scores.scale import MEAN, POINTS
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.bootstrap import Resampled
from speechiq.reducer.stats.estimate import CONFIDENCE, ROUNDING, Estimate
from speechiq.reducer.stats.grid import Cell, Column, Grid, Important
from speechiq.reducer.studies.result import StudyResult

PARAMETERS, ACTIVE, COMPUTE = "parameters", "active_parameters", "training_flops"
#: Kind of size -> what it counts, for headings.
KINDS = {PARAMETERS: "Parameters", ACTIVE: "Active parameters", COMPUTE: "Training FLOPs"}
FEWEST = 5
#: Places at which the line and its band are drawn.
PLACES = 41
COUNTED, DECLARED, CONTROL = "counted", "declared", "a control"
#: Ends of size classes, in parameters, and their names.
CLASSES = ((1e9, "under 1B"), (4e9, "1B to 4B"), (10e9, "4B to 10B"), (math.inf, "10B and above"))
#: System -> kind -> size, of a table.
Declared = Mapping[str, Mapping[str, float]]
#: System -> its size, and whether it was counted from its checkpoints or declared in a table.
Sizes = Mapping[str, tuple[float, str]]
SCHEMA = "speechiq-size"


def fit_lines(x: np.ndarray, siq: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fit a line by least squares to the SIQ of each draw, shape (draws, systems).

    Return the slopes and the SIQ in the middle (at the mean of x), both of shape (draws,), and the distances from the
    lines, shape (draws, systems).

    >>> slope, middle, distances = fit_lines(np.array([0.0, 1.0, 2.0]), np.array([[90.0, 103.0, 110.0]]))
    >>> slope.tolist(), middle.tolist(), distances.tolist()
    ([10.0], [101.0], [[-1.0, 2.0, -1.0]])
    """
    far = x - x.mean()
    middle = siq.mean(axis=1)
    slope = siq @ far / (far @ far)
    return slope, middle, siq - middle[:, None] - slope[:, None] * far


def read_sizes(file: Path) -> dict[str, dict[str, float]]:
    """Read system -> kind -> size from a table with columns of `KINDS`; a cell may be empty."""
    return read_declared(file, [*KINDS], "sizes", _read_size)


def _read_size(kind: str, value: Any, where: str) -> float:
    size = read_number(value)
    if not 0 < size < math.inf:
        raise SpeechIQError(
            where, f"{kind} is {value!r:.40}, not a number above 0", "write it in full, such as 7000000000 or 7e9"
        )
    return size


def check_kind(kind: str, declared: Declared) -> None:
    """Raise a `SpeechIQError` for an unknown kind of size, and for one that only a table can declare without one."""
    if kind not in KINDS:
        raise SpeechIQError(f"--by {kind}", "no size", suggest(kind, KINDS))
    if kind != PARAMETERS and not any(kind in sizes for sizes in declared.values()):
        raise SpeechIQError(f"--by {kind}", "no system declares it", f"add the column {kind} to the table of --sizes")


def find_sizes(scoreboard: Scoreboard, kind: str, declared: Declared) -> Sizes:
    """Return system -> its size, as declared, else as its runs counted it; systems of unknown size are not in it.

    Without declared active parameters, all parameters of a system are active.
    """
    counted = read_parameters([task for system in scoreboard.systems for task in system.tasks])
    sizes = {}
    for system in scoreboard.pool.systems:
        given = declared.get(system, {})
        kinds = (ACTIVE, PARAMETERS) if kind == ACTIVE else (kind,)
        value = next((given[name] for name in kinds if name in given), None)
        if value is not None:
            sizes[system] = value, DECLARED
        elif kind != COMPUTE and system in counted:
            sizes[system] = float(counted[system]), COUNTED
    return sizes


def study_size(scoreboard: Scoreboard, kind: str = PARAMETERS, declared: Declared | None = None) -> StudyResult:
    """Return the SIQ of each system given its size, and the line that it is measured from.

    A row of the first grid is a system, best for its size first: its size, SIQ, the SIQ `expected` on the line, and its
    SIQ given its size. The content has the kind of size (`by`), system -> why it is not on the line (`left_out`), and
    the `line` as `_study` returns it.

    Raises:
        SpeechIQError: There is no SIQ, fewer than `FEWEST` systems have different sizes, or all are on the line.
    """
    if scoreboard.remarks.no_siq:
        raise SpeechIQError("SIQ given size", scoreboard.remarks.no_siq)
    declared = declared or {}
    check_kind(kind, declared)
    sizes = find_sizes(scoreboard, kind, declared)
    left_out = _explain_left_out(scoreboard, sizes, declared)
    sizes = {name: size for name, size in sizes.items() if name not in left_out}
    different = len({value for value, _ in sizes.values()})
    if different < FEWEST:
        raise SpeechIQError(
            "SIQ given size",
            f"{count_of(different, 'size')} among {count_of(len(sizes), 'system')} of known size, fewer than {FEWEST}",
            f"give more systems, or declare sizes by --sizes FILE ({SYSTEM}, {kind})",
        )
    rows, line = _study(scoreboard, sizes)
    grid = _grid_of_systems(rows, kind, line["spread"], left_out, scoreboard)
    records = grid.records()
    content = {
        "by": kind,
        "systems": records,
        "line": line,
        "rule": scoreboard.scale and scoreboard.scale.rule._asdict(),
        "norms": scoreboard.norms and scoreboard.norms.title,
        "bootstrap": scoreboard.bars and {"draws": scoreboard.bars.draws, "seed": scoreboard.bars.seed},
        "left_out": left_out,
    }
    tasks = [task for system in scoreboard.systems for task in system.tasks]
    return StudyResult(SCHEMA, [grid, _grid_of_line(kind, len(rows), line)], content, records, tasks=tasks)


def _explain_left_out(scoreboard: Scoreboard, sizes: Sizes, declared: Declared) -> dict[str, str]:
    """Return system -> why it is not on the line, for controls and systems of unknown size."""
    reasons = {}
    for system in scoreboard.systems:
        if system.control:
            reasons[system.name] = CONTROL
        elif system.name not in sizes:
            near = did_you_mean(system.name, declared.keys() - {*scoreboard.pool.systems})
            reasons[system.name] = f"unknown size; {near}".rstrip("; ")
    return reasons


def _study(scoreboard: Scoreboard, sizes: Sizes) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return a row for each system, and the numbers of the line.

    `slope` is points of SIQ per tenfold size, with an interval that covers the clips; `slope_of_systems` is the same
    with Student's interval, which covers the choice of systems. `explained` is the share of the variance of SIQ that
    the line explains (R squared), `spread` the standard deviation of the distances from the line, in SIQ. `places` are
    sizes with the SIQ on the line there and its 95 % band over the draws.
    """
    known = [row for row, name in enumerate(scoreboard.pool.systems) if name in sizes]
    x = np.log10([value for value, _ in sizes.values()])
    bars, clips = scoreboard.bars, Clips.from_matrix(scoreboard.pool)
    drawn = bars.siq_draws[:, known] if bars else np.empty((0, len(known)))
    siq = Resampled(np.vstack([scoreboard.siq[known], drawn]), len(clips.names), clips.cluster_count, len(clips.names))
    slope, middle, distances = fit_lines(x, siq.values)
    spread = distances.std(axis=1, keepdims=True)
    if spread[0, 0] < ROUNDING:
        raise SpeechIQError("SIQ given size", "all systems are on the line", "give more systems")
    with np.errstate(divide="ignore", invalid="ignore"):
        given_size = siq._replace(values=MEAN + POINTS * distances / spread).estimates
    rows: list[dict[str, Any]] = []
    for place, (name, (size, source)) in enumerate(sizes.items()):
        about = {SYSTEM: name, "size": size, "source": source, "class": name_class(size)}
        estimate = scoreboard.estimate_siq(known[place])
        expected = estimate.value - float(distances[0, place])
        rows.append({**about, "siq": estimate, "expected": expected, "given_size": given_size[place]})
    places = np.linspace(x.min(), x.max(), PLACES)
    band = siq._replace(values=middle[:, None] + slope[:, None] * (places - x.mean())).estimates
    line = {
        "slope": siq._replace(values=slope).estimate,
        "slope_of_systems": _slope_of_systems(x, siq.values[0], float(slope[0])),
        "explained": 1 - float(distances[0].var() / siq.values[0].var()),
        "spread": float(spread[0, 0]),
        "places": [{"size": size, "siq": on_line} for size, on_line in zip((10**places).tolist(), band, strict=True)],
    }
    return sorted(rows, key=lambda row: (-row["given_size"].value, row[SYSTEM])), line


def _slope_of_systems(x: np.ndarray, siq: np.ndarray, slope: float) -> Estimate:
    """Return the slope with Student's 95 % interval for other systems of this kind."""
    from scipy.special import stdtrit
    from scipy.stats import linregress

    free = len(x) - 2
    half = float(stdtrit(free, (1 + CONFIDENCE) / 2)) * float(linregress(x, siq).stderr)
    return Estimate(slope, slope - half, slope + half, len(x), len(x))


def name_class(parameters: float) -> str:
    """Return the size class of a number of parameters.

    >>> [name_class(parameters) for parameters in (999e6, 1e9, 4e9, 10e9)]
    ['under 1B', '1B to 4B', '4B to 10B', '10B and above']
    """
    return next(name for end, name in CLASSES if parameters < end)


def _grid_of_systems(
    rows: Sequence[Mapping[str, Cell]],
    kind: str,
    spread: float,
    left_out: Mapping[str, str],
    scoreboard: Scoreboard,
) -> Grid:
    columns = [
        Column(SYSTEM, "System"),
        Column("size", f"{KINDS[kind]}\nmillions", ".1f", factor=1e-6),
        Column("source", "", below="size"),
        Column("class", "Size class"),
        Column("siq", "SIQ", ".2f", ends=".1f"),
        Column("expected", "SIQ on\nthe line", ".2f"),
        Column("given_size", "SIQ given size", ".2f", ends=".1f", style="bold"),
    ]
    if kind == COMPUTE:
        columns[1] = Column("size", KINDS[kind], ".3g")
        columns = [column for column in columns if column.name != "class"]
    notes: list[str] = []
    for name, reason in left_out.items():
        line = f"not on the line: {name} ({reason})"
        notes.append(line if reason == CONTROL else Important(line))
    rule = scoreboard.scale.rule.label if scoreboard.scale else ""
    scale = f"norms {scoreboard.norms.title}" if scoreboard.norms else "the systems of these runs"
    notes += [
        f"SIQ given size: {MEAN} + {POINTS} times the distance from the line, in standard deviations of the distances; "
        f"{POINTS} points of it are {spread:.2f} SIQ here",
        "its intervals cover the clips, not the choice of the systems",
        f"scale: {scale}; level weights ({rule})",
    ]
    return Grid("SIQ given size", columns, rows, notes)


def _grid_of_line(kind: str, systems: int, line: Mapping[str, Any]) -> Grid:
    columns = [
        Column("kind", "Size"),
        Column("systems", "Systems", "d"),
        Column("slope", "Other clips", "+.2f", ends="+.1f"),
        Column("slope_of_systems", "Other systems", "+.2f", ends="+.1f"),
        Column("explained", "R squared", ".3f"),
        Column("spread", "Std of\ndistances", ".2f"),
    ]
    row = {"kind": KINDS[kind].lower(), "systems": systems, **line}
    notes = []
    if line["slope_of_systems"].low < 0 < line["slope_of_systems"].high:
        notes.append(Important("over other systems of this kind, the slope may be 0: the line says little"))
    return Grid("SIQ per tenfold size", columns, [row], notes)
