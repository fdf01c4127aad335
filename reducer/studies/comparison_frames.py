"""Show a comparison as a pandas frame, and as HTML in a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from speechiq.reducer.studies.comparison import Comparison, Difference


def difference_frame(comparison: Comparison) -> pd.DataFrame:
    """Return one row per score that is compared; see `Comparison.to_frame`."""
    import pandas as pd

    sides = {1: comparison.a, -1: comparison.b, 0: ""}
    rows: dict[str, dict[str, Any]] = {}
    for level, difference in comparison.raw.items():
        category = comparison.levels[level]
        low, high = sorted((category.show(difference.low), category.show(difference.high)))
        shown = [category.show(value) + 0.0 for value in (difference.a, difference.b, difference.value)]
        rows[level] = _row(category.unit, [*shown, low, high], difference, sides)
        if level in comparison.z:
            rows[f"{level}_z"] = _plain_row("Z", comparison.z[level], sides)
    if comparison.siq:
        rows["siq"] = _plain_row("SIQ", comparison.siq, sides)
    for level, of in comparison.undefined.items():
        rows[level] |= {"undefined_a": of.a, "undefined_b": of.b, "items": of.compared}
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index.name = "score"
    frame.attrs |= {"a": comparison.a, "b": comparison.b}
    return frame


def comparison_html(comparison: Comparison) -> str:
    """Return the comparison as an HTML table with its verdict; all texts are escaped."""
    better = comparison.better
    verdict = f"{better} is better beyond chance" if better else "neither system is better beyond chance"
    notes = [f"a: {comparison.a}", f"b: {comparison.b}", verdict if comparison.draws else "no intervals, no verdict"]
    notes += [note for note in (comparison.no_siq, comparison.caution) if note]
    items = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    return f"{difference_frame(comparison).to_html(float_format='{:.3f}'.format, na_rep='')}<ul>{items}</ul>"


def _plain_row(unit: str, difference: Difference, sides: dict[int, str]) -> dict[str, Any]:
    numbers = [difference.a, difference.b, difference.value, difference.low, difference.high]
    return _row(unit, numbers, difference, sides)


def _row(unit: str, numbers: list[float], difference: Difference, sides: dict[int, str]) -> dict[str, Any]:
    names = ("a", "b", "difference", "low", "high")
    return {"unit": unit, **dict(zip(names, numbers, strict=True)), "p": difference.p, "favors": sides[difference.side]}
