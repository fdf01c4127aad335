"""Draw the charts: plotly figures whose colors are names (`var(--ink)`) that the page replaces for light and dark.

Texts are escaped, since plotly reads a few HTML tags. The page puts each label in `meta["labels"]` of a trace next to
its mark, at the end of a line where marks touch, or into a list below the chart.
"""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

INK, MUTED, LINE, PAPER = "var(--ink)", "var(--muted)", "var(--line)", "var(--paper)"
ACCENT, SOFT = "var(--accent)", "var(--soft)"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
HALO = ", ".join(["0 0 3px var(--paper)"] * 3)
MEAN, STD = 100.0, 15.0
#: Fewest different numbers in a chart against them.
FEWEST_SIZES = 3
ROW, MARGIN, PADDING = 34, 92, 0.1

AXIS = {
    "gridcolor": LINE,
    "linecolor": LINE,
    "zeroline": False,
    "ticks": "",
    "fixedrange": True,
    "automargin": True,
    "title": {"font": {"color": MUTED, "size": 13}, "standoff": 12},
}
STYLE = go.layout.Template(
    layout={
        "font": {"family": FONT, "size": 13, "color": MUTED},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 16, "t": 16, "b": 8},
        "xaxis": AXIS,
        "yaxis": AXIS,
        "dragmode": False,
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": INK, "bordercolor": INK, "font": {"color": PAPER, "family": FONT, "size": 13}},
        "showlegend": False,
    }
)


def escape(text: str) -> str:
    """Return text in a form that plotly shows unchanged.

    >>> escape("<b>x</b>")
    '&lt;b&gt;x&lt;/b&gt;'
    """
    return html.escape(text, quote=False)


def bell_curve(labels: Sequence[str], siq: np.ndarray, controls: Sequence[bool], hover: Sequence[str]) -> go.Figure:
    """Return the bell curve of the scale, mean 100 and standard deviation 15, with each system at its SIQ."""
    low, high = min([52.0, *siq - 8]), max([148.0, *siq + 8])
    at = np.linspace(low, high, 241)
    curve = go.Scatter(
        x=at.round(2).tolist(),
        y=_density(at).round(6).tolist(),
        mode="lines",
        line={"color": MUTED, "width": 1.25},
        fill="tozeroy",
        fillcolor=SOFT,
        hoverinfo="skip",
    )
    figure = go.Figure([curve, draw_systems(siq, _density(siq), labels, controls, hover)])
    figure.update_layout(template=STYLE, height=340)
    figure.update_xaxes(range=[low, high], tickvals=[55, 70, 85, 100, 115, 130, 145], title_text="Speech IQ")
    figure.update_yaxes(visible=False, range=[0, 1.12])
    return figure


def profiles(labels: Sequence[str], z: dict[str, np.ndarray], hover: Mapping[str, Sequence[str]]) -> go.Figure:
    """Return one row per system: its Z at each level of `z`, joined by a line from the lowest to the highest."""
    marks = {"apply": ("square", INK, 9), "understand": ("circle", ACCENT, 10), "remember": ("line-ns", MUTED, 11)}
    rows = [escape(label) for label in labels]
    values = np.array(list(z.values()))
    spans = go.Scatter(
        x=[x for low, high in zip(values.min(axis=0), values.max(axis=0), strict=True) for x in (low, high, None)],
        y=[y for row in rows for y in (row, row, None)],
        mode="lines",
        line={"color": LINE, "width": 3},
        hoverinfo="skip",
        showlegend=False,
    )
    levels = []
    for level in (level for level in marks if level in z):
        symbol, color, size = marks[level]
        levels.append(
            go.Scatter(
                x=z[level].tolist(),
                y=rows,
                name=level.title(),
                legendrank=list(z).index(level),
                mode="markers",
                marker={"symbol": symbol, "color": color, "size": size, "line": {"width": 2, "color": color}},
                hovertext=[escape(text) for text in hover[level]],
                hoverinfo="text",
            )
        )
    figure = go.Figure([spans, *levels])
    figure.update_layout(
        template=STYLE,
        height=MARGIN + ROW * len(rows),
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"color": INK}, "itemclick": False},
        shapes=[_rule(x=0)],
        meta={"rows": len(rows)},
    )
    figure.update_xaxes(title_text="Z: standard deviations from the mean", nticks=7, range=_padded(values))
    figure.update_yaxes(range=[len(rows) - 0.4, -0.6], showgrid=False, tickfont_color=INK, ticklabelstandoff=8)
    return figure


def against_wer(
    wer: np.ndarray,
    score: np.ndarray,
    title: str,
    labels: Sequence[str],
    controls: Sequence[bool],
    hover: Sequence[str],
    chance: float | None = None,
) -> go.Figure:
    """Return each system's word error rate against its similarity or accuracy, per cent."""
    figure = go.Figure(draw_systems(wer, score, labels, controls, hover))
    figure.update_layout(template=STYLE, height=360)
    figure.update_xaxes(title_text="Word error rate, %", rangemode="tozero", range=_padded(wer))
    figure.update_yaxes(title_text=title, range=_padded(np.append(score, [] if chance is None else chance)))
    if chance is not None:
        figure.add_hline(
            chance,
            line={"color": MUTED, "width": 1, "dash": "dot"},
            annotation={"text": f"chance {chance:.0f} %", "font": {"color": MUTED, "size": 12}},
            annotation_position="top left",
        )
    return figure


