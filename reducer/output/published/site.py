"""Build the pages of a site from a folder of results, and write them."""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import content_sha256, shorten
from speechiq.core.files.plain import OWN_FILE, is_folder, is_of_desktop, refuse_to_overwrite, write_whole
from speechiq.reducer.output.page import figures
from speechiq.reducer.output.page.identity import name_encoder, short_names, show_kind
from speechiq.reducer.output.page.page import Section, breakable, render, share_files
from speechiq.reducer.output.page.tables import flatten_settings, task_table
from speechiq.reducer.output.published.boards import (
    SYSTEMS,
    Board,
    BoardEntry,
    board_languages,
    list_boards,
    pack_boards,
)
from speechiq.reducer.output.published.folder import folder_of_system
from speechiq.reducer.output.published.registry import Registry, read_sound
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.remarks import FLAGS, title
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import INTERVAL, Cell, Column, Grid

SCORES = (
    Column("score", "Score"),
    Column("value", "Value", ".2f", ".1f"),
    Column("z", "Z", "+.2f"),
    Column("clips", "Clips", "d"),
    Column("clusters", "Clusters", "d"),
    Column("items", "Items", "d"),
    Column("undefined", "Without score", "d"),
)


def describe_system(name: str, boards: Sequence[Board]) -> dict[str, Any]:
    """Return the values of the page of a system that is on at least one board."""
    own = [board for board in boards if name in board.results]
    entry = max((board.results[name][0] for board in own), key=lambda entry: entry.result.date)
    tasks = task_table(entry.systems.values())
    charts = {f"history-{number}": _draw_history(board, name) for number, board in enumerate(own)}
    return {
        "entry": entry,
        "boards": own,
        "scores": [_list_scores(board, name) for board in own],
        "identity": {
            "Kind": show_kind(entry.system),
            "Audio encoder": name_encoder(entry.system),
            "Control": entry.result.control,
        },
        "flags": dict(_list_flags(entry)),
        "versions": sorted(
            {f"{package} {each}" for task in entry.result.tasks for package, each in task.versions.items()}
        ),
        "settings": dict(flatten_settings(entry.result.description)),
        "tasks": tasks._replace(columns=[column for column in tasks.columns if column.name != "systems"]),
        "history": [_list_history(board, name) for board in own],
        "charts": {place: chart for place, chart in charts.items() if chart},
    }


def _list_flags(entry: BoardEntry) -> Iterator[tuple[str, str]]:
    for suite, scores in entry.result.suites.items():
        for flag, value in scores.flags.items():
            if value is not None and flag in FLAGS:
                name, meaning = FLAGS[flag]
                yield f"{name} ({suite})", f"{100 * value:.1f} %: share of {meaning}"


def _list_scores(board: Board, name: str) -> Grid:
    """Return the newest scores of a system on a board, as people read them, a row per score."""
    entry = board.results[name][0]
    suite, cells = entry.result.suites[board.suite], board.list_scores(entry)
    rows: list[dict[str, Cell]] = [{"score": "Speech IQ", "value": cells.get("siq")}] if board.norms else []
    for column, record in {**suite.categories, **suite.derived}.items():
        cell = cells[column]
        shown = cell.map(100 if record.unit.endswith("%") else 1) if isinstance(cell, Estimate) else cell
        z = entry.show(board.suite, record.z, column) if record.z and isinstance(cell, Estimate) else ""
        sizes = {key: getattr(record, key) for key in ("clips", "clusters", "items", "undefined")}
        rows.append({"score": f"{title(column)}\n{record.unit}", "value": shown, "z": z, **sizes})
    known = {name for row in rows for name, cell in row.items() if cell not in ("", 0)}
    used = [column for column in SCORES if column.name in known]
    return Grid(board.title, used, rows)


def _list_history(board: Board, name: str) -> Grid:
    rows: list[Mapping[str, Cell]] = [
        {**board.list_scores(entry), "date": entry.date, "version": entry.result.speechiq}
        for entry in board.results[name]
    ]
    columns = [Column("date", "Date\nUTC", kind="date"), *board.list_columns(), Column("version", "speechiq")]
    return Grid(f"History: {board.title}", columns, rows)


