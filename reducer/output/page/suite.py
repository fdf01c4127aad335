"""Show a suite without a scale: its tables and charts, and the responses to each item of a category."""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

import msgspec
import plotly.graph_objects as go
from markupsafe import Markup

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.measure import Category
from speechiq.reducer.output.page import figures
from speechiq.reducer.output.page.clips import find_source, number
from speechiq.reducer.output.page.identity import set_apart, short_names
from speechiq.reducer.output.page.page import Section
from speechiq.reducer.output.scoreboard_records import rows_of
from speechiq.reducer.output.scoreboard_table import as_grid, group_grid
from speechiq.reducer.output.side_tables import reliability_grid
from speechiq.reducer.output.suite_scores import SuiteScores
from speechiq.reducer.runs.judged import Judged, read_item, read_stored
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.samples import first_of, read_sample_rows, show_item
from speechiq.reducer.runs.table import Item
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.scores.suites import Found
from speechiq.reducer.stats.grid import Cell, Column, Grid
from speechiq.reducer.studies.agreement import largest_disagreements
from speechiq.reducer.studies.groups import GroupScores, score_groups

#: Mark of an answer -> what it is called.
MARKS = {"unjudged": "unjudged", "refusal": "a refusal", "empty": "empty", "differs": "judge and rule differ"}
#: Difference of the scores by the judge and by rule, on 0 to 1, from which they differ.
DIFFERS = 0.5


class _Row(msgspec.Struct):
    """Hold a row of any suite, with its complete doc."""

    doc: dict[str, Any]
    filtered_resps: Any = ""
    speech_text_wer: Any = None
    not_english: Any = None


class Responses:
    """Hold what the systems were asked in a category, and their responses, as the page shows them.

    Attributes:
        asked: Item -> question, reference and answer, and the audio and checklist of a spoken query.
        given: Item -> system -> its response.
    """

    def __init__(self, category: Category, tasks: Iterable[TaskRun]) -> None:
        """Read the tasks of a category."""
        self.asked: dict[Item, Markup] = {}
        self.given: dict[Item, dict[str, Markup]] = {}
        for task in tasks:
            for _, row in read_sample_rows(task.samples, _Row, "an object doc"):
                item = tuple(str(row.doc.get(field, "")) for field in category.item)
                stored = read_stored(row.filtered_resps)
                is_reply = bool(stored and row.doc.get("reply"))
                if item not in self.asked:
                    self.asked[item] = _show_query(row.doc, f"Query {show_item(item)}" if is_reply else "")
                text = stored.answer if stored else str(first_of(row.filtered_resps))
                shown = _show_reply(row, text, f"Reply to {show_item(item)}") if is_reply else _show(text)
                self.given.setdefault(item, {})[task.system] = shown


def show_response(score: float, response: Markup, judged: Judged | None) -> Markup:
    """Return a response with its score in shown units, marks, and what the judge wrote."""
    shown = Markup("<b>{}</b> {}").format("\N{EM DASH}" if math.isnan(score) else f"{score:.2f}", response)
    if judged is None:
        return shown
    marks = {
        "unjudged": judged.unjudged,
        "refusal": judged.refusal > 0,
        "empty": judged.empty > 0,
        "differs": abs(judged.judge - judged.rule) >= DIFFERS,
    }
    for mark in (mark for mark, holds in marks.items() if holds):
        shown += Markup(' <span class="badge" data-mark="{}">{}</span>').format(mark, MARKS[mark])
    scores = ["no score" if math.isnan(score) else f"{score:g}" for score in judged.scores]
    lines = zip_longest(scores, judged.texts[: len(scores)], fillvalue="")
    texts = Markup().join(Markup('<p class="reply"><b>{}</b> <bdi>{}</bdi></p>').format(*line) for line in lines)
    details = Markup("<details><summary>judge: {}</summary>{}</details>")
    return shown + details.format(", ".join(scores), texts) if scores else shown


def _show(text: str) -> Markup:
    return Markup("<bdi>{}</bdi>").format(text)


