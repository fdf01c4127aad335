"""Repair the index that the theme's search builds in the browser, so that what is typed always finds its words."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig

#: How lunr, the theme's index, names a node of its words: each letter, then the number of the node it leads to.
#: With digits in words, `2` before node 34 and node 23 before `4` make one name; two nodes are then taken for one,
#: and a search that comes by finds words that no page has, and ends in an error.
AMBIGUOUS = "e=e+s+o.id}return e}"
DISTINCT = 'e=e+s+o.id+","}return e}'


def on_post_build(config: MkDocsConfig) -> None:
    """Close each node's number with a comma, in the scripts of the search."""
    for script in Path(config.site_dir, "assets/javascripts/workers").glob("search.*.js"):
        text = script.read_text(encoding="utf-8")
        script.write_text(text.replace(AMBIGUOUS, DISTINCT), encoding="utf-8")
