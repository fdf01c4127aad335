"""Build the exam of tasks: what they ask of a system, for people."""

from collections.abc import Iterator, Mapping
from typing import Any

from speechiq.core.clip import file_clip
from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch import _lm_eval, foreign_code, plugins
from speechiq.harness_patch.plan import Plan, has_task_files
from speechiq.harness_patch.systems.answering import TRANSCRIBE
from speechiq.harness_patch.work import open_evaluation
from speechiq.siq_tasks.questions.exam import Asked, Exam, build_exam
from speechiq.siq_tasks.settings import refuse_unread, user_metadata
from speechiq.siq_tasks.task import SpeechTask


def open_exam(plan: Plan) -> Exam:
    """Return the exam of the tasks of a plan, with the clips that `siq eval` takes with the same tasks and limit.

    From then on this process refuses the code of task folders, unless the plan allows it.
    """
    plugins.install()
    if has_task_files(plan) and not plan.allow_code:
        _lm_eval.guard_code(foreign_code)
    asked: list[Asked] = []
    with open_evaluation(plan.change(systems=())) as (evaluation, _):
        speech = [task for task in evaluation.tasks.values() if isinstance(task, SpeechTask)]
        refuse_unread(user_metadata.get() or {}, [task.metadata_keys for task in speech])
        for name, task in evaluation.tasks.items():
            docs = evaluation.docs[name]
            for place in evaluation.samples.get(name, range(len(docs))):
                asked += _list_asked(name, task, docs[place])
    return build_exam(asked)


def _list_asked(name: str, task: Any, doc: Mapping[str, Any]) -> Iterator[Asked]:
    """Yield what a doc asks; refuse what a person cannot answer on the page."""
    audio = task.doc_to_audio(doc)
    if not audio or "purpose" not in audio[0]:
        raise SpeechIQError(f"task {name}", "asks nothing about a clip", "choose tasks of speech, such as siq_demo")
    (items,) = audio
    if "sha256" not in items:
        raise SpeechIQError(f"task {name}", f"clip {doc['id']} has no audio", "choose tasks of a set with audio")
    clip = file_clip(items, doc["id"])
    if items["purpose"] == TRANSCRIBE:
        yield Asked(clip)
    elif items.get("options"):
        question_id = str(doc.get("question_id") or doc["id"])
        yield Asked(clip, question_id, items["question"], tuple(items["options"]))
    else:
        raise SpeechIQError(
            f"task {name}", "asks for answers in words", "choose tasks that want transcripts, or have options"
        )
