"""Put data, charts, styles and scripts into one page that opens without a network.

What models wrote gets onto the page in two ways: by jinja2, which escapes it, or as deflated JSON in base64, so that
no text can end its element; the scripts add it to the page only as text. The page's
Content-Security-Policy allows only the scripts whose sha256 it names, and no request.
"""

import base64
import hashlib
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from itertools import accumulate
from typing import Any, NamedTuple
from urllib.parse import quote

import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from speechiq.core.batches import count_cores
from speechiq.core.console import count_of
from speechiq.core.files.json_text import shorten
from speechiq.core.files.page import FOLDER
from speechiq.reducer.output.publish import run_dates, run_versions
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.stats.estimate import Estimate, plain
from speechiq.reducer.stats.grid import Cell, Column, Grid

TEMPLATES = "speechiq.reducer.output.page"
SCRIPTS = (
    *("base", "address", "theme", "downloads", "tables", "judged", "charts", "clips", "systems", "compare", "review"),
    *("print", "start"),
)
#: The end of the scripts; programs that drive a browser wait for it.
READY = 'document.documentElement.dataset.ready = "";\n'
#: Characters in three lines of notes on a wide screen.
THREE_LINES = 350
MINUS = "\N{MINUS SIGN}"
#: Scripts of a page without SIQ, which has no browser of clips and no questions to review.
FEW_SCRIPTS = ("base", "address", "theme", "downloads", "tables", "judged", "charts", "print", "start")
#: The bell curve of the scale, as the icon of a page.
ICON = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>"
    "<path d='M1 13C5 13 5 3 8 3s3 10 7 10z' fill='#0b6664'/></svg>"
)
#: Pixels of a chart of a study.
HEIGHT = 420
#: Bytes of JSON from which a part ends: a browser unpacks it in some ten milliseconds.
PART = 1_000_000
#: Characters of clips, texts and comparisons above which they lie beside the page, which would have about 50 MB.
LARGEST = 48_000_000


class Section(NamedTuple):
    """Hold a section of a page.

    Attributes:
        id: Its place in the address of the page.
        template: Name of its template; the usual one shows an intro, charts, a table and notes.
        values: Variables of the template.
        figures: Id of a chart's place -> its figure.
        charts: Id of a chart's place -> its caption.
        notes: Lines below the table, after those of the grid.
    """

    id: str
    title: str
    template: str = "section"
    values: Mapping[str, Any] = {}
    figures: Mapping[str, go.Figure] = {}
    intro: str = ""
    charts: Mapping[str, str] = {}
    grid: Grid | None = None
    notes: Sequence[str] = ()


def render(
    sections: Sequence[Section],
    scripts: Sequence[str] = FEW_SCRIPTS,
    *,
    title: str,
    heading: str = "",
    lead: str = "",
    made: Mapping[str, str] = {},
    data: Mapping[str, Any] = {},
    plots: bool = True,
    digest: str = "",
    home: str = "",
    frame: str = "base",
    **values: Any,
) -> str:
    """Return a page: its sections one below the other, and links to them.

    Args:
        heading: First heading; the title without one.
        made: How the page was made: name -> text.
        data: Name -> data that the scripts unpack, beside charts and sounds; packed here unless they are (`pack_data`).
        plots: Whether the page has charts, and so plotly.js.
        digest: Digest of the parts of data that lie beside the page, which their names begin with; "" without any.
        home: Address of the folder with the files that the pages of a site have in common (`share_files`); "" for a
            page that has all of them inside.
        frame: Template of what is around the sections.
        **values: Further variables of the frame.
    """
    environment = _load_templates()
    bodies = []
    for section in sections:
        template = environment.get_template(f"{section.template}.html.j2")
        bodies.append(Markup(template.render(section.values, section=section)))
    charts = {id: figure.to_plotly_json() for section in sections for id, figure in section.figures.items()}
    shown = {"sounds": {}, **data}
    if plots or home:
        shown["charts"] = charts
    script = "" if home else _join(scripts)
    plotly = get_plotlyjs() if plots else ""
    return environment.get_template(f"{frame}.html.j2").render(
        {"links": {section.id: section.title for section in sections}} | values,
        title=title,
        heading=heading or title,
        lead=lead,
        description=lead or heading or title,
        icon=f"data:image/svg+xml,{quote(ICON)}",
        bodies=bodies,
        data={name: content if isinstance(content, Markup) else pack_data(content) for name, content in shown.items()},
        made=made,
        style=Markup("" if home else _read("page.css")),
        script=Markup(script),
        plotly=_pack_plotly() if plots and not home else "",
        folder=home or FOLDER,
        digest=digest,
        policy=_policy(script, plotly, nonce=digest, styles=" 'self' file:" if home else ""),
    )


