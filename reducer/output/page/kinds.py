"""Draw the raw scores of all systems by level and data set, colored by the kind of the system (paper, Figures 3-5)."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from speechiq.engines.base import CASCADE, CONTROL, CORRECTED, END_TO_END, PERSON, RECOGNIZER
from speechiq.reducer.output.page.figures import INK, MARGIN, STYLE, escape
from speechiq.reducer.output.page.page import HEIGHT, Section
from speechiq.reducer.output.page.study import Study
from speechiq.reducer.output.scoreboard_table import shown_kinds
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.estimate import Estimate

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
    above = [_length(score.high - score.value) for score in scores]
    below = [_length(score.value - score.low) for score in scores]
    error = {"type": "data", "symmetric": False, "array": above, "arrayminus": below}
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


def _length(width: float) -> float:
    """Return the part of an interval on one side; 0 without one."""
    return 0.0 if math.isnan(width) else round(width, 4)
