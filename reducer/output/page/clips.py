"""Read the clips: their audio, and the transcripts of every system, aligned with the references word by word.

Both texts are normalized with the task's rules before they are aligned, so the marks are the errors that `wer` counts:
none for "2,000" against "two thousand", one for each wrong word.
"""

import base64
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from rapidfuzz.distance import Levenshtein

from speechiq.core.batches import over_cores
from speechiq.core.clip import SAMPLING_RATE, file_clip
from speechiq.core.console import progress_bar
from speechiq.core.files.folders import cache_dir
from speechiq.metrics.words.normalizer import DEFAULT, normalize
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.samples import Doc, read_text_rows
from speechiq.reducer.runs.signs import AnswerSigns, Replies
from speechiq.reducer.runs.table import Item
from speechiq.reducer.runs.texts import Answers, response_text
from speechiq.reducer.scores.levels import LEVELS

MEDIA_TYPES = {
    ".flac": "audio/flac",
    ".m4a": "audio/mp4",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".opus": "audio/ogg",
    ".wav": "audio/wav",
}

#: Transcripts from which on all cores compare texts, which takes longer to begin.
MANY_TEXTS = 5_000

Ops = list[int | str]


class Edit(NamedTuple):
    """Hold one place at which a text differs from the reference.

    Attributes:
        start: Number of the first word of the reference that differs, from 0.
        dropped: How many words of the reference are missing from there on.
        written: The words written instead; may be empty.
    """

    start: int
    dropped: int
    written: str


class TranscriptView(NamedTuple):
    """Hold one system's transcript of one clip.

    Attributes:
        text: As the system wrote it.
        steps: Its steps from the normalized reference (`align_texts`), as JSON, which takes a tenth of the memory.
        coverage: Audio coverage: seconds that the system received / seconds of the clip; NaN if the run does not say.
        repetition: The metric of that name; NaN if the run does not say.
    """

    text: str
    steps: bytes
    coverage: float
    repetition: float

    @property
    def ops(self) -> Ops:
        """Return its steps from the reference."""
        steps: Ops = msgspec.json.decode(self.steps)
        return steps


class ClipView(NamedTuple):
    """Hold one clip.

    Attributes:
        id: As in the pool.
        dataset: Name of its data set.
        audio: Path and span of its audio, as in a doc.
        text: The reference.
        words: The normalized reference; `TranscriptView.ops` count its words.
        transcripts: System -> its transcript; empty if no run has the level Remember.
    """

    id: str
    dataset: str
    audio: Mapping[str, Any]
    text: str
    words: str
    transcripts: dict[str, TranscriptView]

    @property
    def seconds(self) -> float:
        """Return the length; NaN if the doc does not say."""
        return number(self.audio.get("duration"))


def read_clips(tasks: Sequence[TaskRun]) -> list[ClipView]:
    """Read the clips of some tasks, sorted by id; fields that a row does not have stay empty.

    The rows of Remember have the texts. Without them the clips come from the next level that was run. Of equal clips
    the first task's doc counts.
    """
    docs, written = _read_texts(tasks)
    names = sorted(docs)
    texts = {name: list(dict.fromkeys(row.text for row in written.get(name, {}).values())) for name in names}
    for rules in {str(doc.normalizer or DEFAULT) for doc in docs.values()}:
        normalize("", rules)  # loads the rules once, before processes are forked
    many = sum(map(len, texts.values())) >= MANY_TEXTS
    found = over_cores(lambda name: _align_clip(docs[name], texts[name]), names, worth_it=many)
    aligned = progress_bar(found, total=len(names), verb="comparing texts", unit="clip")
    clips = []
    for name, (words, steps) in zip(names, aligned, strict=True):
        steps_of = dict(zip(texts[name], steps, strict=True))
        rows = {system: row._replace(steps=steps_of[row.text]) for system, row in written.get(name, {}).items()}
        doc = docs[name]
        audio = doc.audio if isinstance(doc.audio, Mapping) else {}
        clips.append(ClipView(name, str(doc.dataset), audio, str(doc.text), words, rows))
    return clips


