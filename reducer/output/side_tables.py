"""Show the tables beside a scoreboard: languages, times of answers, speed, cost, people, and a judge's reliability."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.console import count_of
from speechiq.engines.languages import ENGLISH
from speechiq.metrics.latency import AT_ONCE, CACHED, FACTOR, FIRST_AUDIO, FIRST_TOKEN, TIMES, TOTAL, WARM_UP
from speechiq.reducer.output.scoreboard_table import SYSTEM, mark_name, score_column
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.run_record import MeasuredSpeed, RunCost
from speechiq.reducer.runs.samples import join_clusters, read_sample_table
from speechiq.reducer.scores.languages import LanguageScores, compare_languages
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.scores.ranking import average_people, find_people
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.bootstrap import Statistic, describe_samples, resample
from speechiq.reducer.stats.estimate import ROUNDING, Estimate
from speechiq.reducer.stats.grid import Cell, Column, Grid, Important
from speechiq.reducer.studies.agreement import POOLED
from speechiq.siq_tasks.conditions.spec import TIMING

OWN_SCALES = (
    "each language has a scale of its own: SIQ compares the systems in a language, not the languages of a system"
)
NOT_AVERAGED = "similarities of two languages do not compare, so that they have neither mean nor gap; Z is per language"


def language_grids(languages: Mapping[str, Mapping[str, str]], scored: Mapping[str, Scoreboard]) -> list[Grid]:
    """Return the grids of scores by language (`Found.languages`); none for runs in one language."""
    grids = []
    for parts in languages.values():
        boards = {language: scored[part] for language, part in parts.items()}
        if all(board.has_siq for board in boards.values()):
            grids.append(_siq_grid(boards))
        grids += map(_language_grid, compare_languages(boards))
    return grids


#: Fewest people of whom a mean is shown.
FEWEST_PEOPLE = 2


def people_grid(scoreboard: Scoreboard) -> Grid | None:
    """Return the grid of the mean of the people among the systems; None for fewer than two."""
    count = len(find_people(scoreboard))
    if count < FEWEST_PEOPLE:
        return None
    means: dict[str, Cell] = {**average_people(scoreboard)}
    columns = [Column("system", SYSTEM)]
    for level, category in scoreboard.levels.items():
        columns.append(score_column(level, title(level), category.unit, category.measure.direction))
    if SIQ in means:
        columns.append(Column(SIQ, "SIQ", ".2f", ".1f", style="bold", kind="siq"))
    notes = [
        "intervals: other clips, the same people and the same scale",
        "a person answers a question once, and a system several times, of which the majority counts",
    ]
    row = {"system": f"people (mean of {count})"} | means
    return Grid("Mean of people", columns, [row], notes if scoreboard.bars else notes[1:])


def _siq_grid(boards: Mapping[str, Scoreboard]) -> Grid:
    """Return SIQ in each language, and its mean, best system first."""
    by_system: dict[str, dict[str, Estimate]] = {}
    for language, board in boards.items():
        for row, name in enumerate(board.pool.systems):
            by_system.setdefault(name, {})[language] = board.estimate_siq(row)
    means = {}
    for name, scores in by_system.items():
        if len(scores) == len(boards):
            means[name] = float(np.mean([each.value for each in scores.values()]))
    rows: list[dict[str, Cell]] = []
    for name, mean in sorted(means.items(), key=lambda pair: -pair[1]):
        rows.append({"system": name, **by_system[name], "mean": mean})
    columns = [
        Column("system", "System"),
        *(Column(language, f"{language}\nSIQ", ".2f", ".1f", kind="siq") for language in boards),
        Column("mean", "Mean\nSIQ", ".2f", style="bold", kind="siq"),
    ]
    return Grid("Speech IQ by language", columns, rows, [Important(OWN_SCALES)])


def _language_grid(scores: LanguageScores) -> Grid:
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
    heading, notes = f"{title(scores.category.name)} by language", [*_language_notes(scores)]
    return Grid(heading, [*_list_language_columns(scores)], rows, notes)


def _list_language_columns(scores: LanguageScores) -> Iterator[Column]:
    category = scores.category
    estimates = (each for values in scores.scores.values() for each in values)
    with_bars = any(not np.isnan(each.low) for each in estimates)
    yield Column("system", "System")
    for language in scores.scores:
        column = score_column(language, language, category.unit)
        yield column
        if language in scores.gaps:
            yield Column(f"{language}_gap", f"minus {ENGLISH}", "+.2f", "+.1f", column.factor, below=language)
            yield Column(f"{language}_p", "p" if with_bars else "", ".3f", below=language)
    if scores.means:
        yield score_column("mean", "Mean", category.unit)._replace(style="bold")
        yield Column("worst", "", below="mean")


def _language_notes(scores: LanguageScores) -> Iterator[str]:
    category = scores.category
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


#: Column of the rows -> its name in tables.
TIME_NAMES = {
    FIRST_TOKEN: "first token, s",
    FIRST_AUDIO: "first audio, s",
    TOTAL: "total, s",
    FACTOR: "real-time factor",
}
QUANTILES = {"p50": 0.5, "p95": 0.95}
LATENCY_NOTES = (
    "times from the request on; of a cascade those of its language model, from the transcript on",
    "real-time factor: total / seconds of the spoken answer, or of the clip if the answer is written",
    "at once: most requests under way together; models of transformers answer one question after the other",
    "warm-up: answers requested before the first one had ended, which are left out",
    "compare only runs on the same device with the same requests at once",
)


class Latencies(NamedTuple):
    """Hold the times of one system's answers to all tasks of one type.

    Attributes:
        clips: Clip of each answer.
        columns: Columns of the rows -> values, NaN for an answer without one.
    """

    system: str
    task_type: str
    clips: tuple[str, ...]
    clusters: dict[str, str]
    columns: dict[str, np.ndarray]

    def times(self, name: str) -> np.ndarray:
        """Return the times of the answers that have this one."""
        times: np.ndarray = self.columns[name][~np.isnan(self.columns[name])]
        return times


def read_latencies(tasks: Iterable[TaskRun]) -> list[Latencies]:
    """Return the times by system and type of task; tasks that were not timed have none."""
    groups: dict[tuple[str, str], list[TaskRun]] = {}
    for task in tasks:
        if task.metadata.get(TIMING):
            task_type = task.metadata.get("task_type", task.metadata.get("level"))
            groups.setdefault((task.system, str(task_type)), []).append(task)
    return [_read_latencies(system, task_type, group) for (system, task_type), group in sorted(groups.items())]


def _read_latencies(system: str, task_type: str, tasks: Iterable[TaskRun]) -> Latencies:
    names = (*TIMES, WARM_UP, CACHED, AT_ONCE)
    tables = [read_sample_table(task, columns=names) for task in tasks]
    columns = {}
    for name in names:
        columns[name] = np.concatenate([table.number(name) for table in tables])
    clips = tuple(clip for table in tables for clip in table["clip"])
    return Latencies(system, task_type, clips, join_clusters(tables), columns)


def latency_grid(latencies: Sequence[Latencies], draws: int) -> Grid:
    """Return a grid with one row per system, type of task and kind of time."""
    counts = {"timed": "Timed", "warm_up": "Warm-up", "cached": "Cached", "at_once": "At once"}
    columns = (
        Column("system", "System"),
        Column("task_type", "Task"),
        Column("time", "Time"),
        *(Column(name, name, ".3f") for name in QUANTILES),
        *(Column(name, heading, "d") for name, heading in counts.items()),
    )
    rows = [row for latency in latencies for row in _list_latency_rows(latency, draws)]
    notes: list[str] = [
        Important(
            f"{row['system']}, {row['task_type']}: {row['cached']} of {count_of(row['answers'], 'answer')} came from "
            "the response cache and have no time; run it with store=off"
        )
        for row in rows
        if row["cached"] and row["time"] == TIME_NAMES[TOTAL]
    ]
    notes += [*LATENCY_NOTES, describe_samples(draws, 0)] if draws else LATENCY_NOTES
    return Grid("Latency", columns, rows, notes)


def _list_latency_rows(latency: Latencies, draws: int) -> list[dict[str, Any]]:
    """Return a row per kind of time that some answer has; that of the total always."""
    about = {"system": latency.system, "task_type": latency.task_type, "answers": len(latency.clips)}
    about |= {"warm_up": int(np.nansum(latency.columns[WARM_UP])), "cached": int(np.nansum(latency.columns[CACHED]))}
    about |= {"at_once": int(np.nanmax(latency.columns[AT_ONCE], initial=0))}
    rows = []
    for name, heading in TIME_NAMES.items():
        times = latency.times(name)
        row = about | {"time": heading, "timed": len(times)}
        if len(times):
            clips = [latency.clips[place] for place in np.flatnonzero(~np.isnan(latency.columns[name]))]
            statistic = quantiles(times, [*QUANTILES.values()])
            row |= zip(QUANTILES, resample(statistic, clips, latency.clusters, draws=draws).estimates, strict=True)
        if len(times) or name == TOTAL:
            rows.append(row)
    return rows


def quantiles(values: np.ndarray, shares: Sequence[float]) -> Statistic:
    """Return the statistic of the smallest values that at least these shares of the items do not exceed.

    >>> quantiles(np.array([3.0, 1.0, 2.0, 4.0]), [0.5, 0.95])(np.array([[1, 1, 1, 1], [0, 4, 0, 0]])).tolist()
    [[2.0, 4.0], [1.0, 1.0]]
    """
    order = np.argsort(values)
    ranked = values[order]

    def statistic(counts: np.ndarray) -> np.ndarray:
        below = counts[:, order].cumsum(axis=1)
        places = [(below < share * below[:, -1:] - ROUNDING).sum(axis=1) for share in shares]
        drawn: np.ndarray = ranked[np.stack(places, axis=1)]
        return drawn

    return statistic


SPEED_COLUMNS = (
    Column("system", "System"),
    Column("work", "Work"),
    Column("rtfx", "RTFx", ".1f"),
    Column("audio_seconds", "Audio s", ".1f"),
    Column("work_seconds", "Work s", ".1f"),
    Column("device", "Device"),
    Column("batch_size", "Batch"),
)
SPEED_NOTES = (
    "RTFx: seconds of audio per second of work, without the loading of models; audio whose results came from the "
    "response cache does not count; work on texts alone, such as embedding, has no RTFx",
    "not part of SIQ; compare only runs on the same device with the same batch size",
)
NO_SPEED = "no run recorded a speed: all results came from the response cache"


def speed_grid(speeds: Sequence[MeasuredSpeed]) -> Grid:
    """Return a grid with one row per run and kind of work."""
    rows = [speed._asdict() | ({"rtfx": "", "audio_seconds": ""} if speed.rtfx is None else {}) for speed in speeds]
    return Grid("Speed", SPEED_COLUMNS, rows, SPEED_NOTES if speeds else [NO_SPEED])


COST_COLUMNS = (
    Column("system", "System"),
    Column("calls", "Calls", "d"),
    Column("prompt_tokens", "Tokens\nread", ",d"),
    Column("completion_tokens", "Tokens\nwritten", ",d"),
    Column("work_seconds", "Work s", ".1f"),
    Column("cost", "Cost", ".4f"),
)
COST_NOTES = (
    "what came from the response cache costs nothing, so only runs with an empty cache show the cost of the whole test",
    "tokens are those that endpoints state for the system itself; work is without loading, judging and embedding",
    "cost: in the currency of the prices; a dash has no price",
)


def cost_grid(costs: Sequence[RunCost]) -> Grid:
    """Return a grid with one row per system."""
    return Grid("Cost", COST_COLUMNS, [cost._asdict() for cost in costs], COST_NOTES)


#: Field of `Reliability` -> heading, meaning.
SHARES = {
    "unjudged": ("Unjudged", "answers without a readable score"),
    "unread": ("Unreadable", "single judgments without a readable score"),
    "refusals": ("Refusals", "answers that refuse"),
    "empty": ("Empty", "empty answers"),
    "equal": ("Equal", "pairs of repeated judgments of one answer with equal scores"),
    "match": ("Match", "answers that match the reference by rule, without a model"),
}
COEFFICIENTS = {
    "alpha": ("Alpha", "Krippendorff's alpha over repeated judgments: 1 full agreement, 0 that of chance"),
    "length": ("Length", "rank correlation of the judge's score with the number of words of the answer"),
    "rule": ("Judge and rule", "rank correlation of the judge's score with the score by rule (1 for a match, else F1)"),
}


def reliability_grid(scoreboard: Scoreboard) -> Grid:
    """Return a grid with a row per category and system, in the order of the scoreboard, then over all categories."""
    columns = [
        Column("category", "Category"),
        Column("system", SYSTEM),
        Column("items", "Answers", "d"),
        *(Column(name, f"{heading}\n%", ".1f", factor=100.0, meaning=text) for name, (heading, text) in SHARES.items()),
        *(Column(name, heading, ".2f", meaning=text) for name, (heading, text) in COEFFICIENTS.items()),
    ]
    rows = [
        {
            **reliability[row]._asdict(),
            "category": title(category),
            "system": mark_name(scoreboard, row),
        }
        for category, reliability in scoreboard.reliability.items()
        for row in scoreboard.order
    ]
    return Grid(f"Suite {scoreboard.suite}: reliability of the judge", columns, rows, [*_reliability_notes(scoreboard)])


def _reliability_notes(scoreboard: Scoreboard) -> Iterator[str]:
    """Yield the meanings of the columns, and what the numbers cannot show."""
    yield from (f"{heading}: {meaning}" for heading, meaning in (*SHARES.values(), *COEFFICIENTS.values()))
    for category, found in scoreboard.reliability.items():
        if category == POOLED:
            yield f"{title(category)}: differences between categories count too, so alpha and correlations are larger"
        scale = "ordinal" if all(each.ordinal for each in found) else "interval"
        draws = max(each.draws for each in found)
        if draws > 1:
            yield f"{title(category)}: alpha for the {scale} scale, over {draws} judgments of each answer"
        else:
            yield f"{title(category)}: one judgment per answer, so that judgments cannot agree or differ"
    same = [
        f"{scoreboard.pool.systems[row]} ({title(category)})"
        for category, found in scoreboard.reliability.items()
        for row, each in enumerate(found)
        if each.constant
    ]
    if same:
        line = f"the judge gives all answers of {', '.join(same)} one score: no correlation and no alpha is defined"
        yield Important(line)
    if any(each.empty for found in scoreboard.reliability.values() for each in found):
        yield "empty answers are not sent to a judge: Equal, Alpha and correlations leave them out"
    if scoreboard.bars:
        yield describe_samples(scoreboard.bars.draws, scoreboard.bars.seed, scoreboard.pool.units)
    yield "a judge can agree with itself and be wrong: `siq judge check` compares it with people"
