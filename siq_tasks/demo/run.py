"""The demo: five systems through lm-eval, one command each, as a user would type them."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from speechiq.core.errors import SpeechIQError

LLM = "demo:SmolLM2-135M-Instruct"
HEARS = ("demo:whisper-base", "demo:whisper-tiny.en", "pocketsphinx:en-us", "gold", "silence")
SYSTEMS = tuple(f"{asr}+{LLM}" for asr in HEARS)
QUIET = {"LMEVAL_LOG_LEVEL": "WARNING", "TRANSFORMERS_VERBOSITY": "error"}


def run(output: Path) -> None:
    """Run every system on the demo set, printing each command before it runs.

    Args:
        output: folder for lm-eval's results; what earlier runs left there stays.

    Raises:
        SpeechIQError: a run failed; those before it are kept.
    """
    for system in SYSTEMS:
        command = lm_eval_command(system, output)
        print(f"\n$ {shlex.join(command)}", flush=True)
        here = [sys.executable, "-m", *command]
        if code := subprocess.run(here, env={**QUIET, **os.environ}).returncode:
            raise SpeechIQError(
                f"{system}: lm_eval ended with exit code {code}; its last lines above say why, "
                f"what ran before is in {output}"
            )


def lm_eval_command(system: str, output: Path) -> list[str]:
    """The command that runs one system on the demo set."""
    return [
        "lm_eval", "--model", "hf-audio", "--model_args", f"pretrained={system},llm_answer=likelihood",
        "--tasks", "siq_demo", "--batch_size", "auto", "--log_samples", "--output_path", str(output),
    ]  # fmt: skip
