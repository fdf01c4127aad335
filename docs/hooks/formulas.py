"""Write formulas as MathML, which browsers set without a script: `$...$` in a line, `$$...$$` as a paragraph."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

#: What pymdownx.arithmatex makes of a formula.
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Write the formulas of a page."""
    try:
        return FORMULA.sub(_write, content)
    except Exception as error:
        raise PluginError(f"{page.file.src_uri}: a formula cannot be read as LaTeX ({error!r})") from error


def _write(found: re.Match[str]) -> str:
    tag, latex = found.groups()
    formula = convert(html.unescape(latex).strip(), display="inline" if tag == "span" else "block")
    return formula if tag == "span" else f'<div class="formula">{formula}</div>'