def _show_query(doc: Mapping[str, Any], spoken: str) -> Markup:
    """Return the texts of a question; `spoken` names the player of a spoken query."""
    parts = (doc.get(key) for key in ("question", "text", "answer"))
    shown = _show(" | ".join(dict.fromkeys(str(part) for part in parts if part not in (None, ""))))
    if spoken:
        shown += _player(find_source(doc.get("audio")), spoken)
        if checklist := doc.get("checklist"):
            shown += Markup('<p class="reply">Checklist: <bdi>{}</bdi></p>').format(checklist)
    return shown


def _show_reply(row: _Row, text: str, label: str) -> Markup:
    """Return a reply to a spoken query with its audio and what `reply.Reply` left in the row."""
    item = read_item(row.filtered_resps)
    audio, quality, points = item.get("audio"), item.get("speech_quality"), item.get("scores_written")
    scores = [point for point in points if isinstance(point, int | float)] if isinstance(points, list) else []
    player = find_source(audio)
    lines = []
    if not isinstance(audio, Mapping):
        lines.append("written only")
    elif not math.isnan(seconds := number(audio.get("duration"))):
        lines.append(f"{seconds:.1f} s of speech")
    if not math.isnan(errors := number(row.speech_text_wer)):
        lines.append(f"WER of the transcript against the written text {100 * errors:.1f} %")
    if number(row.not_english) > 0 and row.doc.get("language_rule"):
        lines.append("not in English: the lowest points")
    if isinstance(quality, int | float):
        lines.append(f"speech quality {quality:.2f}")
    if scores and audio:
        lines.append(f"written: {sum(scores) / len(scores):.2f} points")
    if audio and not player:
        lines.append("its audio is not on this machine")
    shown = _show(text) + _player(player, label)
    if audio:
        shown = Markup("Transcript: ") + shown
    shown += Markup('<p class="reply">{}</p>').format(", ".join(lines))
    if audio:
        shown += Markup('<p class="reply">Written: <bdi>{}</bdi></p>').format(item.get("written", ""))
    return shown


def _player(source: str, label: str) -> Markup:
    player = Markup(' <audio controls preload="none" aria-label="{}" src="{}"></audio>')
    return player.format(label, source) if source else Markup()


#: Answers in the table of those on which judge and rule differ most.
MOST = 10
PARTED = (
    Column("item", "Item"),
    Column("system", "System"),
    Column("judge", "Judge %", ".1f", factor=100.0),
    Column("rule", "Rule %", ".1f", factor=100.0),
    Column("answer", "Answer", kind="words"),
)


