"""Map names of earlier versions, which stored runs and task files of users still hold, to those of today."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Metadata key of earlier versions -> key of today.
METADATA = {"normaliser": "normalizer", "normaliser_version": "normalizer_version"}
#: Column of a sample row -> what earlier versions called it.
COLUMNS = {"audio_coverage": "heard", "repetition": "loop"}


def rename_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata of a task under the names of today; of a key that is there under both names, the last one counts.

    lm-eval appends the keys of `--metadata` to those of the task's YAML.

    >>> rename_metadata({"normaliser": "basic", "settings": {"normaliser_version": "1"}})
    {'normalizer': 'basic', 'settings': {'normalizer_version': '1'}}
    >>> rename_metadata({"normalizer": "english", "normaliser": "basic"})
    {'normalizer': 'basic'}
    """
    renamed = {METADATA.get(key, key): value for key, value in metadata.items()}
    if isinstance(settings := renamed.get("settings"), Mapping):
        renamed["settings"] = rename_metadata(settings)
    return renamed
