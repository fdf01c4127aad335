"""Gather what the page shows of a suite without a scale: ranking, charts, and the responses to each item."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any, NamedTuple

import msgspec
import plotly.graph_objects as go

from speechiq.reducer.report import figures
from speechiq.reducer.report.audio import find_source
from speechiq.reducer.report.clips import number
from speechiq.reducer.report.identity import short_names
from speechiq.reducer.runs.judged import Judged, read_item, read_stored
from speechiq.reducer.runs.measure import Category
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.rows import Item, first_of, read_rows, show_item
from speechiq.reducer.scores.derived import share_measure
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.scoreboard import Scoreboard, rate, rate_groups
from speechiq.reducer.scores.scoring import Options
from speechiq.reducer.scores.suites import Found
from speechiq.reducer.stats.grid import Column, Grid
from speechiq.reducer.studies.judges.reliability import add_reliability, part_most
from speechiq.reducer.tables import reliability_table
from speechiq.reducer.tables.scoreboard_records import rows_of
from speechiq.reducer.tables.scoreboard_table import as_grid, group_grid


class _Row(msgspec.Struct):
    """A row of any suite, with its complete doc."""

    doc: dict[str, Any]
    filtered_resps: Any = ""
    speech_text_wer: Any = None


class CategoryTexts:
    """Hold the questions, the expected answers and the responses of one category.

    Attributes:
        asked: Item -> question, reference and answer.
        written: Item -> system -> its response.
        queries: Item -> its spoken query.
        replies: Item -> system -> its reply to a spoken query.
    """

    def __init__(self, category: Category, tasks: Iterable[TaskRun]) -> None:
        """Read the tasks of a category."""
        self.asked: dict[Item, str] = {}
        self.written: dict[Item, dict[str, str]] = {}
        self.queries: dict[Item, Query] = {}
        self.replies: dict[Item, dict[str, Reply]] = {}
        for task in tasks:
            for _, row in read_rows(task.samples, _Row, "an object doc"):
                self._add(task.system, tuple(str(row.doc.get(field, "")) for field in category.item), row)

    def _add(self, system: str, item: Item, row: _Row) -> None:
        parts = (row.doc.get(key) for key in ("question", "text", "answer"))
        self.asked.setdefault(item, " | ".join(dict.fromkeys(str(part) for part in parts if part not in (None, ""))))
        stored = read_stored(row.filtered_resps)
        self.written.setdefault(item, {})[system] = stored.answer if stored else str(first_of(row.filtered_resps))
        if stored and row.doc.get("reply"):
            self.replies.setdefault(item, {})[system] = _read_reply(row)
            if item not in self.queries:
                self.queries[item] = Query(_find_player(row.doc.get("audio")), str(row.doc.get("checklist") or ""))


class Query(NamedTuple):
    """A spoken query: the address of its audio, "" without one, and what a good reply to it has."""

    player: str = ""
    checklist: str = ""


class Reply(NamedTuple):
    """A reply to a spoken query.

    Attributes:
        player: Address of its audio; "" if the system does not speak, or the file is not on this machine.
        is_spoken: Whether the response is the transcript of speech.
        written: What the system wrote.
        lines: Scores in words: those of speech and of text.
    """

    player: str
    is_spoken: bool
    written: str
    lines: tuple[str, ...]


def _find_player(audio: Any) -> str:
    return find_source(audio) if isinstance(audio, Mapping) else ""


def _read_reply(row: _Row) -> Reply:
    """Return what `metrics.reply.Reply` left in a row as the page shows it."""
    item = read_item(row.filtered_resps)
    audio, quality = item.get("audio"), item.get("speech_quality")
    given = item.get("scores_written")
    scores = [value for value in given if isinstance(value, int | float)] if isinstance(given, list) else []
    lines = []
    player = _find_player(audio)
    if not isinstance(audio, Mapping):
        lines.append("written only")
    elif not math.isnan(seconds := number(audio.get("duration"))):
        lines.append(f"{seconds:.1f} s of speech")
    if not math.isnan(errors := number(row.speech_text_wer)):
        lines.append(f"WER of the transcript against the written text {100 * errors:.1f} %")
    if isinstance(quality, int | float):
        lines.append(f"speech quality {quality:.2f}")
    if scores and audio:
        lines.append(f"written: {sum(scores) / len(scores):.2f} points")
    if audio and not player:
        lines.append("its audio is not on this machine")
    return Reply(player, bool(audio), str(item.get("written", "")), tuple(lines))


class Cell(NamedTuple):
    """One system's response to an item.

    Attributes:
        score: Its score in shown units; NaN without one.
        text: The response.
        draws: What the judge made of it: per draw the score and what the judge wrote; empty without a judge.
        marks: Why a reader may want to see it: some of `MARKS`.
        reply: Its audio and what was written, for the reply to a spoken query.
    """

    score: float
    text: str
    draws: Sequence[tuple[str, str]] = ()
    marks: tuple[str, ...] = ()
    reply: Reply | None = None


#: Mark of an answer -> what it is called.
MARKS = {"unjudged": "unjudged", "refusal": "a refusal", "empty": "empty", "differs": "judge and rule differ"}
#: Difference of the scores by the judge and by rule, on 0 to 1, from which they differ.
DIFFERS = 0.5
#: Answers in the table of those on which judge and rule differ most.
MOST = 10
PARTED = (
    Column("item", "Item"),
    Column("system", "System"),
    Column("judge", "Judge %", ".1f", factor=100.0),
    Column("rule", "Rule %", ".1f", factor=100.0),
    Column("answer", "Answer", kind="words"),
)


class ItemRow(NamedTuple):
    """One item of a category.

    Attributes:
        item: Its name in words.
        asked: The question, the reference and the answer, if the doc has them.
        cells: Per system, in the order of the ranking.
        query: Its audio and checklist, for a spoken query.
    """

    item: str
    asked: str
    cells: list[Cell]
    query: Query = Query()

    @property
    def marks(self) -> str:
        """Return the marks of all cells, for the filter."""
        return " ".join(sorted({mark for cell in self.cells for mark in cell.marks}))


@dataclass(frozen=True)
class SuitePage:
    """Hold a suite as the page shows it.

    Attributes:
        suite: Name of the suite.
        scoreboard: Its scores.
        kinds: Field -> the scores of the items of each kind by it.
        texts: Category -> its questions and responses.
    """

    suite: str
    scoreboard: Scoreboard
    kinds: Mapping[str, Scoreboard]
    texts: Mapping[str, CategoryTexts]

    @property
    def id(self) -> str:
        """Return the id of the section."""
        return f"suite-{self.suite.replace('.', '-')}"

    @property
    def categories(self) -> dict[str, Category]:
        """Return category -> how it is scored."""
        return dict(self.scoreboard.pool.levels)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """Return one row per system, lowest mean rank first."""
        return rows_of(self.scoreboard)

    @property
    def grids(self) -> dict[str, Grid]:
        """Return id -> table: that of the categories, one for each field by which items have kinds, and the judge's."""
        grids = {f"{self.id}-standings": as_grid(self.scoreboard)}
        grids |= {f"{self.id}-by-{field}": group_grid(kinds, field) for field, kinds in self.kinds.items()}
        if self.scoreboard.reliability:
            grids[f"{self.id}-judge"] = reliability_table.as_grid(self.scoreboard)
        return grids

    @property
    def labels(self) -> dict[str, str]:
        """Return system -> its short name."""
        return dict(zip(self.scoreboard.pool.systems, short_names(self.scoreboard.pool.systems), strict=True))

    def heading(self, category: str) -> str:
        """Return the heading of a category."""
        return title(category)

    def chart_id(self, category: str) -> str:
        """Return the id of a category's chart."""
        return f"{self.id}-chart-{category.replace('.', '-')}"

    def shown(self, category: str, value: float) -> float:
        """Return a value of the category's column in shown units."""
        return value * (100.0 if self.categories[category].measure.in_per_cent else 1.0)

    def items(self, category: str) -> list[ItemRow]:
        """Return the items of a category, hardest first, with the responses of each system."""
        reader, of = self.texts[category], self.categories[category]
        systems = [self.scoreboard.systems[row] for row in self.scoreboard.order]
        scores = [system.scores[category] for system in systems]
        hardest = sorted(scores[0], key=lambda item: (_mean_score(item, scores), item))
        return [
            ItemRow(
                show_item(item),
                reader.asked.get(item, ""),
                [
                    Cell(
                        of.show(values[item]),
                        reader.written.get(item, {}).get(system.name, ""),
                        _draws(system.judged.get(category, {}).get(item)),
                        tuple(_marks(system.judged.get(category, {}).get(item))),
                        reader.replies.get(item, {}).get(system.name),
                    )
                    for system, values in zip(systems, scores, strict=True)
                ],
                reader.queries.get(item, Query()),
            )
            for item in hardest
        ]

    def marks(self, category: str) -> dict[str, str]:
        """Return the marks of a judged category, for the filter of its items; empty without a judge."""
        return MARKS if category in self.scoreboard.reliability else {}

    def parted(self, category: str) -> Grid:
        """Return the answers of all systems on which judge and rule differ most, largest difference first."""
        most = [
            (abs(part.judge - part.rule), system.name, show_item(item), part)
            for system in self.scoreboard.systems
            for item, part in part_most(system.scored_answers(category), MOST)
        ]
        most.sort(key=lambda line: (-line[0], *line[1:3]))
        rows = [
            {"item": item, "system": system, "judge": part.judge, "rule": part.rule, "answer": part.answer}
            for _, system, item, part in most[:MOST]
        ]
        return Grid("The answers on which judge and rule differ most", PARTED, rows)

    def charts(self) -> dict[str, Any]:
        """Return the plotly figures by the id of their place in the page."""
        return {self.chart_id(category): figures.as_json(self._chart(category)) for category in self.categories}

    def _chart(self, category: str) -> go.Figure:
        rows = [row for row in self.rows[::-1] if row["categories"][category]["score"] is not None]
        cells = [row["categories"][category] for row in rows]
        values = [self.shown(category, cell["score"]) for cell in cells]
        ends = [[self.shown(category, end) for end in cell["interval"] or [cell["score"]] * 2] for cell in cells]
        labels = [figures.escape(self.labels[row["system"]]) for row in rows]
        controls = [bool(row["control"]) for row in rows]
        return figures.scores(labels, values, ends, controls, self.categories[category].unit)


