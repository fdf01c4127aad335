"""Show how fast the systems processed audio."""

from collections.abc import Sequence

from speechiq.reducer.runs.run_record import MeasuredSpeed
from speechiq.reducer.stats.grid import Column, Grid

COLUMNS = (
    Column("system", "System"),
    Column("work", "Work"),
    Column("rtfx", "RTFx", ".1f"),
    Column("audio_seconds", "Audio s", ".1f"),
    Column("work_seconds", "Work s", ".1f"),
    Column("device", "Device"),
    Column("batch_size", "Batch"),
)
NOTES = (
    "RTFx: seconds of audio per second of work, without the loading of models; audio whose results came from the "
    "response cache does not count; work on texts alone, such as embedding, has no RTFx",
    "not part of SIQ; compare only runs on the same device with the same batch size",
)
NOTHING = "no run recorded a speed: all results came from the response cache"


def as_grid(speeds: Sequence[MeasuredSpeed]) -> Grid:
    """Return a grid with one row per run and kind of work."""
    rows = [speed._asdict() | ({"rtfx": "", "audio_seconds": ""} if speed.rtfx is None else {}) for speed in speeds]
    return Grid("Speed", COLUMNS, rows, NOTES if speeds else [NOTHING])
