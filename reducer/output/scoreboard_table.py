"""Show scoreboards as people read them: a grid with a column per category, with notes below it."""

import math
from collections.abc import Iterable, Iterator

from speechiq.core.console import count_of, printable
from speechiq.core.files.json_text import shorten
from speechiq.metrics.columns import mean
from speechiq.metrics.measure import Measure, others_than_usual
from speechiq.reducer.output.scoreboard_records import count_hallucinated
from speechiq.reducer.output.terminal import CONTROL, MISMATCH
from speechiq.reducer.runs.conditions import ASPECTS, summarize
from speechiq.reducer.runs.judged import name_judges
from speechiq.reducer.runs.samples import READ_BY_MODEL, READER_AGREES
from speechiq.reducer.scores.remarks import FLAGS, title
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.bootstrap import describe_samples
from speechiq.reducer.stats.estimate import CONFIDENCE
from speechiq.reducer.stats.grid import Cell, Column, Grid, Important, name_units
from speechiq.reducer.studies.groups import Gap, GroupScores

#: Columns that are not scores of a category or group, which may have one of these names.
OTHERS = frozenset({"rank", "system", "kind", "siq", "hallucination", "hallucinated", "gap", "gap_groups", *FLAGS})
SYSTEM = "System"
#: The column of the kinds of systems, which is shown if they differ.
KIND = Column("kind", "Kind", kind="type")
HALLUCINATION = "Hallucination"
INVENTED = 'share of the left-out questions without an answer that are answered other than with "None of the above"'
TITLE = "Speech IQ"
TITLE_WITHOUT = "Levels, without Speech IQ"
#: How the names of controls begin that get no audio.
WITHOUT_AUDIO = ("silence", "letter:")
CONSTANT = "the most frequent answer of each data set alone scores"
ORDER = "in the order of mean rank over the categories"
APART = "; their scores are not combined, since units may differ"


def as_grid(scoreboard: Scoreboard, part: str = "", notes: Iterable[str] | None = None) -> Grid:
    """Return the scores of all systems over their 95 % intervals, or over Z if the suite is on a scale.

    Args:
        part: The part of the suite, such as a data set, if the grid is about one.
        notes: Lines below the grid; None takes those of `caption`.
    """
    if scoreboard.scale:
        heading = ": ".join(
            filter(None, [TITLE if scoreboard.has_siq else TITLE_WITHOUT, scoreboard.suite.partition(".")[2], part])
        )
    else:
        heading = " ".join(filter(None, [f"Suite {scoreboard.suite}", part]))
    columns = [*_list_columns(scoreboard)]
    rows = [_row(scoreboard, row) for row in scoreboard.order]
    return Grid(heading, columns, rows, [*caption(scoreboard)] if notes is None else [*notes])


def score_column(name: str, heading: str, unit: str, direction: str = "higher") -> Column:
    """Return the column of a score in its unit; one in percent shows a share times 100."""
    factor = 100.0 if unit.endswith("%") else 1.0
    return Column(name, f"{heading}\n{unit}", ".2f", ".1f", factor, kind="level", lower=direction == "lower")


def _name_column(category: str) -> str:
    """Return the name of the column of a category or group, which is none of `OTHERS`."""
    return f"score {category}" if category in OTHERS else category


def group_grid(scores: GroupScores) -> Grid:
    """Return the grid of the scores of groups, with the largest gap of each system; groups are named as they are."""
    scoreboard = scores.scoreboard
    (category, *_) = scoreboard.levels.values()
    notes = [
        *scores.lines(),
        f"{category.unit}, {category.measure.direction} is better",
    ]
    if scoreboard.bars:
        notes.append(describe_samples(scoreboard.bars.draws, scoreboard.bars.seed, scoreboard.pool.units))
    grid = as_grid(scoreboard, scores.heading, notes)
    named = {_name_column(group): f"{group}\n{category.unit}" for group in scoreboard.levels}
    shown = [column._replace(heading=named.get(column.name, column.heading)) for column in grid.columns]
    gap = score_column("gap", "Best - worst", category.unit)
    columns = [gap._replace(form="+.2f", ends="+.1f"), Column("gap_groups", "", below="gap")]
    rows = [{**cells, **_gap_cells(scores.gap(row))} for row, cells in zip(scoreboard.order, grid.rows, strict=True)]
    return grid._replace(columns=[*shown, *columns], rows=rows)


