"""Make the page on which a person scores judged answers, without seeing the judge's scores first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from speechiq.core.files.checksummed import content_sha256, shorten
from speechiq.reducer.report import page
from speechiq.reducer.report.audio import find_source
from speechiq.reducer.runs.judged import JudgedRow
from speechiq.reducer.studies.judges.settings import JudgeSettings

SCRIPTS = ("base", "theme", "downloads", "judge_check")


def render(answers: Sequence[JudgedRow], settings: JudgeSettings, made: Mapping[str, str]) -> str:
    """Return the page.

    Args:
        answers: The answers to score, in the order of the page.
        settings: Their judge.
        made: How the page was made: name -> text.
    """
    rubrics = {rubric.sha256: rubric for rubric in (settings.rubric_of(answer.task) for answer in answers)}
    shown = [_describe(answer, settings) for answer in answers]
    return page.render(
        "judge_check.html.j2",
        SCRIPTS,
        plots=False,
        title="Check of a judge",
        systems=len({answer.task.system for answer in answers}),
        made=made,
        answers=shown,
        sounds=_find_sounds(answers),
        rubrics={
            sha256: {
                "name": rubric.name,
                "sha256": sha256,
                "scale": rubric.scale,
                "grades": msgspec.to_builtins(rubric.grades, str_keys=True),
            }
            for sha256, rubric in rubrics.items()
        },
        judge={"judge": settings.name, "judging": settings.sha256},
        key=shorten(content_sha256([settings.sha256, *sorted(answer.id for answer in answers)])),
    )


def _describe(answer: JudgedRow, settings: JudgeSettings) -> dict[str, Any]:
    checklist = answer.doc.checklist
    return {
        "id": answer.id,
        "clip": answer.item[0],
        "question": answer.doc.question,
        "reference": answer.doc.answer,
        "checklist": "\n".join(map(str, checklist)) if isinstance(checklist, list) else str(checklist or ""),
        "answer": answer.stored.answer,
        "system": answer.task.system,
        "points": answer.stored.points,
        "texts": answer.stored.texts,
        "rubric": settings.rubric_of(answer.task).sha256,
    }


def _find_sounds(answers: Sequence[JudgedRow]) -> dict[str, str]:
    """Return clip -> address of its audio, for clips whose audio is on this machine."""
    clips = {answer.item[0]: answer.doc.audio for answer in answers if isinstance(answer.doc.audio, dict)}
    return {clip: source for clip, audio in clips.items() if (source := find_source(audio))}