def _draw_history(board: Board, name: str) -> Any:
    """Return the chart of the first score by date, oldest lowest; None without two dates with that score."""
    column = board.list_columns()[0]
    cells = {entry.date: board.list_scores(entry).get(column.name) for entry in reversed(board.results[name])}
    return _draw_cells(column, cells)


def _draw_board(board: Board) -> dict[str, Any]:
    """Return name -> chart of the first score of a board: of its best systems, and against size if sizes are known."""
    column = board.list_columns()[0]
    entries = board.newest[:MOST_DRAWN]
    labeled = dict(zip(short_names([entry.name for entry in entries]), entries, strict=True))
    cells = {label: board.list_scores(entry).get(column.name) for label, entry in reversed(labeled.items())}
    controls = [label for label, entry in labeled.items() if entry.result.control]
    return {"scores": _draw_cells(column, cells, controls), "sizes": _draw_sizes(board, column)}


def _draw_cells(column: Column, cells: Mapping[str, Cell], controls: Collection[str] = ()) -> Any:
    """Return the chart of a score with a row for each cell, the first one lowest; None without two that are known."""
    known = {name: cell.map(column.factor) for name, cell in cells.items() if isinstance(cell, Estimate)}
    if len(known) < 2:
        return None
    values, ends = [cell.value for cell in known.values()], [cell.ends for cell in known.values()]
    hollow = [name in controls for name in known]
    return figures.draw_scores([figures.escape(name) for name in known], values, ends, hollow, _name_axis(column))


def _draw_sizes(board: Board, column: Column) -> Any:
    """Return the chart of a score against declared sizes; None without three systems of which both are known."""
    known: dict[str, tuple[float, float]] = {}
    for entry in board.newest:
        cell, size = board.list_scores(entry).get(column.name), entry.result.declaration.parameters
        if isinstance(cell, Estimate) and size and not entry.result.control and not math.isnan(cell.value):
            known[entry.name] = (size, column.factor * cell.value)
    if len({size for size, _ in known.values()}) < figures.FEWEST_SIZES:
        return None
    sizes, scores = zip(*known.values(), strict=True)
    return figures.against_size(sizes, scores, short_names([*known]), _name_axis(column, ends=False), column.lower)


def _name_axis(column: Column, *, ends: bool = True) -> str:
    lines = (column.heading or "").splitlines()
    return ", ".join([*lines, INTERVAL] if ends else lines)


#: Most systems in the chart of a leaderboard.
MOST_DRAWN = 30
SCRIPTS = ("base", "address", "theme", "downloads", "tables", "charts", "site", "print", "start")
#: Folder of what pages share: style, scripts and data.
SHARED = "shared"
INDEX = "index.html"
#: Page -> its name in the links of all pages.
PAGES = {INDEX: "Leaderboards", "compare.html": "Compare", "clips.html": "Clips", "about.html": "Submit"}
#: Names of files in folders of a site.
FILES = re.compile(rf"{SHARED}/[0-9a-f]{{12}}[a-z0-9-]*\.(css|js)|{SYSTEMS}/.+-[0-9a-f]{{8}}\.html")
MEMBERS = (Column("system", "System"), Column("date", "Date"), Column("sha256", "Digest of its scores"))


