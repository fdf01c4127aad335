"""Put data, charts, styles and scripts into one page that opens without a network.

What models wrote gets onto the page in two ways: by jinja2, which escapes it, or as JSON in which `<`, `>` and `&` are
written as escapes, so that no text can end its element; the scripts add it to the page only as text. The page's
Content-Security-Policy allows only the scripts whose sha256 it names, and no request.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import zlib
from collections.abc import Sequence
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
ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


#: Scripts of a page without SIQ, which has no browser of clips and no questions to review.
FEW_SCRIPTS = ("base", "address", "theme", "downloads", "tables", "judged", "charts", "print", "start")


def render(template: str, scripts: Sequence[str] = SCRIPTS, *, plots: bool = True, **content: Any) -> str:
    """Return the page: `template` with `content`, the styles, the scripts and, if it has plots, plotly.js."""
    environment = Environment(
        loader=PackageLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (embed, pack, fixed, signed, breakable, address, system_address, shorten)
    environment.filters |= {filter.__name__: filter for filter in filters}
    script = "".join(_read(f"{name}.js") for name in scripts)
    plotly = get_plotlyjs() if plots else ""
    return environment.get_template(template).render(
        **content,
        style=Markup(_read("page.css")),
        script=Markup(script),
        plotly=Markup(_deflate(plotly)),
        policy=_policy(script, plotly),
    )


def embed(data: Any) -> Markup:
    r"""Return JSON that is safe inside a `<script>` element.

    >>> str(embed("</script>"))
    '"\\u003c/script\\u003e"'
    """
    return Markup(_dump(data).translate(ESCAPES))


def pack(data: Any) -> Markup:
    """Return JSON, deflated, in base64: for data that is large and read late."""
    return Markup(_deflate(_dump(data)))


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


def _dump(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


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
