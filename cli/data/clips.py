"""List the clips of a data set for commands that need them, under the metadata that a user gives."""

from __future__ import annotations

from typing import Any

from speechiq.cli.options import read_values
from speechiq.core.errors import SpeechIQError


def list_clips(dataset: str, metadata: list[str] | None) -> list[dict[str, Any]]:
    """Return the clips of a data set.

    Args:
        dataset: Name of a data set, or a folder of `siq data new`.
        metadata: `KEY=VALUE` each, as for lm_eval's `--metadata`.

    Raises:
        SpeechIQError: A setting has no value, or as for `suite.list_clips`.
    """
    from speechiq.siq_tasks.catalog import suite

    settings = read_values("--metadata", metadata or ())
    if "dataset" in settings:
        raise SpeechIQError(
            f"--metadata dataset={settings['dataset']}: the clips are those of {dataset}; name another data set in its "
            "place"
        )
    return suite.list_clips(dataset, **settings)
