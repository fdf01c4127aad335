"""Pair the answers to a transcript and to its reference, for judges and for people."""

from __future__ import annotations

from typing import NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.texts import read_written
from speechiq.reducer.studies.validity.answer_key import find_gold
from speechiq.reducer.studies.validity.tables import Tables
from speechiq.reducer.studies.validity.units import Key, answers

#: The column of tasks that answer by choosing an option.
OPTION = "acc"


class Exchange(NamedTuple):
    """One item of one system.

    Attributes:
        key: (system, item).
        question: What was asked; for an assistant, the query itself.
        reference: The reference of the clip.
        transcript: The system's transcript; empty if the runs do not have it.
        right: The right answer; empty if there is none.
        from_reference: The answer of the same language model to the reference.
        from_transcript: The answer to the transcript.
    """

    key: Key
    question: str
    reference: str
    transcript: str
    right: str
    from_reference: str
    from_transcript: str

    @property
    def same(self) -> bool:
        """Return whether both answers are equal; such items are successes by rule."""
        return self.from_reference.split() == self.from_transcript.split()


def read_exchanges(tables: Tables) -> list[Exchange]:
    """Return the exchanges of all systems but controls, sorted.

    If a system answered about a clip both in free text and by choosing an option, the free text is taken.

    Raises:
        SpeechIQError: No task answers, or the control `gold` did not run with the language model of a system.
    """
    answering = [task for task in tables.tasks if answers(task)]
    if not answering:
        raise SpeechIQError("these runs have no answers to compare: give runs of a task that answers questions")
    gold = find_gold(tables)
    for task in answering:
        if task.system not in gold and task.system not in tables.controls:
            raise SpeechIQError(
                f"no run of the control gold with the language model of {task.system!r}, so answers to the references "
                "are missing; run pretrained=gold+MODEL on the same tasks"
            )
    chosen = read_written(task for task in answering if OPTION in task.signs)
    written = read_written(task for task in answering if OPTION not in task.signs)
    free = {(system, item[0]) for system, item in written}
    written |= {key: of for key, of in chosen.items() if (key[0], key[1][0]) not in free}
    transcripts = read_written(task for task in tables.tasks if not answers(task))
    exchanges = []
    for (system, item), of in sorted(written.items()):
        if system in tables.controls:
            continue
        if (other := written.get((gold[system], item))) is None:
            raise SpeechIQError(
                f"{gold[system]!r} did not answer {'/'.join(item)}, which {system!r} did; run both on the same tasks "
                "with the same --limit"
            )
        spoken = transcripts.get((system, item[:1]))
        transcript = spoken.text if spoken else ""
        exchanges.append(Exchange((system, item), of.question, of.reference, transcript, of.right, other.text, of.text))
    return exchanges
