"""Ask the questions of a task with the transcript, with silence or with another clip instead of their audio."""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from datasets import Dataset

from speechiq.core.errors import SpeechIQError
from speechiq.core.transforms import Mute, read_transforms, write_transforms
from speechiq.metrics.letters.options import ALPHABET
from speechiq.siq_tasks.conditions.variants import LISTEN, MUTED, SWAPPED, TEXT, parse_listen
from speechiq.siq_tasks.task_types import find_task_type

#: Of the order in which clips are swapped.
SEED = 0

Row = Mapping[str, Any]


def check_listen(task: object, metadata: Mapping[str, Any]) -> None:
    """Refuse an unknown variant, and any variant of a task that asks no question about its clips."""
    variant = parse_listen(metadata[LISTEN])
    task_type = find_task_type(metadata)
    if task_type is not None and not task_type.asks_question:
        raise SpeechIQError(
            f"--metadata {LISTEN}={variant}",
            f"task {task} asks no question about its clips",
            "name tasks with questions alone, such as --tasks siq_demo_apply",
        )


def with_listen(docs: Dataset, variant: str, task: str) -> Dataset:
    """Return the docs of a variant, which each names in `audio.listen`; refuse a clip without a text, or none to swap.

    `text` keeps the audio, whose place in the prompt the transcript takes. `muted` adds a transform. `swapped` has the
    audio of another clip with its reference, so that the control `gold` gets the words of that clip.
    """
    rows: list[dict[str, Any]] = docs.to_list()
    changed = {TEXT: _written, MUTED: _muted, SWAPPED: _swapped}[variant](rows, task)
    return Dataset.from_list([row | {"audio": row["audio"] | {LISTEN: variant}} for row in changed])


def _written(rows: Sequence[Row], task: str) -> Iterator[dict[str, Any]]:
    for row in rows:
        if not (row["text"] or "").strip():
            raise SpeechIQError(
                f"--metadata {LISTEN}={TEXT}",
                f"clip {row['id']} of task {task} has no reference text",
                "name the column of transcripts by text_column, or take listen=muted",
            )
        yield dict(row)


def _muted(rows: Sequence[Row], task: str) -> Iterator[dict[str, Any]]:
    for row in rows:
        transforms = (*read_transforms(row["audio"].get("transforms") or "[]"), Mute())
        yield {**row, "audio": row["audio"] | {"transforms": write_transforms(transforms)}}


def _swapped(rows: Sequence[Row], task: str) -> Iterator[dict[str, Any]]:
    """Yield each row with the next clip in an order by a digest of the ids that sounds and answers otherwise."""
    clips = {row["id"]: row for row in rows}
    answers: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        answers[row["id"]][row["question"]].add(_read_answer(row))
    order = sorted(clips, key=lambda clip: hashlib.sha256(f"{SEED} {clip}".encode()).digest())
    places = {clip: place for place, clip in enumerate(order)}
    for row in rows:
        start = places[row["id"]]
        following = (order[(start + step) % len(order)] for step in range(1, len(order)))
        sounds = (clip for clip in following if _sound(clips[clip]) != _sound(row))
        swapped = next((clip for clip in sounds if _differs(row, answers[clip])), None)
        if swapped is None:
            fault = f"task {task} has no clip with another answer than {_read_answer(row)!r:.80} of {row['id']}"
            if len({_sound(clip) for clip in clips.values()}) < 2:
                fault = f"task {task} has one clip, and none to swap it with"
            raise SpeechIQError(
                f"--metadata {LISTEN}={SWAPPED}", fault, "take a larger subset, or listen=muted, which needs no other"
            )
        yield {**row, "audio": clips[swapped]["audio"], "text": clips[swapped]["text"]}


def _sound(row: Row) -> tuple[Any, ...]:
    return row["audio"]["sha256"], row["audio"].get("offset") or 0.0


def _read_answer(row: Row) -> str:
    """Return the right answer of a doc in lower case: the text of an option, a label, or words; empty without one."""
    answer = next(iter(row.get("gold") or [row.get("answer") or ""]))
    options = dict(zip(ALPHABET, row.get("options") or (), strict=False))
    return str(options.get(answer, answer)).strip().casefold()


def _differs(row: Row, answers: Mapping[str, set[str]]) -> bool:
    """Return whether a clip with these answers, by question, lets another answer be right than that of a doc.

    A clip without the question of the doc has to have some other answer. A doc without an answer fits every clip.
    """
    answer = _read_answer(row)
    if row["question"] in answers:
        return not answer or answer not in answers[row["question"]]
    return not answer or set().union(*answers.values()) != {answer}