@dataclass(frozen=True)
class SuitePage:
    """Hold a suite as the page shows it: its scores, those of groups by each field, and the responses by category."""

    suite: str
    scoreboard: Scoreboard
    groups: Sequence[GroupScores]
    responses: Mapping[str, Responses]

    @property
    def id(self) -> str:
        """Return the id of the section."""
        return f"suite-{self.suite.replace('.', '-')}"

    @property
    def categories(self) -> dict[str, Category]:
        """Return category -> how it is scored."""
        return dict(self.scoreboard.pool.levels)

    @property
    def grids(self) -> dict[str, Grid]:
        """Return id -> table: that of the categories, one for each field by which items have groups, the judge's."""
        grids = {f"{self.id}-standings": set_apart(as_grid(self.scoreboard), self.scoreboard)}
        grids |= group_grids(self.id, self.groups)
        if self.scoreboard.reliability:
            grids[f"{self.id}-judge"] = reliability_grid(self.scoreboard)
        return grids

    def heading(self, category: str) -> str:
        """Return the heading of a category."""
        return title(category)

    def chart_id(self, category: str) -> str:
        """Return the id of a category's chart."""
        return f"{self.id}-chart-{category.replace('.', '-')}"

    def items(self, category: str) -> Grid:
        """Return the items of a category, hardest first, with the responses of each system."""
        responses, labels = self.responses[category], short_names(self.scoreboard.pool.systems)
        order = self.scoreboard.order
        systems = [self.scoreboard.systems[row] for row in order]
        scores = [system.scores[category] for system in systems]
        judged = [system.scored_answers(category) for system in systems]
        columns = [Column("item", "Item"), Column("asked", "Asked and expected")]
        columns += [
            Column(self.scoreboard.systems[row].name, labels[row], meaning=self.scoreboard.systems[row].name)
            for row in order
        ]
        rows: list[dict[str, Cell]] = []
        for item in sorted(scores[0], key=lambda item: (_mean_score(item, scores), item)):
            rows.append({"item": show_item(item), "asked": responses.asked.get(item, "")})
            for system, values, answers in zip(systems, scores, judged, strict=True):
                response = responses.given.get(item, {}).get(system.name, Markup())
                shown = self.categories[category].show(values[item])
                rows[-1][system.name] = show_response(shown, response, answers.get(item))
        return Grid(f"Items of {title(category)}", columns, rows)

    def marks(self, category: str) -> dict[str, str]:
        """Return the marks of a judged category, for the filter of its items; empty without a judge."""
        return MARKS if category in self.scoreboard.reliability else {}

    def parted(self, category: str) -> Grid:
        """Return the answers of all systems on which judge and rule differ most, largest difference first."""
        most = [
            (abs(part.judge - part.rule), system.name, show_item(item), part)
            for system in self.scoreboard.systems
            for item, part in largest_disagreements(system.scored_answers(category), MOST)
        ]
        most.sort(key=lambda line: (-line[0], *line[1:3]))
        rows: list[dict[str, Cell]] = [
            {"item": item, "system": system, "judge": part.judge, "rule": part.rule, "answer": part.answer}
            for _, system, item, part in most[:MOST]
        ]
        return Grid("The answers on which judge and rule differ most", PARTED, rows)

    @property
    def section(self) -> Section:
        """Return the section of the suite."""
        figures = {self.chart_id(category): self._chart(category) for category in self.categories}
        return Section(self.id, f"Suite {self.suite}", "suite", {"suite": self}, figures)

    def _chart(self, category: str) -> go.Figure:
        rows = [row for row in rows_of(self.scoreboard)[::-1] if row["categories"][category]["score"] is not None]
        cells = [row["categories"][category] for row in rows]
        show = self.categories[category].measure.show_score
        values = [show(cell["score"]) for cell in cells]
        ends = [[*map(show, cell["interval"] or [cell["score"]] * 2)] for cell in cells]
        names = dict(zip(self.scoreboard.pool.systems, short_names(self.scoreboard.pool.systems), strict=True))
        labels = [figures.escape(names[row["system"]]) for row in rows]
        controls = [bool(row["control"]) for row in rows]
        return figures.draw_scores(labels, values, ends, controls, self.categories[category].unit)


def _mean_score(item: Item, scores: Sequence[Mapping[Item, float]]) -> float:
    """Return the mean over the systems that have a score; above all scores if none has one, so that it comes last."""
    known = [values[item] for values in scores if not math.isnan(values[item])]
    return sum(known) / len(known) if known else math.inf


def gather_suite(found: Found, scores: SuiteScores) -> SuitePage:
    """Read the texts of one suite, and score all groups of its items."""
    scoreboard, suite = scores.scoreboard, scores.scoreboard.suite
    responses = {}
    for name, category in found.levels[suite].items():
        tasks = [task for task in found.tasks[suite] if task.level == name]
        responses[name] = Responses(category, tasks)
    return SuitePage(suite, scoreboard, gather_groups(scores), responses)


def gather_groups(scores: SuiteScores) -> list[GroupScores]:
    """Score the groups of a suite by every field that has several."""
    groups = [*chain.from_iterable(scores.by_group.values())]
    for field in scores.scoreboard.fields:
        if field not in scores.by_group:
            with suppress(SpeechIQError):
                groups += score_groups(scores.scoreboard, field)
    return groups


def group_grids(section: str, groups: Sequence[GroupScores]) -> dict[str, Grid]:
    """Return id -> table of the scores of groups; `section` begins each id."""
    return {
        f"{section}-by-{scores.field}-{number}": set_apart(group_grid(scores), scores.scoreboard)
        for number, scores in enumerate(groups)
    }
