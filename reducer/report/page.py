"""Put data, charts, styles and scripts into one page that opens without a network.

What models wrote gets onto the page in two ways: by jinja2, which escapes it, or as deflated JSON in base64, so that
no text can end its element; the scripts add it to the page only as text. The page's
Content-Security-Policy allows only the scripts whose sha256 it names, and no request.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from speechiq.core.files.checksummed import shorten
from speechiq.reducer.stats.grid import UNKNOWN

TEMPLATES = "speechiq.reducer.report"
SCRIPTS = (
    *("base", "address", "theme", "downloads", "tables", "judged", "charts", "clips", "systems", "compare", "review"),
    *("print", "start"),
)
MINUS = "\N{MINUS SIGN}"


#: Scripts of a page without SIQ, which has no browser of clips and no questions to review.
FEW_SCRIPTS = ("base", "address", "theme", "downloads", "tables", "judged", "charts", "print", "start")


def render(
    template: str,
    scripts: Sequence[str] = SCRIPTS,
    *,
    title: str,
    data: Mapping[str, Any],
    links: Mapping[str, str],
    made: Mapping[str, str],
    plots: bool = True,
    **content: Any,
) -> str:
    """Return a page.

    Args:
        template: The template, which extends `base.html.j2`.
        scripts: Names of the scripts, in their order.
        title: Title of the page.
        data: Name -> data that the scripts unpack.
        links: Id of a section -> its name, in the order of the page.
        made: How the page was made: name -> text.
        plots: Whether the page has charts, and so plotly.js.
        **content: Variables of the template.
    """
    environment = Environment(
        loader=PackageLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (pack, fixed, signed, breakable, address, system_address, shorten)
    environment.filters |= {filter.__name__: filter for filter in filters}
    script = "".join(_read(f"{name}.js") for name in scripts)
    plotly = get_plotlyjs() if plots else ""
    return environment.get_template(template).render(
        {"heading": title, "lead": ""} | content,
        title=title,
        data={"sounds": {}, **data},
        links=links,
        made=made,
        style=Markup(_read("page.css")),
        script=Markup(script),
        plotly=Markup(_deflate(plotly)) if plots else "",
        policy=_policy(script, plotly),
    )


def pack(data: Any) -> Markup:
    """Return data as JSON, deflated, in base64, which is safe inside any element."""
    return Markup(_deflate(json.dumps(data, separators=(",", ":"), allow_nan=False)))


def fixed(value: float, digits: int = 1) -> str:
    """Return a number as the page shows it, with a minus sign and never a negative zero; a dash for NaN.

    >>> fixed(1.25, 2), fixed(-0.001), fixed(-1.0) == MINUS + "1.0"
    ('1.25', '0.0', True)
    """
    return UNKNOWN if math.isnan(value) else f"{value:z.{digits}f}".replace("-", MINUS)


def signed(value: float, digits: int = 2) -> str:
    """Return a deviation, always with its sign; a dash for NaN.

    >>> signed(0.5), signed(0.5, 1)
    ('+0.50', '+0.5')
    """
    return UNKNOWN if math.isnan(value) else f"{value:+z.{digits}f}".replace("-", MINUS)


def breakable(name: str) -> Markup:
    """Return a system's name that may break after a stage or an owner."""
    parts = re.split(r"(?<=[/+:])", name)
    return Markup("<wbr>").join(parts)


def address(clip: str) -> str:
    """Return the address of a clip on the page.

    >>> address("demo/a b")
    '#clip/demo%2Fa%20b'
    """
    return f"#clip/{quote(clip, safe='', errors='replace')}"


def system_address(system: str) -> str:
    """Return the address of a system on the page.

    >>> system_address("openai/whisper+gold")
    '#system/openai%2Fwhisper%2Bgold'
    """
    return f"#system/{quote(system, safe='', errors='replace')}"


def _deflate(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _policy(*scripts: str) -> str:
    """Return a Content-Security-Policy that allows only these scripts, and no request."""
    allowed = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "media-src 'self' file: data: blob:; base-uri 'none'; form-action 'none'"
    )


def _read(name: str) -> str:
    return files(TEMPLATES).joinpath("templates", name).read_text(encoding="utf-8")
