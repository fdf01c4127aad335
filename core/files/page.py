"""Write a page, and the parts of its data into a folder beside it: `report.html` and `report_files`."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import DRAFT, OWN_FILE, exists, is_folder, write_whole

#: Name of the folder in a page that is not written yet.
FOLDER = "parts"
#: Names of parts: digits of their common sha256, which keep them apart from those of earlier pages, and an id.
PART = re.compile(r"[0-9a-f]{12}-[a-z]+(-\d+)?\.js")


class Page(NamedTuple):
    """Hold the HTML of a page, and its parts: name of a file in their folder (`PART`) -> content.

    With parts, the first attribute in the text that begins with `FOLDER/` gets the name of their folder.
    """

    text: str
    parts: Mapping[str, str] = {}


def name_folder(path: Path) -> Path:
    """Return the folder for the parts of a page.

    >>> name_folder(Path("runs/report.html")).as_posix()
    'runs/report_files'
    """
    return path.with_name(f"{path.stem}_files")


def check_page(path: Path) -> None:
    """Refuse a page if what has the name of its folder holds other files than parts of a page."""
    folder = name_folder(_follow(path))
    if not exists(folder):
        return
    names = sorted(file.name for file in folder.iterdir()) if is_folder(folder) else [folder.name]
    if others := [name for name in names if not _is_ours(name)]:
        raise SpeechIQError(
            f"{str(folder)!r}, which is for the data of {path.name!r}",
            f"holds something else ({others[0]!r})",
            "name another page, or move it away",
        )


def write_page(page: Page, path: Path) -> str:
    """Write a page, with its parts or not at all, and return what was written, in words.

    The parts come first, under new names, so that an earlier page keeps its own until the new one replaces it; then
    the earlier parts go.
    """
    check_page(path)
    folder = name_folder(_follow(path))
    earlier = {file for file in folder.iterdir() if _is_ours(file.name)} if is_folder(folder) else set()
    parts = {folder / name: content for name, content in page.parts.items()}
    unneeded = parts.keys() - earlier
    try:
        for file, content in parts.items():
            write_whole(file, content.encode(), OWN_FILE, make_folders=True)
        text = page.text.replace(f'="{FOLDER}/', f'="{quote(os.fsencode(folder.name))}/', 1) if parts else page.text
        write_whole(path, text.encode(errors="backslashreplace"), OWN_FILE)
        unneeded = earlier - parts.keys()
    finally:
        with suppress(OSError):
            for file in unneeded:
                file.unlink(missing_ok=True)
            if not page.parts or unneeded == parts.keys():
                folder.rmdir()
    if not parts:
        return str(path)
    size = sum(map(len, page.parts.values())) / 1e6
    return f"{path} and the folder {folder.name} beside it ({size:.0f} MB), which it needs: move and send both together"


def _follow(path: Path) -> Path:
    """Return the file that a link leads to, which `write_whole` writes."""
    return Path(os.path.realpath(path))


def _is_ours(name: str) -> bool:
    return bool(PART.fullmatch(name) or DRAFT.fullmatch(name))
