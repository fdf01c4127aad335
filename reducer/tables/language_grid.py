"""Show the scores of systems by language: a grid of SIQ, and one for each category and unit."""

from collections.abc import Iterator, Mapping

import numpy as np

from speechiq.core.console import count_of
from speechiq.engines.languages import ENGLISH
from speechiq.reducer.scores.languages import LanguageScores, compare_languages
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import INTERVAL, Cell, Column, Grid, Important, caution_lines, caution_of_raw

OWN_SCALES = (
    "each language has a scale of its own: SIQ compares the systems in a language, not the languages of a system"
)
NOT_AVERAGED = "similarities of two languages do not compare, so that they have neither mean nor gap; Z is per language"


def list_grids(languages: Mapping[str, Mapping[str, str]], scored: Mapping[str, Scoreboard]) -> list[Grid]:
    """Return the grids of scores by language (`Found.languages`); none for runs in one language."""
    grids = []
    for parts in languages.values():
        boards = {language: scored[part] for language, part in parts.items()}
        if all(board.has_siq for board in boards.values()):
            grids.append(_siq_grid(boards))
        cautions = (caution_of_raw(*board.pool.smallest) for board in boards.values() if board.bars)
        caution = next(filter(None, cautions), None)
        grids += [_as_grid(scores, caution) for scores in compare_languages(boards)]
    return grids


def _siq_grid(boards: Mapping[str, Scoreboard]) -> Grid:
    """Return SIQ in each language, and its mean, best system first."""
    by_system: dict[str, dict[str, Estimate]] = {}
    for language, board in boards.items():
        ends = board.bars.siq if board.bars else np.full((2, len(board.siq)), np.nan)
        for name, siq, low, high in zip(board.pool.systems, board.siq, *ends, strict=True):
            by_system.setdefault(name, {})[language] = Estimate(float(siq), float(low), float(high))
    means = {
        name: float(np.mean([each.value for each in scores.values()]))
        for name, scores in by_system.items()
        if len(scores) == len(boards)
    }
    rows: list[dict[str, Cell]] = [
        {"system": name, **by_system[name], "mean": means[name]} for name in sorted(means, key=lambda of: -means[of])
    ]
    bars = f"\n{INTERVAL}" * all(board.bars is not None for board in boards.values())
    columns = [
        Column("system", "System"),
        *(Column(language, f"{language}\nSIQ{bars}", ".2f", ".1f", kind="siq") for language in boards),
        Column("mean", "Mean\nSIQ", ".2f", style="bold", kind="siq"),
    ]
    return Grid("Speech IQ by language", columns, rows, [Important(OWN_SCALES)])


def _as_grid(scores: LanguageScores, caution: str | None) -> Grid:
    order = [*range(len(scores.systems))]
    if scores.means:
        order.sort(key=lambda place: -scores.category.measure.sign * scores.means[place].value)
    rows: list[dict[str, Cell]] = []
    for place in order:
        cells: dict[str, Cell] = {"system": scores.systems[place]}
        cells |= {language: values[place] for language, values in scores.scores.items()}
        for language, gaps in scores.gaps.items():
            cells |= {f"{language}_gap": gaps[place].estimate, f"{language}_p": gaps[place].p}
        if scores.means:
            worst = scores.worst(place)
            cells |= {"mean": scores.means[place], "worst": worst and f"worst: {worst}"}
        rows.append(cells)
    heading, notes = f"{title(scores.category.name)} by language", [*_notes(scores, caution)]
    return Grid(heading, [*_list_columns(scores)], rows, notes)


def _list_columns(scores: LanguageScores) -> Iterator[Column]:
    category = scores.category
    bars = f"\n{INTERVAL}" * any(not np.isnan(each.low) for values in scores.scores.values() for each in values)
    factor = 100.0 if category.measure.in_per_cent else 1.0
    yield Column("system", "System")
    for language in scores.scores:
        yield Column(language, f"{language}\n{category.unit}{bars}", ".2f", ".1f", factor, kind="level")
        if language in scores.gaps:
            yield Column(f"{language}_gap", f"minus {ENGLISH}", "+.2f", "+.1f", factor, below=language)
            yield Column(f"{language}_p", "p" * bool(bars), ".3f", below=language)
    if scores.means:
        yield Column("mean", f"Mean\n{category.unit}{bars}", ".2f", ".1f", factor, style="bold", kind="level")
        yield Column("worst", "", below="mean")


def _notes(scores: LanguageScores, caution: str | None) -> Iterator[str]:
    category = scores.category
    yield from caution_lines(caution)
    yield f"{category.unit}, {category.measure.direction} is better"
    if not scores.means:
        yield Important(NOT_AVERAGED)
        return
    yield "mean: each language with the same weight; its draws take a passage in all languages"
    for language, count in scores.shared.items():
        if not count:
            yield Important(f"{language} shares no passage with {ENGLISH}, and so has no gap")
    if scores.gaps:
        counts = ", ".join(f"{name} {count_of(scores.shared[name], 'clip')}" for name in scores.gaps)
        yield (
            f"minus {ENGLISH}: the mean over the clips whose ids both languages have ({counts}); p is of paired "
            "permutations of clusters"
        )
