"""Run the command line of lm-eval as `siq run` does: with help about speech systems, and without messages of git."""

import sys
import textwrap
from collections.abc import Sequence

from speechiq.core.console import log_with_names
from speechiq.core.errors import print_in_one_line
from speechiq.harness_patch import _lm_eval, foreign_code, plugins

INDENTED = textwrap.TextWrapper(120, initial_indent=" " * 6, subsequent_indent=" " * 10, break_on_hyphens=False)
HELP = """
speech systems (speechiq):
  --model hf-audio --model_args pretrained=SYSTEM,OPTION=VALUE,...
      SYSTEM is ASR+LLM, ASR+CORRECTOR+LLM, one audio model, or `demo`.
      A stage is a hub id, a folder, demo:NAME (see `siq demo fetch`), or ENGINE:MODEL; engines are
{engines}
  --model audio-api --model_args model=NAME,base_url=URL,...
      The same as hf-audio with pretrained=openai:NAME: an audio model behind an OpenAI-compatible endpoint.
  Options of a stage begin with its name, as in asr_dtype=bfloat16 or llm_base_url=URL; an audio model has no prefix:
{options}
      text, any model type of lm-eval: the arguments of its constructor, and temperature, top_k, top_p.
      answer: generate, likelihood or argmax: how the last stage answers questions.
  store=FOLDER or store=off: the response cache (default: SIQ_STORE, or the cache folder).
  --metadata KEY=VALUE, read by the tasks:
      {metadata};
      data sets that come as rows also read dataset_path, subset, selection, questions and columns.
  $ lm_eval run --model hf-audio --model_args pretrained=demo --tasks siq_demo --batch_size auto \\
      --log_samples --output_path runs
"""


def main(arguments: Sequence[str]) -> None:
    """Run the command line of lm-eval, with help about speech systems, and without messages of git."""
    print_in_one_line()
    log_with_names()
    plugins.install()
    foreign_code.refuse_if_asked()
    _lm_eval.ask_git_quietly()
    _lm_eval.add_help(speech_help)
    sys.argv = ["lm_eval", *arguments]
    from lm_eval.__main__ import cli_evaluate

    cli_evaluate()


def speech_help() -> str:
    """Return the part of `siq run --help` about speech systems, made from the registered engines and options."""
    from speechiq.engines.registry import STAGES, list_backends
    from speechiq.siq_tasks.settings import TASK_TYPES

    backends = {kind: sorted(list_backends(kind).values(), key=lambda backend: backend.engine) for kind in STAGES}
    engines, options = [], []
    for kind, found in backends.items():
        engines.append(f"{kind}: {', '.join(backend.engine for backend in found)}")
        for backend in found:
            names = sorted(option.name for option in backend.list_options())
            if names:
                options.append(f"{kind} {backend.engine}: {', '.join(names)}")
    return HELP.format(
        engines=textwrap.indent("\n".join(engines), " " * 8),
        options="\n".join(map(INDENTED.fill, options)),
        metadata=", ".join(sorted(frozenset().union(*(task_type.keys for task_type in TASK_TYPES.values())))),
    )


if __name__ == "__main__":
    main(sys.argv[1:])
