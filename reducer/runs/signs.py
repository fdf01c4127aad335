"""Find signs of hallucination in stored answers to the questions of Apply (paper, Appendix C).

* Not heard: the vote is right, but none of the content words of the right option that the reference has is in the
  system's own transcript of the clip. Questions whose right option shares no content word with the reference, such as
  (E), do not count, and neither do systems without a transcript and clips in other languages than English.
* Not offered: an answer gives a letter that no option has, or its letter with another text than the option's.

Both come from rows alone: the votes and answers of Apply, and the transcripts of Remember. The same reading of rows
keeps what systems were asked and what they replied word for word, for people who look at single answers.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import msgspec

from speechiq.engines.languages import ENGLISH
from speechiq.metrics.letters.offered import find_unoffered
from speechiq.metrics.letters.options import NONE_OF_THE_ABOVE
from speechiq.metrics.words.content_words import find_content_words, has_word
from speechiq.metrics.words.normalizer import DEFAULT, normalize
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.samples import Name, read_sample_rows, read_text_rows
from speechiq.reducer.runs.table import Item
from speechiq.reducer.runs.texts import response_text

NEEDS = "id, question_id, options, answer and text of doc, resps [[answer, ...]] and filtered_resps [[vote, letters]]"


#: Questions, and answers to them, of which many systems have the same; what was found is kept.
MOST_KEPT = 2**15


class _Question(msgspec.Struct, frozen=True):
    """Hold the parts of a doc of Apply that signs are found by."""

    id: Name
    question_id: Name
    options: tuple[str, ...]
    answer: str
    text: str
    normalizer: str | None = None
    none_option: str = NONE_OF_THE_ABOVE

    @property
    def offered(self) -> tuple[str, ...]:
        """Return the texts of all options in the order of their letters."""
        return *self.options, self.none_option

    @property
    def rules(self) -> str:
        """Return the name of the normalizer."""
        return self.normalizer or DEFAULT


class _Answered(msgspec.Struct, array_like=True):
    """Hold the vote, and the letter of each answer."""

    vote: str
    letters: list[str]


class _Arguments(msgspec.Struct):
    """Hold the prompt of a request of lm-eval."""

    arg_0: Any = None


class _AnswersRow(msgspec.Struct):
    """Hold a row of Apply with the texts of its answers."""

    doc: _Question
    resps: Annotated[list[list[Any]], msgspec.Meta(min_length=1)]
    filtered_resps: Annotated[list[_Answered], msgspec.Meta(min_length=1)]
    arguments: dict[str, _Arguments] = {}


class AnswerSigns(NamedTuple):
    """Hold the signs of hallucination in a system's answers to one question.

    Attributes:
        right: Whether the vote is right, and could be checked against a transcript.
        unheard: Whether it is right without a word of the right option in the transcript.
        answers: Number of answers.
        unoffered: For each answer with an option that was not offered, the option.
    """

    right: bool
    unheard: bool
    answers: int
    unoffered: tuple[str, ...]


class Replies(NamedTuple):
    """Hold prompts and replies.

    Attributes:
        prompts: (clip, question) -> the prompt; `<audio>` stands for the sound, or for a cascade's transcript of it.
        texts: System -> (clip, question) -> the distinct replies, in the order of their first occurrence.
    """

    prompts: dict[Item, str]
    texts: dict[str, dict[Item, tuple[str, ...]]]

    def add(self, system: str, item: Item, requests: Mapping[str, _Arguments], answers: Iterable[Any]) -> None:
        """Add what a row has: its first prompt, and the answers that are texts."""
        prompts = [request.arg_0 for request in requests.values() if isinstance(request.arg_0, str)]
        if prompts:
            self.prompts.setdefault(item, prompts[0])
        texts = dict.fromkeys(text for text in answers if isinstance(text, str))
        self.texts.setdefault(system, {})[item] = tuple(texts)


NO_REPLIES = Replies({}, {})
#: System -> (clip, question) -> the signs in its answer.
SignsOfSystems = dict[str, dict[Item, AnswerSigns]]


def read_signs(tasks: Iterable[TaskRun]) -> SignsOfSystems:
    """Return system -> (clip, question) -> the signs in its answers, over tasks of Apply and Remember."""
    tasks = list(tasks)
    transcripts: dict[str, dict[str, str]] = {}
    for task in tasks:
        if task.level == "remember":
            written = transcripts.setdefault(task.system, {})
            written |= {str(row.doc.id): response_text(row) for row in read_text_rows(task.samples)}
    return read_answer_texts(tasks, transcripts)[0]


def read_answer_texts(
    tasks: Iterable[TaskRun], transcripts: Mapping[str, Mapping[str, str]], *, with_replies: bool = True
) -> tuple[SignsOfSystems, Replies]:
    """Return the signs in the answers of the tasks of Apply, and what was asked and replied, in one pass over rows.

    Args:
        transcripts: System -> clip -> its transcript.
        with_replies: Whether to keep prompts and replies.
    """
    signs: SignsOfSystems = {}
    replies = Replies({}, {})
    for task in tasks:
        if task.level == "apply":
            own = transcripts.get(task.system, {}) if task.language == ENGLISH else {}
            signs.setdefault(task.system, {}).update(_read_task(task, own, replies if with_replies else None))
    return signs, replies


def _read_task(task: TaskRun, transcripts: Mapping[str, str], replies: Replies | None) -> dict[Item, AnswerSigns]:
    """Return the signs in the answers of a task, and add its prompts and answers to `replies`, if it is given."""
    found: dict[Item, AnswerSigns] = {}
    for _, row in read_sample_rows(task.samples, _AnswersRow, NEEDS):
        clip, voted = str(row.doc.id), row.filtered_resps[0]
        wanted = _find_wanted(row.doc) if clip in transcripts and voted.vote == row.doc.answer else []
        words = _split_words(transcripts[clip], row.doc.rules) if wanted else ()
        unheard = bool(wanted) and not any(has_word(word, words) for word in wanted)
        answers = row.resps[0]
        unoffered = tuple(filter(None, _find_unoffered(row.doc, answers, voted.letters)))
        item = clip, str(row.doc.question_id)
        found[item] = AnswerSigns(bool(wanted), unheard, len(answers), unoffered)
        if replies is not None:
            replies.add(task.system, item, row.arguments, answers)
    return found


@lru_cache(MOST_KEPT)
def _find_wanted(question: _Question) -> list[str]:
    """Return the content words of the right option that the reference has."""
    place = ord(question.answer) - ord("A")
    if not 0 <= place < len(question.options):
        return []
    spoken = _split_words(question.text, question.rules)
    return [word for word in find_content_words(question.options[place], question.rules) if has_word(word, spoken)]


#: The questions of a clip come one after the other.
_split_words = lru_cache(2)(lambda text, rules: tuple(normalize(text, rules).split()))
_find_option = lru_cache(MOST_KEPT)(find_unoffered)


def _find_unoffered(question: _Question, answers: list[Any], letters: list[str]) -> list[str]:
    return [
        _find_option(answer, letter, question.offered, question.rules) if isinstance(answer, str) else ""
        for answer, letter in zip(answers, letters, strict=False)
    ]