def against_size(
    sizes: Sequence[float],
    scores: Sequence[float],
    labels: Sequence[str],
    title: str,
    lower: bool = False,
    axis: str = "Parameters, billion",
    faster: bool = False,
) -> go.Figure:
    """Return each system's score against its size, cost or speed, with a line along those that no other beats in both.

    Args:
        lower: Whether a lower score is better.
        faster: Whether a larger number on the axis is better, as for speed.
    """
    x, y = np.array(sizes, float), np.array(scores, float)
    price, worth = (-x if faster else x), (-y if lower else y)
    front = list[int]()
    for place in np.lexsort((-worth, price)):
        if not front or worth[place] > worth[front[-1]]:
            front.append(int(place))
    line = go.Scatter(
        x=x[front].tolist(),
        y=y[front].tolist(),
        mode="lines",
        line={"color": MUTED, "width": 1, "shape": "hv"},
        hoverinfo="skip",
    )
    hover = [f"{label}\n{axis} {size:.3g}: {score:.2f}" for label, size, score in zip(labels, x, y, strict=True)]
    figure = go.Figure([line, draw_systems(x, y, labels, [False] * len(x), hover)])
    figure.update_layout(template=STYLE, height=420)
    figure.update_xaxes(title_text=escape(axis), type="log", nticks=7, tickformat=".3~g", range=_padded(np.log10(x)))
    figure.update_yaxes(title_text=escape(title), range=_padded(y))
    return figure


def clips_against_wer() -> go.Figure:
    """Return the chart of word error rate against similarity for clips, without points; the page adds them."""
    points = go.Scatter(
        x=[],
        y=[],
        mode="markers",
        marker={"color": ACCENT, "size": 8, "opacity": 0.7, "line": {"width": 0}},
        hoverinfo="text",
    )
    figure = go.Figure(points)
    figure.update_layout(template=STYLE, height=400)
    figure.update_xaxes(title_text="Word error rate of the clip, %")
    figure.update_yaxes(title_text="Similarity, %")
    return figure


def draw_scores(
    labels: Sequence[str],
    values: Sequence[float],
    ends: Sequence[Sequence[float]],
    controls: Sequence[bool],
    title: str,
) -> go.Figure:
    """Return each system's score with its interval, one row per system, the first one lowest."""
    points = go.Scatter(
        x=[round(value, 4) for value in values],
        y=list(labels),
        error_x=error_bars(values, ends) | {"color": MUTED, "thickness": 1.5, "width": 0},
        mode="markers",
        marker=_marker(controls),
        hovertemplate="%{y}: %{x:.2f}<extra></extra>",
    )
    figure = go.Figure(points)
    figure.update_layout(template=STYLE, height=MARGIN + ROW * len(labels))
    figure.update_xaxes(title_text=escape(title), range=_padded(np.array([end for pair in ends for end in pair])))
    figure.update_yaxes(type="category", tickfont_color=INK, showgrid=False)
    return figure


def error_bars(values: Sequence[float], ends: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Return the intervals of some values as plotly draws them; one that is unknown has no length."""
    low, high = np.reshape(ends, (-1, 2)).T
    above, below = np.nan_to_num([high - values, values - low]).round(4).tolist()
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below}


def draw_systems(
    x: np.ndarray, y: np.ndarray, labels: Sequence[str], controls: Sequence[bool], hover: Sequence[str]
) -> go.Scatter:
    """Return one marker per system, hollow for a control."""
    return go.Scatter(
        x=np.round(x, 6).tolist(),
        y=np.round(y, 6).tolist(),
        mode="markers+text",
        text=[""] * len(labels),
        textfont={"color": INK, "size": 13, "shadow": HALO},
        cliponaxis=False,
        marker=_marker(controls),
        hovertext=[escape(text).replace("\n", "<br>") for text in hover],
        hoverinfo="text",
        meta={"labels": [escape(label) for label in labels]},
    )


def _marker(controls: Sequence[bool]) -> dict[str, Any]:
    line = {"color": [MUTED if control else ACCENT for control in controls], "width": 1.75}
    return {"size": 10, "color": [PAPER if control else ACCENT for control in controls], "line": line}


def _density(x: np.ndarray) -> np.ndarray:
    """Return the normal density, scaled to 1 at its maximum."""
    return np.exp(-(((x - MEAN) / STD) ** 2) / 2)


def _padded(values: np.ndarray) -> list[float]:
    low, high = float(np.min(values, initial=np.inf)), float(np.max(values, initial=-np.inf))
    if low > high:
        return [-1.0, 1.0]
    padding = PADDING * (high - low) or 1.0
    return [low - padding, high + padding]


def _rule(x: float) -> dict[str, Any]:
    line = {"color": MUTED, "width": 1}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": line, "layer": "below"}
