"""Rows of published sets, of which some have values of any kind: they are repaired, left out or refused in one line."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from speechiq.siq_tasks.loaders import clips, passages
from tests.fuzz.judge import judge
from tests.fuzz.mutations import VALUES
from tests.fuzz.targets.target import Target
from tests.siq_tasks.belebele import FEATURES, question, record, sentence, write_set
from tests.siq_tasks.conftest import write_lines
from tests.siq_tasks.published_rows import AUDIO, OPTIONS, SETS, SETTINGS, make_row, read_about

ROWS = 40
PASSAGES = "belebele_deu_Latn"
#: Values that people write for one another, in the columns of any set.
LIKELY: list[Any] = [
    *(None, "", " ", "...", "uh", "$", "[noise]", "A", "(B)", "c.", "E", "0", "1", "4", "5", 0, 1, 2, 4.0, -1, True),
    *("(A) a (B) b", "A. a B.", '["a", null]', '["a", "A."]', "[]", "{}", "nowhere", "NOWHERE .", "\u200b", "\ud83d"),
    *([], [None], ["a"], ["a", "a"], ["", "b", "c"], ["(A) a", "(B) b"], [1, 2], [["a"], ["b"]], {"a": 1}),
    *(OPTIONS, OPTIONS[::-1]),
]
TEXTS, NUMBERS = (None, "", " ", "5", "x"), (None, 0, -1, 10**9)


def prepare(folder: Path) -> list[Path]:
    """Write rows of each set as JSON lines, and their audio."""
    folder.joinpath("a.wav").write_bytes(AUDIO)
    files = []
    for task in SETS:
        about = read_about(task)
        audio = {about.get("audio_column", "audio"): "a.wav"}
        write_lines(folder / f"{task}.jsonl", *(make_row(about, number, {}) | audio for number in range(ROWS)))
        files.append(folder / f"{task}.jsonl")
    return files


def load(folder: Path, rng: random.Random) -> str | None:
    """Load a set, some of whose rows have other values, and count what was loaded."""
    task = rng.choice((*SETS, PASSAGES))
    if task == PASSAGES:
        return judge(lambda: _load_passages(folder, rng))
    return judge(lambda: _load_rows(folder / f"{task}.jsonl", task, rng))


def _load_rows(file: Path, task: str, rng: random.Random) -> None:
    try:
        rows = [json.loads(line) for line in file.read_bytes().splitlines()]
        for row in rng.sample(rows, rng.choice((0, 1, 1, 2))):
            row[rng.choice(sorted(row))] = rng.choice(LIKELY if rng.random() < 0.8 else VALUES)
        write_lines(file, *rows)
    except (OSError, ValueError, TypeError, RecursionError, IndexError, AttributeError):
        pass  # The file is no table any more.
    about = read_about(task) | {"dataset_path": str(file)} | SETTINGS
    test = clips.load(**about)
    assert len(test.docs) >= test.record["rows"] - sum(test.record["left_out"].values()) > 0


def _load_passages(folder: Path, rng: random.Random) -> None:
    spoken = [sentence(number, "Ein Satz.", record("kennedy", 0.4)) for number in range(2)]
    rows = [question(f"link {number // 2}", number, spoken) for number in range(ROWS)]
    strange = (spoken, spoken, [], None, [spoken[0], spoken[0]], [spoken[0] | {"audio": None}])
    for row in rng.sample(rows, 2):
        column = rng.choice([name for name in FEATURES if name not in ("sentence_data", "ds")])
        row[column] = rng.choice(NUMBERS if column == "question_number" else TEXTS)
        row["sentence_data"] = rng.choice(strange)
    written = write_set(folder / "hub", rows)
    about = {"dataset_path": str(written), "dataset_name": "deu_Latn", "recording": "first", "pause_s": 0.5}
    assert passages.list_clips(dataset=PASSAGES, **about)


PUBLISHED_ROWS = Target(prepare, load, cases=60, refuses=True)
