"""Draw scoreboards and comparisons as plotly figures."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.output.page import figures
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.studies.comparison import Comparison

__all__ = ["compare", "levels", "scores"]
#: The colors of the report's light theme, by the names that its charts use.
COLORS = {
    "var(--ink)": "#1b1d1f",
    "var(--muted)": "#5d6266",
    "var(--line)": "#e3e3df",
    "var(--paper)": "#fdfdfc",
    "var(--accent)": "#0b6664",
    "var(--soft)": "#e5f1f0",
}
MARGIN, PER_ROW = 92, 34


def scores(scoreboard: Scoreboard) -> go.Figure:
    """Draw the SIQ of each system with its 95 % interval, the best system at the top.

    Args:
        scoreboard: What `speechiq.rank` returned.

    Raises:
        SpeechIQError: The scoreboard has no SIQ.

    Example:
        ```python
        speechiq.plot.scores(scoreboard).show()
        ```
    """
    if reason := scoreboard.remarks.no_siq:
        raise SpeechIQError(reason, fix="or draw speechiq.plot.levels(scoreboard)")
    frame = scoreboard.to_frame()[::-1]
    ends = frame[["siq_low", "siq_high"]].T.fillna(frame["siq"]).T
    return _painted(_row_chart(frame.index, frame["siq"], ends, frame["control"], "Speech IQ"))


def levels(scoreboard: Scoreboard) -> go.Figure:
    """Draw the mean score of each system at each level, in the level's unit, with its 95 % interval.

    Args:
        scoreboard: What `speechiq.rank` returned.

    Example:
        ```python
        speechiq.plot.levels(scoreboard).write_html("levels.html")
        ```
    """
    frame = scoreboard.to_frame()[::-1]
    units = frame.attrs["units"]
    figure = make_subplots(cols=len(units), shared_yaxes=True, horizontal_spacing=0.05)
    figure.update_layout(template=figures.STYLE, height=MARGIN + PER_ROW * len(frame))
    for column, (level, unit) in enumerate(units.items(), 1):
        ends = frame[[f"{level}_low", f"{level}_high"]].T.fillna(frame[level]).T
        chart = _row_chart(frame.index, frame[level], ends, frame["control"], "")
        figure.add_trace(chart.data[0], row=1, col=column)
        figure.update_xaxes(title_text=figures.escape(f"{level.title()}: {unit}"), row=1, col=column)
    figure.update_yaxes(tickfont_color=figures.INK, showgrid=False)
    return _painted(figure)


def compare(comparison: Comparison) -> go.Figure:
    """Draw the differences between two systems, each with its 95 % interval and on an axis of its own.

    A difference is the score of system a minus that of system b; of a word error rate, lower is better.

    Args:
        comparison: What `speechiq.compare` returned.

    Example:
        ```python
        speechiq.plot.compare(speechiq.compare("runs/base", "runs/tiny")).show()
        ```
    """
    frame = comparison.to_frame()
    frame = frame[frame["unit"] != "Z"]
    figure = make_subplots(rows=len(frame), vertical_spacing=0.45 / len(frame))
    names = " minus ".join(figures.escape(name) for name in (comparison.a, comparison.b))
    figure.update_layout(template=figures.STYLE, height=MARGIN + 90 * len(frame), title_text=names)
    figure.update_layout(margin_t=48, title_font_size=14)
    for row, (score, difference) in enumerate(frame.iterrows(), 1):
        value = difference["difference"]
        ends = [[difference["low"], difference["high"]] if comparison.draws else [value, value]]
        unit = difference["unit"] if score == "siq" else f"{str(score).title()}: {difference['unit']}"
        figure.add_trace(figures.draw_scores([""], [value], ends, [False], "").data[0], row=row, col=1)
        figure.add_vline(0, line={"color": figures.MUTED, "width": 1}, row=row, col=1)
        figure.update_xaxes(title_text=figures.escape(unit), row=row, col=1)
    figure.update_yaxes(visible=False)
    return _painted(figure)


def _row_chart(names: Sequence[str], values: Any, ends: Any, controls: Any, title: str) -> go.Figure:
    """Return the report's chart of one row per system."""
    labels = [figures.escape(name) for name in names]
    return figures.draw_scores(labels, list(values), ends.to_numpy().tolist(), [bool(name) for name in controls], title)


def _painted(figure: go.Figure) -> go.Figure:
    """Return the figure with colors in the place of their names, which only the report's page knows."""
    return go.Figure(_replace(figure.to_plotly_json()))


def _replace(part: Any) -> Any:
    if isinstance(part, dict):
        return {key: _replace(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_replace(value) for value in part]
    return COLORS.get(part, part) if isinstance(part, str) else part


def __dir__() -> list[str]:
    return __all__
