"""Make the page on which a person ranks the transcripts of anonymous systems, offline."""

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from speechiq.core.console import count_of
from speechiq.core.files.json_text import content_sha256, shorten
from speechiq.reducer.output.page.clips import find_sounds
from speechiq.reducer.output.page.page import Section, render
from speechiq.reducer.studies.people_ranks import ClipCards

SCRIPTS = ("base", "address", "theme", "downloads", "ranks")


def render_ranking(clips: Sequence[ClipCards]) -> str:
    """Return the page; neither its text nor its data name a system."""
    section = Section("ranking", "Clips", "ranks_page", {"count": len(clips)})
    sounds = find_sounds({clip.clip: clip.audio for clip in clips})
    return render(
        [section],
        SCRIPTS,
        title="Rank the transcripts",
        lead=f"{count_of(len(clips), 'clip')}, each with the transcripts of several anonymous systems in random order. "
        "Put them in order: the one that is closest to the reference first.",
        made={"Page": f"speechiq {version('speechiq')}, {datetime.now(UTC):%Y-%m-%d}"},
        data={"ranking": [_describe(clip) for clip in clips], "sounds": sounds},
        plots=False,
        links={},
    )


def _describe(clip: ClipCards) -> dict[str, Any]:
    """Return the data of the script about a clip; the key is that of its ranks in the browser."""
    content = {
        "id": clip.clip,
        "reference": clip.reference,
        "cards": [{"id": card, "text": text} for card, text in clip.texts.items()],
    }
    return content | {"key": shorten(content_sha256(content))}
