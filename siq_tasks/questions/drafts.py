"""Turn a writer's answer into questions with shuffled options, their right letters balanced over the file."""

import hashlib
import random
import re
from typing import Any, NamedTuple

import msgspec

from speechiq.core.response import drop_reasoning
from speechiq.metrics.choice import LETTERS
from speechiq.siq_tasks.questions.file import OPTIONS, normalize


class UnusableDraft(Exception):
    """Report a writer's answer without questions; the message is one of a few reasons, which are counted."""


class _Question(msgspec.Struct):
    question: str
    answer: str
    distractors: list[str]


class _Written(msgspec.Struct):
    questions: list[_Question]


class Draft(NamedTuple):
    """Hold a question as it was written: the right answer first."""

    question: str
    options: list[str]


def parse_drafts(answer: str, count: int) -> list[Draft]:
    """Return the `count` questions of a writer's JSON, which may be in a code fence or between sentences.

    >>> text = 'Sure: {"questions": [{"question": "Who?", "answer": "Ann", "distractors": ["Dan", "Jan", "Stan"]}]}'
    >>> parse_drafts(text, 1)
    [Draft(question='Who?', options=['Ann', 'Dan', 'Jan', 'Stan'])]
    """
    found = re.search(r"\{.*\}", drop_reasoning(answer), re.DOTALL)
    if not found:
        raise UnusableDraft("no JSON, perhaps a refusal")
    try:
        questions = msgspec.json.decode(found[0], type=_Written).questions
    except msgspec.ValidationError:
        raise UnusableDraft("JSON of another schema") from None
    except ValueError:
        raise UnusableDraft("malformed JSON") from None
    if len(questions) != count:
        raise UnusableDraft("another number of questions")
    return [
        Draft(written.question.strip(), [text.strip() for text in (written.answer, *written.distractors)])
        for written in questions
    ]


def choose_letter(seed: int, place: int) -> str:
    """Return the right letter of the question at `place` in the file; each block of four has every letter once.

    >>> sorted(choose_letter(0, place) for place in range(8))
    ['A', 'A', 'B', 'B', 'C', 'C', 'D', 'D']
    """
    block, within = divmod(place, OPTIONS)
    return random.Random(f"{seed}/letters/{block}").sample(LETTERS[:OPTIONS], OPTIONS)[within]


def shuffle(draft: Draft, letter: str, seed: int, question_id: str) -> list[str]:
    """Return the draft's options: the right one at `letter`, the others in an order given by seed and question.

    >>> shuffle(Draft("Who?", ["Ann", "Dan", "Jan", "Stan"]), "C", 0, "a-q1")[2]
    'Ann'
    """
    right, *others = draft.options
    random.Random(f"{seed}/{question_id}/{draft.question}").shuffle(others)
    others.insert(LETTERS.index(letter), right)
    return others


def reveals_answer(question: str, options: list[str], answer: str) -> bool:
    """Return whether the question contains the text of its right option, but not the texts of all options.

    >>> reveals_answer("Who is Ann?", ["Dan", "Ann", "Jan", "Stan"], "B")
    True
    >>> reveals_answer("Was it Ann, Dan, Jan or Stan?", ["Dan", "Ann", "Jan", "Stan"], "B")
    False
    """
    text = f" {normalize(question)} "
    contained = [f" {normalize(option)} " in text for option in options]
    return contained[LETTERS.index(answer)] and not all(contained)


def derive_seed(*parts: Any) -> int:
    """Return a seed of 31 bits from the parts that identify a request."""
    return int.from_bytes(hashlib.sha256("/".join(map(str, parts)).encode()).digest()[:4]) >> 1
