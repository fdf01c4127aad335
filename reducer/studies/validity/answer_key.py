"""Label task success by answer keys, and leave out items as the LLMSemDist paper does."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.samples import SampleTable, join_columns
from speechiq.reducer.studies.validity.units import RIGHT, Key, Tables, answers, clip_of, right_column

BY = "answers"
ERRORS = "wer"
#: Least share of right answers that is a success.
HALF = 0.5


class Success(NamedTuple):
    """Hold which (system, item) succeeded, so that the answer from the transcript is right, and a note per choice."""

    success: dict[Key, bool]
    notes: list[str]


def label_answers(tables: Tables) -> Success:
    """Return which answers are right, for all systems but controls."""
    controls = tables.controls
    right = {key: value for key, value in read_right(tables.columns).items() if key[0] not in controls}
    success = {key: value >= HALF for key, value in right.items() if not math.isnan(value)}
    if not success:
        raise SpeechIQError(
            f"only controls ({', '.join(sorted(controls))}) answered in these runs", fix="give runs of other systems"
        )
    unjudged = len(right) - len(success)
    notes = [f"{count_of(unjudged, 'answer')} without a score left out"] * bool(unjudged)
    return Success(success, notes + [f"controls left out: {', '.join(sorted(controls))}"] * bool(controls))


def read_right(columns: Sequence[SampleTable]) -> dict[Key, float]:
    """Return (system, item) -> how right the answer is, from 0 to 1, by the `right_column` of its task.

    If tasks about one clip have several, the first of `RIGHT` counts.
    """
    right: dict[Key, float] = {}
    for name in RIGHT:
        covered = {clip_of(key) for key in right}
        values = join_columns([table for table in columns if right_column(table.task) == name], name)
        right |= {key: value for key, value in values.items() if clip_of(key) not in covered}
    if not right:
        raise SpeechIQError(
            "these runs have no answers",
            f"no task has a column {', '.join(RIGHT)}",
            "give runs of a task that answers questions, such as siq_apply, or labels (--labels FILE)",
        )
    return right


def leave_out(labels: Success, tables: Tables, *, only_errors: bool, only_answerable: bool) -> Success:
    """Leave out items that show nothing about the recognizer, and count them also if they are kept.

    These are transcripts without an error, and items that the system answers wrong even from the reference.
    """
    success, notes = labels.success, list(labels.notes)

    def count(keys: set[Key], text: str, left_out: bool, option: str) -> str:
        fate = "left out" if left_out else f"kept; {option} leaves them out"
        return f"{len(keys)} of {len(success)} items {text}: {fate}"

    errors = {key: value for table in tables.columns for key, value in join_columns([table], ERRORS).items()}
    without = {key for key in success if errors.get(clip_of(key)) == 0}
    if only_errors and not errors:
        raise SpeechIQError(
            "--only errors", f"these runs have no column {ERRORS}", "give runs of a task with error rates"
        )
    if errors:
        notes.append(count(without, "have a transcript without an error", only_errors, "--only errors"))
    has_answers = any(answers(task) for task in tables.tasks)
    from_reference = _score_references(success, tables) if has_answers or only_answerable else {}
    unanswerable = {key for key, right in from_reference.items() if right < HALF}
    unknown = sum(map(math.isnan, from_reference.values()))
    missing = list(dict.fromkeys(system for system, item in success if (system, item) not in from_reference))
    if missing and only_answerable:
        raise SpeechIQError(
            "--only answerable",
            f"no run of the control gold with the language model of {missing[0]!r} (its answers from the references)",
            "run pretrained=gold+MODEL on the same tasks",
        )
    if missing and has_answers:
        notes.append(
            f"no run of gold with the language model of {', '.join(missing)}: failures include questions that it fails "
            "even from the reference"
        )
    elif has_answers:
        text = "are answered wrong even from the reference"
        notes.append(count(unanswerable, text, only_answerable, "--only answerable"))
    if unknown:
        notes.append(f"{unknown} of {len(success)} items have no scored answer from the reference: kept")
    out = (without if only_errors else set()) | (unanswerable if only_answerable else set())
    kept = {key: value for key, value in success.items() if key not in out}
    if not kept:
        raise SpeechIQError("no item is left", "; ".join(notes))
    return Success(kept, notes)


def find_gold(tables: Tables) -> dict[str, str]:
    """Return system -> the control `gold` with the same language model, for systems that have one.

    The way in which the language model answers is the same as well.
    """
    models = {task.system: (task.described.get("llm"), task.described.get("answering")) for task in tables.tasks}
    gold = [name for name, control in tables.controls.items() if control == "gold"]
    return {
        name: match
        for name, model in models.items()
        if (match := next((control for control in gold if models[control] == model), None))
        and name not in tables.controls
    }


def _score_references(success: Iterable[Key], tables: Tables) -> dict[Key, float]:
    """Return how right `gold` answers each item, from 0 to 1, for systems with a run of it; NaN for no answer.

    The label of a clip with several questions is compared with the mean over these.
    """
    right = read_right(tables.columns)
    by_clip: dict[Key, list[float]] = {}
    for key, value in right.items():
        by_clip.setdefault(clip_of(key), []).append(value)
    known = {clip: float(np.mean(values)) for clip, values in by_clip.items()} | right
    answering = {system for system, _ in right}
    gold = {name: control for name, control in find_gold(tables).items() if control in answering}
    return {(system, item): known.get((gold[system], item), math.nan) for system, item in success if system in gold}