def _read_texts(tasks: Sequence[TaskRun]) -> tuple[dict[str, Doc], dict[str, dict[str, TranscriptView]]]:
    """Return clip -> its doc, and clip -> system -> its transcript, without steps; the second is empty without any."""
    level = min((task.level for task in tasks), key=[*LEVELS].index)
    docs: dict[str, Doc] = {}
    written: dict[str, dict[str, TranscriptView]] = {}
    for task in tasks:
        for row in read_text_rows(task.samples) if task.level == level else ():
            clip = str(row.doc.id)
            docs.setdefault(clip, row.doc)
            if level == "remember":
                text = TranscriptView(response_text(row), b"", number(row.audio_coverage), number(row.repetition))
                written.setdefault(clip, {})[task.system] = text
    return docs, written


def _align_clip(doc: Doc, texts: Sequence[str]) -> tuple[str, list[bytes]]:
    """Return the normalized reference of a clip, and the steps of each text from it, as JSON."""
    rules = str(doc.normalizer or DEFAULT)
    words = normalize(str(doc.text), rules)
    steps = align_texts(words, [normalize(text, rules) for text in texts])
    return words, list(map(msgspec.json.encode, steps))


def number(value: Any) -> float:
    """Return a number of a row; NaN for any other value.

    >>> number(2), number("2")
    (2.0, nan)
    """
    return float(value) if isinstance(value, int | float) else math.nan


def align_texts(reference: str, texts: Sequence[str]) -> list[Ops]:
    """Align normalized texts with a normalized reference.

    Returns:
        For each text its steps: `n` equal words, `-n` missing words of the reference, or the words written instead.

    >>> align_texts("a quick brown fox", ["a quick red fox jumps", "fox", ""])
    [[2, -1, 'red', 1, 'jumps'], [-3, 1], [-4]]
    """
    spoken = reference.split()
    return [_align(spoken, text.split()) for text in texts]


def _align(spoken: Sequence[str], written: Sequence[str]) -> Ops:
    """Return the steps between words, by the alignment that jiwer counts."""
    steps: Ops = []
    in_spoken = in_written = 0
    for block in Levenshtein.editops(spoken, written).as_matching_blocks():
        if missing := block.a - in_spoken:
            steps.append(-missing)
        if words := written[in_written : block.b]:
            steps.append(" ".join(words))
        if block.size:
            steps.append(block.size)
        in_spoken, in_written = block.a + block.size, block.b + block.size
    return steps


def edits(ops: Ops) -> Iterator[Edit]:
    """Yield the places at which a text differs from the reference.

    >>> list(edits([2, -1, "red", 1, "jumps"]))
    [Edit(start=2, dropped=1, written='red'), Edit(start=4, dropped=0, written='jumps')]
    """
    at, dropped = 0, 0
    written: list[str] = []
    for step in ops:
        if isinstance(step, str):
            written.append(step)
        elif step < 0:
            dropped -= step
        else:
            if dropped or written:
                yield Edit(at, dropped, " ".join(written))
            at += dropped + step
            dropped, written = 0, []
    if dropped or written:
        yield Edit(at, dropped, " ".join(written))


def find_source(clip: Any) -> str:
    """Return the address of a clip for an audio player; "" if its file is not on this machine.

    Clips of the package are small and free to pass on, so they are part of the page. All others are linked by a `file:`
    address: their licenses may not allow a page to pass them on, and hours of audio would not fit; under a condition,
    which no file has, they have no player.

    Args:
        clip: `path` as in a doc: absolute, or inside `siq_tasks/`, or `clips/...` below the cache folder; optional
            `offset` and `duration` in seconds, and `transforms`. Anything but a mapping has no address.
    """
    named = clip.get("path") if isinstance(clip, Mapping) else None
    if not isinstance(named, str) or Path(named).suffix.lower() not in MEDIA_TYPES:
        return ""
    package = Path(str(files("speechiq.siq_tasks")))
    root = cache_dir() if named.startswith("clips/") else package
    try:
        file = root.joinpath(named).resolve()
        if not file.is_file():
            return ""
        if clip.get("transforms"):
            return encode_sound(file_clip(clip).samples) if file.is_relative_to(package.resolve()) else ""
        if file.is_relative_to(package.resolve()):
            return f"data:{MEDIA_TYPES[file.suffix.lower()]};base64,{base64.b64encode(file.read_bytes()).decode()}"
    except (OSError, ValueError):
        return ""
    return file.as_uri() + _fragment(clip)


