"""Score outputs that other programs computed, and write a run per system in the form of lm-eval.

Rows are read twice, first to count and check them, then to score and write them; no text is kept.
"""

import math
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from speechiq.core.batches import over_cores
from speechiq.core.console import count_of, progress_bar
from speechiq.core.errors import RowError, SpeechIQError
from speechiq.core.files.json_text import content_sha256
from speechiq.core.files.plain import hash_file, is_file, is_folder, read_plain, write_whole, writing
from speechiq.core.ids import drop_dataset
from speechiq.engines.base import DECLARED
from speechiq.metrics.columns import Columns
from speechiq.metrics.words.wer import ErrorRate, Errors
from speechiq.reducer.imports.items import CHOICE, FREE, JUDGED, LETTER, WORDS, ImportSettings, OutputItem
from speechiq.reducer.imports.scorers import FILTERS, ScoredOutput, describe_task, load_columns, score_item
from speechiq.reducer.imports.survey import Key, Outputs, Survey, digest, read_items, survey
from speechiq.siq_tasks.loaders.content import digest_doc, join_digests

#: Bytes of rows that are kept until they are written.
BUFFER = 2**20
DIGEST = 32
#: Rows that are in memory at the same time.
CHUNK = 2000
OWN_FOLDER = "name a folder of your own with --output"
#: Signs that no name of a folder has everywhere, as lm-eval replaces them.
_NOT_IN_NAMES = re.compile(r"[\"<>:/|\\?*\[\]\s]+")


class Imported(NamedTuple):
    """Hold what was written.

    Attributes:
        levels: Names of levels and other categories.
        left_out: Rows that could not be scored.
    """

    systems: list[str]
    clips: int
    levels: list[str]
    left_out: int
    warnings: list[str]


