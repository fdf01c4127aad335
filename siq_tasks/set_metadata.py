"""Read metadata that apply to one data set of a run: `DATASET.KEY=VALUE`, or a YAML file of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import expand, read_plain

#: Key that names a YAML file: data set -> key -> value.
FILE = "sets"


def expand_sets(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata with `DATASET.KEY` for each key of the file that `sets` names; given keys precede the file's.

    Args:
        metadata: Metadata of a run or a task.

    Raises:
        SpeechIQError: The file cannot be read, or is not a mapping of data sets to keys and values.

    >>> expand_sets({"subset": 9})
    {'subset': 9}
    """
    if FILE not in metadata:
        return dict(metadata)
    name = metadata[FILE]
    form = f"--metadata {FILE}={name}: write lines such as `earnings22: {{dataset_path: FOLDER}}`"
    try:
        content = yaml.safe_load(read_plain(expand(str(name))))
    except OSError as error:
        raise SpeechIQError(f"--metadata {FILE}={name}: cannot be read ({error.strerror}); correct the path") from error
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        raise SpeechIQError(f"{form}; it is not valid YAML ({' '.join(str(error).split())[:200]})") from error
    if not isinstance(content, dict) or not all(isinstance(keys, dict) for keys in content.values()):
        raise SpeechIQError(f"{form}; it is not a mapping of data sets to keys and values")
    listed = {f"{dataset}.{key}": value for dataset, keys in content.items() for key, value in keys.items()}
    return listed | {key: value for key, value in metadata.items() if key != FILE}


def for_dataset(metadata: Mapping[str, Any], dataset: Any) -> dict[str, Any]:
    """Return the metadata that apply to one data set: `DATASET.KEY` applies to that set alone, and precedes `KEY`.

    Args:
        metadata: Metadata of a task, with the keys for all data sets of a run.
        dataset: Name of the task's data set.

    >>> for_dataset({"subset": 9, "medasr.subset": 2, "voxpopuli.subset": 1}, "medasr")
    {'subset': 2}
    """
    prefix = f"{dataset}."
    own = {key.removeprefix(prefix): value for key, value in metadata.items() if key.startswith(prefix)}
    return {key: value for key, value in metadata.items() if "." not in key} | own
