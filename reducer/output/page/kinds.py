"""Draw scores by the kind of the system (paper, Figures 3-5), and against size, cost, speed and latency."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from speechiq.engines.base import CASCADE, CONTROL, CORRECTED, END_TO_END, PERSON, RECOGNIZER
from speechiq.metrics.latency import FIRST_AUDIO, FIRST_TOKEN, TOTAL
from speechiq.reducer.output.page.figures import FEWEST_SIZES, INK, MARGIN, STYLE, against_size, error_bars, escape
from speechiq.reducer.output.page.page import HEIGHT, Section, link_to
from speechiq.reducer.output.page.study import Study
from speechiq.reducer.output.page.tables import list_all_tasks
from speechiq.reducer.output.scoreboard_table import shown_kinds
from speechiq.reducer.output.side_tables import LATENCY_NOTES, SPEED_NOTES, TIME_NAMES, Latencies, read_latencies
from speechiq.reducer.runs.run_record import OF_MEASURES, MeasuredSpeed, RunCost, read_parameters, read_speeds
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import Cell, Column, Grid

#: Height of a bar with its name, and the part of it that is the bar.
ROW, WIDTH = 44, 0.4
ALL_CLIPS, UNKNOWN = "All clips", "not recorded"
#: Colors that differ for people with any color vision, in both themes (Okabe and Ito).
COLORS = {
    CASCADE: "#0072b2",
    CORRECTED: "#56b4e9",
    END_TO_END: "#d55e00",
    RECOGNIZER: "#009e73",
    PERSON: "#cc79a7",
    CONTROL: "#7a7a7a",
    UNKNOWN: "#b58900",
}
INTRO = (
    "The raw scores of each level, before any scale, with their 95 % intervals. Systems are in the order of the "
    "leaderboard; the color is the kind of the system."
)


class Bar(NamedTuple):
    """Hold the score of a system on a data set, as people read it."""

    label: str
    kind: str
    score: Estimate


def kind_sections(study: Study) -> list[Section]:
    """Return the section with a chart per level; none if all systems that get audio are of one kind."""
    if len(shown_kinds(study.scoreboard)) < 2:
        return []
    boards = dict(study.sets) or {ALL_CLIPS: study.scoreboard}
    drawn, captions = {}, {}
    for level in study.levels:
        unit = study.scoreboard.levels[level].unit
        bars = {name: _list_bars(study, board, level) for name, board in boards.items()}
        drawn[f"kinds-{level}"] = draw_bars(bars, unit)
        captions[f"kinds-{level}"] = f"{title(level)}: {unit}"
    return [Section("kinds", "Kinds of systems", figures=drawn, charts=captions, intro=INTRO)]


def _list_bars(study: Study, board: Scoreboard, level: str) -> list[Bar]:
    """Return the scores of a level on one data set, in the order of all clips."""
    labels = dict(zip(study.names, study.labels, strict=True))
    factor = float(study.scoreboard.levels[level].measure.show_score(1.0))
    bars = []
    for row in study.scoreboard.order:
        system = study.scoreboard.systems[row]
        score = board.estimate(level, board.pool.systems.index(system.name)).map(factor)
        bars.append(Bar(labels[system.name], system.kind or UNKNOWN, score))
    return bars


def draw_bars(sets: Mapping[str, Sequence[Bar]], unit: str) -> go.Figure:
    """Return bars for each data set, one per system below its name; the systems are the same in all sets."""
    figure = make_subplots(len(sets), 1, subplot_titles=[*map(escape, sets)], shared_xaxes=True)
    figure.update_annotations(font={"color": INK, "size": 13, "weight": 600}, x=0, xanchor="left")
    named: set[str] = set()
    for row, bars in enumerate(sets.values(), 1):
        for kind in COLORS:
            if own := {place: bar for place, bar in enumerate(bars) if bar.kind == kind}:
                figure.add_trace(_trace(own, kind, is_named=kind not in named), row=row, col=1)
                named.add(kind)
        for place, bar in enumerate(bars):
            top = {"y": place - WIDTH / 2, "yanchor": "bottom"}
            name = {"text": escape(bar.label), "xref": "x domain", "x": 0, "xanchor": "left", **top}
            figure.add_annotation(**name, showarrow=False, font={"color": INK, "size": 12}, row=row, col=1)
        figure.update_yaxes(range=[len(bars) - 0.6, -0.9], row=row, col=1)
    rows = sum(len(bars) + 1 for bars in sets.values())
    figure.update_layout(template=STYLE, height=max(HEIGHT, MARGIN + ROW * rows), barmode="overlay", margin_t=80)
    legend = {"orientation": "h", "x": 0, "y": 1, "yanchor": "top", "yref": "container", "itemclick": False}
    figure.update_layout(showlegend=True, legend=legend, legend_font_color=INK)
    figure.update_xaxes(rangemode="tozero")
    figure.update_xaxes(title_text=escape(unit), row=len(sets), col=1)
    figure.update_yaxes(showticklabels=False, showgrid=False)
    return figure


def _trace(bars: Mapping[int, Bar], kind: str, *, is_named: bool) -> go.Bar:
    """Return the bars of a kind at their places, from the top."""
    scores = [bar.score for bar in bars.values()]
    error = error_bars([score.value for score in scores], [score.ends for score in scores])
    return go.Bar(
        x=[round(score.value, 4) for score in scores],
        y=[*bars],
        width=WIDTH,
        orientation="h",
        name=kind.capitalize(),
        legendgroup=kind,
        showlegend=is_named,
        marker={"color": COLORS[kind]},
        error_x=error | {"color": INK, "thickness": 1.25, "width": 0},
        customdata=[escape(bar.label) for bar in bars.values()],
        hovertemplate="%{customdata}: %{x:.2f}<extra></extra>",
    )


TRADEOFFS = "No system beats those on the line in both the score and the number that it is drawn against."
SIZES = (
    "parameters: of all stages together, as the runs counted them; the study of size (siq study size) says how good "
    "each system is for its size",
)
COSTS = ("cost: of the runs at the given prices, without what came from the response cache",)


class Tradeoff(NamedTuple):
    """Hold a number of the systems against which their scores are drawn.

    Attributes:
        name: What it is, for the title of the section.
        axis: Title of the axis, with the unit.
        values: System -> number.
        faster: Whether a larger number is better.
    """

    name: str
    axis: str
    values: Mapping[str, float]
    notes: Sequence[str]
    faster: bool = False

    def count(self, systems: Collection[str]) -> int:
        """Return how many different numbers some systems have."""
        return len({value for name, value in self.values.items() if name in systems})


def tradeoff_sections(study: Study, costs: Sequence[RunCost] = ()) -> list[Section]:
    """Return the section with SIQ and each level against numbers of the systems, of which the reader chooses one.

    A number of which the systems that are not controls have fewer than `FEWEST_SIZES` values is left out; there is no
    section without any.
    """
    tasks = list_all_tasks(study.scoreboard.systems)
    found = [
        Tradeoff("size", "Parameters, billion", {name: n / 1e9 for name, n in read_parameters(tasks).items()}, SIZES),
        Tradeoff("cost", "Cost", {cost.system: cost.cost for cost in costs if cost.cost > 0}, COSTS),
        *list_speeds(read_speeds(tasks)),
        *_list_medians(read_latencies(tasks)),
    ]
    systems = {study.names[row] for row in study.listening}
    kept = [tradeoff for tradeoff in found if tradeoff.count(systems) >= FEWEST_SIZES]
    if not kept:
        return []
    figures, captions = {}, {}
    for number, tradeoff in enumerate(kept):
        for score, chart in _draw_tradeoff(study, tradeoff).items():
            figures[f"tradeoffs-{score}-{number}"] = chart
            captions[f"tradeoffs-{score}"] = "SIQ" if score == "siq" else title(score)
    *first, last = dict.fromkeys(tradeoff.name for tradeoff in kept)
    heading = f"Scores against {' and '.join(filter(None, [', '.join(first), last]))}"
    grid = _list_numbers(study, kept, heading)
    section = Section("tradeoffs", heading, intro=TRADEOFFS, charts=captions, grid=grid)
    return [section._replace(figures=figures, values={"axes": [tradeoff.axis for tradeoff in kept]})]


def list_speeds(speeds: Sequence[MeasuredSpeed]) -> Iterator[Tradeoff]:
    """Yield the speed of each kind of work that is a system's own and has audio; that of its runs together."""
    own = [speed for speed in speeds if (speed.rtfx or 0) > 0 and speed.work not in OF_MEASURES]
    for work in sorted({speed.work for speed in own}):
        audio, seconds = defaultdict[str, float](float), defaultdict[str, float](float)
        devices = set[str]()
        for speed in own:
            if speed.work == work:
                audio[speed.system] += speed.audio_seconds
                seconds[speed.system] += speed.work_seconds
                devices.add(f"{speed.device or 'not recorded'} (batch size {speed.batch_size or 'not recorded'})")
        values = {name: audio[name] / spent for name, spent in seconds.items() if spent > 0}
        notes = (*SPEED_NOTES, f"device of {work}: {', '.join(sorted(devices))}")
        yield Tradeoff("speed", f"RTFx, {work}", values, notes, faster=True)