def _gap_cells(gap: Gap | None) -> dict[str, Cell]:
    if gap is None:
        return {"gap": None}
    p = "" if math.isnan(gap.difference.p) else f"\np = {gap.difference.p:.3f}"
    return {"gap": gap.difference.estimate, "gap_groups": f"{gap.best} - {gap.worst}{p}"}


def shown_flags(scoreboard: Scoreboard) -> list[str]:
    """Return the flags that at least one run recorded and that are not 0 for all systems that get audio."""
    return [flag for flag, values in _list_flags(scoreboard).items() if values not in ({0}, {None})]


def _list_flags(scoreboard: Scoreboard) -> dict[str, set[float | None]]:
    """Return flag -> its values for all systems that get audio; for controls that get none if there are only these."""
    systems = [
        system for system in scoreboard.systems if not system.control.startswith(WITHOUT_AUDIO)
    ] or scoreboard.systems
    values: dict[str, set[float | None]] = {flag: set() for flag in FLAGS}
    for system in systems:
        for flag, known in values.items():
            known.add(getattr(system.flags, flag))
    # Sets in English alone do not record it.
    return {flag: shares for flag, shares in values.items() if flag != "wrong_language" or shares != {None}}


def _list_columns(scoreboard: Scoreboard) -> Iterator[Column]:
    if scoreboard.scale is None:
        yield Column("rank", "Mean rank" if len(scoreboard.levels) > 1 else "Rank", ".3g", lower=True)
    elif scoreboard.has_siq:
        yield Column("rank", "Rank", ".0f", kind="rank", lower=True)
    yield Column("system", SYSTEM, kind="setup")
    if len(shown_kinds(scoreboard)) > 1:
        yield KIND
    for name, category in scoreboard.columns.items():
        column = score_column(_name_column(name), title(name), category.unit, category.measure.direction)
        yield column
        if scoreboard.has_z:
            yield Column(f"{name}_z", "Z", "+.2f", below=column.name)
        yield Column(f"{name}_undefined", "", below=column.name)
    if scoreboard.hallucination:
        heading = f"{HALLUCINATION}\n%"
        yield Column("hallucination", heading, ".1f", factor=100.0, kind="level", lower=True, meaning=INVENTED)
        yield Column("hallucinated", "", below="hallucination")
    if scoreboard.has_siq:
        yield Column("siq", "SIQ", ".2f", ".1f", style="bold", kind="siq")
    for flag in shown_flags(scoreboard):
        name, meaning = FLAGS[flag]
        yield Column(flag, f"{name}\n%", ".1f", factor=100.0, kind="flag", meaning=f"share of {meaning}")


def shown_kinds(scoreboard: Scoreboard) -> list[str]:
    """Return the known kinds of the systems that get audio, each once."""
    kinds = (system.kind for system in scoreboard.systems if not system.control)
    return list(dict.fromkeys(filter(None, kinds)))


def mark_name(scoreboard: Scoreboard, row: int) -> str:
    """Return the name of the system of a row, marked if it was not asked the same as others."""
    name = scoreboard.pool.systems[row]
    return f"{name} {MISMATCH}" if scoreboard.list_mismatches(row) else name


def _row(scoreboard: Scoreboard, row: int) -> dict[str, Cell]:
    """Return the cells of the system of a row."""
    system = scoreboard.systems[row]
    name = mark_name(scoreboard, row)
    if system.control:
        name += f"\n{CONTROL}{system.control}"
    cells: dict[str, Cell] = {
        "rank": "" if system.control else float(scoreboard.places[row]),
        "system": name,
        "kind": system.kind.capitalize() or None,
        **system.flags._asdict(),
    }
    for column, category in scoreboard.columns.items():
        estimate = scoreboard.estimate(column, row)
        # Beside SIQ, which has an interval of its own, categories have none.
        cells[_name_column(column)] = estimate.value if scoreboard.has_siq else estimate
        if column in scoreboard.z:
            cells[f"{column}_z"] = float(scoreboard.z[column][row])
        scored = scoreboard.find_scored(column, row)
        if category.measure.may_be_undefined and (undefined := scored.count_undefined(column)):
            items = len(scored.scores[column])
            cells[f"{column}_undefined"] = f"{undefined} of {items} {category.undefined_word}"
    if scoreboard.hallucination:
        rate = scoreboard.hallucination[system.name]
        cells["hallucination"] = rate
        cells["hallucinated"] = f"{count_hallucinated(rate)} of {rate.n}"
    if scoreboard.scale:
        cells["siq"] = scoreboard.estimate_siq(row)
    return cells


