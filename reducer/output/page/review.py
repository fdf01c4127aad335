"""Make the pages that people fill in, offline: items to judge one by one, transcripts to rank, and the exam.

The exam has neither references nor right letters, and its sounds inside, as the samples that systems get, in FLAC.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from speechiq.core.clip import Clip
from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import content_sha256, shorten
from speechiq.metrics.judge.rubric import Rubric
from speechiq.metrics.letters.options import ALPHABET, LETTERS
from speechiq.reducer.output.page.clips import encode_sound, find_sounds
from speechiq.reducer.output.page.page import LARGEST, Section, name_maker, render
from speechiq.reducer.runs.human_scores import StoredJudge
from speechiq.reducer.runs.judged import JudgedRow, read_item
from speechiq.reducer.studies.people_ranks import ClipCards
from speechiq.reducer.studies.prediction.labels import Exchange
from speechiq.reducer.studies.unanswerable import VERDICTS
from speechiq.siq_tasks.questions.exam import Exam, ExamClip

SCRIPTS = ("base", "address", "theme", "downloads")


class ReviewText(msgspec.Struct, frozen=True):
    """Hold a text of an item; one that is `folded` is shown on request only."""

    heading: str
    text: str
    folded: bool = False


class ReviewChoice(msgspec.Struct, frozen=True):
    """Hold a way to judge an item.

    Attributes:
        label: A number; its digit is the key that chooses it.
        text: Its words on the page.
        fields: What it adds to the item's row in the file; None leaves the row out.
    """

    label: str
    text: str
    fields: Mapping[str, Any] | None


class Item(msgspec.Struct, frozen=True):
    """Hold what is judged.

    Attributes:
        facts: Short facts above the title.
        row: Its row in the file, to which the page adds the fields of the choice; has `note` if a note is wanted.
        revealed: Texts that are shown after the judgment.
        clip: Id of its clip; empty without one.
        spoken: Name of the sound of the answer; empty if it was only written, or its sound is not on this machine.
        scope: What a kept judgment depends on in addition to the texts and choices above.
    """

    title: str
    passages: tuple[ReviewText, ...]
    choices: tuple[ReviewChoice, ...]
    row: Mapping[str, Any]
    facts: tuple[str, ...] = ()
    revealed: tuple[ReviewText, ...] = ()
    clip: str = ""
    spoken: str = ""
    scope: str = ""

    @property
    def key(self) -> str:
        """Return the name by which a browser keeps the judgment: a digest of what is judged."""
        shown = [self.title, self.passages, self.choices, self.clip, self.scope]
        return content_sha256(msgspec.to_builtins(shown))[:16]


class Review(msgspec.Struct, frozen=True):
    """Hold the items to judge and the form of the file that is saved.

    Attributes:
        file: Name of the file: JSON lines.
        person: Field of a row that gets the name of the person; empty if no name is asked for.
        final: Whether a judgment is confirmed first and cannot be changed then.
        complete: Whether the file has rows without a judgment too.
        always: Rows that are saved in addition.
    """

    file: str
    items: list[Item]
    person: str = ""
    final: bool = False
    complete: bool = False
    always: Sequence[Mapping[str, Any]] = []

    @property
    def data(self) -> dict[str, Any]:
        """Return what the page's script reads."""
        items = [msgspec.to_builtins(item) | {"key": item.key} for item in self.items]
        return msgspec.structs.asdict(self) | {"items": items}


def render_answers(answers: Sequence[JudgedRow], settings: StoredJudge, made: Mapping[str, str]) -> str:
    """Return the page on which a person scores judged answers without seeing the judge's scores first."""
    systems = len({answer.task.system for answer in answers})
    replies = find_sounds(
        {_name_reply(answer): read_item(answer.row["filtered_resps"]).get("audio") for answer in answers}
    )
    items = [_ask_grade(answer, settings, replies) for answer in answers]
    return _render(
        Review("human_scores.jsonl", items, "person", final=True),
        title="Check of a judge",
        lead=f"{count_of(len(answers), 'answer')} of {count_of(systems, 'system')}, in random order. Score each answer "
        "yourself; the judge's score and the name of the system appear after that.",
        intro="Listen, read, choose a grade, confirm. A confirmed grade cannot be changed, since the judge's is shown "
        "then. At the end save the file for",
        command="siq judge check RUNS --scores human_scores.jsonl",
        made=made,
        sounds=find_sounds({answer.item[0]: answer.doc.audio for answer in answers}) | replies,
    )


