"""Label task success by answer keys, and leave out items as the LLMSemDist paper does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.samples import SampleTable, join_columns
from speechiq.reducer.studies.validity.tables import Tables
from speechiq.reducer.studies.validity.units import RIGHT, Key, answers, clip_of

BY = "answers"
ERRORS = "wer"
#: Least share of right answers that is a success.
HALF = 0.5


class Success(NamedTuple):
    """Which items succeeded.

    Attributes:
        success: (system, item) -> whether the answer from the transcript is right.
        notes: One line per choice, with counts.
    """

    success: dict[Key, bool]
    notes: list[str]


def label_answers(tables: Tables) -> Success:
    """Return which answers are right by the first of `RIGHT` that tasks about a clip have; controls are left out.

    Raises:
        SpeechIQError: No task answers, or no system but controls does.
    """
    right = read_right(tables.columns)
    controls = tables.controls
    success = {key: value >= HALF for key, value in right.items() if key[0] not in controls and not math.isnan(value)}
    unjudged = sum(math.isnan(value) and key[0] not in controls for key, value in right.items())
    if not success:
        raise SpeechIQError(
            f"only controls ({', '.join(sorted(controls))}) answered in these runs; give runs of other systems"
        )
    notes = [f"{count_of(unjudged, 'answer')} without a score left out"] * bool(unjudged)
    return Success(success, notes + [f"controls left out: {', '.join(sorted(controls))}"] * bool(controls))


def read_right(columns: Sequence[SampleTable]) -> dict[Key, float]:
    """Return (system, item) -> how right the answer is, from 0 to 1.

    Raises:
        SpeechIQError: As for `label_answers`.
    """
    right: dict[Key, float] = {}
    for name in RIGHT:
        covered = {clip_of(key) for key in right}
        values = join_columns(columns, name)
        right |= {key: value for key, value in values.items() if clip_of(key) not in covered}
    if not right:
        raise SpeechIQError(
            f"these runs have no answers: no task has a column {', '.join(RIGHT)}; give runs of a task that answers "
            "questions, such as siq_apply, or labels (--labels FILE)"
        )
    return right


def leave_out(of: Success, tables: Tables, *, only_errors: bool, only_answerable: bool) -> Success:
    """Leave out items that show nothing about the recognizer, and count them also if they are kept.

    Args:
        of: The labels.
        tables: The numbers of the runs.
        only_errors: Whether to leave out transcripts without an error.
        only_answerable: Whether to leave out items that the system answers wrong even from the reference.

    Raises:
        SpeechIQError: The runs do not say which items these are, or none is left.
    """
    errors = {key: value for table in tables.columns for key, value in join_columns([table], ERRORS).items()}
    without = {key for key in of.success if errors.get(clip_of(key)) == 0}
    if only_errors and not errors:
        raise SpeechIQError(f"--only errors: these runs have no column {ERRORS}; give runs of a task with error rates")
    notes = list(of.notes)
    if errors:
        notes.append(_count(len(without), of, "have a transcript without an error", only_errors, "--only errors"))
    has_answers = any(answers(task) for task in tables.tasks)
    from_reference = _score_references(of, tables) if has_answers or only_answerable else {}
    unanswerable = {key for key, right in from_reference.items() if right < HALF}
    unknown = sum(map(math.isnan, from_reference.values()))
    missing = list(dict.fromkeys(system for system, item in of.success if (system, item) not in from_reference))
    if missing and only_answerable:
        raise SpeechIQError(
            f"--only answerable: no run of the control gold with the language model of {missing[0]!r} (its answers "
            "from the references); run pretrained=gold+MODEL on the same tasks"
        )
    if missing and has_answers:
        notes.append(
            f"no run of gold with the language model of {', '.join(missing)}: failures include questions that it fails "
            "even from the reference"
        )
    elif has_answers:
        text = "are answered wrong even from the reference"
        notes.append(_count(len(unanswerable), of, text, only_answerable, "--only answerable"))
    if unknown:
        notes.append(f"{unknown} of {len(of.success)} items have no scored answer from the reference: kept")
    out = (without if only_errors else set()) | (unanswerable if only_answerable else set())
    kept = {key: value for key, value in of.success.items() if key not in out}
    if not kept:
        raise SpeechIQError(f"no item is left: {'; '.join(notes)}")
    return Success(kept, notes)


def find_gold(tables: Tables) -> dict[str, str]:
    """Return system -> the control `gold` with the same language model, for systems that have one."""
    models = {task.system: _answering(task.described) for task in tables.tasks}
    gold = [name for name, control in tables.controls.items() if control == "gold"]
    return {
        name: match
        for name, model in models.items()
        if (match := next((of for of in gold if models[of] == model), None)) and name not in tables.controls
    }


def _answering(described: Mapping[str, object]) -> tuple[object, object]:
    """Return what answers in a system: its language model and the way in which it answers."""
    return described.get("llm"), described.get("answering")


def _score_references(of: Success, tables: Tables) -> dict[Key, float]:
    """Return how right `gold` answers each item, from 0 to 1, for systems with a run of it; NaN for no answer.

    The label of a clip with several questions is compared with the mean over these.
    """
    right = read_right(tables.columns)
    by_clip: dict[Key, list[float]] = {}
    for key, value in right.items():
        by_clip.setdefault(clip_of(key), []).append(value)
    means = {clip: float(np.mean(values)) for clip, values in by_clip.items()}
    gold = {name: control for name, control in find_gold(tables).items() if any(key[0] == control for key in right)}
    known = means | right
    return {(system, item): known.get((gold[system], item), math.nan) for system, item in of.success if system in gold}


def _count(count: int, of: Success, text: str, left_out: bool, option: str) -> str:
    kept = "left out" if left_out else f"kept; {option} leaves them out"
    return f"{count} of {len(of.success)} items {text}: {kept}"