def caption(scoreboard: Scoreboard) -> Iterator[str]:
    """Yield the lines below the grid: mismatches, remarks, scale, size of the suite, and meaning of the columns."""
    levels, bars, scale = scoreboard.levels, scoreboard.bars, scoreboard.scale
    systems = count_of(len(scoreboard.systems), "system")
    yield from _name_norms(scoreboard)
    yield from _join_names(_judge_lines(scoreboard))
    yield from _reader_lines(scoreboard)
    yield from scoreboard.remarks.readings()
    if scale:
        weights = ", ".join(f"{level.title()} {weight:.3f}" for level, weight in scale.weights.items())
        yield f"{systems}; level weights ({scale.rule.label}): {weights}" if scoreboard.has_siq else systems
    else:
        yield from _join_names(_measure_lines(scoreboard))
        yield f"suite {scoreboard.suite}: {systems}"
    if scoreboard.mismatches:
        yield Important(f"{MISMATCH} not asked the same, scored on shared items: {summarize(scoreboard.mismatches)}")
    if scoreboard.excluded:
        which = shorten(scoreboard.excluded_set or "")
        questions = count_of(scoreboard.excluded, "question")
        yield Important(f"left out of Apply: {questions} of the unanswerable set {which}".rstrip())
    if rates := scoreboard.hallucination.values():
        yield f"{HALLUCINATION}: {INVENTED}; interval: Wilson over {name_units(rates)}, {100 * CONFIDENCE:.0f} %"
    if not scale:
        apart = not any(category.aggregate for category in levels.values())
        yield ORDER + APART * apart if len(levels) > 1 else "in the order of rank"
    yield from scoreboard.remarks.lines(levels)
    yield from _undefined_lines(scoreboard)
    yield from dict.fromkeys(filter(None, (task.odd_rows for system in scoreboard.systems for task in system.tasks)))
    if bars:
        why = "no clip in them separates the systems" if scale else "they have no clip of some category"
        left_out = f", {bars.left_out} of them left out: {why}" if bars.left_out else ""
        if scoreboard.has_siq:
            which = "of the norms, which stays as it is" if scoreboard.norms else "that each sample sets"
            yield f"intervals of SIQ and Z: on the scale {which}"
        yield f"{describe_samples(bars.draws, bars.seed, scoreboard.pool.units)}{left_out}"
    if bars and (exact := [*_known_scores(scoreboard)]):
        yield f"no width: the transcripts of {', '.join(exact)} are known, so their scores on all clips are equal"
    if bars and scoreboard.has_siq and (bars.siq.low == bars.siq.high).any():
        yield Important("an interval of zero width means nothing: too few clips separate the systems")
    if others := others_than_usual(levels):
        yield f"measures: {', '.join(f'{level}={column}' for level, column in others.items())}"
    if scale:
        for level, category in levels.items():
            if (chance := category.measure.chance) is not None:
                yield f"{level.title()} by chance: {100 * chance:.0f} %"
    yield from _further_lines(scoreboard)
    yield from _flag_lines(scoreboard)


def _known_scores(scoreboard: Scoreboard) -> Iterator[str]:
    """Yield the names of the controls that have an interval without width on some level."""
    for row, system in enumerate(scoreboard.systems):
        ends = (scoreboard.estimate(level, row).ends for level in scoreboard.levels)
        if system.control and any(low == high for low, high in ends):
            yield system.name


def _name_norms(scoreboard: Scoreboard) -> Iterator[str]:
    if norms := scoreboard.norms:
        differ = {mismatch.aspect for mismatch in scoreboard.mismatches}
        parts: dict[str, list[str]] = {"match": [], "DIFFER": []}
        for aspect in ASPECTS:
            parts["DIFFER" if aspect in differ else "match"].append(aspect)
        shown = "; ".join(f"{', '.join(aspects)} {word}" for word, aspects in parts.items() if aspects)
        systems = count_of(len(norms.systems), "system")
        yield Important(f"norms: {norms.title} of {systems}: {shown}")


def _flag_lines(scoreboard: Scoreboard) -> Iterator[str]:
    """Yield the meanings of the columns of flags, and which flags have no column."""
    yield from (f"{FLAGS[flag][0]}: {FLAGS[flag][1]}" for flag in shown_flags(scoreboard))
    values = _list_flags(scoreboard)
    for value, words in ((0, "none of the systems that get audio has"), (None, "not recorded")):
        if named := [FLAGS[flag][1] for flag in values if values[flag] == {value}]:
            yield f"{words}: {', '.join(named)}"