def render_exchanges(exchanges: Sequence[Exchange]) -> str:
    """Return the page on which a person compares answers to transcripts with those to references, if any differ.

    Items do not show which answer is to the transcript; equal answers are successes by rule.
    """
    items = sorted((_ask_better(exchange) for exchange in exchanges if not exchange.same), key=lambda item: item.key)
    if not items:
        raise SpeechIQError("there is nothing to review", "every item is decided by rule")
    equal = [_label(exchange, success=True) for exchange in exchanges if exchange.same]
    return _render(
        Review("labels.jsonl", items, "by", always=equal),
        title="Which answer is better?",
        lead="Two answers to one question. Are they equal in quality and completeness? Their order is random. If "
        "neither is useful, the item is left out.",
        intro="Read, and choose. At the end save the file for",
        command="siq study predict RUNS --labels labels.jsonl",
    )


def _render(
    review: Review,
    *,
    title: str,
    lead: str,
    intro: str,
    command: str,
    made: Mapping[str, str] | None = None,
    sounds: Mapping[str, str] | None = None,
) -> str:
    section = Section("review", "Items", "review_page", {"review": review, "intro": intro, "command": command})
    data = {"review": review.data, "sounds": sounds or {}}
    return render(
        [section], (*SCRIPTS, "review"), title=title, lead=lead, made=made or {}, data=data, plots=False, links={}
    )


def review_questions(candidates: Sequence[Mapping[str, Any]]) -> Review:
    """Return the review of what `find_unanswerable` returns; the file has the form of `siq study unanswerable`."""
    return Review("review.jsonl", [_ask_verdict(row) for row in candidates], complete=True)


def _name_reply(answer: JudgedRow) -> str:
    return f"reply {answer.id}"


def _ask_grade(answer: JudgedRow, settings: StoredJudge, replies: Mapping[str, str]) -> Item:
    rubric = settings.rubric_of(answer.task)
    checklist = answer.doc.checklist
    asked = {
        "Reference": answer.doc.answer,
        "Checklist": "\n".join(map(str, checklist)) if isinstance(checklist, list) else str(checklist or ""),
        "Answer": answer.stored.answer or "(empty)",
    }
    named = {"judge": settings.name, "judging": settings.sha256, "rubric": rubric.name, "rubric_sha256": rubric.sha256}
    return Item(
        title=answer.doc.question,
        facts=(f"Rubric {rubric.name}",),
        passages=tuple(ReviewText(heading, text) for heading, text in asked.items() if text),
        choices=_grades(rubric),
        row={"id": answer.id, "note": ""} | named,
        revealed=(
            ReviewText("The judge", f"{answer.stored.points:.2f}"),
            ReviewText("System", answer.task.system),
            ReviewText("What the judge wrote", "\n\n".join(answer.stored.texts), folded=True),
        ),
        clip=answer.item[0],
        spoken=_name_reply(answer) if _name_reply(answer) in replies else "",
        scope=f"{answer.id} {settings.sha256}",
    )


def _grades(rubric: Rubric) -> tuple[ReviewChoice, ...]:
    low, high = rubric.scale
    return tuple(
        ReviewChoice(str(grade), rubric.grades.get(grade, ""), {"score": grade})
        for grade in range(int(low), int(high) + 1)
    )


def _ask_better(exchange: Exchange) -> Item:
    scope = json.dumps(exchange.key)
    answers = [exchange.from_reference, exchange.from_transcript]
    first, second = answers if hashlib.sha256(scope.encode()).hexdigest()[0] < "8" else answers[::-1]
    passages = [ReviewText("First answer", first or "(empty)"), ReviewText("Second answer", second or "(empty)")]
    if exchange.right:
        passages.insert(0, ReviewText("Right answer", exchange.right))
    if exchange.reference != exchange.question:
        passages.insert(0, ReviewText("Reference of the clip", exchange.reference, folded=True))
    failure, success = {"success": False}, {"success": True}
    return Item(
        title=exchange.question,
        passages=tuple(passages),
        choices=(
            ReviewChoice("1", "the first is better", failure),
            ReviewChoice("2", "the second is better", failure),
            ReviewChoice("3", "equal", success),
            ReviewChoice("4", "neither is useful", None),
        ),
        row=_label(exchange),
        scope=scope,
    )


def _label(exchange: Exchange, **judgment: bool) -> dict[str, str | bool]:
    system, (clip, *question) = exchange.key
    row: dict[str, str | bool] = {"id": clip, "system": system, **judgment}
    return row | ({"question_id": question[0]} if question else {})


