"""Define `siq store`: list and remove what runs have computed (the response cache)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal

from speechiq.cli.commands import examples
from speechiq.cli.options import Yes
from speechiq.core.cache.folder import store_folder
from speechiq.core.cache.stage_cache import STAGE
from speechiq.core.cache.stages import find_drafts, list_stages, prune
from speechiq.core.console import count_of, say
from speechiq.reducer.stats.grid import Column, Grid
from speechiq.reducer.tables.terminal import print_grid

COLUMNS = (
    Column("stage", "Stage"),
    Column("model", "Model"),
    Column("rows", "Rows", "d"),
    Column("size", "kB", ".1f", factor=1e-3),
    Column("used", "Used"),
)


@examples("siq store", "siq store --remove-older-than 90", "siq store --remove-older-than 0 --yes")
def store(
    remove_older_than: Annotated[
        float | None,
        typer.Option(min=0, help="Remove stages that were not used for this many days; 0 removes all."),
    ] = None,
    yes: Yes = False,
) -> None:
    """List what runs have stored, or remove what is old.

    With --remove-older-than, drafts that killed runs left more than a day ago are removed too. Other runs may be
    active: one that still needs removed rows computes them again.
    """
    if remove_older_than is None:
        _list_stages()
    else:
        _remove(remove_older_than, yes)


def _list_stages() -> None:
    folder = store_folder()
    stages = list_stages(folder)
    rows: list[dict[str, str | float]] = [
        {
            "stage": str(stage.stage.get("stage", "")),
            "model": str(stage.stage.get("model", "")),
            "rows": stage.rows,
            "size": stage.size,
            "used": datetime.fromtimestamp(stage.used).isoformat(" ", "minutes"),
        }
        for stage in stages
    ]
    print_grid(Grid(f"Response cache: {folder or 'off'}", COLUMNS, rows))
    say(f"{count_of(len(stages), 'stage')}, {decimal(sum(stage.size for stage in stages))}")
    if unknown := [stage.folder for stage in stages if not stage.stage]:
        say(f"warning: {count_of(len(unknown), 'stage')} with an unreadable {STAGE}, the first in {unknown[0]}")
    if old := [stage for stage in stages if stage.stage and not stage.is_read]:
        say(
            f"{count_of(len(old), 'stage')} in the format of another version, not used; "
            "`siq store --remove-older-than` removes such stages"
        )
    if drafts := find_drafts(folder):
        say(f"{_count_drafts(drafts)}; `siq store --remove-older-than` removes them")


def _remove(older_than: float, yes: bool) -> None:
    store = store_folder()
    if not yes:
        typer.confirm(f"Remove all stages in {store} that were not used for {older_than:g} days?", abort=True)
    gone = prune(store, older_than)
    say(f"{count_of(len(gone), 'stage')} removed, {decimal(sum(stage.size for stage in gone))}")
    if drafts := find_drafts(store):
        say(f"{_count_drafts(drafts)} removed")
        for draft in drafts:
            draft.unlink(missing_ok=True)


def _count_drafts(drafts: Sequence[Path]) -> str:
    sizes = (draft.lstat().st_size for draft in drafts)
    return f"{len(drafts)} drafts of killed runs, {decimal(sum(sizes))}"
