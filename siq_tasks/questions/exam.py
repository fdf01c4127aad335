"""Define the exam by which people take the test: clips to write down, questions about them, and the saved answers.

A person writes down what a clip says, and then answers its questions. An answer names its clip and what was asked by a
digest of the sound, the question and its options, which has neither reference nor right letter.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import content_sha256, read_objects
from speechiq.core.files.plain import hash_file, is_file, is_folder

#: Begin and kind of systems that are people, and the ending of their files.
PEOPLE, ENDING = "people", ".jsonl"
#: Largest share of transcripts, or of answers, that a person may leave out.
MOST_MISSING = 0.2
FIX = f"give the {ENDING} file that a person saved from the page of `siq data exam`"


class ExamQuestion(msgspec.Struct, frozen=True):
    """Hold a question with its options in the order of their letters; `digest` also depends on the clip."""

    id: str
    digest: str
    text: str
    options: tuple[str, ...]


class ExamClip(msgspec.Struct, frozen=True):
    """Hold a clip of an exam: its id, the digest of its sound, and its questions, none for a transcript alone."""

    id: str
    digest: str
    questions: tuple[ExamQuestion, ...]


class Asked(NamedTuple):
    """Hold what a task asks about a clip: a transcript if `question` is None."""

    clip: Clip
    question_id: str = ""
    question: str | None = None
    options: tuple[str, ...] = ()


class Exam(NamedTuple):
    """Hold the clips of an exam in their order, and the sound of each by its id."""

    clips: list[ExamClip]
    sounds: dict[str, Clip]

    @property
    def questions(self) -> int:
        """Return the number of all questions."""
        return sum(len(clip.questions) for clip in self.clips)


def digest_clip(clip: Clip) -> str:
    """Return the digest of a sound."""
    return content_sha256([clip.key])


def digest_question(clip: Clip, question: str, options: Sequence[str]) -> str:
    """Return the digest of a question about a sound, with its options in their order."""
    return content_sha256([clip.key, question, list(options)])


def build_exam(asked: Iterable[Asked]) -> Exam:
    """Return the exam of what tasks ask; a clip is written down once, and a question of two tasks is asked once."""
    sounds: dict[str, Clip] = {}
    questions: dict[str, dict[str, ExamQuestion]] = defaultdict(dict)
    for clip, question_id, text, options in asked:
        if sounds.setdefault(clip.id, clip).key != clip.key:
            raise SpeechIQError(f"clip {clip.id}", "has two sounds in these tasks", "make an exam of each task")
        if text is not None:
            digest = digest_question(clip, text, options)
            questions[clip.id].setdefault(digest, ExamQuestion(question_id, digest, text, options))
    clips = [ExamClip(id, digest_clip(clip), tuple(questions[id].values())) for id, clip in sounds.items()]
    return Exam(clips, sounds)


class SavedRow(msgspec.Struct, frozen=True):
    """Define a line of a saved file: the transcript of a clip, or the letter of a question; both empty if left out.

    Attributes:
        digest: That of the clip, or of the question.
        person: Name or code of the person.
        plays: How often the clip was played.
    """

    id: str
    digest: str
    person: str
    text: str | None = None
    letter: str | None = None
    question_id: str = ""
    plays: int = 0


class SavedAnswers(NamedTuple):
    """Hold what one person saved.

    Attributes:
        transcripts: Id of a clip -> the row of its transcript.
        letters: Id of a clip and digest of a question -> the letter; empty if it was left out.
    """

    file: Path
    sha256: str
    person: str
    transcripts: dict[str, SavedRow]
    letters: dict[tuple[str, str], str]

    def find_transcript(self, clip: Clip) -> SavedRow:
        """Return the transcript of a clip, and refuse a clip that the exam does not have or that sounded otherwise."""
        row = self.transcripts.get(clip.id)
        if row is None:
            raise self._refuse(clip, f"is not among the {len(self.transcripts)} clips of the exam")
        if row.digest != digest_clip(clip):
            raise self._refuse(clip, "sounds otherwise than in the exam: another version of the set, or a condition")
        return row

    def find_letter(self, clip: Clip, question: str, options: Sequence[str]) -> str:
        """Return the answer to a question about a clip, and refuse one that the exam does not ask."""
        self.find_transcript(clip)
        letter = self.letters.get((clip.id, digest_question(clip, question, options)))
        if letter is None:
            raise self._refuse(clip, f"has the question {question!r:.80}, which the exam does not ask with its options")
        return letter

    def _refuse(self, clip: Clip, fault: str) -> SpeechIQError:
        fix = "run the tasks, settings and --limit of the exam, or make a new one with `siq data exam`"
        return SpeechIQError(self.file, f"clip {clip.name} {fault}", fix)


def read_saved(file: Path) -> SavedAnswers:
    """Read the answers of a person; refuse a damaged line, two answers to one question, and answers of two people."""
    if is_folder(file):
        raise SpeechIQError(file, "a folder", f"name one file, or all of them by `siq eval {PEOPLE}:{file}`")
    if not is_file(file):
        raise SpeechIQError(f"{PEOPLE}:{file}", "no such file", FIX)
    transcripts: dict[str, SavedRow] = {}
    letters: dict[tuple[str, str], str] = {}
    people: dict[str, None] = {}
    for line in read_objects(file, FIX):
        row = _read_row(line.row, line.where)
        people.setdefault(row.person)
        if row.letter is None:
            _add(transcripts, row.id, row, line.where)
        else:
            _add(letters, (row.id, row.digest), row.letter, line.where)
    if not transcripts:
        raise SpeechIQError(file, "has no transcript", FIX)
    if len(people) > 1:
        raise SpeechIQError(file, f"has answers of {' and '.join(map(repr, people)):.80}", "give each a file")
    return SavedAnswers(file, hash_file(file), next(iter(people)), transcripts, letters)


def _read_row(content: Mapping[str, Any], where: str) -> SavedRow:
    try:
        row = msgspec.convert(content, SavedRow)
    except msgspec.ValidationError as error:
        raise SpeechIQError(where, f"not a line of an exam ({error})", FIX) from error
    if (row.text is None) == (row.letter is None):
        raise SpeechIQError(where, "has not one of text and letter", FIX)
    return row


def _add(found: dict[Any, Any], key: Any, value: Any, where: str) -> None:
    if key in found:
        clip = key if isinstance(key, str) else key[0]
        what = "transcripts of" if isinstance(key, str) else "answers to a question about"
        raise SpeechIQError(where, f"the file has two {what} clip {clip!r:.80}", "delete one of the lines")
    found[key] = value