def _measure_lines(scoreboard: Scoreboard) -> Iterator[tuple[str, str]]:
    """Yield (name of a category, how its scores are read)."""
    for name, category in scoreboard.pool.levels.items():
        measure = category.measure
        line = f"{category.unit}, {measure.direction} is better"
        if (chance := measure.shown_chance) is not None:
            line += f"; by chance {chance:.4g}{' %' if measure.in_per_cent else ''}"
        if name in scoreboard.floors:
            line += f"; {CONSTANT} {_show(measure, scoreboard.floors[name])}"
        yield title(name), line


def _join_names(lines: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield each text once, after the names of all that have it."""
    names: dict[str, list[str]] = {}
    for name, text in lines:
        names.setdefault(text, []).append(name)
    yield from (type(text)(f"{', '.join(columns)}: {text}") for text, columns in names.items())


def _show(measure: Measure, value: float) -> str:
    """Return a value of a column as people read it, with its per cent sign."""
    return f"{100 * value:.2f} %" if measure.in_per_cent else f"{value:.4g}"


def _further_lines(scoreboard: Scoreboard) -> Iterator[str]:
    """Yield what the derived columns are the means of; they do not count for the mean rank."""
    derived = scoreboard.derived
    lines = []
    for column in derived.levels:
        items = len(derived.systems[0].scores[column])
        names = derived.members[column]
        where = "all categories" if len(names) == len(scoreboard.pool.levels) else ", ".join(map(title, names))
        lines.append((title(column), f"mean of the {items} items of {where}, not part of the mean rank"))
    yield from _join_names(lines)
    extra = {title(name): column for name, column in derived.levels.items() if name == column.column}
    yield from _join_names((name, f"{each.unit}, {each.measure.direction} is better") for name, each in extra.items())
    for column in derived.left_out:
        yield f"{title(column)}: not shown, since its categories are scored by different measures"


def _judge_lines(scoreboard: Scoreboard) -> Iterator[tuple[str, str]]:
    """Yield (name of a category, who judged it); if systems were judged by several judges, the systems of each."""
    for name, category in scoreboard.pool.levels.items():
        judges: dict[str, list[str]] = {}
        for system in scoreboard.systems if category.judged else ():
            tasks = system.tasks_at(name)
            judges.setdefault(name_judges(tasks), []).append(system.name)
        if len(judges) == 1:
            yield title(name), next(iter(judges))
        elif judges:
            shown = (f"{judge} ({', '.join(names)})" for judge, names in judges.items())
            yield title(name), Important("; ".join(shown))


def _reader_lines(scoreboard: Scoreboard) -> Iterator[str]:
    """Yield for each category how many answers a model alone could read, and how often it agrees with the rules."""
    for category in scoreboard.pool.levels:
        names: set[str] = set()
        by_model, agrees = list[float](), list[float]()
        for system in scoreboard.systems:
            rows = system.by_level[category]
            read = rows.where_known(READ_BY_MODEL)
            readers = {task.task: str(task.metadata.get("reader", "not recorded")) for task in system.tasks}
            names.update(printable(readers[task]) for task in read["task"])
            by_model += read.number(READ_BY_MODEL).tolist()
            agrees += read.number(READER_AGREES).tolist()
        if names:
            both = [value for value in agrees if not math.isnan(value)]
            yield (
                f"{title(category)}: reader {', '.join(sorted(names))} agrees with the rules on "
                f"{100 * mean(both):.1f} % of the answers that both read ({count_of(len(both), 'item')}); "
                f"{100 * mean(by_model):.1f} % of all answers are read by it alone"
            )


def _undefined_lines(scoreboard: Scoreboard) -> Iterator[str]:
    """Yield what is done with items without a score, and which systems have no score at all."""
    for name, category in scoreboard.pool.levels.items():
        counts = {system.name: system.count_undefined(name) for system in scoreboard.systems}
        items = scoreboard.remarks.counts[name].items
        if total := sum(counts.values()):
            yield Important(
                f"{title(name)}: {total} of {items * len(counts)} responses are {category.undefined_word} and left out"
                ": each mean is over a system's own remaining items, `siq compare` takes those that both systems have"
            )
        if empty := [system for system, number in counts.items() if number == items]:
            names = ", ".join(map(repr, empty))
            yield Important(f"{title(name)}: no score for {names}: all {items} items are {category.undefined_word}")