def _list_medians(latencies: Latencies) -> Iterator[Tradeoff]:
    """Yield the median of each time of the answers, as the table of latencies has it."""
    for name in (FIRST_TOKEN, FIRST_AUDIO, TOTAL):
        times: dict[str, list[float]] = {}
        for (system, _), answers in latencies.items():
            known = answers.where_known(name).number(name)
            times.setdefault(system, []).extend(known[known > 0].tolist())
        values = {}
        for system, all_times in times.items():
            if all_times:
                values[system] = float(np.quantile(all_times, 0.5, method="inverted_cdf"))
        yield Tradeoff("latency", f"Median {TIME_NAMES[name]}", values, LATENCY_NOTES)


def _draw_tradeoff(study: Study, tradeoff: Tradeoff) -> dict[str, go.Figure]:
    """Return `siq`, if there is one, and each level -> its chart."""
    rows = [row for row in study.listening if study.names[row] in tradeoff.values]
    draw = partial(
        against_size,
        [tradeoff.values[study.names[row]] for row in rows],
        labels=[study.labels[row] for row in rows],
        axis=tradeoff.axis,
        faster=tradeoff.faster,
    )
    charts = {}
    if study.has_siq:
        charts["siq"] = draw([float(study.scoreboard.siq[row]) for row in rows], title="SIQ")
    for level in study.levels:
        category = study.scoreboard.levels[level]
        scores = [float(category.measure.show_score(study.scoreboard.estimate(level, row).value)) for row in rows]
        charts[level] = draw(scores, title=category.unit, lower=category.measure.direction == "lower")
    return charts


def _list_numbers(study: Study, tradeoffs: Sequence[Tradeoff], heading: str) -> Grid:
    """Return the table of the numbers of the systems that are not controls, best system first."""
    columns = [Column("system", "System")]
    for each in tradeoffs:
        columns += [Column(each.axis, each.axis.replace(", ", "\n"), ".3g", lower=not each.faster)]
    rows: list[dict[str, Cell]] = []
    for row in study.scoreboard.order:
        if row in study.listening:
            name = study.names[row]
            numbers = {each.axis: each.values.get(name) for each in tradeoffs}
            rows.append({"system": link_to("system", name, study.labels[row]), **numbers})
    notes = dict.fromkeys(note for each in tradeoffs for note in each.notes)
    return Grid(heading, columns, rows, [*notes])
