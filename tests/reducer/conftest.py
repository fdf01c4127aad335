"""Run trees as lm-eval 0.4.13 writes them, small enough to reason about, and one browser for all pages."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from speechiq.core.files.json_text import add_checksum
from speechiq.metrics.choice import vote
from speechiq.reducer.output.terminal import print_grid
from speechiq.reducer.runs.texts import AnsweredQuestion
from speechiq.reducer.stats.grid import Grid
from speechiq.reducer.studies.unanswerable import SCHEMA, VERSION, write_set
from tests.records import change_rows, describe

METRIC = {"remember": "wer", "understand": "similarity", "apply": "acc"}


def wording(question: str) -> dict:
    """What makes a question that question."""
    return {"question": f"What is {question}?", "options": ["one", "two", "three", "four"], "answer": "A"}


def sample_row(level: str, clip: str, question: str, value: float) -> dict:
    """One line of a sample file, with the fields the reducer must leave alone."""
    return {
        "doc_id": 0,
        "doc": {"id": clip, "question_id": question, "audio": {"path": "/no/such/clip.ogg"}, "text": "hi"}
        | wording(question),
        "target": "hi",
        "arguments": {"gen_args_0": {"arg_0": "<audio>", "arg_1": {}}},
        "resps": [["__import__('os').system('false')"]],
        "filtered_resps": ["hi"],
        "filter": "none",
        "metrics": [METRIC[level], "other"],
        METRIC[level]: value,
        "other": float("nan"),
    }


def write_files(folder: Path, system: str | None, date: float, rows: dict[str, list[dict]], **results) -> Path:
    """Write a results file and the sample file of each task in `rows`, and return the results file."""
    folder.mkdir(parents=True, exist_ok=True)
    stamp = f"2025-01-01T00-00-{date:09.6f}"
    path = folder / f"results_{stamp}.json"
    written = {"results": {}, "config": {}, "model_name": system, "date": date} | results
    path.write_text(json.dumps(written), encoding="utf-8")
    for task, of_task in rows.items():
        lines = "".join(json.dumps(row) + "\n" for row in of_task)
        (folder / f"samples_{task}_{stamp}.jsonl").write_text(lines, encoding="utf-8")
    return path


def write_run(
    folder: Path,
    scores: dict[str, dict],
    system: str | None = "system",
    date: float = 1.0,
    tasks: str = "demo",
    samples: bool = True,
    metadata: dict[str, dict] | None = None,
    columns: dict[str, dict] | None = None,
    **results,
) -> Path:
    """Writes one run and returns its results file.

    Args:
        folder: Where lm-eval's output goes; made where needed.
        scores: level -> clip -> value, at `apply` clip -> question -> value, of the level's metric.
        system: `model_name`.
        date: Unix time; also makes the file's stamp.
        tasks: Tasks are named `<tasks>_0`, ..., so that no name tells a level.
        samples: Whether `--log_samples` was given.
        metadata: level -> what its task told beside the usual.
        columns: level -> further columns of its sample rows.
        results: Further keys of the results file.
    """
    configs = {
        f"{tasks}_{number}": {
            "task": f"{tasks}_{number}",
            "metadata": describe(level) | (metadata or {}).get(level, {}),
        }
        for number, level in enumerate(scores)
    }
    configs["arc_easy"] = {"task": "arc_easy", "metadata": {"version": 1.0}}
    rows = {}
    for task, level in zip(configs, scores, strict=False):
        rows[task] = [
            sample_row(level, clip, question, value) | (columns or {}).get(level, {})
            for clip, values in scores[level].items()
            for question, value in (values if isinstance(values, dict) else {"": values}).items()
        ]
    return write_files(folder, system, date, rows if samples else {}, **{"configs": configs} | results)


def change_results(results: Path, change: Callable[[dict], dict | None]) -> None:
    """Change the content of a results file: in place, or to what `change` returns."""
    content = json.loads(results.read_text(encoding="utf-8"))
    results.write_text(json.dumps(change(content) or content), encoding="utf-8")


def frozen_set(path: Path, *items: tuple[str, str], **reworded: object) -> Path:
    """Writes a set of questions that `write_run` asks, in its own words but for those of `reworded`."""
    rows = []
    for clip, question in items:
        asked = AnsweredQuestion(**wording(question) | {"text": "", "audio": None} | reworded).wording
        rows.append({"id": clip, "question_id": question, "asked": asked, "verdict": "wrong_key"})
    write_set(add_checksum(SCHEMA, VERSION, {"reviewed": len(rows), "questions": rows}), path)
    return path


def levels(skill: float, clips: int = 4, questions: int = 3) -> dict[str, dict]:
    """Scores of a system of a given skill (0 to 1); clips and questions differ in difficulty."""
    names = [f"demo/{number}" for number in range(clips)]
    return {
        "remember": {clip: (1 - skill) * (i + 1) / clips for i, clip in enumerate(names)},
        "understand": {clip: 1 - (1 - skill) * (i + 1) / clips / 2 for i, clip in enumerate(names)},
        "apply": {
            clip: {f"{clip}#{q}": float(skill * questions > (i + q) % questions) for q in range(questions)}
            for i, clip in enumerate(names)
        },
    }


def write_skills(folder: Path, skills: dict[str, float], clips: int = 4, **options) -> Path:
    """Write a run of three levels for each system, given by its skill; `options` are those of `write_run`."""
    for name, skill in skills.items():
        write_run(folder / name, levels(skill, clips=clips), system=name, **options)
    return folder


def on_screen(grid: Grid, width: int = 160, explain: bool = True) -> str:
    """Show a table on a terminal of a width, and return the text."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    print_grid(grid, console, explain)
    return console.file.getvalue()


@pytest.fixture
def two_runs(tmp_path: Path) -> Path:
    """A folder with a good and a bad system, three levels each."""
    return write_skills(tmp_path, {"good": 0.9, "bad": 0.1})


def write_answers(
    folder: Path, system: str, letters: dict[str, str], tasks="demo", date=1.0, clips=1, **described
) -> Path:
    """Writes a run of one Apply task, as speechiq's template does, and returns its results file.

    Args:
        folder: Where lm-eval's output goes.
        system: Its name.
        letters: question id -> the five letters; the right one is A.
        tasks: As for `write_run`.
        date: As for `write_run`.
        clips: Number of clips that the questions are dealt out to, in turn.
        described: What `hf-audio` recorded of the system.
    """
    config = {"siq": {"pretrained": system, "system": {"kind": "cascade"} | described}}
    right = [(question, float(vote(of) == "A")) for question, of in letters.items()]
    scores = {"apply": {f"clip{i or ''}": dict(right[i::clips]) for i in range(clips)}}
    results = write_run(folder, scores, system, date, tasks, config=config)
    (path,) = folder.glob(f"samples_{tasks}_0_{results.stem.removeprefix('results_')}.jsonl")

    def answer(row: dict) -> None:
        question = row["doc"]["question_id"]
        row["doc"] |= {"text": "the reference", "audio": {"path": "clips/clip.ogg"}}
        row["filtered_resps"] = [[vote(letters[question]), list(letters[question])]]

    change_rows(path, answer)
    return results