@dataclass
class Moments:
    """Sum up one column: the mean of the values that are not NaN, and its standard error."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        """Add a value."""
        if math.isnan(value):
            return
        self.count += 1
        change = value - self.mean
        self.mean += change / self.count
        self.squares += change * (value - self.mean)

    @property
    def error(self) -> float | None:
        """Return the standard error of the mean; None with fewer than two values."""
        return math.sqrt(self.squares / (self.count - 1) / self.count) if self.count > 1 else None


@dataclass
class SampleDraft:
    """Write the rows of one task of one system to a draft, and keep of each the digest of its doc.

    Attributes:
        majority: The right letter of most questions of the data set.
        columns: Columns of the rows.
        pooled: Errors of all clips.
        shared: Digests of the transcripts that stand beside several questions.
    """

    outputs: Outputs
    kind: str
    majority: str
    columns: Columns
    draft: Path
    count: int = 0
    digests: bytearray = field(default_factory=bytearray)
    buffer: bytearray = field(default_factory=bytearray)
    moments: dict[str, Moments] = field(default_factory=dict)
    pooled: Errors = field(default_factory=Errors)
    shared: set[int] = field(default_factory=set)

    @property
    def name(self) -> str:
        """Return the name of the task."""
        return f"{self.outputs.key.dataset}_{self.kind}"

    def add(self, item: OutputItem, where: str, scored: ScoredOutput) -> None:
        """Write the row of an item; one whose reference has no word is left out."""
        doc, target, filtered, columns = scored
        if self.kind == WORDS and math.isnan(columns["cer"]):
            with self.outputs.odd.reading(where, drop_dataset(doc["id"])):
                raise RowError("no word to score", f"{doc['text']!r:.80} has no word to score")
            return
        numbers = {name: float(value) for name, value in columns.items()}
        for name, value in numbers.items():
            self.moments.setdefault(name, Moments()).add(value)
        if isinstance(rate := columns.get("wer_corpus"), ErrorRate):
            self.pooled += rate.errors
        row = {"doc_id": self.count, "doc": doc, "target": target, "resps": [[item.output]]}
        row |= {"filtered_resps": [filtered], "filter": FILTERS[self.kind], "metrics": list(numbers), **numbers}
        self.count += 1
        self.digests += digest_doc(doc)
        self.buffer += msgspec.json.encode(row) + b"\n"
        if len(self.buffer) > BUFFER:
            self.flush()

    def flush(self) -> None:
        """Write the rows that wait."""
        with self.draft.open("ab") as file:
            file.write(self.buffer)
        self.buffer.clear()

    def is_new(self, item: OutputItem) -> bool:
        """Return False for a transcript that stood beside an earlier question."""
        if not self.outputs.repeated:
            return True
        name = digest(*item.name)
        is_new = name not in self.shared
        self.shared.add(name)
        return is_new

    @property
    def content_sha256(self) -> str:
        """Return the digest of all docs."""
        return join_digests(bytes(self.digests[at : at + DIGEST]) for at in range(0, len(self.digests), DIGEST))

    def sum_up(self) -> dict[str, Any]:
        """Return the results of the task as lm-eval writes them; a column without a value is left out."""
        results: dict[str, Any] = {"name": self.name, "alias": self.name, "sample_len": self.count}
        name = FILTERS[self.kind]
        for column, moments in self.moments.items():
            if moments.count:
                results[f"{column},{name}"] = moments.mean
                results[f"{column}_stderr,{name}"] = moments.error
        if self.pooled.reference_length:
            results[f"wer_corpus,{name}"] = float(ErrorRate(self.pooled))
            results[f"wer_corpus_stderr,{name}"] = None
        return results

    def describe(self, settings: ImportSettings) -> dict[str, Any]:
        """Return the metadata of the task."""
        about = describe_task(self.kind, self.outputs.category, settings) | self.outputs.odd.record()
        return about | {"dataset": self.outputs.key.dataset, "content_sha256": self.content_sha256}


def import_outputs(settings: ImportSettings, output: Path, *, force: bool) -> Imported:
    """Score the outputs of all systems and write their runs into a folder each below `output`.

    Raises:
        SpeechIQError: Rows contradict each other, too many cannot be scored, or a run is there already.
    """
    found = survey(settings)
    folders = _name_folders(output, [key.system for key in found.outputs])
    replaced = [file for system, folder in folders.items() for file in _find_written(found, system, folder, force)]
    with writing(output, OWN_FOLDER):
        output.mkdir(parents=True, exist_ok=True)
        drafts = Path(tempfile.mkdtemp(prefix=".import-", dir=output))
    try:
        with writing(output, OWN_FOLDER):
            files = _score_all(found, drafts)
        for file in files:
            file.outputs.odd.check()
        for old in replaced:
            _remove_run(old)
        _write_runs(found, files, folders)
    finally:
        shutil.rmtree(drafts, ignore_errors=True)
    left_out = sum(file.outputs.odd.count() for file in files)
    examples = [f"left out {file.outputs.odd.example}" for file in files if file.outputs.odd.example]
    warnings = [*found.warnings, *examples[:1]]
    return Imported(list(folders), found.count_clips(), _list_levels(files), left_out, warnings)


def _list_levels(files: Iterable[SampleDraft]) -> list[str]:
    kinds = {file.kind for file in files}
    return [kind for kind in (WORDS, LETTER, CHOICE, JUDGED, FREE) if kind in kinds]


def _name_folders(output: Path, systems: Iterable[str]) -> dict[str, Path]:
    """Return system -> its folder; names that become equal get the digits of a digest."""
    folders: dict[str, Path] = {}
    for system in dict.fromkeys(systems):
        name = _NOT_IN_NAMES.sub("__", system).strip(".")[:100] or "_"
        folder = output / name
        if folder in folders.values():
            folder = output / f"{name}-{digest(system):016x}"
        folders[system] = folder
    return folders


class _Results(msgspec.Struct):
    configs: dict[str, Any] = {}


def _find_written(found: Survey, system: str, folder: Path, force: bool) -> list[Path]:
    """Return the results files of earlier imports that this one replaces; refuse them without `force`."""
    if not is_folder(folder):
        return []
    kinds = _kinds_of(found)
    tasks = {f"{key.dataset}_{kinds[key.dataset, key.kind]}" for key in found.outputs if key.system == system}
    replaced = []
    for file in sorted(folder.glob("results_*.json")):
        try:
            written = msgspec.json.decode(read_plain(file), type=_Results).configs.keys()
        except (OSError, ValueError):
            continue
        if written & tasks and not force:
            fault = f"has task {min(written & tasks)!r} of system {system!r} already"
            raise SpeechIQError(file, fault, "name another folder with --output, or add --force to replace it")
        if written and written <= tasks:
            replaced.append(file)
    return replaced


def _remove_run(results: Path) -> None:
    """Remove a results file and its sample files."""
    stamp = results.stem.rpartition("_")[2]
    for file in (*results.parent.glob(f"samples_*_{stamp}.jsonl"), results):
        with writing(file, OWN_FOLDER):
            file.unlink()


def _kinds_of(found: Survey) -> dict[tuple[str, str], str]:
    """Return (data set, kind) -> how it is scored: questions are of Apply if all of their data set can be."""
    kinds = {}
    for same in found.group():
        key = same[0].key
        is_choice = key.kind == LETTER and not all(each.is_apply for each in same)
        kinds[key.dataset, key.kind] = CHOICE if is_choice else key.kind
    return kinds


def _score_all(found: Survey, drafts: Path) -> list[SampleDraft]:
    """Score all rows, and return the drafts of the tasks of all systems."""
    kinds = _kinds_of(found)
    files: dict[Key, SampleDraft] = {}
    for same in found.group():
        letters: Counter[str] = sum((each.majority for each in same), Counter())
        majority = min(letters, key=lambda letter: (-letters[letter], letter), default="")
        for each in same:
            kind = kinds[each.key.dataset, each.key.kind]
            columns = load_columns(kind, found.settings)
            files[each.key] = SampleDraft(each, kind, majority, columns, drafts / f"{len(files)}.draft")
    total = sum(len(each.names) for each in found.outputs.values())
    with progress_bar(total=total, verb="scoring", unit="row") as bar:
        rows = read_items(found.settings)
        while chunk := list(islice(rows, CHUNK)):
            new = [(row.where, key, item) for row, key, item in chunk if files[key].is_new(item)]
            for (where, key, item), scored in zip(new, _score(new, files), strict=True):
                files[key].add(item, where, scored)
            bar.update(len(chunk))
    for file in files.values():
        file.flush()
    return list(files.values())


def _score(rows: Sequence[tuple[str, Key, OutputItem]], files: Mapping[Key, SampleDraft]) -> Iterator[ScoredOutput]:
    """Yield the scores of items, by all cores if there are many."""

    def work(row: tuple[str, Key, OutputItem]) -> ScoredOutput:
        _, key, item = row
        return score_item(item, files[key].kind, files[key].majority)

    return over_cores(work, rows, worth_it=2 * len(rows) >= CHUNK)


def _write_runs(found: Survey, files: list[SampleDraft], folders: Mapping[str, Path]) -> None:
    """Move the drafts into the folders of their systems, and write the results files."""
    now = datetime.now(UTC)
    stamp = now.strftime("%Y-%m-%dT%H-%M-%S.%f")
    for system, folder in folders.items():
        own = [file for file in files if file.outputs.key.system == system]
        with writing(folder, OWN_FOLDER):
            folder.mkdir(exist_ok=True)
            for file in own:
                os.replace(file.draft, folder / f"samples_{file.name}_{stamp}.jsonl")  # noqa: PTH105
        results = _describe_run(found, system, own, now.timestamp())
        content = msgspec.json.format(msgspec.json.encode(results), indent=1)
        write_whole(folder / f"results_{stamp}.json", content, OWN_FOLDER)


def _describe_run(found: Survey, system: str, files: list[SampleDraft], date: float) -> dict[str, Any]:
    """Return the content of a results file."""
    settings = found.settings
    described = {"kind": "imported", "form": settings.form.name, **_describe_files(found, system)}
    if settings.kind is not None:
        described[DECLARED] = settings.kind
    configs = {file.name: {"task": file.name, "metadata": file.describe(settings)} for file in files}
    counts = {file.name: {"original": file.count, "effective": file.count} for file in files}
    directions = {file.name: {column.name: column.higher_is_better for column in file.columns} for file in files}
    return {
        "results": {file.name: file.sum_up() for file in files},
        "group_subtasks": {},
        "configs": configs,
        "versions": dict.fromkeys(configs, 1.0),
        "n-shot": dict.fromkeys(configs, 0),
        "higher_is_better": directions,
        "n-samples": counts,
        "config": {"siq": {"pretrained": system, "system": described}},
        "date": date,
        "model_name": system,
    }


def _describe_files(found: Survey, system: str) -> dict[str, str]:
    """Return the names and the digest of the files of a system, without the folders, which may name a person."""
    paths = sorted(found.files.get(system) or found.settings.paths)
    names = ", ".join(path.name for path in paths[:3])
    if len(paths) > 3:
        names += f" and {count_of(len(paths) - 3, 'more file')}"
    inside = [file for path in paths for file in ([path] if is_file(path) else sorted(path.rglob("*")))]
    try:
        digests = [[file.name, hash_file(file)] for file in inside if is_file(file)]
    except OSError as error:
        raise SpeechIQError(error.filename, error.strerror, "make it readable") from error
    return {"file": names, "sha256": digests[0][1] if len(digests) == 1 else content_sha256(digests)}
