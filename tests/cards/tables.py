"""Tables of data sets on the Hub: id, configurations, splits, columns and a few rows, and parquet that is made of them.

A file has `dataset`, `license` and `configs`; each of these has `config`, `split`, the `tasks` that read it, the type
of each column (`audio`, a type of Arrow, a list of one type, or a mapping) and `rows`, which have no audio.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from datasets import Audio, Dataset, Features, List, Value

HERE = Path(__file__).parent


class Split(NamedTuple):
    """One split of one configuration of a data set."""

    dataset: str
    config: str
    split: str
    tasks: tuple[str, ...]
    columns: dict[str, Any]
    rows: list[dict[str, Any]]

    @property
    def file(self) -> str:
        """The place of its parquet file in the repository."""
        return f"{self.config}/{self.split}-00000-of-00001.parquet"


def read_card(name: str) -> list[Split]:
    """The splits of `NAME.yaml`."""
    card = yaml.safe_load((HERE / f"{name}.yaml").read_text(encoding="utf-8"))
    return [
        Split(card["dataset"], part["config"], part["split"], tuple(part["tasks"]), part["columns"], part["rows"])
        for part in card["configs"]
    ]


def names() -> list[str]:
    return sorted(file.stem for file in HERE.glob("*.yaml"))


def find_card(task: str) -> list[Split]:
    """The card that a task reads."""
    return next(splits for splits in map(read_card, names()) if any(task in split.tasks for split in splits))


def write_card(folder: Path, splits: Sequence[Split], audio: Sequence[bytes]) -> str:
    """Write a repository with parquet of each split; rows get the sounds in turn. Returns the folder."""
    configs: dict[str, list[dict[str, str]]] = {}
    for split in splits:
        configs.setdefault(split.config, []).append({"split": split.split, "path": split.file})
        table = Dataset.from_list(
            [{name: row.get(name) for name in split.columns if name != "audio"} for row in split.rows],
            features=Features({name: _feature(kind) for name, kind in split.columns.items() if name != "audio"}),
        )
        stored = [{"bytes": audio[i % len(audio)], "path": f"{i}.wav"} for i in range(len(split.rows))]
        table = table.add_column("audio", stored, feature=Audio(sampling_rate=16_000))
        file = folder / split.file
        file.parent.mkdir(parents=True, exist_ok=True)
        table.to_parquet(file)
    about = [{"config_name": name, "data_files": files} for name, files in configs.items()]
    folder.joinpath("README.md").write_text(f"---\n{yaml.safe_dump({'configs': about})}---\n", encoding="utf-8")
    return str(folder)


def _feature(kind: Any) -> Any:
    if isinstance(kind, list):
        return List(_feature(kind[0]))
    return {name: _feature(part) for name, part in kind.items()} if isinstance(kind, dict) else Value(kind)
