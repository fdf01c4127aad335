"""Handle ids of clips: `DATASET/NAME`, and how files that people write may name a clip."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any
from unicodedata import normalize

from speechiq.core.errors import SpeechIQError

PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check_plain(name: Any, where: str) -> str:
    """Return the name of a data set, which becomes part of file names, or refuse it; `where` is its file and key.

    >>> check_plain("calls-2026.v1", "metadata.dataset")
    'calls-2026.v1'
    """
    if not isinstance(name, str) or not PLAIN.fullmatch(name) or ".." in name:
        raise SpeechIQError(
            where, f"{name!r:.80} is not a plain name", "use at most 100 letters, digits, '-', '_' and single '.'"
        )
    return name


def compose(name: str) -> str:
    """Return a name with each accent and its letter as one character (NFC): macOS separates them in names of files.

    >>> len("e\N{COMBINING ACUTE ACCENT}"), len(compose("e\N{COMBINING ACUTE ACCENT}"))
    (2, 1)
    """
    return normalize("NFC", name)


def drop_dataset(clip: str) -> str:
    """Return the id of a clip without its data set.

    >>> drop_dataset("calls/monday"), drop_dataset("monday")
    ('monday', 'monday')
    """
    return clip.partition("/")[2] or clip


def find_listed(clip: str, listed: Collection[str]) -> str | None:
    """Return the name under which a file lists a clip: its id, or its id without the data set; None if it is missing.

    >>> find_listed("calls/monday", {"monday"}), find_listed("calls/monday", {"calls/monday", "monday"})
    ('monday', 'calls/monday')
    """
    return next((name for name in (clip, drop_dataset(clip)) if name in listed), None)


def complete_ids(rows: Iterable[Mapping[str, Any]], clips: Iterable[str]) -> list[dict[str, Any]]:
    """Return rows about clips with the clips' complete ids; an `id` that names no clip stays unchanged.

    >>> complete_ids([{"id": "monday"}, {"id": "calls/tuesday"}, {"id": "x"}], ["calls/monday", "calls/tuesday"])
    [{'id': 'calls/monday'}, {'id': 'calls/tuesday'}, {'id': 'x'}]
    """
    clips = list(clips)
    complete = {compose(drop_dataset(clip)): clip for clip in clips} | {compose(clip): clip for clip in clips}
    return [{**row, "id": complete.get(compose(row["id"]), row["id"])} for row in rows]
