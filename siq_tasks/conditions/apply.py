"""Put a condition or a variant into the docs of a task: transforms seeded by the id of each clip, or other audio."""

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from heapq import nsmallest
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset

from speechiq.core.clip import file_clip
from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import is_of_desktop, reading
from speechiq.core.recordings.audio_file import save_audio
from speechiq.core.transforms import (
    CODECS,
    ENCODERS,
    AnyTransform,
    Band,
    Clipping,
    Codec,
    Gain,
    Mute,
    Noise,
    Recordings,
    Reverb,
    Span,
    Speed,
    measure_rms,
    read_transforms,
    write_transforms,
)
from speechiq.metrics.letters.options import ALPHABET
from speechiq.siq_tasks.conditions.spec import (
    LISTEN,
    MUTED,
    SWAPPED,
    TEXT,
    Step,
    is_neutral,
    parse_condition,
)
from speechiq.siq_tasks.settings import find_task_type

#: Of the order in which clips are swapped.
SEED = 0

Row = Mapping[str, Any]


def check_listen(task: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration of a task; refuse a variant of one that asks no question about its clips."""
    variant, task_type = task["metadata"].get(LISTEN), find_task_type(task["metadata"])
    if variant is not None and task_type is not None and not task_type.asks_question:
        raise SpeechIQError(
            f"--metadata {LISTEN}={variant}",
            f"task {task.get('task')} asks no question about its clips",
            "name tasks with questions alone, such as --tasks siq_demo_apply",
        )
    return task


def with_listen(docs: Dataset, variant: str, task: str) -> Dataset:
    """Return the docs of a variant, which the audio of each names; refuse a clip without a text, or none to swap.

    `text` keeps the audio, whose place in the prompt the transcript takes. `muted` adds a transform. `swapped` has the
    audio of another clip with its reference, so that the control `gold` gets the words of that clip.
    """
    rows: list[dict[str, Any]] = docs.to_list()
    if variant != TEXT:
        _refuse_texts(rows, f"--metadata {LISTEN}={variant}")
    changed = {TEXT: _written, MUTED: _muted, SWAPPED: _swapped}[variant](rows, task)
    return Dataset.from_list([row | {"audio": (row["audio"] or {}) | {LISTEN: variant}} for row in changed])


def _refuse_texts(rows: Sequence[Row], setting: str) -> None:
    """Refuse to change the sound of a set without audio."""
    if without := [row["id"] for row in rows if not row["audio"]]:
        raise SpeechIQError(setting, f"clip {without[0]} has no audio to change", "leave it out")


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
    """Yield each row with the next clip in an order by a digest of the ids that sounds and answers otherwise.

    All rows of a clip get the same one, if one answers each of them otherwise.
    """
    clips = {row["id"]: row for row in rows}
    questions: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        questions[row["id"]].append(row)
    answers = {clip: _read_answers(asked) for clip, asked in questions.items()}
    order: list[str] = sorted(clips, key=lambda clip: hashlib.sha256(f"{SEED} {clip}".encode()).digest())
    places = {clip: place for place, clip in enumerate(order)}

    def find_other(clip: str, asked: Sequence[Row]) -> str | None:
        for step in range(1, len(order)):
            other = order[(places[clip] + step) % len(order)]
            if _sound(clips[other]) != _sound(clips[clip]) and all(_differs(row, answers[other]) for row in asked):
                return other
        return None

    common = {clip: find_other(clip, asked) for clip, asked in questions.items()}
    for row in rows:
        swapped = common[row["id"]] or find_other(row["id"], [row])
        if swapped is None:
            fault = f"task {task} has no clip with another answer than {_read_answer(row)!r:.80} of {row['id']}"
            if len({_sound(clip) for clip in clips.values()}) < 2:
                fault = f"task {task} has one clip, and none to swap it with"
            raise SpeechIQError(
                f"--metadata {LISTEN}={SWAPPED}", fault, "take a larger subset, or listen=muted, which needs no other"
            )
        yield {**row, "audio": clips[swapped]["audio"], "text": clips[swapped]["text"]}


def _read_answers(rows: Iterable[Row]) -> dict[str, set[str]]:
    """Return question -> the right answers of these rows."""
    answers: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        answers[row["question"]].add(_read_answer(row))
    return answers


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


#: Files that count as recordings in a folder of noises.
SUFFIXES = frozenset({".wav", ".flac", ".ogg", ".opus", ".mp3", ".m4a"})

Maker = Callable[[Mapping[str, Any], Step, int], AnyTransform]


def with_condition(docs: Dataset, condition: str) -> Dataset:
    """Return the docs with the transforms of a condition in the audio of each; refuse one that cannot be made.

    All docs about one clip get the same transforms. Steps that change nothing are left out, so a condition of strength
    0 leaves the docs as they are.
    """
    steps = [step for step in parse_condition(condition) if not is_neutral(step)]
    if not steps:
        return docs
    rows: list[dict[str, Any]] = docs.to_list()
    _refuse_texts(rows, f"condition={condition}")
    special = {"babble": lambda step: _babble(rows, step), "noise": _recorded}
    makers = [(step, special.get(step.kind, lambda step: MAKERS[step.kind])(step)) for step in steps]
    changed = []
    for row in rows:
        transforms = [make(row, step, _seed(row["id"], step, place)) for place, (step, make) in enumerate(makers)]
        changed.append(row | {"audio": row["audio"] | {"transforms": write_transforms(transforms)}})
    return Dataset.from_list(changed)


def _seed(clip: str, step: Step, place: int) -> int:
    """Return the seed of a step for a clip; noise of another strength is the same noise, louder or softer."""
    name = Path(step.name).name if step.kind == "noise" else step.name
    digest = hashlib.sha256(repr((clip, step.kind, name, place)).encode()).digest()
    return int.from_bytes(digest[:6])


def _babble(rows: Sequence[Mapping[str, Any]], step: Step) -> Maker:
    """Return a function that mixes other clips of the set: those of other docs, and never the same audio.

    Each clip has an order of all other clips, by a digest of the ids, and the first of them are its voices. So a clip
    that is added or removed changes the babble of the clips only that get or had its voice.
    """
    clips = {row["id"]: row["audio"] for row in rows}
    voices = int(step.name)
    if len({audio["sha256"] for audio in clips.values()}) <= voices:
        raise SpeechIQError(
            f"condition={step.text}",
            f"a set of {count_of(len(clips), 'clip')} has no {voices} other clips to mix",
            "take fewer voices or a larger subset",
        )
    snr_db = step.strength if step.unit == "dB" else -20 * math.log10(step.strength)

    def make(row: Mapping[str, Any], step: Step, seed: int) -> AnyTransform:
        others = (name for name, audio in clips.items() if audio["sha256"] != row["audio"]["sha256"])
        chosen = nsmallest(voices, others, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())
        return Recordings(tuple(_span(clips[name]) for name in chosen), snr_db, seed)

    return make


def _span(audio: Mapping[str, Any]) -> Span:
    return Span(audio["path"], audio["sha256"], audio.get("offset") or 0.0, audio["duration"])


def _recorded(step: Step) -> Maker:
    """Return a function that adds a recording of the folder, which is copied into the clip folder by content."""
    folder = Path(step.name).expanduser()
    with reading(f"condition={step.text}"):
        named = (file for file in sorted(folder.rglob("*")) if not is_of_desktop(file.name))
        files = [file for file in named if file.suffix.lower() in SUFFIXES and file.is_file()]
    if not files:
        state = "has no audio files" if folder.is_dir() else "is not a folder"
        raise SpeechIQError(
            f"condition={step.text}", f"{folder} {state}", f"name a folder with {', '.join(sorted(SUFFIXES))} files"
        )

    @cache
    def save(file: Path) -> Span:
        saved = save_audio(file, str(file))
        if not measure_rms(file_clip(saved).samples):
            raise SpeechIQError(
                f"condition={step.text}", f"{file} is silent and adds no noise", "take it out of the folder"
            )
        return _span(saved)

    def make(row: Mapping[str, Any], step: Step, seed: int) -> AnyTransform:
        file = files[int(np.random.default_rng(seed).integers(len(files)))]
        return Recordings((save(file),), step.strength, seed)

    return make


#: Kind of step -> function that makes its transform, for kinds that need no other audio.
MAKERS: dict[str, Maker] = {
    "white": lambda row, step, seed: Noise("white", step.strength, seed),
    "pink": lambda row, step, seed: Noise("pink", step.strength, seed),
    "hum": lambda row, step, seed: Noise("hum", step.strength, seed),
    "reverb": lambda row, step, seed: Reverb(step.strength, seed),
    "codec": lambda row, step, seed: Codec(CODECS[step.name], step.strength if step.name in ENCODERS else 0.0),
    "band": lambda row, step, seed: Band(step.strength, step.high),
    "speed": lambda row, step, seed: Speed(step.strength),
    "gain": lambda row, step, seed: Gain(step.strength),
    "clip": lambda row, step, seed: Clipping(step.strength),
}
