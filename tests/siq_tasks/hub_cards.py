"""Small repositories with the columns that the cards of data sets state, for the hub on this machine."""

from __future__ import annotations

import io
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as parquet
import yaml
from datasets import DatasetInfo, Features, SplitDict, SplitInfo
from datasets.info import DatasetInfosDict
from huggingface_hub import DatasetCardData

from tests.loopback_hub import CARD, Repository
from tests.siq_tasks.conftest import encode, write_table

#: Tables in short: several repositories per file, whose form `siq.yaml` explains.
SHORT = Path(__file__).with_name("cards")
#: Cards with the types of all columns: a repository per file, with `dataset` and `configs`.
TYPED = Path(__file__).parents[1] / "cards"


class _Loader(yaml.SafeLoader):
    pass


def _make_tone(loader: _Loader, node: yaml.ScalarNode) -> dict:
    seconds = float(loader.construct_scalar(node))
    return {"bytes": encode(seconds), "path": f"{seconds:g}.wav"}


_Loader.add_constructor("!tone", _make_tone)


def read_cards() -> dict[str, list[dict]]:
    """Return repository -> its parts, from the tables of all suites."""
    files = [*sorted(SHORT.glob("*.yaml")), *sorted(TYPED.glob("*.yaml"))]
    tables = [yaml.load(file.read_text(encoding="utf-8"), _Loader) for file in files]
    return {name: parts for table in tables for name, parts in _shorten(table).items()}


def _shorten(table: dict) -> dict[str, list[dict]]:
    """Return a table in its short form."""
    if "dataset" not in table:
        return table
    parts = []
    for part in table["configs"]:
        audio = next(name for name, kind in part["columns"].items() if kind == "audio")
        rows = {name: [row.get(name) for row in part["rows"]] for name in part["columns"] if name != audio}
        parts.append({"config": part["config"], "split": part["split"], "audio": audio, "rows": rows})
    return {table["dataset"]: parts}


def make_files(parts: list[dict]) -> dict[str, bytes]:
    """Return the files of a repository: one of parquet per part, with a tone of its own per row, and the card."""
    with TemporaryDirectory() as folder:
        for part in parts:
            rows = part["rows"]
            tones = [encode(1.5 - 0.1 * i) for i in range(len(next(iter(rows.values()))))]
            file = Path(folder, part.get("config", "default"), f"{part['split']}-00000-of-00001.parquet")
            write_table(file, rows, {part["audio"]: tones} if "audio" in part else {})
        files = {str(file.relative_to(folder)): file.read_bytes() for file in Path(folder).rglob("*.parquet")}
    return files | {CARD: make_card(files, is_stated=all(part.get("stated", True) for part in parts))}


def write_card(repository: Repository) -> None:
    """Give a repository the card that `push_to_hub` writes."""
    repository.files[CARD] = make_card(repository.files, is_stated=True)


def make_card(files: dict[str, bytes], *, is_stated: bool) -> bytes:
    """Return a card with the configurations of files `CONFIG/SPLIT-...`, and with their columns if they are stated.

    The folder `data` is the configuration `default`.
    """
    configs: dict[str, list[dict]] = defaultdict(list)
    infos = DatasetInfosDict()
    for path, content in files.items():
        if not path.endswith(".parquet"):
            continue
        folder, _, name = path.partition("/")
        config, split = "default" if folder == "data" else folder, name.partition("-")[0]
        configs[config].append({"split": split, "path": f"{folder}/{split}-*"})
        table = parquet.read_table(io.BytesIO(content))
        info = infos.setdefault(config, DatasetInfo(config_name=config, splits=SplitDict()))
        info.features = Features.from_arrow_schema(table.schema)
        info.splits.add(SplitInfo(split, len(content), table.num_rows))
    card = DatasetCardData(configs=[{"config_name": name, "data_files": files} for name, files in configs.items()])
    if is_stated:
        infos.to_dataset_card_data(card)
    return f"---\n{card.to_yaml()}\n---\n".encode()
