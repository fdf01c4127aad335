"""Show how fast the systems processed audio."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.reducer.runs.speeds import Speed
from speechiq.reducer.tables.table import SYSTEM

CAPTION = (
    "RTFx: seconds of audio per second of work, without the loading of models; audio whose results came from the "
    "response cache does not count; work on texts alone, such as embedding, has no RTFx\n"
    "not part of SIQ; compare only runs on the same device with the same batch size"
)


def as_table(speeds: Sequence[Speed]) -> Table:
    """Return a table with one row per run and kind of work.

    Args:
        speeds: The speeds.
    """
    table = Table(title="Speed", box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    table.add_column(SYSTEM, overflow="fold")
    table.add_column("Work")
    for heading in ("RTFx", "Audio s", "Work s"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("Device")
    table.add_column("Batch")
    for speed in speeds:
        rates = ("", "") if speed.rtfx is None else (f"{speed.rtfx:.1f}", f"{speed.audio_seconds:.1f}")
        numbers = *rates, f"{speed.work_seconds:.1f}"
        table.add_row(Text(speed.system), Text(speed.work), *numbers, Text(speed.device), Text(speed.batch_size))
    table.caption = Text(CAPTION if speeds else "no run recorded a speed: all results came from the response cache")
    return table