def build_site(root: Path) -> dict[str, str]:
    """Return file -> content of the site of a folder of results; the same results have the same site.

    Raises:
        SpeechIQError: It is not a folder of results, or the check refuses one of them.
    """
    registry = read_sound(root)
    entries = [BoardEntry(each.folder, each.result, each.systems) for each in registry.results if each.result]
    boards = list_boards(entries, registry.norms)
    # Texts of a result cannot contain the digest, which scripts on pages need.
    results = [msgspec.to_builtins(entry.result) for entry in entries]
    digest = shorten(content_sha256([version("speechiq"), *results]))
    pages = {name: describe_system(name, boards) for name in sorted({entry.name for entry in entries})}
    index = _describe_boards(boards, entries)
    plots = any(page["charts"] for page in (index, *pages.values()))
    files = share_files(digest, pack_boards(boards), SCRIPTS, plots=plots)
    draw = partial(_draw_page, digest)
    return {
        **{f"{SHARED}/{name}": content for name, content in files.items()},
        **{
            f"{SYSTEMS}/{folder_of_system(name)}.html": draw("system.html", name, breakable(name), root="../", **page)
            for name, page in pages.items()
        },
        "compare.html": draw("compare.html", "Compare two systems"),
        "clips.html": draw("clips.html", "Clips"),
        "about.html": draw("about.html", "Submit, norms and versions", **_describe_norms(registry, entries)),
        # The index is written last: a site that has it is complete.
        INDEX: draw(INDEX, "Speech IQ results", **index),
    }


def refuse_other_site(output: Path, *, force: bool) -> None:
    """Refuse a folder that holds something else than a site, or a site without `force`."""
    for path in sorted(output.rglob("*")) if is_folder(output) else []:
        place = path.relative_to(output).as_posix()
        if place not in (*PAGES, SHARED, SYSTEMS) and not FILES.fullmatch(place) and not is_of_desktop(path.name):
            raise SpeechIQError(output, f"holds something else ({place!r})", "name an empty or new folder")
    refuse_to_overwrite(output / INDEX, force)


def write_site(files: Mapping[str, str], output: Path) -> None:
    """Write a site into a folder, and remove the files of an earlier one that it does not have."""
    earlier = [path for folder in (SHARED, SYSTEMS) for path in output.joinpath(folder).glob("*")]
    for name, content in files.items():
        write_whole(output / name, content.encode(errors="backslashreplace"), OWN_FILE, make_folders=True)
    for path in earlier:
        if path.relative_to(output).as_posix() not in files:
            path.unlink()


def _draw_page(digest: str, page: str, title: str, heading: str = "", *, root: str = "", **content: Any) -> str:
    """Return a page; `root` leads from it to the folder of the site."""
    figures = content.get("charts", {})
    section = Section("", title, f"site_{page.removesuffix('.html')}", {**content, "root": root}, figures)
    return render(
        [section],
        title=title,
        heading=heading,
        lead=content.get("lead", ""),
        plots=bool(figures),
        digest=digest,
        home=f"{root}{SHARED}",
        frame="site",
        links=PAGES,
        root=root,
        here=page,
    )


def _describe_boards(boards: Sequence[Board], entries: Sequence[BoardEntry]) -> dict[str, Any]:
    systems = count_of(len({entry.name for entry in entries}), "system")
    newest = max(entry.result.date for entry in entries)[:10]
    charts = {
        f"board-{number}-{name}": chart
        for number, board in enumerate(boards, 1)
        for name, chart in _draw_board(board).items()
        if chart is not None
    }
    return {
        "charts": charts,
        "lead": f"{systems}, the newest of {newest}. Every score was computed again from the published rows.",
        "boards": boards,
        "languages": board_languages(boards),
    }


def _describe_norms(registry: Registry, entries: Sequence[BoardEntry]) -> dict[str, Any]:
    used = sorted({entry.result.norms.label for entry in entries if entry.result.norms})
    norms = [registry.norms[label] for label in used]
    members = {each.label: _list_members(each) for each in norms}
    tasks = task_table(system for entry in entries for system in entry.systems.values())
    return {"norms": norms, "members": members, "tasks": tasks, "speechiq": version("speechiq")}


def _list_members(norms: Norms) -> Grid:
    digests = [{"sha256": member.sha256 and shorten(member.sha256)} for member in norms.population]
    members = map(msgspec.structs.asdict, norms.population)
    rows = [member | digest for member, digest in zip(members, digests, strict=True)]
    return Grid(f"Population of {norms.label}", MEMBERS, rows)
