"""Let people be systems (`people:FILE`): what each of them wrote down and answered in an exam."""

import logging
import math
from collections.abc import Sequence
from statistics import mean
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import expand
from speechiq.core.prompt import Prompt
from speechiq.core.response import Response
from speechiq.harness_patch.systems.answering import Question
from speechiq.harness_patch.systems.system import SpeechSystem
from speechiq.metrics.letters.options import ALPHABET
from speechiq.siq_tasks.questions.exam import MOST_MISSING, PEOPLE, read_saved

log = logging.getLogger(__name__)


class People(SpeechSystem):
    """Give the transcripts and letters that a person saved from the page of `siq data exam`.

    A person answers a question once: the letter stands for all answers that a task wants. A clip that was never played
    has an audio coverage of 0.
    """

    def __init__(self, file: str) -> None:
        self.name, self.saved = f"{PEOPLE}:{file}", read_saved(expand(file))

    def transcribe(self, prompts: Sequence[Prompt]) -> list[Response]:
        """Return the transcript that the person gave of the clip of each prompt; empty for a clip that was left out."""
        rows = [self.saved.find_transcript(prompt.clip) for prompt in prompts]
        texts = [row.text or "" for row in rows]
        self._count_missing("transcripts", texts)
        return [Response(text, coverage=_cover(row.plays)) for row, text in zip(rows, texts, strict=True)]

    def check(self, questions: Sequence[Question], n: int) -> None:
        """Refuse questions that the exam does not ask, letters that they do not offer, and too many without an answer.

        See `SpeechSystem.check`.
        """
        super().check(questions, n)
        self._count_missing("answers", list(map(self._find_letter, questions)))

    def answer(self, questions: Sequence[Question], n: int) -> list[list[Response]]:
        """Return the letter of each question `n` times; an empty text for a question without an answer."""
        answers = []
        for question in questions:
            plays = self.saved.find_transcript(question.prompt.clip).plays
            answers.append([Response(self._find_letter(question), coverage=_cover(plays))] * n)
        return answers

    def _find_letter(self, question: Question) -> str:
        if question.transcript is not None:
            raise self._refuse("listened, and the questions come with a transcript", "leave listen= out")
        if not question.options:
            raise self._refuse(
                "answers by letters, and a task asks for words", "choose tasks that want transcripts, or have options"
            )
        clip = question.prompt.clip
        letter = self.saved.find_letter(clip, question.text, question.options)
        offered = ALPHABET[: len(question.options)]
        if letter and letter not in tuple(offered):
            raise self._refuse(
                f"answers {letter!r:.20} to {question.text!r:.80} about clip {clip.name}, which offers "
                f"{offered[0]} to {offered[-1]}",
                "correct the letter",
            )
        return letter

    def _count_missing(self, what: str, given: Sequence[str]) -> None:
        """Say how many transcripts or answers are missing, and refuse more than `MOST_MISSING` of them."""
        missing = sum(not each.strip() for each in given)
        if not missing:
            return
        fault = f"{missing} of {len(given)} {what} are missing"
        if missing > MOST_MISSING * len(given):
            raise self._refuse(f"{fault}, more than {MOST_MISSING:.0%}", "finish the exam and save it again")
        log.warning("%s: %s, and count as wrong", self.saved.file, fault)

    def _refuse(self, fault: str, fix: str) -> SpeechIQError:
        return SpeechIQError(self.saved.file, fault, fix)

    def describe(self) -> dict[str, Any]:
        """Return who took the exam, its size and what is missing; see `SpeechSystem.describe`."""
        transcripts, letters = self.saved.transcripts.values(), self.saved.letters.values()
        return {
            "kind": PEOPLE,
            "person": self.saved.person,
            "answers": self.saved.file.name,
            "sha256": self.saved.sha256,
            "clips": len(transcripts),
            "questions": len(letters),
            "missing_transcripts": sum(not (row.text or "").strip() for row in transcripts),
            "missing_answers": sum(not letter for letter in letters),
            "plays": mean(row.plays for row in transcripts),
            "answers_per_question": 1,
        }


def _cover(plays: int) -> float:
    """Return the audio coverage of a clip: nobody knows how much of it a person who played it has heard."""
    return math.nan if plays > 0 else 0.0
