"""Find which version of a data set the Hub has, so that a run is pinned to it and a new upload is noticed."""

from __future__ import annotations

import logging

from speechiq.core.checkpoints.hub import notice_offline
from speechiq.siq_tasks.loaders.rows import Source

log = logging.getLogger(__name__)
#: Seconds that an answer of the Hub may take; without one, the copy on this machine is used.
PATIENCE = 5.0
SHORT = 12


def find_commit(source: Source) -> str | None:
    """Return the commit of a source's revision on the Hub; None for local rows, and if the Hub does not answer."""
    if source.local is not None or notice_offline():
        return None
    import httpx2
    from huggingface_hub import HfApi, constants

    try:
        about = HfApi(endpoint=constants.ENDPOINT).dataset_info(
            source.dataset_path, revision=source.dataset_revision, timeout=PATIENCE
        )
    except (OSError, ValueError, httpx2.HTTPError):
        return None
    return about.sha


def describe_new_version(dataset: str, source: Source, prepared: str | None) -> str | None:
    """Return one line if the Hub has another version of a data set than the prepared commit, else None.

    A source with a revision stays at it.
    """
    if prepared is None or source.dataset_revision is not None:
        return None
    current = find_commit(source)
    if current is None or current == prepared:
        return None
    return (
        f"{dataset}: {source.dataset_path} has a new version on the hub, {current[:SHORT]}; this run uses "
        f"{prepared[:SHORT]}, which was prepared before; for the new one give --metadata dataset_revision={current}"
    )
