"""Define `siq store`: list, remove and exchange what runs have computed (the response cache)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal

from speechiq.cli.commands import examples
from speechiq.cli.options import Force, Yes
from speechiq.core.cache.stage_cache import STAGE
from speechiq.core.cache.stages import export_stages, find_drafts, list_stages, merge_archives, prune
from speechiq.core.console import count_of, say, show
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.folders import store_folder
from speechiq.core.files.plain import OWN_FILE, check_output
from speechiq.reducer.output.terminal import print_grid
from speechiq.reducer.stats.grid import Column, Grid

COLUMNS = (
    Column("stage", "Stage"),
    Column("model", "Model"),
    Column("rows", "Rows", "d"),
    Column("size", "kB", ".1f", factor=1e-3),
    Column("used", "Used"),
)


@examples("siq store list")
def list_rows() -> None:
    """List what runs have stored."""
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
    if damaged := [stage.folder for stage in stages if stage.is_damaged]:
        say(f"warning: {count_of(len(damaged), 'stage')} with a damaged {STAGE}, the first in {damaged[0]}")
    if old := [stage for stage in stages if stage.stage and not stage.is_read]:
        say(
            f"{count_of(len(old), 'stage')} in the format of another version, not used; "
            "`siq store remove` removes such stages"
        )
    if drafts := find_drafts(folder):
        say(f"{_count_drafts(drafts)}; `siq store remove` removes them")


@examples("siq store remove --older-than 90", "siq store remove --older-than 0 --yes")
def remove(
    older_than: Annotated[
        float, typer.Option(min=0, help="Remove stages that were not used for this many days; 0 removes all.")
    ],
    yes: Yes = False,
) -> None:
    """Remove what is old.

    Drafts that killed runs left more than a day ago are removed too. Other runs may be active: one that still needs
    removed rows computes them again.
    """
    store = store_folder()
    if not yes:
        typer.confirm(f"Remove all stages in {store} that were not used for {older_than:g} days?", abort=True)
    gone = prune(store, older_than)
    say(f"{count_of(len(gone), 'stage')} removed, {decimal(sum(stage.size for stage in gone))}")
    if drafts := find_drafts(store):
        say(f"{_count_drafts(drafts)} removed")
        for draft in drafts:
            draft.unlink(missing_ok=True)


@examples("siq store export node7.zip")
def export_all(
    output: Annotated[Path, typer.Argument(metavar="FILE.zip", help="Archive to write.", show_default=False)],
    force: Force = False,
) -> None:
    """Write what runs have stored into one archive, to merge it on another machine."""
    check_output(output, force, OWN_FILE)
    folder = _require_store()
    found = list_stages(folder)
    stages = [stage for stage in found if stage.is_read and not stage.is_damaged]
    if not sum(stage.rows for stage in stages):
        raise SpeechIQError(f"the response cache {folder}", "has no rows", "name another one by SIQ_STORE=FOLDER")
    counts = export_stages(stages, output)
    show(f"wrote {output}: {count_of(len(stages), 'stage')}, {count_of(counts['rows'], 'row')}{_count_clips(counts)}")
    if damaged := [stage.folder for stage in found if stage.is_damaged]:
        say(f"warning: {count_of(len(damaged), 'stage')} with a damaged {STAGE} left out, the first in {damaged[0]}")
    if counts["skipped"]:
        say(f"{count_of(counts['skipped'], 'damaged line')} left out; runs compute these rows again")


@examples("siq store merge node7.zip node8.zip")
def merge_all(
    archives: Annotated[
        list[Path], typer.Argument(metavar="FILE.zip...", help="Archives of `siq store export`.", show_default=False)
    ],
) -> None:
    """Add what the archives of other machines have; nothing is overwritten.

    All archives are checked to their ends before anything is added.
    """
    counts = merge_archives(archives, _require_store())
    show(f"{count_of(counts['added'], 'row')} added{_count_clips(counts)}, {counts['known']} were there already")
    if counts["different"]:
        say(
            f"warning: {count_of(counts['different'], 'row')} with another content than the one here, which stays; "
            "half precision and endpoints that sample give such rows"
        )


def _require_store() -> Path:
    if (folder := store_folder()) is None:
        raise SpeechIQError("SIQ_STORE=off", "the response cache is off", "set it to a folder, or leave it unset")
    return folder


def _count_clips(counts: Mapping[str, int]) -> str:
    return f", {count_of(counts['clips'], 'spoken clip')}" if counts["clips"] else ""


def _count_drafts(drafts: Sequence[Path]) -> str:
    sizes = (draft.lstat().st_size for draft in drafts)
    return f"{len(drafts)} drafts of killed runs, {decimal(sum(sizes))}"
