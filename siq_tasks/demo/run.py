"""Run five systems on the demo set with lm-eval, one command each, as a user would type them."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from speechiq.core.errors import SpeechIQError

LLM = "demo:SmolLM2-135M-Instruct"
RECOGNIZERS = ("demo:whisper-base", "demo:whisper-tiny.en", "pocketsphinx:en-us", "gold", "silence")
SYSTEMS = tuple(f"{asr}+{LLM}" for asr in RECOGNIZERS)
QUIET = {"LMEVAL_LOG_LEVEL": "WARNING", "TRANSFORMERS_VERBOSITY": "error"}


def run(output: Path) -> None:
    """Run every system on the demo set, printing each command before it runs.

    Args:
        output: Folder for lm-eval's results; results of earlier runs in it stay.

    Raises:
        SpeechIQError: A run failed; the results of the runs before it stay.
    """
    for system in SYSTEMS:
        command = lm_eval_command(system, output)
        print(f"\n$ {shlex.join(command)}", flush=True)
        here = [sys.executable, "-m", *command]
        if code := subprocess.run(here, env={**QUIET, **os.environ}).returncode:
            raise SpeechIQError(
                f"{system}: lm_eval ended with exit code {code}; its last lines above state the reason, "
                f"the runs before it are in {output}"
            )


def lm_eval_command(system: str, output: Path) -> list[str]:
    """Return the command that runs one system on the demo set."""
    return [
        "lm_eval", "--model", "hf-audio", "--model_args", f"pretrained={system},llm_answer=likelihood",
        "--tasks", "siq_demo", "--batch_size", "auto", "--log_samples", "--output_path", str(output),
    ]  # fmt: skip
