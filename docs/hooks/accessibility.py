"""Repair the markup that screen readers stumble over; docs/assets/site.js does the same for what scripts add."""

from __future__ import annotations

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

EMPTY_HEAD = re.compile(r"<th\b([^>]*)></th>")
SEARCH = '<div class="md-search" data-md-component="search" role="dialog"'


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Repair the tables of a page."""
    return write_empty_heads(content)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Name the search."""
    return output.replace(SEARCH, f'{SEARCH} aria-label="Search"')


def write_empty_heads(content: str) -> str:
    """Return HTML in which an empty head of a table is a cell.

    >>> write_empty_heads('<th></th><th style="text-align: right;"></th><th>wer</th>')
    '<td></td><td style="text-align: right;"></td><th>wer</th>'
    """
    return EMPTY_HEAD.sub(r"<td\1></td>", content)