def find_sounds(clips: Mapping[str, Any]) -> dict[str, str]:
    """Return clip -> address of its audio, for the clips whose file is on this machine."""
    return {clip: source for clip, audio in clips.items() if (source := find_source(audio))}


def encode_sound(samples: np.ndarray, form: str = "OGG", subtype: str = "VORBIS") -> str:
    """Return sound for an audio player, by default as Ogg Vorbis: float32, shape (samples,), `SAMPLING_RATE`."""
    import soundfile

    encoded = io.BytesIO()
    soundfile.write(encoded, np.clip(samples, -1, 1), SAMPLING_RATE, format=form, subtype=subtype)
    return f"data:{MEDIA_TYPES[f'.{form.lower()}']};base64,{base64.b64encode(encoded.getvalue()).decode()}"


def _fragment(clip: Mapping[str, Any]) -> str:
    """Return the span of the file that is the clip, as a media fragment; "" for a complete file."""
    start, end = number(clip.get("offset")), number(clip.get("offset")) + number(clip.get("duration"))
    return f"#t={start:g},{end:g}" if start and not math.isnan(end) else ""


def list_texts(
    clips: Sequence[ClipView],
    answers: Answers,
    signs: Mapping[str, Mapping[Item, AnswerSigns]],
    replies: Replies,
    names: Sequence[str],
) -> Iterator[bytes]:
    """Yield the texts and answers of each clip as JSON; the lists in a clip have an entry per system.

    A clip has `text`, `words`, `written` (the distinct transcripts, each with its steps from `words`), `by` (number of
    the system's transcript, null if it has none), `coverage`, `repetition` and `questions` (`id`, `text`, `options`,
    `answer`, `votes`: the vote and then the letters, `signs` of hallucination if some answer has one, and `prompt` and
    `replies` if some reply is more than a letter). Systems are in the order of `names`.
    """
    items: dict[str, list[Item]] = {}
    for item in answers.questions:
        items.setdefault(item[0], []).append(item)
    for clip in clips:
        questions = []
        for item in items.get(clip.id, []):
            described = _describe(answers, item, names) | _describe_signs(signs, item, names)
            questions.append(described | _describe_replies(replies, item, names))
        yield msgspec.json.encode(_list_texts(clip, names) | {"questions": questions})


def _list_texts(clip: ClipView, names: Sequence[str]) -> dict[str, Any]:
    transcripts = [clip.transcripts.get(name) for name in names]
    steps = {transcript.text: msgspec.Raw(transcript.steps) for transcript in transcripts if transcript}
    numbers = {text: number for number, text in enumerate(steps)}
    return {
        "text": clip.text,
        "words": clip.words,
        "written": [*steps.items()],
        "by": [transcript and numbers[transcript.text] for transcript in transcripts],
        "coverage": [transcript and round(transcript.coverage, 3) for transcript in transcripts],
        "repetition": [transcript and round(transcript.repetition, 3) for transcript in transcripts],
    }


def _describe(answers: Answers, item: Item, names: Sequence[str]) -> dict[str, Any]:
    """Return a question with the answers of each system."""
    question = answers.questions[item]
    return {
        "id": item[1],
        "text": question.question,
        "options": question.options,
        "answer": question.answer,
        "votes": ["".join(answers.votes[name][item]) for name in names],
    }


def _describe_signs(
    signs: Mapping[str, Mapping[Item, AnswerSigns]], item: Item, names: Sequence[str]
) -> dict[str, list[str]]:
    """Return the signs of hallucination in the answers of each system to a question, in words; empty without any."""
    shown = []
    for name in names:
        found = signs.get(name, {}).get(item)
        parts = [f"not offered: {claimed}" for claimed in dict.fromkeys(found.unoffered)] if found else []
        shown.append("; ".join(["not heard", *parts] if found and found.unheard else parts))
    return {"signs": shown} if any(shown) else {}


def _describe_replies(replies: Replies, item: Item, names: Sequence[str]) -> dict[str, Any]:
    """Return the prompt of a question and the replies of each system; empty if all replies are single letters."""
    texts = [replies.texts.get(name, {}).get(item, ()) for name in names]
    longest = max((len(text) for of_system in texts for text in of_system), default=0)
    return {"prompt": replies.prompts.get(item, ""), "replies": texts} if longest > 1 else {}
