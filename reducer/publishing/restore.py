"""Restore the runs of a published result, in lm-eval's form, so that it is scored again by the code that made it."""

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import refuse_extremes
from speechiq.reducer.publishing.folder import AGAIN
from speechiq.reducer.publishing.schema import Result, TaskRecord
from speechiq.reducer.runs.results_file import name_under


def restore(result: Result, rows: Mapping[str, bytes], folder: Path) -> None:
    """Write a results file and a sample file per task into an empty folder.

    Args:
        result: A result.
        rows: Task -> its rows, as `unpack_rows` returns them.
        folder: The folder; names in a result lead nowhere else, since those of tasks are plain.
    """
    for number, task in enumerate(result.tasks):
        stamp = f"2000-01-01T00-00-{number:06d}"
        content = json.dumps(_results_of(result, task))
        folder.joinpath(f"results_{stamp}.json").write_text(content, encoding="utf-8")
        folder.joinpath(f"samples_{task.task}_{stamp}.jsonl").write_bytes(rows[task.task])


def read_strictly(rows: bytes, where: str) -> list[dict[str, object]]:
    """Return rows that are standard JSON, an object per line.

    Raises:
        SpeechIQError: A line is not one: NaN, bytes that are not UTF-8, or values nested too deeply.
    """
    decoder = msgspec.json.Decoder(dict[str, object])
    decoded = []
    for number, line in enumerate(rows.splitlines(), 1):
        try:
            decoded.append(decoder.decode(line))
            refuse_extremes(decoded[-1])
        except (ValueError, RecursionError) as error:
            raise SpeechIQError(f"{where} line {number}", f"not standard JSON ({error})", AGAIN) from error
    return decoded


def _results_of(result: Result, task: TaskRecord) -> dict[str, object]:
    """Return the content of the results file of one task."""
    ran, total = task.docs or (None, None)
    suffix = name_under("", task.metadata)
    return {
        "date": task.date,
        "configs": {task.task: {"metadata": task.metadata}},
        "config": {"siq": {"pretrained": result.system.removesuffix(suffix), "system": result.description}},
        "lm_eval_version": task.versions.get("lm-eval"),
        "transformers_version": task.versions.get("transformers"),
        "n-samples": {task.task: {"effective": ran, "original": total}},
        "higher_is_better": {task.task: {column: sign > 0 for column, sign in task.signs.items()}},
    }
