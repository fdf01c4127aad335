"""Build the unanswerable set (section 5.5): find candidates that most systems fail, and confirm a person's verdicts.

On the set, count invented answers: majorities other than (E) on questions that have no answer (Table 4). On all
questions, count signs of hallucination (Appendix C).

A line of the review file is one candidate: `find_unanswerable` writes it, and a person fills in the verdict::

    {"id": clip, "question_id": ..., "question": text, "options": [4 texts], "answer": "A" to "D", "text": reference,
     "audio": path or null, "failed": systems that fail, "share": failed / systems,
     "systems": {name: {"vote": "B", "letters": "BBABB"}}, "gold": {name: {"vote": ..., "letters": ...}},
     "verdict": null | "unanswerable" | "wrong_key" | "answerable", "note": ""}
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import add_checksum, as_lines, content_sha256, read_checksummed, read_objects
from speechiq.core.files.plain import OWN_FILE, write_whole
from speechiq.metrics.letters.options import UNPARSED
from speechiq.reducer.runs.samples import show_item
from speechiq.reducer.runs.signs import AnswerSigns
from speechiq.reducer.runs.systems import System
from speechiq.reducer.runs.table import Item
from speechiq.reducer.runs.texts import LETTER_OF_NONE, AnsweredQuestion, Answers, read_wordings
from speechiq.reducer.scores.suites import Confirmed, ConfirmedSet
from speechiq.reducer.stats.bootstrap import estimate_share
from speechiq.reducer.stats.estimate import CONFIDENCE, Estimate
from speechiq.reducer.stats.grid import Column, Grid, name_units
from speechiq.reducer.studies.result import StudyResult

SCHEMA = "speechiq-unanswerable"
VERSION = 1
UNANSWERABLE = "unanswerable"
CONFIRMED = (UNANSWERABLE, "wrong_key")
VERDICTS = (*CONFIRMED, "answerable")
FIRST = 5

ADVICE_REVIEW = "correct the line, or make a new review with `siq study unanswerable`"
ADVICE_SET = "make one with `siq study unanswerable --review`"


class _Review(msgspec.Struct):
    """Hold the fields that are read of a line of a review file."""

    id: str
    question_id: str
    question: str
    options: tuple[str, ...]
    answer: str
    note: str
    verdict: Literal["unanswerable", "wrong_key", "answerable"] | None


class _InSet(msgspec.Struct, forbid_unknown_fields=True):
    """Hold a question of an unanswerable set."""

    id: str
    question_id: str
    asked: str
    verdict: Literal["unanswerable", "wrong_key"]


def find_unanswerable(answers: Answers, share: float = 0.5) -> list[dict[str, Any]]:
    """Find the questions that at least a share of the systems fail, most failed first, then by clip and question.

    Controls do not count as systems; the answers of those with the reference (`gold`) are shown as well. The result is
    the lines of a review file, verdicts empty.
    """
    systems = [system for system in answers.votes if system not in answers.controls]
    gold = [system for system, control in answers.controls.items() if control == "gold"]
    if not systems:
        raise SpeechIQError(
            f"only controls ({', '.join(map(repr, answers.controls))}), which do not listen",
            "give the run of a system as well",
        )
    rows: list[dict[str, Any]] = []
    for item, question in answers.questions.items():
        failed = sum(answers.votes[system][item].vote != question.answer for system in systems)
        if failed >= share * len(systems) - 1e-9:
            rows.append(
                dict(zip(("id", "question_id"), item, strict=True))
                | question._asdict()
                | {"failed": failed, "share": failed / len(systems)}
                | {"systems": {name: answers.votes[name][item]._asdict() for name in systems}}
                | {"gold": {name: answers.votes[name][item]._asdict() for name in gold}}
                | {"verdict": None, "note": ""}
            )
    return sorted(rows, key=lambda row: -row["failed"])


def write_review(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write a review file, completely or not at all."""
    write_whole(path, as_lines(rows), OWN_FILE)


def confirm(path: Path) -> dict[str, Any]:
    """Return the content of the set with the questions of a `CONFIRMED` verdict; refuse a line without a verdict."""
    rows = _read_review(path)
    if missing := [number for number, row in rows.items() if row.verdict is None]:
        raise SpeechIQError(
            path,
            f"{len(missing)} of {len(rows)} lines have no verdict, the first at "
            f"line {', '.join(map(str, missing[:FIRST]))}",
            f"fill in {' or '.join(VERDICTS)}",
        )
    questions = [
        {
            "id": row.id,
            "question_id": row.question_id,
            "asked": AnsweredQuestion(row.question, row.options, row.answer, "", None).wording,
            "verdict": row.verdict,
        }
        for row in sorted(rows.values(), key=lambda row: (row.id, row.question_id))
        if row.verdict in CONFIRMED
    ]
    return add_checksum(SCHEMA, VERSION, {"reviewed": len(rows), "questions": questions})


