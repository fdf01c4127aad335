"""Show README, CONTRIBUTING and CHANGELOG as pages of the site, and rewrite links that leave `docs/`.

Links of all pages are written for readers of the repository: relative to the file that contains them. On the site a
link to another page stays one. Links to anything else are left for the build to report: the path of a file that is not
a page is written as code.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

#: Files outside `docs/` that are pages. If `docs/` has a page of that name, the page is shown instead of the file.
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
FENCED = re.compile(r"^( *)(`{3,}).*?^\1\2", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"""(\]\(|\b(?:src|href)=")(?![a-z]+:|[#/])([^)\s"#]+)""")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    for name, page in PAGES.items():
        if files.get_file_from_path(page) is None:
            files.append(File.generated(config, page, abs_src_path=str(_root(config) / name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite the links of a page, but not what its code blocks contain.

    Empty lines set code blocks apart: tables and paragraphs that follow them are recognized as on GitHub.
    """
    source = page.file.abs_src_path
    if source is None:  # made by another hook, which writes links of the site
        return markdown
    root, place = _root(config), page.file.src_uri
    origin = PurePosixPath(Path(source).resolve().relative_to(root))

    def replace(found: re.Match[str]) -> str:
        return found[1] + rewrite(found[2], origin, place)

    return "".join(f"\n{part}\n" if FENCED.fullmatch(part) else LINK.sub(replace, part) for part in _split(markdown))


def rewrite(link: str, origin: PurePosixPath, page: str) -> str:
    """Return the link as a page of the site writes it.

    Args:
        link: A relative link without its anchor.
        origin: The file that contains it, relative to the folder of the repository.
        page: The path of its page on the site.

    >>> rewrite("docs/glossary.md", PurePosixPath("README.md"), "index.md")
    'glossary.md'
    >>> rewrite("../../CHANGELOG.md", PurePosixPath("docs/concepts/siq.md"), "concepts/siq.md")
    '../changelog.md'
    """
    target = os.path.normpath(origin.parent / link)
    if target in PAGES:
        place = PAGES[target]
    elif target.startswith("docs/"):
        place = re.sub(r"\.ipynb$", ".md", target.removeprefix("docs/"))  # see docs/hooks/notebooks.py
    else:
        return link
    return os.path.relpath(place, PurePosixPath(page).parent)


def _split(markdown: str) -> list[str]:
    """Return the parts of a page: code blocks, and what is between them."""
    parts, end = [], 0
    for found in FENCED.finditer(markdown):
        parts += [markdown[end : found.start()], found[0]]
        end = found.end()
    return [*parts, markdown[end:]]


def _root(config: MkDocsConfig) -> Path:
    return Path(config.config_file_path).resolve().parent
