"""Refuse pages that load from other servers, so that the site opens without a network and watches no reader."""

from __future__ import annotations

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page

#: A canonical link names the address of a page; it loads nothing.
LOADED = re.compile(
    r"""<(?!link rel="canonical")(?:script|link|img|iframe|source|audio|video)\b"""
    r"""[^>]*\b(?:src|href)=["']?(?:https?:)?//[^"'>\s]*"""
)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Return the page as it is, or end the build."""
    if found := find_loaded(output):
        raise PluginError(
            f"{page.file.src_uri}: loads {found} from another server; add the file to docs/assets/ instead"
        )
    return output


def find_loaded(html: str) -> str:
    """Return the first element of a page that another server would be asked for; nothing if there is none.

    >>> find_loaded('<script src="https://host/a.js"></script>')
    '<script src="https://host/a.js'
    >>> find_loaded('<a href="https://host/">link</a> <img src="images/a.png">')
    ''
    """
    found = LOADED.search(html)
    return found[0] if found else ""