def _draws(judged: Judged | None) -> list[tuple[str, str]]:
    """Return per draw the score, or that it has none, and what the judge wrote."""
    if judged is None:
        return []
    return [
        ("no score" if math.isnan(score) else f"{score:g}", text)
        for score, text in zip_longest(judged.scores, judged.texts, fillvalue="")
        if not isinstance(score, str)
    ]


def _marks(judged: Judged | None) -> Iterator[str]:
    """Yield the marks of an answer."""
    if judged is not None:
        held = {
            "unjudged": judged.unjudged,
            "refusal": judged.refusal > 0,
            "empty": judged.empty > 0,
            "differs": abs(judged.judge - judged.rule) >= DIFFERS,
        }
        yield from (mark for mark, holds in held.items() if holds)


def _mean_score(item: Item, scores: Sequence[Mapping[Item, float]]) -> float:
    """Return the mean over the systems that have a score; above all scores if none has one, so that it comes last."""
    known = [of[item] for of in scores if not math.isnan(of[item])]
    return sum(known) / len(known) if known else math.inf


def gather(found: Found, suite: str, options: Options) -> SuitePage:
    """Read and score one suite.

    Args:
        found: The tasks of the runs.
        suite: Name of the suite.
        options: How to score.

    Raises:
        SpeechIQError: The runs cannot be read or scored.
    """
    texts = {
        name: CategoryTexts(category, [task for task in found.tasks[suite] if task.level == name])
        for name, category in found.levels[suite].items()
    }
    systems = found.read(suite)
    scoreboard = add_reliability(rate(suite, systems, allow_mismatch=options.allow_mismatch, draws=options.draws))
    kinds = {
        field: rate_groups(scoreboard, field, draws=options.draws)
        for field in scoreboard.fields
        if share_measure(of for of in scoreboard.pool.levels.values() if field in of.group_by)
    }
    return SuitePage(suite, scoreboard, kinds, texts)
