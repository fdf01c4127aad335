"""Rows of published sets, by role and under the columns that each task names."""

from __future__ import annotations

import json
from typing import Any

from speechiq.metrics.settings import read_record
from speechiq.siq_tasks.index import read_tasks
from speechiq.siq_tasks.loaders.question_columns import Columns
from tests.siq_tasks.conftest import encode

AUDIO = encode(0.2)
ID = "2009{:03}1-0900-PLENARY-3_{}"
OPTIONS = ["in the north", "in the south", "at sea", "nowhere"]
#: Settings that need no model.
SETTINGS = {"subset": "all", "reply_asr": "pocketsphinx:en-us", "speech_quality": "off"}
SETS = (
    "mmsu_choice", "mmau_mini", "mmar_choice", "voicebench_openbookqa", "voicebench_alpacaeval",
    "voicebench_bbh_yes_no", "bigbenchaudio_navigate", "bigbenchaudio_object_counting", "audiobench_dream",
    "audiobench_clotho_aqa", "audiobench_iemocap_gender", "audiobench_audiocaps_caption",
    "audiobench_librispeech_clean", "siq_wildspeech_oe", "siq_earnings22_remember", "siq_voxpopuli_remember",
    "siq_medasr_remember",
)  # fmt: skip


def read_about(task: str) -> dict[str, Any]:
    """The metadata of a task."""
    return read_tasks()[task]["metadata"]


def find_columns(about: dict[str, Any]) -> dict[str, Any]:
    """Role -> the column of a set with it; options may be in several columns."""
    found = {key: about.get(f"{key}_column") for key in ("question", "choices", "answer", "id", "length", "cluster")}
    found["audio"] = about.get("audio_column", "audio")
    if about["task_type" if "task_type" in about else "level"] == "labels":
        found["label"] = found["answer"]
    text = about.get("text_column", "text")
    if text != found["question"]:
        found["text"] = text
    if not found["question"] and not found["answer"]:
        found["words"] = text
    if text == found["cluster"]:
        del found["cluster"]
    groups = [column for column in about.get("group_columns", {}).values() if isinstance(column, str)]
    return {role: column for role, column in (found | {"group": next(iter(groups), None)}).items() if column}


def make_row(about: dict[str, Any], number: int, change: dict[str, Any]) -> dict[str, Any]:
    """One row of a set with the values of a change by role."""
    answer = next(iter(about.get("labels", ["C" if about.get("task_type") == "spoken_choice" else "nowhere"])))
    values = {"question": f"Where is {number}?", "choices": OPTIONS, "answer": answer, "text": f"so it goes {number}"}
    values |= {"length": 0.2, "cluster": f"c{number % 3}", "group": "ab"[number % 2], "audio": AUDIO}
    values["id"] = ID.format(number % 3, number)
    columns = find_columns(about)
    row = {column: "x" for column in about.get("group_columns", {}).values() if isinstance(column, str)}
    row |= {group["column"]: "x" for group in about.get("group_columns", {}).values() if not isinstance(group, str)}
    for name, patterns in about.get("where", {}).items():
        row[name] = (patterns if isinstance(patterns, str) else patterns[0]).strip("*")
    row |= dict.fromkeys(read_record(Columns, about).names)
    for role, value in (values | change).items():
        column = columns.get(role)
        if isinstance(column, list):
            row |= dict(zip(column, value, strict=True))
        elif column and role == "choices" and about["dataset"] == "mmau_mini":
            row[column] = json.dumps(value)
        elif column:
            row[column] = value
    return row
