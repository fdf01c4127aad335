"""Pack what scripts of the site show on request: the systems of each board, their scores by item, and their texts."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from markupsafe import Markup

from speechiq.reducer.publishing.rows import ENDING, unpack_rows
from speechiq.reducer.publishing.schema import ROWS
from speechiq.reducer.publishing.site.boards import Board, Entry
from speechiq.reducer.report.identity import short_names
from speechiq.reducer.report.page import pack, pack_json
from speechiq.reducer.report.texts import PART
from speechiq.reducer.runs.rows import Item
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import Cell

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
        systems = [
            {
                "name": entry.name,
                "label": label,
                "page": entry.address,
                "control": bool(entry.result.control),
                "siq": _plain(board.list_scores(entry).get("siq")) if board.norms else None,
            }
            for entry, label in zip(board.newest, short_names([entry.name for entry in board.newest]), strict=True)
        ]
        described.append({"title": board.title, "systems": systems, "categories": categories})
    return {"boards": pack(described), **packed}


def _pack_category(board: Board, name: str, number: str, packed: dict[str, Markup]) -> dict[str, Any]:
    """Return the description of a category with the score of each system; add its rows and texts to `packed`."""
    record = board.categories[name]
    cells = [board.list_scores(entry)[name] for entry in board.newest]
    scores = [
        _read_scores(entry, board.suite, name) if isinstance(cell, Estimate) else {}
        for entry, cell in zip(board.newest, cells, strict=True)
    ]
    items = sorted({item for each in scores for item in each})
    values = [[_round(each.get(item)) for item in items] for each in scores]
    packed[f"rows-{number}"] = pack({"items": [", ".join(item) for item in items], "values": values})
    starts = [0]
    for part in _divide_texts(board, name, items):
        packed[f"texts-{number}-{len(starts) - 1}"] = pack_json(b"[" + b",".join(part) + b"]")
        starts.append(starts[-1] + len(part))
    factor = 100 if record.unit.endswith("%") else 1
    shown = [_plain(cell.map(factor)) if isinstance(cell, Estimate) else None for cell in cells]
    about = {"name": name, "title": title(name), "unit": record.unit, "lower": record.direction == "lower"}
    return about | {"number": number, "starts": starts, "scores": shown}


def _read_scores(entry: Entry, suite: str, name: str) -> Mapping[Item, float]:
    """Return item -> score as people read it."""
    system = entry.systems[suite]
    return {item: system.levels[name].show(raw) for item, raw in system.scores.get(name, {}).items()}


def _divide_texts(board: Board, name: str, items: Sequence[Item]) -> Iterator[list[bytes]]:
    """Yield the texts of the items of each part, as JSON; nothing if no system published any.

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
    part: list[bytes] = []
    for item in items if asked else ():
        responses = [own.get(item) for own in given]
        numbers = {text: number for number, text in enumerate(dict.fromkeys(filter(None, responses)))}
        texts = {
            "asked": asked.get(item, {}),
            "given": [*map(msgspec.Raw, numbers)],
            "by": [text and numbers[text] for text in responses],
        }
        part.append(msgspec.json.encode(texts))
        if sum(map(len, part)) >= PART:
            yield part
            part = []
    if part:
        yield part


def _read_texts(entry: Entry, suite: str, name: str) -> Iterator[_Row]:
    """Yield the rows of a category that have texts and are not withdrawn."""
    tasks = {task.task for task in entry.systems[suite].tasks if task.level == name}
    for task in entry.result.tasks if not entry.find_withdrawal(suite, name) else ():
        if task.task in tasks and task.rows.texts:
            content = unpack_rows(entry.folder / ROWS / f"{task.task}{ENDING}", task.rows)
            yield from msgspec.json.Decoder(_Row).decode_lines(content)


def _round(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else round(value, DECIMALS) + 0.0


def _plain(cell: Cell) -> list[float] | None:
    """Return a score with the ends of its interval; null if it is withdrawn or undefined."""
    return [*cell[:3]] if isinstance(cell, Estimate) and not math.isnan(cell.value) else None