def write_set(content: Mapping[str, Any], path: Path) -> None:
    """Write the content that `confirm` returned, completely or not at all."""
    write_whole(path, (json.dumps(content, indent=2) + "\n").encode(), OWN_FILE)


def read_confirmed(path: Path) -> ConfirmedSet:
    """Return the questions of an unanswerable set; refuse another file, and one that was edited."""
    content = read_checksummed(path, SCHEMA, VERSION, ADVICE_SET)
    try:
        rows = msgspec.convert(content.get("questions"), list[_InSet])
    except msgspec.ValidationError as error:
        raise SpeechIQError(path, f"has a question that cannot be read ({error})", ADVICE_SET) from error
    confirmed = ConfirmedSet({(row.id, row.question_id): Confirmed(row.asked, row.verdict) for row in rows})
    confirmed.sha256 = content_sha256(content)
    return confirmed


def leave_out(systems: Iterable[System], confirmed: ConfirmedSet) -> list[System]:
    """Return the systems without the questions of a set, whose sha256 they record; refuse other wordings."""
    return [_without(system, confirmed) for system in systems] if confirmed else list(systems)


def check_wording(confirmed: Mapping[Item, Confirmed], wordings: Mapping[Item, str], runs: str = "the runs") -> None:
    """Raise a `SpeechIQError` if a question of a set is missing in runs, or has another wording there."""
    fix = "give runs of the same tasks, or a set that was confirmed for these"
    if missing := sorted(confirmed.keys() - wordings.keys()):
        raise SpeechIQError(
            f"{len(missing)} of {len(confirmed)} questions of the set are not in {runs}, such as "
            f"{show_item(missing[0])}",
            fix=fix,
        )
    if changed := [item for item, question in confirmed.items() if question.wording != wordings[item]]:
        raise SpeechIQError(
            f"{len(changed)} of {len(confirmed)} questions have another wording in {runs} than in the set, such as "
            f"{show_item(changed[0])}",
            fix=fix,
        )


def _without(system: System, confirmed: ConfirmedSet) -> System:
    tasks = system.tasks_at("apply")
    check_wording(confirmed, read_wordings(tasks, confirmed), f"the runs of system {system.name!r}")
    kept = system.items | {"apply": system.items["apply"] - confirmed.keys()}
    if not kept["apply"]:
        raise SpeechIQError(
            "level apply",
            f"without the {len(confirmed)} excluded questions, system {system.name!r} has none left",
            "exclude fewer",
        )
    return system.keep(kept).replace(excluded=confirmed.sha256)


def _read_review(path: Path) -> dict[int, _Review]:
    """Return line number -> row."""
    rows: dict[int, _Review] = {}
    seen: dict[Item, int] = {}
    for number, where, row in read_objects(path, ADVICE_REVIEW):
        if (verdict := row.get("verdict", "")) not in (None, *VERDICTS):
            raise SpeechIQError(where, f"verdict {verdict!r} is unknown: write {' or '.join(VERDICTS)}", ADVICE_REVIEW)
        try:
            rows[number] = msgspec.convert(row, _Review)
        except msgspec.ValidationError as error:
            raise SpeechIQError(where, error, ADVICE_REVIEW) from error
        item = rows[number].id, rows[number].question_id
        if (first := seen.setdefault(item, number)) != number:
            raise SpeechIQError(where, f"{show_item(item)} is a duplicate of line {first}", "delete one of the two")
    if not rows:
        raise SpeechIQError(path, "has no line to confirm", ADVICE_REVIEW)
    return rows


def count_hallucinations(answers: Answers, confirmed: Mapping[Item, Confirmed]) -> StudyResult:
    """Count the hallucinations of every system on the questions with the verdict `unanswerable`, lowest rate first.

    Returns:
        A record per system: its `control` (empty for a system that listens), and how many votes it was `asked` for, are
        `hallucinated` (for one of (A) to (D)), `none_of_the_above` ((E), the right answer) and `unparsed`, which count
        as neither; `rate` is the share of the hallucinated ones, with its interval over clips.
    """
    items = {item: question for item, question in confirmed.items() if question.verdict == UNANSWERABLE}
    if not items:
        raise SpeechIQError(
            f"the set has no question with the verdict {UNANSWERABLE!r}",
            fix="confirm one with `siq study unanswerable --review`",
        )
    check_wording(items, {item: question.wording for item, question in answers.questions.items()})
    records: list[dict[str, Any]] = []
    for system, answered in answers.votes.items():
        votes = [answered[item].vote for item in items]
        invented = [vote not in (LETTER_OF_NONE, UNPARSED) for vote in votes]
        records.append(
            {
                "system": system,
                "control": answers.controls.get(system, ""),
                "asked": len(votes),
                "hallucinated": sum(invented),
                "none_of_the_above": votes.count(LETTER_OF_NONE),
                "unparsed": votes.count(UNPARSED),
                "rate": estimate_share(invented, np.ones(len(votes)), [clip for clip, *_ in items], answers.clusters),
            }
        )
    records.sort(key=lambda record: (record["rate"].value, record["system"]))
    return StudyResult("speechiq-hallucination", [_hallucination_grid(records)], {"systems": records})


