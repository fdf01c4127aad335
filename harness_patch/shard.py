"""Fill the response cache for a share of the clips of a run: `python -m speechiq.harness_patch.shard JSON`.

A shard needs no other process: rows depend neither on the process nor on the batch, so a later run that finds all of
them computes nothing and writes what one process alone would write.
"""

import json
import sys
from collections.abc import Mapping
from typing import Any

from speechiq.core.cache.stage_limits import EMBED, STAGES, MissingRows, Stopped, limited_to, stop_after_batch
from speechiq.core.errors import SpeechIQError, print_in_one_line
from speechiq.harness_patch import foreign_code, plugins
from speechiq.harness_patch.inventory import Evaluation, open_evaluation
from speechiq.harness_patch.processes import CONTINUE
from speechiq.siq_tasks.task_types import name_task_type, read_task_type

#: Types of tasks that embed texts.
EMBEDDED = ("understand", "distance")


def fill(given: Mapping[str, Any]) -> None:
    """Compute the rows of a shard of one system; see `open_evaluation`.

    With `stages`, tasks run together, which computes most, and then one by one, because the first row that may not be
    computed ends a run. `MissingRows` are rows of an earlier stage that a stage of the shard needs.
    """
    with open_evaluation(given) as (evaluation, built):
        (lm,) = built.values()
        if not given["stages"]:
            evaluation.run(lm)
            return
        with limited_to(given["stages"]):
            if _run(evaluation, lm, None) is None:
                return
            ends = {name: _run(evaluation, lm, [name]) for name in evaluation.tasks}
    order = list(STAGES)
    for name, end in ends.items():
        if end and set(given["stages"]) & _stages_of(evaluation, name) & set(order[order.index(end.stage) + 1 :]):
            raise end


def _run(evaluation: Evaluation, lm: Any, names: list[str] | None) -> MissingRows | None:
    """Run tasks, all or those named, as far as the stages go; return what ended it."""
    try:
        evaluation.run(lm, names)
    except MissingRows as missing:
        return missing
    return None


def _stages_of(evaluation: Evaluation, name: str) -> set[str]:
    """Return the stages of a task after its transcripts; a task of another package has unknown ones."""
    about, docs = evaluation.tasks[name].config.metadata or {}, evaluation.docs[name]
    kind = name_task_type(about)
    try:
        asks = read_task_type(about).asks_question
    except SpeechIQError:
        return set(STAGES)
    has = {
        "llm": asks,
        "judge": any(key in doc for doc in docs[:1] for key in ("judging", "reply")),
        EMBED: kind in EMBEDDED,
    }
    return {stage for stage, needed in has.items() if needed}


def main() -> None:
    """Fill the response cache as the argument describes."""
    print_in_one_line()
    stop_after_batch()
    plugins.install()
    foreign_code.refuse_if_asked()
    try:
        fill(json.loads(sys.argv[1]))
    except Stopped:
        sys.exit(CONTINUE)


if __name__ == "__main__":
    main()
