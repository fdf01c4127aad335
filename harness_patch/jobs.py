"""Turn the requests of lm-eval into jobs, which travel between processes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lm_eval.api.instance import Instance

from speechiq.core.clip import as_clip
from speechiq.core.prompt import Prompt
from speechiq.harness_patch.systems.system import Question


class Job(NamedTuple):
    """Describe a request without the parts that only its own process needs.

    Attributes:
        prompt: Text and clips of the prompt.
        target: Generation settings as `normalize` returns them, or the continuation to score.
        repeats: Number of answers.
        purpose: `transcribe` or `answer`, or empty if the audio items of the task do not have it.
        question: Question without the rest of the prompt, or empty.
        options: Options of the question, or empty.
        reference: Reference of the clips if the doc has one, for engines that need it.
    """

    prompt: Prompt
    target: Any
    repeats: int
    purpose: str
    question: str
    options: tuple[str, ...]
    reference: str | None

    @classmethod
    def of(cls, request: Instance, target: Any) -> Job:
        """Return the job of a request; it has no clips if the task has only text."""
        given: Any = next((args["audio"] for args in request.args[2:] if args.get("audio") is not None), [])
        audio = list(given) if isinstance(given, list | tuple) else [given]
        name = request.doc.get("id")
        clips = [as_clip(one, f"{request.task_name}/{request.doc_id}" if name is None else str(name)) for one in audio]
        items = audio[0] if audio and isinstance(audio[0], Mapping) else {}
        return cls(
            Prompt.about(request.args[0], clips),
            target,
            request.repeats or 1,
            items.get("purpose") or "",
            items.get("question") or "",
            tuple(items.get("options") or ()),
            request.doc.get("text"),
        )

    @property
    def wants_transcript(self) -> bool:
        """Return whether the job asks for a transcript."""
        return self.purpose == "transcribe"


def group_questions(jobs: Sequence[Job]) -> dict[int, dict[int, Question]]:
    """Return the questions among the jobs: number of answers -> place in `jobs` -> question."""
    found: dict[int, dict[int, Question]] = defaultdict(dict)
    for i, job in enumerate(jobs):
        if not job.wants_transcript:
            found[job.repeats][i] = Question(job.prompt, job.target, job.question, job.options, job.purpose)
    return found


def first_clip(job: Job) -> tuple[str, float]:
    """Return the key of a job's first clip, or its text if it has no clip, and the duration (s)."""
    return next(((clip.key, clip.duration) for clip in job.prompt.clips), (job.prompt.text, 1.0))
