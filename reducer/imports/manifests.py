"""Read manifests of the Open ASR Leaderboard and of NeMo: a JSON line per recording, with reference and prediction."""

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from speechiq.core.files.json_text import Line
from speechiq.core.files.tables import MANIFEST_AUDIO, check_columns
from speechiq.reducer.imports.rows import (
    AUDIO_ENDING,
    Form,
    OutputRow,
    find_number,
    find_text,
    name_systems,
    read_first_row,
    read_json_lines,
)

REFERENCE, PREDICTION, PARENT, CHUNK = "text", "pred_text", "parent_id", "chunk_index"
#: Name of a manifest of the leaderboard, in which the model's `/` is written as `-`.
NAME = re.compile(r"MODEL_(?P<model>.+?)_DATASET_(?P<dataset>.+)")


@dataclass
class Session:
    """Hold the chunks of one long recording: index -> prediction."""

    row: OutputRow
    chunks: dict[int, str] = field(default_factory=dict)
    seconds: list[float | None] = field(default_factory=list)
    is_whole: bool = True

    def add(self, line: Line) -> None:
        """Add a chunk; one without an index, or with that of another, makes the session unusable."""
        index = line.row.get(CHUNK)
        if type(index) is int and index not in self.chunks:
            self.chunks[index] = find_text(line.row, PREDICTION) or ""
        else:
            self.is_whole = False
        self.seconds.append(find_number(line.row, "duration"))

    def join(self) -> OutputRow:
        """Return the row of the session, without a transcript if a chunk is missing or occurs twice."""
        known = [seconds for seconds in self.seconds if seconds is not None]
        duration = sum(known) if len(known) == len(self.seconds) else None
        transcript = None
        if self.is_whole and sorted(self.chunks) == [*range(len(self.chunks))]:
            texts = [self.chunks[index].strip() for index in range(len(self.chunks))]
            transcript = " ".join(filter(None, texts))
        return replace(self.row, transcript=transcript, duration=duration)


def _fits(path: Path) -> bool:
    return {MANIFEST_AUDIO, PREDICTION} <= read_first_row(path).keys()


def _fits_openasr(path: Path) -> bool:
    is_named = NAME.fullmatch(path.stem) is not None
    return _fits(path) and (is_named or not {"time", PARENT}.isdisjoint(read_first_row(path)))


def _fits_nemo(path: Path) -> bool:
    return _fits(path) and not _fits_openasr(path)


def _read(paths: list[Path]) -> Iterator[OutputRow]:
    """Yield a row per recording; chunks of one recording are joined when the file ends, in the order of their index."""
    systems = name_systems(paths)
    for path in paths:
        named = NAME.fullmatch(path.stem)
        system, dataset = (named["model"], named["dataset"]) if named else (systems[path], None)
        is_by_path = _has_equal_names(path)
        sessions: dict[str, Session] = {}
        for line in read_json_lines(path):
            row = _read_row(line, system, dataset, is_by_path)
            if PARENT in line.row:
                sessions.setdefault(row.clip, Session(row)).add(line)
            else:
                yield row
        for session in sessions.values():
            yield session.join()


def _read_row(line: Line, system: str, dataset: str | None, is_by_path: bool) -> OutputRow:
    if line.number == 1:
        check_columns(line.row, (REFERENCE, PREDICTION), line.where, "name a manifest with predictions")
    name = _name_recording(line, is_by_path)
    offset = find_number(line.row, "offset")
    return OutputRow(
        line.where,
        system,
        name if offset is None else f"{name}-{offset:g}",
        reference=find_text(line.row, REFERENCE),
        transcript=find_text(line.row, PREDICTION),
        cluster=None if offset is None else name,
        duration=find_number(line.row, "duration"),
        category=dataset,
    )


def _name_recording(line: Line, is_by_path: bool) -> str:
    """Return the name of the audio file without its folders, which differ between machines, unless names are equal."""
    parent = line.row.get(PARENT)
    if parent is not None:
        return str(parent)
    path = find_text(line.row, MANIFEST_AUDIO) or f"sample_{line.number - 1}"
    return AUDIO_ENDING.sub("", path if is_by_path else path.replace("\\", "/").rpartition("/")[2])


def _has_equal_names(path: Path) -> bool:
    """Return whether audio files in two folders have the same name; keeps two hashes per row."""
    names, paths = array("q"), array("q")
    for line in read_json_lines(path):
        if PARENT not in line.row:
            names.append(hash(_name_recording(line, False)))
            paths.append(hash(_name_recording(line, True)))
    return len(np.unique(names)) < len(np.unique(paths))


OPENASR = Form("openasr", "manifests of the Open ASR Leaderboard, `MODEL_..._DATASET_....jsonl`", _fits_openasr, _read)
NEMO = Form("nemo", "manifests of NeMo with `audio_filepath`, `text` and `pred_text`", _fits_nemo, _read)
