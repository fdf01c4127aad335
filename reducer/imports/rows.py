"""Define what every form of outputs is read into: a row per system and clip, or per system and question."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class OutputRow:
    """Hold what one system wrote about one clip, or answered to one question about it.

    A row with a `reference` and a `transcript` is scored by its words. A row with `options`, a `key` and an `answer` is
    scored by its letter. A row with a `score` has been judged elsewhere. What a form does not have is None.

    Attributes:
        where: File and line, for errors.
        system: Name of the system; empty if the form names none, and then it is that of the file.
        clip: Id of the clip.
        answer: What the system answered, as it wrote it.
        key: The letter or the text of the right option, or the right answer.
        score: What a judge gave, on the scale of the form.
        cluster: What the clip shares with others, such as a call or a speaker.
        groups: Name of a group -> that of the clip, such as `gender` -> `female`.
        duration: Seconds of the clip.
        entities: Class -> named entities of the reference, such as `MONEY`; the class is empty for those without one.
        category: Name of the set or task, where one file has several.
    """

    where: str
    system: str
    clip: str
    reference: str | None = None
    transcript: str | None = None
    question_id: str | None = None
    question: str | None = None
    options: tuple[str, ...] = ()
    key: str | None = None
    answer: str | None = None
    score: float | None = None
    cluster: str | None = None
    groups: Mapping[str, str] = field(default_factory=dict)
    duration: float | None = None
    entities: Mapping[str, list[str]] = field(default_factory=dict)
    category: str | None = None


@dataclass(frozen=True)
class Form:
    """Define a form of outputs.

    Attributes:
        name: As the user writes it after `siq import`.
        describes: Its files in one line, for help.
        fits: Whether a file is of this form, by its name and its first lines; reads no more of it.
        read: Yields the rows of files, in their order and without keeping them; raises a `SpeechIQError` that names
            file and line for one that is not of the form.
        highest_score: Best score of a judge in this form, whose lowest is 0.
    """

    name: str
    describes: str
    fits: Callable[[Path], bool]
    read: Callable[[list[Path]], Iterator[OutputRow]]
    highest_score: float = 1.0
