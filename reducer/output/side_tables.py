"""Show tables beside a scoreboard: languages, people, times of answers, BLEU, speed, cost and a judge's reliability."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.console import count_of
from speechiq.engines.languages import ENGLISH, KEY
from speechiq.metrics.latency import AT_ONCE, CACHED, FACTOR, FIRST_AUDIO, FIRST_TOKEN, TIMES, TOTAL, WARM_UP
from speechiq.metrics.translation import COUNTS, TARGET, bleu_of_counts, sum_counts
from speechiq.reducer.output.scoreboard_table import SYSTEM, mark_name, score_column
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.run_record import MeasuredSpeed, RunCost
from speechiq.reducer.runs.samples import join_clusters, read_sample_table
from speechiq.reducer.runs.table import Table, join_tables
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

#: (system, type of task) -> the rows of its answers, with their times.
Latencies = dict[tuple[str, str], Table]


class SideTables(NamedTuple):
    """Hold the tables beside the scoreboards of some runs; empty where the runs have no such thing.

    Attributes:
        people: Suite -> the mean of the people among its systems.
        languages: Scores by language.
        translations: The BLEU of translations.
        times: Times of answers, of the rows in `latencies`.
    """

    people: dict[str, Grid]
    languages: list[Grid]
    translations: list[Grid]
    times: list[Grid]
    latencies: Latencies


def gather_side_tables(
    tasks: Sequence[TaskRun], languages: Mapping[str, Mapping[str, str]], scored: Mapping[str, Scoreboard], draws: int
) -> SideTables:
    """Return the tables beside the scoreboards of suites.

    Args:
        tasks: All tasks of the runs.
        languages: Suite -> language -> the suite of its part, as `Found.languages`.
        scored: Suite -> its scoreboard.
        draws: Number of draws of clips for the intervals; 0 leaves them out.
    """
    people = {suite: people_grid(scoreboard) for suite, scoreboard in scored.items()}
    latencies = read_latencies(tasks)
    return SideTables(
        people={suite: grid for suite, grid in people.items() if grid},
        languages=language_grids(languages, scored),
        translations=translation_grids(tasks, draws),
        times=[latency_grid(latencies, draws)] if latencies else [],
        latencies=latencies,
    )


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


def read_latencies(tasks: Iterable[TaskRun]) -> Latencies:
    """Return the times by system and type of task; tasks that were not timed have none."""
    groups: dict[tuple[str, str], list[TaskRun]] = {}
    for task in tasks:
        if task.metadata.get(TIMING):
            task_type = task.metadata.get("task_type", task.metadata.get("level"))
            groups.setdefault((task.system, str(task_type)), []).append(task)
    latencies = {}
    for key, group in sorted(groups.items()):
        tables = [read_sample_table(task, columns=(*TIMES, WARM_UP, CACHED, AT_ONCE)) for task in group]
        join_clusters(tables)  # refuses a clip in two clusters
        latencies[key] = join_tables(tables)
    return latencies


def latency_grid(latencies: Latencies, draws: int) -> Grid:
    """Return a grid with one row per system, type of task and kind of time."""
    counts = {"timed": "Timed", "warm_up": "Warm-up", "cached": "Cached", "at_once": "At once"}
    columns = (
        Column("system", "System"),
        Column("task_type", "Task"),
        Column("time", "Time"),
        *(Column(name, name, ".3f") for name in QUANTILES),
        *(Column(name, heading, "d") for name, heading in counts.items()),
    )
    rows = [row for key, answers in latencies.items() for row in _list_latency_rows(*key, answers, draws)]
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


def _list_latency_rows(system: str, task_type: str, answers: Table, draws: int) -> list[dict[str, Any]]:
    """Return a row per kind of time that some answer has; that of the total always."""
    about = {"system": system, "task_type": task_type, "answers": len(answers)}
    about |= {"warm_up": int(np.nansum(answers.number(WARM_UP))), "cached": int(np.nansum(answers.number(CACHED)))}
    about |= {"at_once": int(np.nanmax(answers.number(AT_ONCE), initial=0))}
    rows = []
    for name, heading in TIME_NAMES.items():
        timed = answers.where_known(name)
        row = about | {"time": heading, "timed": len(timed)}
        if len(timed):
            statistic = quantiles(timed.number(name), [*QUANTILES.values()])
            drawn = resample(statistic, timed["clip"].tolist(), answers.clusters, draws=draws)
            row |= zip(QUANTILES, drawn.estimates, strict=True)
        if len(timed) or name == TOTAL:
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


#: Key of metadata that tasks of translation record.
SIGNATURE = "bleu_signature"
TRANSLATION_NOTES = (
    "BLEU of all clips of a data set together, by the counts in its rows; a draw has the BLEU of the clips in it",
    "compare only systems on the same data set, with the same signature of sacrebleu",
)


def translation_grids(tasks: Iterable[TaskRun], draws: int) -> list[Grid]:
    """Return the grid with a row per data set and system, the highest BLEU first; none for runs without translations.

    Args:
        tasks: All tasks of some runs, of which those that translate are shown.
        draws: Number of draws of clips for the intervals; 0 leaves them out.
    """
    rows = [_describe_translation(task, draws) for task in tasks if SIGNATURE in task.metadata]
    if not rows:
        return []
    rows.sort(key=lambda row: (row["dataset"], -row["bleu"].value, row["system"]))
    columns = [
        Column("dataset", "Data set"),
        Column("direction", "Direction"),
        Column("system", "System"),
        Column("bleu", "BLEU\n%", ".2f", ".1f", factor=100.0),
        Column("clips", "Clips", "d"),
        Column("signature"),
    ]
    return [Grid("Translation: BLEU", columns, rows, _list_translation_notes(rows, draws))]


def _list_translation_notes(rows: list[dict[str, Any]], draws: int) -> list[str]:
    signatures = sorted({row["signature"] for row in rows})
    notes = [*(f"signature of sacrebleu: {signature}" for signature in signatures), *TRANSLATION_NOTES]
    return [*notes, describe_samples(draws, 0)] if draws else notes


def _describe_translation(task: TaskRun, draws: int) -> dict[str, Any]:
    """Return the row of one task: its data set, direction, system and BLEU."""
    table = read_sample_table(task, columns=COUNTS)
    counts = np.column_stack([table.number(name) for name in COUNTS])
    found = resample(pooled_bleu(counts), table["clip"].tolist(), join_clusters([table]), draws=draws)
    return {
        "dataset": task.dataset,
        "direction": f"{task.metadata.get(KEY) or '?'} to {task.metadata.get(TARGET)}",
        "system": task.system,
        "bleu": found.estimate,
        "clips": found.clips,
        "signature": task.metadata[SIGNATURE],
    }


def pooled_bleu(counts: np.ndarray) -> Statistic:
    """Return the statistic that computes BLEU from the counts of clips, shape (clips, 6).

    >>> pooled_bleu(np.array([[5.0, 3, 2, 1, 5, 6], [0, 0, 0, 0, 0, 4]]))(np.array([[1, 0], [0, 2]])).round(4).tolist()
    [0.5789, 0.0]
    """

    def statistic(times: np.ndarray) -> np.ndarray:
        return np.array([bleu_of_counts(sums) for sums in sum_counts(counts, times)])

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
NO_SPEED = (
    "no run recorded a speed: imported runs have none, nor have runs whose results all came from the response cache"
)


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
    Column("replies_without_tokens", None, "d"),
)
COST_NOTES = (
    "what came from the response cache costs nothing, so only runs with an empty cache show the cost of the whole test",
    "tokens are those that endpoints state for the system itself; work is without loading, judging and embedding",
    "cost: in the currency of the prices; a dash has no price, or one of tokens that are not known",
)


def cost_grid(costs: Sequence[RunCost]) -> Grid:
    """Return a grid with one row per system."""
    notes = [
        Important(f"{each.system}: its endpoint states no tokens for {count_of(each.replies_without_tokens, 'call')}")
        for each in costs
        if each.replies_without_tokens
    ]
    return Grid("Cost", COST_COLUMNS, [cost._asdict() for cost in costs], [*notes, *COST_NOTES])


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
