"""Group published results into leaderboards, and pack what the pages of a site show on request."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec
import numpy as np
from markupsafe import Markup

from speechiq.core.console import count_of
from speechiq.reducer.output.page.identity import APART, short_names, show_kind
from speechiq.reducer.output.page.page import breakable, pack_data, pack_parts
from speechiq.reducer.output.page.tables import likely_ranks
from speechiq.reducer.output.published.folder import folder_of_system
from speechiq.reducer.output.published.record import ENDING, SEED, unpack_rows
from speechiq.reducer.output.published.schema import ROWS, CategoryRecord, Result, ScoreRecord, SuiteRecord
from speechiq.reducer.output.scoreboard_table import TITLE, TITLE_WITHOUT, score_column
from speechiq.reducer.runs.systems import System
from speechiq.reducer.runs.table import Item
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.scores.levels import is_siq
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.ranking import rank
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.scale import competition_ranks
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import Cell, Column, Grid

#: Folder of the pages of systems.
SYSTEMS = "systems"
#: Stands for a score that its publishers withdrew.
WITHDRAWN = "withdrawn"


class BoardEntry(NamedTuple):
    """Hold a result with its folder, and its systems by suite, restored from its rows."""

    folder: Path
    result: Result
    systems: Mapping[str, System]

    @property
    def name(self) -> str:
        """Return the name of the system."""
        return self.result.system

    @property
    def date(self) -> str:
        """Return the day and the minute, UTC."""
        return self.result.date[:16].replace("T", " ")

    @property
    def address(self) -> str:
        """Return the address of the page of its system."""
        return f"{SYSTEMS}/{quote(folder_of_system(self.name))}.html"

    @property
    def system(self) -> System:
        """Return the system with its runs of the first suite."""
        return next(iter(self.systems.values()))

    def find_withdrawal(self, suite: str, category: str = "") -> str:
        """Return why a category was withdrawn, or any of the suite without one; empty if it was not."""
        reasons = self.result.declaration.withdrawn
        names = [category] if category else self.result.suites[suite].categories
        return next((reasons[name] or WITHDRAWN for name in names if name in reasons), "")

    def show(self, suite: str, score: ScoreRecord, category: str = "") -> Cell:
        """Return a score of a category, or without one of several, as its column has it; a reason if withdrawn."""
        if reason := self.find_withdrawal(suite, category):
            return Markup('<span class="unknown">{}</span><small>{}</small>').format(WITHDRAWN, reason)
        return score.estimate


class BoardPart(NamedTuple):
    """Hold the score of a system on a data set, on a group of items or in a language, and the table that it is in."""

    entry: BoardEntry
    table: str
    heading: str
    record: CategoryRecord
    cell: Cell


class Board(msgspec.Struct, frozen=True, dict=True):
    """Hold the results of a suite.

    Attributes:
        norms: Label of the norms of SIQ, or empty.
        results: System -> its results, newest first.
        scale: The norms themselves, if they are known.
    """

    suite: str
    norms: str
    results: dict[str, list[BoardEntry]]
    scale: Norms | None = None

    @property
    def title(self) -> str:
        """Return the heading."""
        name, _, language = self.suite.partition(".")
        words = TITLE_WITHOUT if is_siq(self.suite) else f"Suite {name}"
        if self.norms:
            words = f"{TITLE} on norms {self.norms}"
        return f"{words}: {language}" if language else words

    @cached_property
    def newest(self) -> list[BoardEntry]:
        """Return the newest result of each system: best first, those without a rank and controls last."""
        entries, places = [results[0] for results in self.results.values()], self.places
        return sorted(
            entries, key=lambda entry: (bool(entry.result.control), places.get(entry.name, np.inf), entry.name)
        )

    @cached_property
    def places(self) -> dict[str, float]:
        """Return system -> its rank by its newest result; controls and systems without one of the scores have none."""
        entries = [results[0] for results in self.results.values() if not results[0].result.control]
        ranks = zip((entry.name for entry in entries), self._rank(entries).tolist(), strict=True)
        return {name: rank for name, rank in ranks if not np.isnan(rank)}

    @cached_property
    def rank_ranges(self) -> dict[str, str]:
        """Return system -> its ranks by SIQ in 95 % of the bootstrap samples, in words; empty for one rank."""
        if not self.scale or not self.places:
            return {}
        systems = [self.results[name][0].systems[self.suite] for name in self.places]
        scored = rank(systems, self.suite, norms=self.scale, draws=DRAWS, seed=SEED)
        return {scored.pool.systems[row]: likely_ranks(shares) for row, shares in scored.rank_probabilities.items()}

    @cached_property
    def categories(self) -> dict[str, CategoryRecord]:
        """Return category -> an example of its scores."""
        return {name: record for each in self._suites() for name, record in each.categories.items()}

    @cached_property
    def columns(self) -> dict[str, CategoryRecord]:
        """Return column -> an example of its scores: the categories, then the derived columns."""
        return self.categories | {name: record for each in self._suites() for name, record in each.derived.items()}

    def list_columns(self) -> list[Column]:
        """Return the columns of the scores."""
        columns = [
            score_column(name, title(name), record.unit, record.direction) for name, record in self.columns.items()
        ]
        if self.norms:
            columns.insert(0, Column("siq", "SIQ", ".1f", kind="siq"))
        return columns

    def list_scores(self, entry: BoardEntry) -> dict[str, Cell]:
        """Return the scores of a result by column."""
        suite = entry.result.suites[self.suite]
        cells: dict[str, Cell] = dict.fromkeys(self.columns)
        cells |= {name: entry.show(self.suite, record.score) for name, record in suite.derived.items()}
        cells |= {name: entry.show(self.suite, record.score, name) for name, record in suite.categories.items()}
        return cells | ({"siq": entry.show(self.suite, suite.siq)} if suite.siq and self.norms else {})

    def rank(self) -> Grid:
        """Return the leaderboard: the newest result of each system, best first, with what the systems are."""
        heading = "Rank" if self.norms or len(self.categories) == 1 else "Mean rank"
        columns = [
            Column("rank", heading, ".3g", kind="rank", lower=True),
            Column("ranks", "", below="rank"),
            Column("system", "System", kind="setup"),
            *(column._replace(name=f"score {column.name}") for column in self.list_columns()),
            Column("type", "Type", kind="fact type"),
            Column("openness", "Openness", kind="fact openness"),
            Column("size", "Size\nbillion", ".3g", kind="fact size"),
            Column("date", "Date", kind="fact date"),
        ]
        has_systems = any(not entry.result.control for entry in self.newest)
        rows: list[dict[str, Cell]] = []
        for entry in self.newest:
            no_rank = "" if entry.result.control else None
            rows.append({"rank": self.places.get(entry.name, no_rank), "system": link_entry(entry)})
            rows[-1] |= {
                "ranks": self.rank_ranges.get(entry.name, ""),
                "type": show_kind(entry.system) or None,
                "openness": entry.result.declaration.openness,
                "size": entry.result.declaration.parameters,
                "date": entry.date[:10],
            }
            # What strangers call a category is the name of no other column.
            rows[-1] |= {f"score {name}": cell for name, cell in self.list_scores(entry).items()}
            if entry.result.control and has_systems:
                rows[-1][APART] = entry.result.control
        return Grid(self.title, columns, rows, [*self._notes()])

    def list_parts(self) -> list[Grid]:
        """Return the tables by data set and by group."""
        return make_tables(chain.from_iterable(_split(entry, self.suite) for entry in self.newest))

    def _suites(self) -> Iterator[SuiteRecord]:
        return (results[0].result.suites[self.suite] for results in self.results.values())

    def _rank(self, entries: Sequence[BoardEntry]) -> np.ndarray:
        """Return the ranks by SIQ, or their means over the categories; NaN without one of the scores."""
        signs = {name: 1 if record.direction == "higher" else -1 for name, record in self.categories.items()}
        ranks = []
        for name, sign in {"siq": 1}.items() if self.norms else signs.items():
            cells = (self.list_scores(entry).get(name) for entry in entries)
            values = np.array([sign * cell.value if isinstance(cell, Estimate) else np.nan for cell in cells])
            ranks.append(np.where(np.isnan(values), np.nan, competition_ranks(values)))
        return np.asarray(np.mean(ranks, axis=0))

    def _notes(self) -> Iterator[str]:
        yield f"the newest result of each of {count_of(len(self.results), 'system')}, each scored alone"
        if any(self.rank_ranges.values()):
            yield "below a rank are the ranks in 95 % of the bootstrap samples of the clips"
        for name, record in self.columns.items():
            size = f"{count_of(record.items, 'item')} of {count_of(record.clips, 'clip')}"
            factor = 100 if record.unit.endswith("%") else 1
            chance = "" if record.chance is None else f", by chance {factor * record.chance:.4g}"
            yield f"{title(name)}: {record.unit}, {record.direction} is better, {size}{chance}"
        for name in self.categories:
            scored = (each.categories[name] for each in self._suites() if name in each.categories)
            if judges := sorted({each.judge for each in scored if each.judge}):
                yield f"{title(name)} is judged by {', '.join(judges)}"


def list_boards(entries: Iterable[BoardEntry], norms: Mapping[str, Norms] = {}) -> list[Board]:
    """Return the boards of some results: first SIQ, on each norms and without, then other suites.

    Args:
        norms: Label -> norms, on which the ranges of ranks are drawn.
    """
    boards: dict[tuple[str, str], Board] = {}
    for entry in sorted(entries, key=lambda entry: entry.result.date, reverse=True):
        for suite, record in entry.result.suites.items():
            label = entry.result.norms.label if entry.result.norms and record.siq else ""
            board = boards.setdefault((suite, label), Board(suite, label, {}, norms.get(label)))
            board.results.setdefault(entry.name, []).append(entry)
    return [boards[key] for key in sorted(boards, key=lambda key: (not is_siq(key[0]), key[0], not key[1], key[1]))]


def board_languages(boards: Iterable[Board]) -> list[Grid]:
    """Return the tables by language, of suites that were run in several."""
    parts = []
    for board in boards:
        language = board.suite.partition(".")[2]
        for entry in board.newest if language else ():
            for name, record in entry.result.suites[board.suite].categories.items():
                cell = entry.show(board.suite, record.score, name)
                parts.append(BoardPart(entry, f"{title(name)} by language: {record.unit}", language, record, cell))
    return make_tables(parts)


def link_entry(entry: BoardEntry) -> Markup:
    """Return a link to the page of a system, with its control if it is one."""
    control = Markup("<small>control: {}</small>").format(entry.result.control) if entry.result.control else ""
    tag = Markup('<a class="to-system" href="{}"><bdi>{}</bdi></a>{}')
    return tag.format(entry.address, breakable(entry.name), control)


def make_tables(parts: Iterable[BoardPart]) -> list[Grid]:
    """Return the tables that have several columns, with a row per system."""
    columns: dict[str, dict[str, Column]] = {}
    rows: dict[str, dict[str, dict[str, Cell]]] = {}
    for entry, table, heading, record, cell in parts:
        # What strangers call a group is the name of no other column.
        name = f"group {heading}"
        column = score_column(name, heading, record.unit, record.direction)
        columns.setdefault(table, {}).setdefault(name, column)
        rows.setdefault(table, {}).setdefault(entry.name, {"system": link_entry(entry)})[name] = cell
    first = Column("system", "System", kind="setup")
    return [
        Grid(table, [first, *scores.values()], [*rows[table].values()])
        for table, scores in columns.items()
        if len(scores) > 1
    ]


def _split(entry: BoardEntry, suite: str) -> Iterator[BoardPart]:
    scores = entry.result.suites[suite]
    for dataset, categories in scores.datasets.items():
        for name, record in categories.items():
            cell = entry.show(suite, record.score, name)
            yield BoardPart(entry, f"{title(name)} by data set: {record.unit}", dataset, record, cell)
    for field, by_column in scores.groups.items():
        for column, groups in by_column.items():
            for group, record in groups.items():
                cell = entry.show(suite, record.score)
                yield BoardPart(entry, f"{title(column)} by {title(field)}: {record.unit}", group, record, cell)


#: Fields of a doc that say what was asked.
ASKED = ("text", "question", "options", "answer")
DECIMALS = 4


class _Row(msgspec.Struct):
    """Hold the texts of a row: its doc, and what the system wrote as JSON."""

    doc: dict[str, Any]
    resps: msgspec.Raw = msgspec.Raw(b"[]")


def pack_boards(boards: Sequence[Board]) -> dict[str, Markup]:
    """Return name -> packed data: `boards`, and for each of their categories `rows-N` and parts of texts, `texts-N`."""
    packed: dict[str, Markup] = {}
    described = []
    for number, board in enumerate(boards):
        categories = [
            _pack_category(board, name, f"{number}-{place}", packed) for place, name in enumerate(board.categories)
        ]
        labels = short_names([entry.name for entry in board.newest])
        systems = [
            {
                "name": entry.name,
                "label": label,
                "page": entry.address,
                "control": bool(entry.result.control),
                "siq": _pack_score(board.list_scores(entry).get("siq")),
            }
            for entry, label in zip(board.newest, labels, strict=True)
        ]
        described.append({"title": board.title, "systems": systems, "categories": categories})
    return {"boards": pack_data(described), **packed}


def _pack_category(board: Board, name: str, number: str, packed: dict[str, Markup]) -> dict[str, Any]:
    """Return the description of a category with the score of each system; add its rows and texts to `packed`."""
    record = board.categories[name]
    cells = [board.list_scores(entry)[name] for entry in board.newest]
    scores = [
        _read_scores(entry, board.suite, name) if isinstance(cell, Estimate) else {}
        for entry, cell in zip(board.newest, cells, strict=True)
    ]
    items = sorted({item for each in scores for item in each})
    values = [[*map(_round, map(each.get, items))] for each in scores]
    clusters: dict[str, str] = {}
    for entry in board.newest:
        clusters |= entry.systems[board.suite].clusters
    rows = {"items": [", ".join(item) for item in items], "values": values}
    packed[f"rows-{number}"] = pack_data(rows | {"clusters": [clusters.get(item[0], item[0]) for item in items]})
    parts, starts = pack_parts(f"texts-{number}", _list_texts(board, name, items))
    packed |= parts
    factor = 100 if record.unit.endswith("%") else 1
    shown = [_pack_score(cell, factor) for cell in cells]
    about = {"name": name, "title": title(name), "unit": record.unit, "lower": record.direction == "lower"}
    return about | {"number": number, "starts": starts, "scores": shown}


def _read_scores(entry: BoardEntry, suite: str, name: str) -> Mapping[Item, float]:
    """Return item -> score as people read it."""
    system = entry.systems[suite]
    return {item: system.levels[name].show(raw) for item, raw in system.scores.get(name, {}).items()}


def _list_texts(board: Board, name: str, items: Sequence[Item]) -> Iterator[bytes]:
    """Yield the texts of each item as JSON; nothing if no system published any.

    An item has `asked` (fields of its doc), `given` (the distinct responses) and `by` (number of the response of each
    system, null without one).
    """
    asked: dict[Item, dict[str, Any]] = {}
    given: list[dict[Item, bytes]] = [{} for _ in board.newest]
    for entry, own in zip(board.newest, given, strict=True):
        for row in _read_texts(entry, board.suite, name):
            item = tuple(str(row.doc.get(field, "")) for field in entry.systems[board.suite].levels[name].item)
            asked.setdefault(item, {field: row.doc[field] for field in ASKED if row.doc.get(field)})
            own[item] = bytes(row.resps)
    for item in items if asked else ():
        responses = [own.get(item) for own in given]
        numbers = {text: number for number, text in enumerate(dict.fromkeys(filter(None, responses)))}
        texts = {
            "asked": asked.get(item, {}),
            "given": [*map(msgspec.Raw, numbers)],
            "by": [text and numbers[text] for text in responses],
        }
        yield msgspec.json.encode(texts)


def _read_texts(entry: BoardEntry, suite: str, name: str) -> Iterator[_Row]:
    """Yield the rows of a category that have texts and are not withdrawn."""
    tasks = {task.task for task in entry.systems[suite].tasks_at(name)}
    for task in entry.result.tasks if not entry.find_withdrawal(suite, name) else ():
        if task.task in tasks and task.rows.texts:
            content = unpack_rows(entry.folder / ROWS / f"{task.task}{ENDING}", task.rows)
            yield from msgspec.json.Decoder(_Row).decode_lines(content)


def _round(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else round(value, DECIMALS) + 0.0


def _pack_score(cell: Cell, factor: float = 1) -> list[float] | str | None:
    """Return a score, times a factor, with the ends of its interval; a word if it is withdrawn, null if undefined."""
    if not isinstance(cell, Estimate):
        return WITHDRAWN if cell else None
    return None if math.isnan(cell.value) else [*cell.map(factor)[:3]]
