"""Find suspect items: references against which systems agree, and questions that the reference does not answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from speechiq.reducer.report.clips import Clip
from speechiq.reducer.report.diff import Edit, edits
from speechiq.reducer.runs.answers import Answers

NEARLY_ALL = 0.8
CONTEXT = 4


class Disagreement(NamedTuple):
    """One place at which encoders agree against the reference; texts are normalized.

    Attributes:
        clip: Its id.
        before: Words of the reference before the place.
        reference: Words of the reference that may be wrong; may be empty.
        written: Words that were written instead; may be empty.
        after: Words of the reference after the place.
        agree: Number of encoders that write this.
        encoders: Number of all encoders.
    """

    clip: str
    before: str
    reference: str
    written: str
    after: str
    agree: int
    encoders: int


class Failed(NamedTuple):
    """A question that the control `gold`, which reads the reference, and nearly all systems fail."""

    clip: str
    question_id: str
    question: str
    answer: str
    votes: tuple[tuple[str, int], ...]
    failed: int
    systems: int


def disagreements(clips: Iterable[Clip], encoders: Mapping[str, str]) -> list[Disagreement]:
    """Return edits that nearly all encoders (`NEARLY_ALL`, at least two) make, those with the most agreement first.

    Systems that share an encoder make similar errors and count once.

    Args:
        clips: The clips with their transcripts.
        encoders: System -> the model that processes the audio; controls are left out.
    """
    found = []
    for clip in clips:
        makers: dict[Edit, set[str]] = defaultdict(set)
        for system, transcript in clip.transcripts.items():
            if system in encoders:
                for edit in edits(transcript.ops):
                    makers[edit].add(encoders[system])
        count = len({encoders[system] for system in clip.transcripts if system in encoders})
        found += [
            _show(clip, edit, len(who), count) for edit, who in makers.items() if len(who) >= max(2, NEARLY_ALL * count)
        ]
    return sorted(found, key=lambda place: (-place.agree / place.encoders, -place.agree, place.clip))


def failed_with_reference(answers: Answers, systems: Collection[str]) -> list[Failed]:
    """Return questions that every `gold` control and nearly all systems fail; none without such a control.

    Args:
        answers: Answers of all systems.
        systems: Names of the systems that process audio.
    """
    gold = [system for system, control in answers.controls.items() if control == "gold"]
    found = []
    for item, question in answers.questions.items():
        votes = Counter(answers.votes[system][item].vote for system in systems)
        failed = votes.total() - votes[question.answer]
        if gold and failed >= NEARLY_ALL * len(systems):
            if any(answers.votes[system][item].vote == question.answer for system in gold):
                continue
            clip, question_id = item
            order = tuple(votes.most_common())
            found.append(Failed(clip, question_id, question.question, question.answer, order, failed, len(systems)))
    return sorted(found, key=lambda row: -row.failed)


def _show(clip: Clip, edit: Edit, agree: int, encoders: int) -> Disagreement:
    words = clip.words.split()
    end = edit.start + edit.dropped
    before, reference, after = (
        " ".join(part)
        for part in (
            words[max(0, edit.start - CONTEXT) : edit.start],
            words[edit.start : end],
            words[end : end + CONTEXT],
        )
    )
    return Disagreement(clip.id, before, reference, edit.written, after, agree, encoders)
