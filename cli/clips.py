"""List the clips of a data set for commands that need them, under the metadata that a user gives."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from speechiq.core.errors import SpeechIQError

Metadata = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="Setting of the tasks, as for lm_eval --metadata, such as subset=all."),
]


def list_clips(dataset: str, metadata: list[str] | None) -> list[dict[str, Any]]:
    """Return the clips of a data set.

    Args:
        dataset: Name of a data set, or a folder of `siq tasks new`.
        metadata: `KEY=VALUE` each, as for lm_eval's `--metadata`.

    Raises:
        SpeechIQError: A setting has no value, or as for `suite.list_clips`.
    """
    from speechiq.harness_patch._lm_eval import parse_value
    from speechiq.siq_tasks.catalog import suite

    given = {}
    for item in metadata or ():
        key, equals, value = item.partition("=")
        if not equals:
            raise SpeechIQError(f"--metadata {item}: has no value; write key=value")
        if key == "dataset":
            raise SpeechIQError(
                f"--metadata {item}: the clips are those of {dataset}; name another data set in its place"
            )
        given[key] = parse_value(value)
    return suite.list_clips(dataset, **given)
