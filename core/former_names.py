"""Map names of earlier versions, which stored runs and task files of users still contain, to the current ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Metadata key of earlier versions -> current key.
METADATA = {"normaliser": "normalizer", "normaliser_version": "normalizer_version"}
#: Column of a sample row -> its name in earlier versions.
COLUMNS = {"audio_coverage": "heard", "repetition": "loop"}


def rename_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata of a task under the current names; if a key has both names, the value of the current one counts.

    >>> rename_metadata({"normaliser": "basic", "settings": {"normaliser_version": "1"}})
    {'normalizer': 'basic', 'settings': {'normalizer_version': '1'}}
    """
    renamed = {METADATA[key]: value for key, value in metadata.items() if key in METADATA}
    kept = {key: value for key, value in metadata.items() if key not in METADATA}
    if isinstance(settings := metadata.get("settings"), Mapping):
        kept["settings"] = rename_metadata(settings)
    return renamed | kept
