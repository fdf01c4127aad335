"""Print the table of an evaluation, write its scores and report, and say which command comes next."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from speechiq.cli.evaluation.record import EvaluationRun, Record, write_record
from speechiq.cli.scoring.score import score
from speechiq.core.console import count_of, say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import hash_file
from speechiq.harness_patch.plan import Plan
from speechiq.reducer.runs.results_file import CONDITION
from speechiq.siq_tasks.conditions.spec import LISTEN

SCORES, PAGE = "siq.json", "report.html"
#: Fewer systems than these give a scale that says little, or none.
FEW = 3
#: Names whose tasks the bundled norms fit.
DEMO_TASKS = ("siq_demo",)


def publish(plan: Plan, record: Record, norms_file: str | None, allow_mismatch: bool, explain: bool = False) -> None:
    """Print the ranking of the runs with these settings, write scores and report, and print a hint.

    Runs with other settings stay in the folder.
    """
    output, runs = plan.folder, record.with_settings(plan)
    complete = len(runs) == len(record.runs)
    sources = [output] if complete else [output / file for run in runs for file in run.results]
    scores, page = output / SCORES, output / PAGE
    options: dict[str, Any] = {
        "norms_file": norms_file,
        "allow_mismatch": allow_mismatch,
        "force": True,
        "explain": explain,
    }
    try:
        score(sources, [scores, page], **options)
    except SpeechIQError as error:
        raise SpeechIQError(error, fix=f"the runs are in {output}") from error
    finally:
        record.outputs = {path.name: hash_file(path) for path in (scores, page) if path.is_file()}
        write_record(record, output)
    if not complete:
        others = len(record.runs) - len(runs)
        say(f"scores and report are of these settings; {output} also has {count_of(others, 'run')} with others")
    if (hint := _advise(plan, runs, sources, norms_file)) is not None:
        say(f"hint: {hint}")


def _advise(plan: Plan, runs: Sequence[EvaluationRun], sources: Sequence[Path], norms_file: str | None) -> str | None:
    """Return what to do next, with a command; None if the scores are complete."""
    keys = {item.partition("=")[0].rpartition(".")[2] for item in plan.metadata}
    place = shlex.quote(plan.output)
    if LISTEN in keys:
        return f"siq study listen {place} compares it with the audio, after the same command without {LISTEN}="
    if CONDITION in keys:
        return f"siq study robustness {place} shows what the condition costs, after the same command without it"
    if norms_file is None and len(runs) < FEW and plan.tasks == DEMO_TASKS and not plan.metadata:
        places = shlex.join(map(str, sources))
        command = f"siq score {places} --norms demo"
        if plan.limit is not None:
            command += " --allow-mismatch"
        return f"{command} scores on the demo's scale"
    return None