@cache
def _load_templates() -> Environment:
    environment = Environment(
        loader=PackageLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (minus, breakable, draw, shorten, fold)
    environment.filters |= {filter.__name__: filter for filter in filters}
    environment.globals |= {"m": environment.get_template("macros.html.j2").module, "height": HEIGHT}
    return environment


def share_files(digest: str, parts: Mapping[str, Markup], scripts: Sequence[str], *, plots: bool) -> dict[str, str]:
    """Return name -> content of the files that the pages of a site have in common: style, scripts and parts of data.

    Browsers load no modules from files, so the script is a plain one.

    Args:
        digest: Begins each name.
        parts: Name -> packed data.
        scripts: Names of the scripts of all pages.
        plots: Whether a page has charts, and so plotly.js.
    """
    packed = {**parts, **({"plotly": _pack_plotly()} if plots else {})}
    return {
        f"{digest}.css": _read("page.css"),
        f"{digest}.js": f'"use strict";\n(async () => {{\n{_join(scripts)}}})();\n',
        **{f"{digest}-{name}.js": write_part(name, coded) for name, coded in packed.items()},
    }


def write_part(name: str, coded: str) -> str:
    """Return the content of a file that hands packed data to the scripts of a page."""
    return f'takePart("{name}","{coded}")\n'


def pack_data(data: Any) -> Markup:
    """Return data as JSON, deflated, in base64, which is safe inside any element; an unknown number is null."""
    return pack_json(json.dumps(plain(data), separators=(",", ":"), allow_nan=False))


def pack_json(text: str | bytes) -> Markup:
    """Return JSON, deflated, in base64."""
    content = text.encode() if isinstance(text, str) else text
    return Markup(base64.b64encode(zlib.compress(content)).decode())


def pack_parts(name: str, texts: Iterable[bytes]) -> tuple[dict[str, Markup], list[int]]:
    """Return a list of JSON values in packed parts, `NAME-0`, `NAME-1` ..., so that a page reads only what it shows.

    Threads deflate parts while the next values are written.

    Returns:
        The parts, and with which value each of them begins and the last one ends.
    """
    starts = [0]
    packed: list[Future[Markup]] = []
    with ThreadPoolExecutor(count_cores()) as pool:
        for part in _list_parts(texts):
            packed.append(pool.submit(pack_json, b"[" + b",".join(part) + b"]"))
            starts.append(starts[-1] + len(part))
    return {f"{name}-{number}": coded.result() for number, coded in enumerate(packed)}, starts


def _list_parts(texts: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield values in lists that end as soon as they have `PART` bytes."""
    part: list[bytes] = []
    size = 0
    for text in texts:
        part.append(text)
        size += len(text)
        if size >= PART:
            yield part
            part, size = [], 0
    if part:
        yield part


def minus(text: str) -> str:
    """Return a number as the page shows it, with a minus sign.

    >>> minus("-1.0 to 2.0") == f"{MINUS}1.0 to 2.0"
    True
    """
    return re.sub(r"(?<!\S)-(?=\d)", MINUS, text)


def breakable(name: str) -> Markup:
    """Return a system's name that may break after a stage or an owner."""
    return Markup("<wbr>").join(re.split(r"(?<=[/+:])", name))


def link_to(section: str, name: str, text: str = "") -> Markup:
    """Return a link to a clip or a system of the page.

    >>> link_to("clip", "demo/a b")
    Markup('<a class="to-clip" href="#clip/demo%2Fa%20b" title="demo/a b"><bdi>demo/<wbr>a b</bdi></a>')
    """
    address = f"#{section}/{quote(name, safe='', errors='replace')}"
    tag = Markup('<a class="to-{}" href="{}" title="{}"><bdi>{}</bdi></a>')
    return tag.format(section, address, name, breakable(text or name))


def draw(grid: Grid, row: Mapping[str, Any], column: Column) -> Markup:
    """Return the mark of a number: its interval between the ends of all rows, or a bar from 0 to it; none of a text."""
    cells = [each.get(column.name) for each in (row, *grid.rows)]
    known = [[*filter(math.isfinite, _span(cell))] for cell in cells]
    if not known[0]:
        return Markup("")
    ends = [end for span in known for end in span]
    low, width = min(ends), max(ends) - min(ends) or 1.0
    places = [100 * (end - low) / width for end in (min(known[0]), known[0][0], max(known[0]))]
    style = ";".join(f"--{name}:{place:.1f}%" for name, place in zip(("low", "at", "high"), places, strict=True))
    return Markup('<i class="{}" style="{}" aria-hidden="true"></i>').format(
        "bar" if column.kind == "bar" else "span", style
    )


def _span(cell: Cell) -> tuple[float, ...]:
    """Return a number with the ends of its mark; nothing for a text."""
    if cell is None or isinstance(cell, str):
        return ()
    return cell[:3] if isinstance(cell, Estimate) else (cell, 0.0, cell)


def describe_origin(tasks: Sequence[TaskRun], command: str, clips: Mapping[str, int] | None = None) -> dict[str, str]:
    """Return the facts at the top of a page: data sets (by `clips`, if given), dates, versions, and the command."""
    days = [date.partition("T")[0] for date in run_dates(tasks)]
    facts = {
        "Data": ", ".join(f"{name} ({count_of(count, 'clip')})" for name, count in sorted((clips or {}).items())),
        "Runs": " to ".join(dict.fromkeys(days)),
        "Run with": ", ".join(f"{package} {' and '.join(names)}" for package, names in run_versions(tasks).items()),
        "Page": name_maker(),
        "Command": command,
    }
    return {name: text for name, text in facts.items() if text}


def name_maker() -> str:
    """Return the version that makes a page, and the day."""
    return f"speechiq {version('speechiq')}, {datetime.now(UTC):%Y-%m-%d}"


def fold(notes: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the first notes of a table, which fit into three lines of a wide screen, and those to fold.

    >>> fold(["most important", "long " * 70, "short"])[0]
    ['most important']
    """
    ends = accumulate(len(note) + len(". ") for note in notes)
    count = max(1, sum(end <= THREE_LINES for end in ends))
    return [*notes[:count]], [*notes[count:]]


@cache
def _pack_plotly() -> Markup:
    """Return plotly.js, which every page with charts has, as `pack_json` does."""
    return pack_json(get_plotlyjs())


def _policy(*scripts: str, nonce: str, styles: str = "") -> str:
    """Return a Content-Security-Policy that allows these scripts and those with a nonce alone, and no other request.

    No text of a run can contain the nonce, which is a digest of the texts.
    """
    allowed = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    loaded = f" 'nonce-{nonce}'" if nonce else ""
    return (
        f"default-src 'none'; script-src {allowed}{loaded}; style-src 'unsafe-inline'{styles}; img-src data: blob:; "
        "media-src 'self' file: data: blob:; base-uri 'none'; form-action 'none'"
    )


def _join(scripts: Sequence[str]) -> str:
    return "".join(_read(f"{name}.js") for name in scripts) + READY


def _read(name: str) -> str:
    return files(TEMPLATES).joinpath("templates", name).read_text(encoding="utf-8")