def _ask_verdict(row: Mapping[str, Any]) -> Item:
    # Questions of other tables than ours may have fewer than four options.
    options = dict(zip(LETTERS, row["options"], strict=False)) | {LETTERS[-1]: "None of the above"}
    votes = Counter(answer["vote"] for answer in row["systems"].values())
    gold = Counter(answer["vote"] for answer in row["gold"].values())
    shown, counted = [], []
    for letter, option in options.items():
        shown.append(f"({letter}) {option}")
        voters = []
        if votes[letter]:
            voters.append(f"{votes[letter]} of {count_of(len(row['systems']), 'system')}")
        if gold[letter]:
            voters.append("gold")
        is_right = letter == row["answer"]
        if voters or is_right:
            mark = "\u2713" if is_right else ""
            counted.append(f"({letter}) {mark} {', '.join(voters)}")
    return Item(
        title=row["question"],
        facts=(row["question_id"], f"{row['failed']} of {count_of(len(row['systems']), 'system')} fail"),
        passages=(
            ReviewText("Options", "\n".join(shown)),
            ReviewText("Reference of the clip", row["text"], folded=True),
        ),
        choices=tuple(
            ReviewChoice(str(number), verdict.replace("_", " ").capitalize(), {"verdict": verdict})
            for number, verdict in enumerate(VERDICTS, 1)
        ),
        row=row,
        revealed=(ReviewText("Right option and votes", "\n".join(counted)),),
        clip=row["id"],
        scope=f"{row['question_id']} {row['answer']}",
    )


def render_ranking(clips: Sequence[ClipCards]) -> str:
    """Return the page; neither its text nor its data name a system."""
    section = Section("ranking", "Clips", "ranks_page", {"count": len(clips)})
    sounds = find_sounds({clip.clip: clip.audio for clip in clips})
    return render(
        [section],
        (*SCRIPTS, "ranks"),
        title="Rank the transcripts",
        lead=f"{count_of(len(clips), 'clip')}, each with the transcripts of several anonymous systems in random order. "
        "Put them in order: the one that is closest to the reference first.",
        made={"Page": name_maker()},
        data={"ranking": [_describe_cards(clip) for clip in clips], "sounds": sounds},
        plots=False,
        links={},
    )


def _describe_cards(clip: ClipCards) -> dict[str, Any]:
    """Return the data of the script about a clip; the key is that of its ranks in the browser."""
    content = {
        "id": clip.clip,
        "reference": clip.reference,
        "cards": [{"id": card, "text": text} for card, text in clip.texts.items()],
    }
    return content | {"key": shorten(content_sha256(content))}


def render_exam(exam: Exam, tasks: Sequence[str], command: str) -> str:
    """Return the page of an exam; it states the tasks, and the command that scores what a person saves."""
    size = count_of(len(exam.clips), "clip")
    if exam.questions:
        size += f", {count_of(exam.questions, 'question')}"
    made = {
        "Tasks": f"{', '.join(tasks)} ({size})",
        "Page": name_maker(),
        "Command": command,
    }
    return render(
        [Section("exam", "Exam", "exam", {"exam": exam, "size": size})],
        ("base", "theme", "downloads", "exam"),
        title="Listening exam",
        lead="Listen to each clip, write down what is said, then answer its questions."
        if exam.questions
        else "Listen to each clip, and write down what is said.",
        made=made,
        data={"exam": describe_exam(exam.clips), "sounds": _encode_all(exam.sounds)},
        plots=False,
        links={},
    )


def describe_exam(clips: Sequence[ExamClip]) -> dict[str, object]:
    """Return the data of the script: the clips, the letters, and a key for the entries of this exam in a browser."""
    plain = msgspec.to_builtins(clips)
    return {"clips": plain, "letters": ALPHABET, "key": content_sha256(plain)[:16]}


def _encode_all(sounds: Mapping[str, Clip]) -> dict[str, str]:
    """Return the address of each sound; refuse more than a page can have."""
    found, size = dict[str, str](), 0
    for name, clip in sounds.items():
        found[name] = encode_sound(clip.samples, "FLAC", "PCM_16")
        size += len(found[name])
        if size > LARGEST:
            raise SpeechIQError(
                f"exam of {len(sounds)} clips",
                f"the sound of {len(found)} of them has more than {LARGEST / 1e6:.0f} MB, too much for one page",
                "choose fewer clips with --limit",
            )
    return found