def rate_hallucination(systems: Iterable[System], confirmed: Mapping[Item, Confirmed]) -> dict[str, Estimate]:
    """Return system -> the share of the unanswerable questions of a set that it answers, with its interval over clips.

    They are those with the verdict `unanswerable`; without one the result is empty. The rows say whether a vote is (E),
    and whether it could be read; the share of a system whose rows do not is undefined.
    """
    items = {item for item, question in confirmed.items() if question.verdict == UNANSWERABLE}
    rates = {}
    for system in systems if items else ():
        apply = system.by_level["apply"]
        asked = apply.where(np.array([item in items for item in apply["item"]]))
        asked = asked.where_known("none_of_the_above").where_known("unparsed")
        invented = (asked.number("none_of_the_above") == 0) & (asked.number("unparsed") < 1)
        rates[system.name] = estimate_share(invented, np.ones(len(asked)), asked["clip"].tolist(), system.clusters)
    return rates


def _hallucination_grid(records: Sequence[Mapping[str, Any]]) -> Grid:
    """Return the counts as a grid, one row per system."""
    columns = [
        Column("system", "System"),
        Column("control", "Control"),
        Column("asked"),
        Column("hallucinated", "Hallucinated", "d"),
        Column("rate", "Rate %", ".1f", factor=100),
        Column("none_of_the_above", "None of\nthe above", "d"),
        Column("unparsed", "Unreadable", "d"),
    ]
    units = name_units(record["rate"] for record in records)
    notes = [f"{records[0]['asked']} unanswerable questions; interval: Wilson over {units}, {100 * CONFIDENCE:.0f} %"]
    return Grid("Hallucination", columns, records, notes)


def count_signs(signs: Mapping[str, Mapping[Item, AnswerSigns]], answers: Answers) -> StudyResult:
    """Count the signs of hallucination in the answers of every system, by name.

    Returns:
        A record per system: its `control` (empty for a system that listens); of the `right` votes that can be checked
        against its transcripts, how many are `unheard`, and their share `not_heard`; of its `answers`, how many have an
        option that was not offered (`unoffered`), and their share `not_offered`; each share with its interval over
        clips.
    """
    records: list[dict[str, Any]] = []
    for system, found in sorted(signs.items()):
        clips, each = [clip for clip, *_ in found], list(found.values())
        right, unheard = [sign.right for sign in each], [sign.unheard for sign in each]
        counts, unoffered = [sign.answers for sign in each], [len(sign.unoffered) for sign in each]
        records.append(
            {
                "system": system,
                "control": answers.controls.get(system, ""),
                "right": sum(right),
                "unheard": sum(unheard),
                "not_heard": estimate_share(unheard, right, clips, answers.clusters),
                "answers": sum(counts),
                "unoffered": sum(unoffered),
                "not_offered": estimate_share(unoffered, counts, clips, answers.clusters),
            }
        )
    return StudyResult("speechiq-signs", [_signs_grid(records)], {"systems": records})


def _signs_grid(records: Sequence[Mapping[str, Any]]) -> Grid:
    """Return the counts of signs as a grid, one row per system."""
    columns = [
        Column("system", "System"),
        Column("control", "Control"),
        Column("right", "Right,\nchecked", "d"),
        Column("unheard"),
        Column("not_heard", "Not heard\n%", ".1f", factor=100),
        Column("answers", "Answers", "d"),
        Column("unoffered"),
        Column("not_offered", "Not offered\n%", ".1f", factor=100),
    ]
    shares = [record[name] for record in records for name in ("not_heard", "not_offered")]
    notes = [
        "Not heard: the vote is right, but no content word of the right option that the reference has is in the "
        "system's own transcript; checked: right votes with such words",
        "Not offered: the answer gives a letter that no option has, or its letter with another text",
        f"interval: Wilson over {name_units(shares)}, {100 * CONFIDENCE:.0f} %",
    ]
    return Grid("Signs of hallucination", columns, records, notes)
